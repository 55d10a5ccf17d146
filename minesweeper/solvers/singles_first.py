"""SinglesFirst: the default move, sooner: what a single number proves safe is opened before any other reasoning."""

import numpy as np
from numpy.typing import NDArray

from minesweeper.frontier import SAFE
from minesweeper.posterior import proved_by_single_point
from minesweeper.solvers.base import Solver


class SinglesFirst(Solver):
    """For solvers whose `mine_probabilities` prove at least what single numbers prove, and cost more than that.

    The cells opened before the next guess are the same as with the default move, in more and cheaper moves.
    """

    def choose(
        self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """See `Solver`."""
        mask = proved_by_single_point(views, num_mines) == SAFE
        is_guess = np.zeros(len(views), np.bool_)
        stuck = np.flatnonzero(~mask.any(axis=(1, 2)))
        if stuck.size:
            mines = np.broadcast_to(np.asarray(num_mines, np.int64), len(views))[stuck]
            mask[stuck], is_guess[stuck] = self.choose_stuck(views[stuck], mines, keys[stuck])
        return mask, is_guess

    def choose_stuck(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """`choose` for views in which single numbers prove no cell safe; `num_mines` int64 [N]."""
        return super().choose(views, num_mines, keys)
