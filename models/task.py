"""Task: what a training learns, and the games that it learns from; `train.py` does what is the same for all tasks."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from torch import Tensor, nn

from minesweeper import PLAYING, WON, Games, Solver
from minesweeper.arena import first_cells
from minesweeper.seeds import training_seed
from models.ranks import Ranks
from models.settings import make_mode, make_modes

STEP_CELLS = 128 * 81  # of a step, unless num_live_games is given
_GAMES_OF_A_POOL = 2**40  # so that two boards of a mix that are the same have games of their own


@dataclass
class Batch:
    """What one step learns from; the numbers are of this process alone.

    Attributes:
        games: whose positions were shown.
        asked: float [L], the logits that have a label.
        labels: float [L], in 0..1.
        loss: their (weighted) mean loss, with its graph.
        weight: the sum of the weights; the number of labels if all weigh the same.
        num_over, num_won: games that ended before this step, and how many of them were won.
        more: what the task needs to act.
    """

    games: Games
    asked: Tensor
    labels: Tensor
    loss: Tensor
    weight: float
    num_over: int
    num_won: int
    more: Any = None


class Task(ABC):
    """A pool of live games for each board of the mix; a step turns to the next of them.

    Every random choice depends on (seed, game, step) alone; `state_dict` and the step number are all its state.

    Args:
        cfg: settings of train.py, checked.
        ranks: of whose processes this one plays its share.
        device, precision: where and how the model runs.
    """

    predicts_mines: ClassVar[bool]
    """Whether the logits are of P(mine), so that they can be compared with the exact posterior."""

    inputs: ClassVar[tuple[str, ...]]
    """What a model of this task is called with."""

    def __init__(self, cfg: DictConfig, ranks: Ranks, device: torch.device, precision: str) -> None:
        self.cfg, self.ranks, self.device, self.precision = cfg, ranks, device, precision
        self.mode = make_mode(cfg.mode)
        modes = make_modes(cfg.mix, self.mode)
        self.cells = STEP_CELLS if cfg.num_live_games is None else cfg.num_live_games * self.mode.cells
        self._sizes = [ranks.divisible(self.cells / own.cells) for own in modes]
        self.pools = []
        for i, (own, size) in enumerate(zip(modes, self._sizes, strict=True)):
            first, count = ranks.share(size)
            self.pools.append(Games(own, count, training_seed(cfg.seed), i * _GAMES_OF_A_POOL + first, size))

    @abstractmethod
    def batch(self, model: nn.Module, averaged: nn.Module, step: int) -> Batch:
        """The positions of step `step` (from 0), shown to `model`, with what is to be learned from them.

        Args:
            averaged: the model with averaged weights, for labels that come from the network itself.
        """

    @abstractmethod
    def act(self, batch: Batch, step: int) -> None:
        """Makes a move in each of the games of the batch."""

    @abstractmethod
    def solver(self, model: nn.Module) -> Solver:
        """How a model of this task plays."""

    def check_model(self, model: nn.Module) -> None:
        """ValueError unless the model can be called with what this task shows."""
        taken = tuple(inspect.signature(model.forward).parameters)
        if len(taken) != len(self.inputs):
            raise ValueError(
                f"task={self.cfg.task} needs a model that takes {', '.join(self.inputs)}; "
                f"{type(model).__name__} takes {', '.join(taken)}"
            )

    def state_dict(self) -> list[dict[str, Tensor]]:
        """What the pools of all processes have to keep, a dict a pool."""
        own = [self.slot_state(number) for number in range(len(self.pools))]
        parts = self.ranks.gathered(own)  # of each process, of each pool
        return [
            {key: torch.from_numpy(np.concatenate([state[key] for state in states])) for key in states[0]}
            for states in zip(*parts, strict=True)
        ]

    def load_state_dict(self, states: Sequence[Mapping[str, Tensor]]) -> None:
        """Goes on from what `state_dict` returned, whatever the number of processes then."""
        for number, (size, state) in enumerate(zip(self._sizes, states, strict=True)):
            first, count = self.ranks.share(size)
            self.load_slot_state(number, {key: value.numpy()[first : first + count] for key, value in state.items()})

    def slot_state(self, number: int) -> dict[str, NDArray]:
        """What a pool has to keep, arrays with a leading axis of its slots."""
        return self.pools[number].state_dict()

    def load_slot_state(self, number: int, state: Mapping[str, NDArray]) -> None:
        """Goes back to what `slot_state` returned."""
        self.pools[number].load_state_dict(state)

    def turn(self, step: int) -> tuple[Games, int]:
        """The pool of a step, and how often it had its turn before."""
        return self.pools[step % len(self.pools)], step // len(self.pools)

    def begin_games(self, games: Games, opens: NDArray[np.bool_] | None = None) -> tuple[int, int]:
        """The next game in every slot whose game is over, its first cell opened; returns how many, and how many won.

        Args:
            opens: bool [N], where the first cell is opened; None: everywhere.
        """
        is_over = games.status != PLAYING
        num_won = int((games.status == WON).sum())
        games.restart(is_over)
        is_new = (games.moves == 0) & (True if opens is None else opens)
        rows, cols = first_cells(self.cfg.first_cell, games)
        opening = np.zeros(games.views.shape, np.bool_)
        opening[is_new, rows[is_new], cols[is_new]] = True
        games.reveal_mask(opening)
        return int(is_over.sum()), num_won
