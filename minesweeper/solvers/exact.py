"""The exact solver: opens proved cells, otherwise the cell with the lowest exact mine probability."""

import numpy as np
from numpy.typing import NDArray

from minesweeper.frontier import SAFE
from minesweeper.posterior import MAX_STATES, mine_posterior, proved_by_single_point
from minesweeper.solvers.base import Solver


class ExactSolver(Solver):
    """Plays by the exact posterior (`minesweeper.posterior`).

    Args:
        tie_break: see `Solver`.
        max_states: budget of one position. Past it (artificial boards only) the weaker answer of
            `over_budget="density"` is played.
    """

    name = "exact"

    def __init__(self, tie_break: str = "random", max_states: int = MAX_STATES) -> None:
        super().__init__(tie_break)
        self.max_states = max_states

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`."""
        return mine_posterior(views, num_mines, max_states=self.max_states, over_budget="density")

    def choose(
        self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """See `Solver`. Counts layouts only where single numbers prove no cell safe, which changes no result."""
        mask = proved_by_single_point(views, num_mines) == SAFE
        is_guess = np.zeros(len(views), np.bool_)
        stuck = np.flatnonzero(~mask.any(axis=(1, 2)))
        if stuck.size:
            mines = num_mines if np.ndim(num_mines) == 0 else np.asarray(num_mines)[stuck]
            mask[stuck], is_guess[stuck] = super().choose(views[stuck], mines, keys[stuck])
        return mask, is_guess
