"""The planner: proves what is provable; at a guess it opens the cell that most likely wins the game.

A cell with the exact mine probability p is worth (1 - p) * u, where u is what a network (`models.planner_net`)
expects of the game once the cell is open. With few layouts left, the move tree is played out exactly instead.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from minesweeper.board import HIDDEN
from minesweeper.lookahead import outcomes
from minesweeper.posterior import MAX_STATES, Posterior
from minesweeper.solvers.base import check_share
from minesweeper.solvers.exact import ExactSolver
from models.device import autocast

_CELLS_OF_A_PASS = 2**17  # of all boards that the network is shown at once


class PlannerSolver(ExactSolver):
    """Plays by a planner's network.

    Args:
        model: views [N, R, C], posteriors [N, R, C], mines [N] -> logits [N, R, C]; used in eval mode, where it is.
        margin: the candidates are the cells at most this above the lowest probability; 0 to 1.
        look_ahead: for so many of the best candidates, each number that the cell may show is looked at, with its exact
            chance and the posterior that it would bring (0: none).
        endgame: when at most this many layouts are left, the move tree is played out exactly (0: never).
        precision: "bf16" or "float32".
        max_states: budget of one position, as in `ExactSolver`.

    Raises:
        ValueError: a setting outside its range.
    """

    name: ClassVar[str] = "planner"

    def __init__(
        self,
        model: nn.Module,
        margin: float = 0.1,
        look_ahead: int = 0,
        endgame: int = 200,
        precision: str = "float32",
        max_states: int = MAX_STATES,
    ) -> None:
        check_share("margin", margin)
        if isinstance(look_ahead, bool) or not isinstance(look_ahead, int) or look_ahead < 0:
            raise ValueError(f"look_ahead must be an integer of at least 0, got {look_ahead!r}")
        super().__init__(endgame=endgame, max_states=max_states)
        self.model = model.eval()
        self.margin = margin
        self.look_ahead = look_ahead
        self.precision = precision
        self.device = next(model.parameters()).device

    @classmethod
    def trained(cls, model: nn.Module, config: Mapping[str, Any], precision: str, **settings: Any) -> "PlannerSolver":
        """Plays by a model as `config`, that of its training, says; given `settings` go before it."""
        return cls(
            model, **{"margin": config["margin"], "endgame": config["endgame"], "precision": precision} | settings
        )

    def guess_scores(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The chance to win by opening each candidate, as the network sees it; see `ExactSolver`."""
        scores = self.survival(views, num_mines, probabilities)
        if not self.look_ahead:
            return scores
        flat = np.nan_to_num(scores.reshape(len(views), -1), nan=-1.0)
        best = np.argsort(-flat, axis=1)[:, : self.look_ahead]
        game, place = np.nonzero(np.take_along_axis(flat, best, 1) >= 0)
        cell = best[game, place]
        of, trials, chances, posteriors = outcomes(views[game], num_mines[game], cell, self.max_states)
        values = chances * self.position_values(trials, num_mines[game[of]], posteriors)
        ahead = np.full((len(views), views[0].size), np.nan)
        ahead[game, cell] = np.bincount(of, values, game.size)
        return ahead.reshape(views.shape)

    def survival(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(1 - p) u of the candidates, float64 [N, R, C], NaN elsewhere; arguments as for `guess_scores`."""
        lowest = np.nanmin(probabilities, axis=(1, 2), keepdims=True)
        is_candidate = (views == HIDDEN) & (probabilities <= lowest + self.margin)
        return np.where(is_candidate, (1 - probabilities) * self.win_chances(views, num_mines, probabilities), np.nan)

    def position_values(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The chance to win of any positions, float64 [N]: 1 if only mines are left; where cells are proved safe, what
        the network expects of opening them; else that of the best candidate. Arguments as for `guess_scores`."""
        values = np.ones(len(views))
        goes_on = np.flatnonzero((probabilities < 1).any(axis=(1, 2)))  # NaN, a revealed cell, is not below 1
        if goes_on.size:
            p = probabilities[goes_on]
            scores = (1 - p) * self.win_chances(views[goes_on], num_mines[goes_on], p)
            is_safe = p == 0
            num_safe = is_safe.sum(axis=(1, 2))
            near = p <= np.nanmin(p, axis=(1, 2), keepdims=True) + self.margin
            best = np.where(near, scores, -1.0).max(axis=(1, 2))
            values[goes_on] = np.where(
                num_safe > 0, np.where(is_safe, scores, 0.0).sum(axis=(1, 2)) / num_safe.clip(1), best
            )
        return values

    @torch.inference_mode()
    def win_chances(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """P(win | the cell is opened and safe) of each cell, float64 [N, R, C]; arguments as for `guess_scores`."""
        size = max(1, _CELLS_OF_A_PASS // views[0].size)
        chances = np.empty(views.shape)
        for start in range(0, len(views), size):
            part = slice(start, start + size)
            inputs = (views[part], probabilities[part].astype(np.float32), num_mines[part])
            with autocast(self.device, self.precision):
                logits = self.model(*(torch.from_numpy(array).to(self.device) for array in inputs))
            chances[part] = torch.sigmoid(logits.double()).cpu().numpy()
        return chances

    def values(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The chance to win of positions where nothing is proved, by the best move, and the scores of the moves.

        Args:
            views: int8 [N, R, C].
            num_mines: int64 [N].
            posterior: theirs, [N].

        Returns:
            float64 [N], and float64 [N, R, C] as `survival`. With few layouts left both are exact.
        """
        scores = self.survival(views, num_mines, posterior.probabilities)
        if self.endgame:
            for game in np.flatnonzero(self.is_endgame(posterior)):
                wins = self.endgame_wins(views[game], int(num_mines[game]))
                if wins is not None:
                    scores[game] = wins / np.exp(posterior.log_layouts[game])
        return np.nanmax(scores, axis=(1, 2)), scores
