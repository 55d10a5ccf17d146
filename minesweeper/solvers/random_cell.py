"""Opens a random hidden cell: the floor that every solver stands on."""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.solvers.base import Solver


class RandomCellSolver(Solver):
    """Gives every hidden cell the share of mines among all hidden cells."""

    name = "random"

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`. When all hidden cells, or none, are mines, that is a proof (1.0 or 0.0)."""
        is_hidden = views == HIDDEN
        left = num_mines - (views == MINE).sum(axis=(1, 2))
        share = left / np.maximum(is_hidden.sum(axis=(1, 2)), 1)
        return np.where(is_hidden, share[:, None, None], np.nan)
