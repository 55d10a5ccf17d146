"""The planner: proves what is provable; at a guess it opens the cell that most likely wins the game.

A cell is worth the sum, over the numbers that it may show, of the exact chance of the number times what a network
(`models.planner_net`) expects of the position that the number leads to. With few layouts left, the move tree is played
out exactly instead.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from minesweeper.board import HIDDEN
from minesweeper.components import frontier_mask
from minesweeper.posterior import MAX_STATES, Posterior, solve_posterior
from minesweeper.prospects import prospects
from minesweeper.solvers.base import check_share
from minesweeper.solvers.exact import ExactSolver
from models.planner_net import win_chances

_CELLS_OF_A_PASS = 2048  # whose prospects are counted before the network sees them
_CELLS_AHEAD = 6  # of a position that is looked at one guess ahead


class PlannerSolver(ExactSolver):
    """Plays by a planner's network.

    Args:
        model: features float32 [M, F] -> logits [M]; used in eval mode, where it is.
        margin: the candidates are the cells at most this above the lowest probability; 0 to 1.
        candidates: at most so many of them are looked at, in the order of `most_promising`; 0: all.
        look_ahead: for so many of the best cells, the numbers that prove nothing are looked at one guess further: they
            are worth what the best guess there is worth (0: none).
        endgame: when at most this many layouts are left, the move tree is played out exactly (0: never).
        max_states: budget of one position, as in `ExactSolver`.

    Raises:
        ValueError: a setting outside its range.
    """

    name: ClassVar[str] = "planner"

    def __init__(
        self,
        model: nn.Module,
        margin: float = 0.05,
        candidates: int = 0,
        look_ahead: int = 0,
        endgame: int = 1000,
        max_states: int = MAX_STATES,
    ) -> None:
        check_share("margin", margin)
        for key, value in (("candidates", candidates), ("look_ahead", look_ahead)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{key} must be an integer of at least 0, got {value!r}")
        super().__init__(endgame=endgame, max_states=max_states)
        self.model = model.eval()
        self.margin = margin
        self.candidates = candidates
        self.look_ahead = look_ahead

    @classmethod
    def trained(cls, model: nn.Module, config: Mapping[str, Any], **settings: Any) -> "PlannerSolver":
        """Plays by a model as `config`, that of its training, says; given `settings` go before it."""
        return cls(model, **{"margin": config["margin"]} | settings)

    def guess_scores(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior
    ) -> NDArray[np.float64]:
        """The chance to win by opening each candidate, as the network sees it; see `ExactSolver`."""
        cells = most_promising(views, posterior, self.margin, self.candidates)
        scores = self.cell_scores(views, num_mines, posterior, cells)
        if self.look_ahead:
            flat = np.nan_to_num(scores.reshape(len(views), -1), nan=-1.0)
            best = np.argsort(-flat, axis=1, kind="stable")[:, : self.look_ahead]
            cells = np.where(np.take_along_axis(flat, best, 1) >= 0, best, -1)
            scores = self.cell_scores(views, num_mines, posterior, cells, is_ahead=True)
        return scores

    def cell_scores(
        self,
        views: NDArray[np.int8],
        num_mines: NDArray[np.int64],
        posterior: Posterior,
        cells: NDArray[np.int64],
        is_ahead: bool = False,
    ) -> NDArray[np.float64]:
        """The chance to win by opening each of some cells, float64 [N, R, C], NaN elsewhere.

        Args:
            views, num_mines, posterior: as for `guess_scores`.
            cells: int64 [N, K], flat; -1: none.
            is_ahead: whether numbers that prove nothing are looked at one guess further.
        """
        scores = np.full((len(views), views[0].size), np.nan)
        every_game, place = np.nonzero(cells >= 0)
        for start in range(0, every_game.size, _CELLS_OF_A_PASS):
            part = slice(start, start + _CELLS_OF_A_PASS)
            games, cell = every_game[part], cells[every_game[part], place[part]]
            found = prospects(views, num_mines, posterior, games, cell, self.max_states)
            values = win_chances(self.model, torch.from_numpy(found.features)).numpy()
            if is_ahead:
                trials = views[games[found.of]]
                trials.reshape(len(trials), -1)[np.arange(len(trials)), cell[found.of]] = found.numbers
                mines = num_mines[games[found.of]]
                after = solve_posterior(trials, mines, max_states=self.max_states, over_budget="density")
                lowest = np.nan_to_num(after.probabilities, nan=1.0).min(axis=(1, 2))
                stuck = np.flatnonzero(after.exact & (lowest > 0) & (lowest < 1))
                if stuck.size:
                    values[stuck] = self.best_scores(trials[stuck], mines[stuck], after.of(stuck))
            scores[games, cell] = np.bincount(found.of, found.chances * values, games.size)
        return scores.reshape(views.shape)

    def best_scores(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior
    ) -> NDArray[np.float64]:
        """The score of the best of a few candidates, float64 [N]; arguments as for `guess_scores`."""
        cells = most_promising(views, posterior, self.margin, _CELLS_AHEAD)
        return np.nanmax(self.cell_scores(views, num_mines, posterior, cells), axis=(1, 2))

    def values(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The chance to win of positions where nothing is proved, by the best move, and the scores of the moves.

        Args:
            views: int8 [N, R, C].
            num_mines: int64 [N].
            posterior: theirs, [N].

        Returns:
            float64 [N], and float64 [N, R, C] as `guess_scores`. With few layouts left both are exact.
        """
        scores = np.full(views.shape, np.nan)
        is_open = np.ones(len(views), np.bool_)
        if self.endgame:
            for game in np.flatnonzero(self.is_endgame(posterior)):
                wins = self.endgame_wins(views[game], int(num_mines[game]))
                if wins is not None:
                    scores[game] = wins / np.exp(posterior.log_layouts[game])
                    is_open[game] = False
        if is_open.any():
            scores[is_open] = self.guess_scores(views[is_open], num_mines[is_open], posterior.of(is_open))
        return np.nanmax(scores, axis=(1, 2)), scores


