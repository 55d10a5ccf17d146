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

from minesweeper.posterior import MAX_STATES, Posterior, solve_posterior
from minesweeper.prospects import Prospects, cell_scores
from minesweeper.rollouts import rollout_values
from minesweeper.solvers.base import check_share
from minesweeper.solvers.exact import ExactSolver
from minesweeper.unavoidable import candidates
from models.planner_net import win_chances

_CELLS_AHEAD = 6  # of a position that is looked at one guess ahead
_ROUNDS = (6, 3, 2)  # the best so many cells take part in each round of rollouts
_MOST_ROLLOUTS = 1_000_000
_NETWORK_COUNTS = 100  # as so many rollouts: its errors are about as large as the noise that these leave


class PlannerSolver(ExactSolver):
    """Plays by a planner's network.

    Args:
        model: features float32 [M, F] -> logits [M]; used in eval mode, where it is.
        margin: the candidates are the cells at most this above the lowest probability; 0 to 1.
        candidates: at most so many of them are looked at, in the order of `most_promising`; 0: all.
        look_ahead: for so many of the best cells, the numbers that prove nothing are looked at one guess further: they
            are worth what the best guess there is worth (0: none).
        rollouts: once an opening is found, the rest of the game is played out at random so many times for each of the
            two best cells of a guess, fewer times for four more (`minesweeper.rollouts`); the results correct the
            network (0: none).
        endgame: when at most this many layouts are left, the move tree is played out exactly (0: never).
        max_states: budget of one position, as in `ExactSolver`.

    Raises:
        ValueError: a setting outside its range.
    """

    name: ClassVar[str] = "planner"

    def __init__(
        self,
        model: nn.Module,
        margin: float = 0.06,
        candidates: int = 10,
        look_ahead: int = 0,
        rollouts: int = 0,
        endgame: int = 2000,
        max_states: int = MAX_STATES,
    ) -> None:
        check_share("margin", margin)
        for key, value in (("candidates", candidates), ("look_ahead", look_ahead)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{key} must be an integer of at least 0, got {value!r}")
        if isinstance(rollouts, bool) or not isinstance(rollouts, int) or not 0 <= rollouts <= _MOST_ROLLOUTS:
            raise ValueError(f"rollouts must be an integer from 0 to {_MOST_ROLLOUTS}, got {rollouts!r}")
        super().__init__(endgame=endgame, max_states=max_states)
        self.model = model.eval()
        self.margin = margin
        self.candidates = candidates
        self.look_ahead = look_ahead
        self.rollouts = rollouts

    @classmethod
    def trained(cls, model: nn.Module, config: Mapping[str, Any], **settings: Any) -> "PlannerSolver":
        """Plays by a model as `config`, that of its training, says; given `settings` go before it."""
        return cls(model, **{"margin": config["margin"]} | settings)

    def guess_scores(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior
    ) -> NDArray[np.float64]:
        """The chance to win by opening each candidate, as the network sees it; see `ExactSolver`."""
        cells = candidates(views, posterior, self.margin, self.candidates)
        scores = self.cell_scores(views, num_mines, posterior, cells)
        if self.look_ahead:
            scores = self.scores_ahead(views, num_mines, posterior, _best_cells(scores, self.look_ahead))
        if self.rollouts:
            has_choice = (views == 0).any(axis=(1, 2)) & ((~np.isnan(scores)).sum(axis=(1, 2)) > 1)
            which = np.flatnonzero(has_choice)
            if which.size:
                scores[which] = self.rolled_out(views[which], num_mines[which], posterior.of(which), scores[which])
        return scores

    def cell_scores(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior, cells: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The chance to win by opening each of some cells, float64 [N, R, C], NaN elsewhere.

        Args:
            views, num_mines, posterior: as for `guess_scores`.
            cells: int64 [N, K], flat; -1: none.
        """
        return cell_scores(views, num_mines, posterior, cells, self.win_chances, self.max_states)

    def scores_ahead(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior, cells: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The same, with numbers that prove nothing worth what the best guess after them is worth."""

        def worth(found: Prospects, games: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.float64]:
            values = self.win_chances(found)
            stuck = np.flatnonzero(~found.leads_on)
            if stuck.size:
                of = found.of[stuck]
                trials, mines = views[games[of]], num_mines[games[of]]
                trials.reshape(stuck.size, -1)[np.arange(stuck.size), asked[of]] = found.numbers[stuck]
                after = solve_posterior(trials, mines, max_states=self.max_states, over_budget="density")
                exact = np.flatnonzero(after.exact)
                values[stuck[exact]] = self.best_scores(trials[exact], mines[exact], after.of(exact))
            return values

        return cell_scores(views, num_mines, posterior, cells, worth, self.max_states)

    def rolled_out(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior, scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The scores [N, R, C] corrected by rollouts, in rounds that the better cells go on to; NaN for the others."""
        corrected = scores.copy()
        total, count = np.zeros(scores.shape), 0
        for number, most in enumerate(_ROUNDS):
            each = (self.rollouts * (number + 1)) // len(_ROUNDS) - count
            if not each:
                continue
            cells = _best_cells(corrected, most)
            values = rollout_values(views, num_mines, posterior, cells, each, number)
            count += each
            game, place = np.nonzero(cells >= 0)
            row, col = np.divmod(cells[game, place], views.shape[2])
            found = values[game, place]
            total[game, row, col] += each * np.where(np.isnan(found), scores[game, row, col], found)
            corrected[:] = np.nan
            corrected[game, row, col] = _NETWORK_COUNTS * scores[game, row, col] + total[game, row, col]
            corrected /= _NETWORK_COUNTS + count
        return corrected

    def win_chances(self, found: Prospects, *_: NDArray[np.int64]) -> NDArray[np.float64]:
        """What the network says of each number, float64 [M]."""
        return win_chances(self.model, torch.from_numpy(found.features)).numpy()

    def best_scores(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior
    ) -> NDArray[np.float64]:
        """The score of the best of a few candidates, float64 [N]; arguments as for `guess_scores`."""
        if not len(views):
            return np.empty(0)
        cells = candidates(views, posterior, self.margin, _CELLS_AHEAD)
        return np.nanmax(self.cell_scores(views, num_mines, posterior, cells), axis=(1, 2))

    def values(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior, finds_all: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The chance to win of positions where nothing is proved, by the best move, and the scores of the moves.

        Args:
            views: int8 [N, R, C].
            num_mines: int64 [N].
            posterior: theirs, [N].
            finds_all: whether with few layouts left the scores of all moves are wanted; otherwise only the best one is
                right, and the others are less.

        Returns:
            float64 [N], and float64 [N, R, C] as `guess_scores`. With few layouts left both are exact.
        """
        scores = self.endgame_chances(views, num_mines, posterior, finds_all)
        rest = np.flatnonzero(np.isnan(scores).all(axis=(1, 2)))
        if rest.size:
            scores[rest] = self.guess_scores(views[rest], num_mines[rest], posterior.of(rest))
        return np.nanmax(scores, axis=(1, 2)), scores


def _best_cells(scores: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """The cells of the highest scores [N, R, C], at most so many, int64 [N, K], flat; -1: no more."""
    flat = np.nan_to_num(scores.reshape(len(scores), -1), nan=-1.0)
    best = np.argsort(-flat, axis=1, kind="stable")[:, :most]
    return np.where(np.take_along_axis(flat, best, 1) >= 0, best, -1)
