"""The task of learning what a guess leads to: several cells are tried at each guess, in copies of the game.

At each guess of the live games, some candidates are opened in forks, and all that is then proved too; half of them are
those that the averaged network likes best among more. A fork that is won has the value 1. One that comes to its next
guess has the value that the averaged network, or the end of the move tree, gives the best cell there; but first
`horizon` guesses are followed where the board allows it, and the value is the exact chance to survive them times what
comes after, so that less rests on what the network expects. In the first steps, `rollout_steps`, the game is played out
by the exact solver instead. These values are the labels of the numbers that the cells showed; mined ones have none. A
live game goes on in the fork of its best cell, or of any candidate, to explore.

All forks of a guess have the same mines, so most of what makes one label high or low is luck that they share. What
matters for the choice are the differences between them, which the loss takes as well, with the weight `contrast`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from minesweeper import LOST, PLAYING, WON, Games, Solver, make_solver
from minesweeper.arena import choice_keys
from minesweeper.components import frontier_mask
from minesweeper.posterior import Posterior
from minesweeper.prospects import NUM_FEATURES, prospects, undecided_around
from minesweeper.proving import open_proved
from minesweeper.solvers.base import choose_highest
from minesweeper.unavoidable import candidates
from models.labelled import Labelled
from models.planner import PlannerSolver
from models.planner_net import win_chances
from models.ranks import Ranks
from models.task import Batch, Task

_MOST_BEGINNINGS = 4  # tries to get games that come to a guess at all
_SCALE = 0.03  # of the probability above the lowest, for the random candidates
_LOOKED_AT = 2  # cells for each that is tried
_TURNS = 32  # of a pool, whose guesses are remembered
_START, _LOOK, _TRY, _EXPLORE, _REPLAY = range(5)  # what a step's random numbers are for


@dataclass
class Tried:
    """What `act` needs: forks, and for each game the place of the fork that it goes on in, -1: it opens a mine."""

    forks: Games | None
    goes_on_in: NDArray[np.int64]


class PlannerTask(Task):
    """P(win) once a cell shows a number, of the candidates at guesses."""

    predicts_mines = False
    inputs = ("features",)

    def __init__(self, cfg: DictConfig, ranks: Ranks, device: torch.device, precision: str) -> None:
        super().__init__(cfg, ranks, device, precision)
        self.remembered = [  # of each slot: the guesses of its last turns
            Labelled.empty((pool.num_games, _TURNS), self.num_tried(pool)) for pool in self.pools
        ]

    def batch(self, model: nn.Module, averaged: nn.Module, step: int) -> Batch:
        """See `Task`."""
        games, turn = self.turn(step)
        num_over, num_won, posterior = self.come_to_guesses(games, step)

        # 1. Cells that are looked at; some of them are tried in forks.
        looked_at = self.looked_at(games, posterior, step)
        is_seen = (looked_at >= 0) & posterior.exact[:, None]
        of_game, seen = np.nonzero(is_seen)[0], looked_at[is_seen]
        mines = np.full(games.num_games, games.mode.mines, np.int64)
        found = prospects(games.views, mines, posterior, of_game, seen)
        chances = win_chances(averaged, torch.from_numpy(found.features)).numpy()
        scores = np.full(looked_at.shape, -1.0)
        scores[is_seen] = np.bincount(found.of, found.chances * chances, seen.size).round(6)  # equal cells are equal
        is_tried = is_seen & self.is_tried(games, scores, step)
        is_mine = np.take_along_axis(games.mines.reshape(games.num_games, -1), looked_at.clip(0), 1)
        is_safe = is_tried & ~is_mine
        number = np.full(looked_at.shape, -1)  # of the fork of each cell
        number[is_safe] = np.arange(is_safe.sum())
        goes_on_in = number[np.arange(games.num_games), self.explored(games, is_tried, scores, step)]

        # 2. Their labels; this turn's guesses take the place of the oldest.
        new = Labelled.empty((games.num_games,), self.num_tried(games))
        forks = None
        if is_safe.any():
            forks = games.fork(np.nonzero(is_safe)[0])
            opened = np.divmod(looked_at[is_safe], games.mode.cols)
            forks.reveal(*opened)
            shown = np.full(looked_at.shape, -1)
            shown[is_safe] = forks.views[np.arange(forks.num_games), *opened]
            place = is_tried.cumsum(axis=1) - 1
            known = found.numbers == shown[is_seen][found.of]
            cell = found.of[known]
            new.features[of_game[cell], place[is_seen][cell]] = found.features[known]
            new.values[np.nonzero(is_safe)[0], place[is_safe]] = self.values(forks, self.labeller(averaged), step)
        remembered = self.remembered[step % len(self.pools)]
        for name, array in remembered.arrays().items():
            array[:, turn % _TURNS] = new.arrays()[name]

        # 3. They are shown with earlier ones.
        turns = self.random(games, self.cfg.replay, _REPLAY, step) * min(turn + 1, _TURNS)
        turns = np.concatenate([np.full((games.num_games, 1), turn % _TURNS), turns.astype(np.int64)], 1)
        asked, labels, loss = self.asked(model, remembered.at((np.arange(games.num_games)[:, None], turns)))
        return Batch(games, asked, labels, loss, len(labels), num_over, num_won, Tried(forks, goes_on_in))

    def asked(self, model: nn.Module, guesses: Labelled) -> tuple[Tensor, Tensor, Tensor]:
        """The model's logits of all labelled cells of guesses [N, T, K], their labels, float32 [L], and the loss."""
        values = guesses.values.reshape(-1, guesses.values.shape[-1])
        guess, place = np.nonzero(~np.isnan(values))
        features = guesses.features.reshape(*values.shape, NUM_FEATURES)[guess, place]
        if not len(features):  # so that there is a graph
            logits = model(torch.zeros((1, NUM_FEATURES), device=self.device))
            return logits[:0], logits[:0].detach(), logits.sum() * 0
        logits = model(torch.from_numpy(features).to(self.device)).float()
        labels = torch.from_numpy(values[guess, place]).to(self.device)
        of = torch.from_numpy(guess).to(self.device)
        counts = torch.zeros(len(values), device=self.device).index_add_(0, of, torch.ones_like(labels))
        errors = torch.sigmoid(logits) - labels
        shared = torch.zeros(len(values), device=self.device).index_add_(0, of, errors) / counts.clamp(min=1)
        contrast = ((errors - shared[of]) ** 2).mean()
        return logits, labels, binary_cross_entropy_with_logits(logits, labels) + self.cfg.contrast * contrast

    def act(self, batch: Batch, step: int) -> None:  # noqa: ARG002
        """See `Task`."""
        games, tried = batch.games, batch.more
        goes_on = np.flatnonzero(tried.goes_on_in >= 0)
        if tried.forks:
            games.adopt(goes_on, tried.forks, tried.goes_on_in[goes_on])
        games.status[(tried.goes_on_in < 0) & (games.status == PLAYING)] = LOST

    def solver(self, model: nn.Module) -> Solver:
        """See `Task`."""
        return PlannerSolver.trained(model, self.cfg)

    def labeller(self, model: nn.Module) -> PlannerSolver:
        """Who says what the next guess of a fork is worth."""
        return PlannerSolver(model, self.cfg.margin, self.cfg.candidates, endgame=self.cfg.endgame)

    def come_to_guesses(self, games: Games, step: int) -> tuple[int, int, Posterior]:
        """Brings all games to a guess, new ones for those that end before; also how many ended, and how many won.

        In the share `random_first` of the new games nothing is opened: the first cell is their first guess.
        """
        opens = self.random(games, 1, _START, step)[:, 0] >= self.cfg.random_first
        num_over = num_won = 0
        posterior = open_proved(games)
        for _ in range(_MOST_BEGINNINGS):
            is_new = (games.status != PLAYING) | ((games.moves == 0) & opens)
            if not is_new.any():
                break
            over, won = self.begin_games(games, opens)
            num_over, num_won = num_over + over, num_won + won
            slots = np.flatnonzero(is_new)
            posterior.put(slots, open_proved(games, slots).of(slots))
        return num_over, num_won, posterior

    def values(self, forks: Games, planner: PlannerSolver, step: int) -> NDArray[np.float32]:
        """What each of the forks is worth, in 0..1, after all that is proved was opened in it; changes `forks`.

        NaN where the cell was a mine, or the next position is past the state budget (artificial boards only).
        """
        posterior = open_proved(forks)
        values = np.where(forks.status == WON, 1.0, np.nan).astype(np.float32)
        goes_on = np.flatnonzero(posterior.exact)
        if goes_on.size and step < self.cfg.rollout_steps:
            rest = forks.fork(goes_on)
            play_out(make_solver("exact", tie_break="corner"), rest)
            values[goes_on] = rest.status == WON
        elif goes_on.size:
            values[goes_on] = self.followed(forks.fork(goes_on), posterior.of(goes_on), planner)
        return values

    def followed(self, games: Games, posterior: Posterior, planner: PlannerSolver) -> NDArray[np.float64]:
        """What games at a guess are worth, in 0..1: `horizon` guesses are followed where the board allows it, each
        with the exact chance to survive it, and what comes after is worth what the planner says; changes `games`."""
        values, survival = np.empty(games.num_games), np.ones(games.num_games)
        slots = np.arange(games.num_games)
        for guess in range(self.cfg.horizon + 1):
            own = posterior.of(slots)
            mines = np.full(slots.size, games.mode.mines, np.int64)
            best, scores = planner.values(games.views[slots], mines, own, finds_all=False)
            values[slots] = survival[slots] * best
            if guess == self.cfg.horizon:
                break
            cells = choose_highest(scores, games.views[slots], choice_keys(games, guess)[slots])
            survival[slots] *= 1 - np.where(cells, own.probabilities, 0).sum(axis=(1, 2))
            is_followed = ~planner.is_endgame(own) & ~(cells & games.mines[slots]).any(axis=(1, 2))
            if not is_followed.any():
                break
            slots, mask = slots[is_followed], np.zeros(games.views.shape, np.bool_)
            mask[slots] = cells[is_followed]
            games.reveal_mask(mask)
            posterior = open_proved(games, slots)
            is_won = games.status[slots] == WON
            values[slots[is_won]] = survival[slots[is_won]]
            slots = slots[posterior.exact[slots]]
        return values

    def looked_at(self, games: Games, posterior: Posterior, step: int) -> NDArray[np.int64]:
        """Cells to look at, flat, int64 [N, P], -1 for none: a third of them `candidates`, the rest random.

        The random ones are safe with nearly the lowest risk; all cells of the interior weigh as much as one cell of the
        frontier, and those with the fewest undecided neighbours (corners, mostly) as much again.
        """
        count = min(_LOOKED_AT * self.cfg.candidates, games.mode.cells)
        noise = self.random(games, games.mode.cells, _LOOK, step)
        probabilities = np.nan_to_num(posterior.probabilities, nan=2.0)
        above = probabilities - probabilities.min(axis=(1, 2), keepdims=True)
        is_candidate = (probabilities < 1) & (above <= self.cfg.margin)
        is_interior = is_candidate & ~frontier_mask(games.views)
        undecided = undecided_around(probabilities)
        fewest = np.where(is_interior, undecided, 9).min(axis=(1, 2), keepdims=True)
        weights = (is_candidate & ~is_interior).astype(np.float64)
        for group in (is_interior, is_interior & (undecided == fewest)):
            weights += group / group.sum(axis=(1, 2), keepdims=True).clip(1)
        weights *= np.exp(-above / _SCALE)
        with np.errstate(divide="ignore"):  # Gumbel noise: the largest are a draw without replacement
            order = np.log(weights.reshape(noise.shape)) - np.log(-np.log(noise))
        promising = candidates(games.views, posterior, self.cfg.margin, (count + 2) // 3)
        game, place = np.nonzero(promising >= 0)
        order[game, promising[game, place]] = np.inf
        chosen = np.argsort(-order, axis=1, kind="stable")[:, :count]
        return np.where(np.take_along_axis(order, chosen, 1) > -np.inf, chosen, -1)

    def is_tried(self, games: Games, scores: NDArray[np.float64], step: int) -> NDArray[np.bool_]:
        """Which of the cells looked at are tried: half of them those of the highest scores, the rest random.

        Args:
            scores: float64 [N, P], -1: no cell.
        """
        count = self.num_tried(games)
        rank = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
        order = np.where(rank < (count + 1) // 2, 2.0 + scores, self.random(games, scores.shape[1], _TRY, step))
        order[scores < 0] = -1.0
        return (np.argsort(np.argsort(-order, axis=1, kind="stable"), axis=1) < count) & (scores >= 0)

    def num_tried(self, games: Games) -> int:
        """How many cells are tried at a guess, at most."""
        return min(self.cfg.candidates, games.mode.cells)

    def slot_state(self, number: int) -> dict[str, NDArray]:
        """See `Task`."""
        remembered = {f"remembered_{name}": array for name, array in self.remembered[number].arrays().items()}
        return super().slot_state(number) | remembered

    def load_slot_state(self, number: int, state: Mapping[str, NDArray]) -> None:
        """See `Task`."""
        super().load_slot_state(number, state)
        for name, array in self.remembered[number].arrays().items():
            array[:] = state[f"remembered_{name}"]

    def explored(
        self, games: Games, is_tried: NDArray[np.bool_], scores: NDArray[np.float64], step: int
    ) -> NDArray[np.int64]:
        """Which of the cells looked at each game goes on with: the best by `scores`; any that is tried, in the share
        `explore` and as first cell."""
        first = self.random(games, 1 + scores.shape[1], _EXPLORE, step)
        any_tried = np.where(is_tried, first[:, 1:], -1.0).argmax(axis=1)
        return np.where((first[:, 0] < self.cfg.explore) | (games.moves == 0), any_tried, scores.argmax(axis=1))

    def random(self, games: Games, count: int, purpose: int, step: int) -> NDArray[np.float64]:
        """Uniform numbers in (0, 1), [N, count], the same for a game whatever the number of processes."""
        size = self.ranks.size * games.num_games
        first, number = self.ranks.share(size)
        generator = np.random.default_rng([self.cfg.seed, purpose, step])
        return generator.uniform(1e-12, 1, (size, count))[first : first + number]


def play_out(solver: Solver, games: Games) -> None:
    """Lets a solver play the games to their end."""
    step = 0
    while (live := np.flatnonzero(games.status == PLAYING)).size:
        step += 1
        mask = np.zeros(games.views.shape, np.bool_)
        mask[live], _ = solver.choose(games.views[live], games.mode.mines, choice_keys(games, step)[live])
        games.reveal_mask(mask)