def most_promising(views: NDArray[np.int8], posterior: Posterior, margin: float, most: int = 0) -> NDArray[np.int64]:
    """The cells worth a look at guesses: the lowest probabilities first, of equal ones those with the fewest undecided
    neighbours, those on the frontier before the others.

    Args:
        views: int8 [N, R, C].
        posterior: theirs, [N].
        margin: cells at most this above the lowest probability.
        most: of them; 0: all.

    Returns:
        int64 [N, K], flat; -1: no more.
    """
    probabilities = np.nan_to_num(posterior.probabilities, nan=2.0)
    lowest = probabilities.min(axis=(1, 2), keepdims=True)
    is_candidate = (views == HIDDEN) & (probabilities <= lowest + margin)
    order = np.round(probabilities, 9) * 1e6 + undecided_around(probabilities) + 0.5 * ~frontier_mask(views)
    order = np.where(is_candidate, order, np.inf).reshape(len(views), -1)
    count = int(is_candidate.sum(axis=(1, 2)).max(initial=1))
    cells = np.argsort(order, axis=1, kind="stable")[:, : min(most, count) if most else count]
    return np.where(np.isfinite(np.take_along_axis(order, cells, 1)), cells, -1)


def undecided_around(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many of the up to eight neighbours of each cell are neither known nor proved, [N, R, C].

    Args:
        probabilities: float64 [N, R, C], above 1 or NaN where revealed.
    """
    is_undecided = np.pad((probabilities > 0) & (probabilities < 1), ((0, 0), (1, 1), (1, 1))).astype(np.int64)
    rows = is_undecided[:, 1:-1] + is_undecided[:, :-2] + is_undecided[:, 2:]
    return rows[:, :, 1:-1] + rows[:, :, :-2] + rows[:, :, 2:] - is_undecided[:, 1:-1, 1:-1]
