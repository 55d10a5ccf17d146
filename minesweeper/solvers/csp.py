"""Constraint satisfaction: opens what the numbers and the mine total prove together, otherwise a random cell.

    1. A hidden cell is safe if no layout of the mines that fits the view has a mine there.
    2. It is a mine if no layout that fits the view lacks one there.
    3. All safe cells are opened. If there are none, each hidden cell that is no proved mine is as good as any other.

Rules 1 and 2 are what testing the consistency of the view cell by cell finds (the problem of R. Kaye, "Minesweeper is
NP-complete", 2000, here with the mine total): put a mine into the cell, and if nothing fits it is safe; put each number
0..8 into it, and if nothing fits it is a mine. We don't search for each cell and value: the exact posterior
(`minesweeper.posterior`) is 0 or 1 for just these cells, and decides it by structure. A test runs the search itself on
small boards. Past the state budget (artificial boards) fewer cells are proved, and no wrong ones.
"""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import MINE
from minesweeper.posterior import MAX_STATES, mine_posterior
from minesweeper.solvers.singles_first import SinglesFirst

_MARGIN = 1e-9


class CspSolver(SinglesFirst):
    """Proves all that can be proved and knows no probabilities.

    Args:
        tie_break: see `Solver`.
        max_states: budget of one position, as for `mine_posterior`.
    """

    name = "csp"

    def __init__(self, tie_break: str = "random", max_states: int = MAX_STATES) -> None:
        super().__init__(tie_break)
        self.max_states = max_states

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`. Every undecided cell has the mines left over the undecided cells."""
        probabilities = mine_posterior(views, num_mines, max_states=self.max_states, over_budget="density")
        is_undecided = (probabilities > 0.0) & (probabilities < 1.0)
        left = num_mines - ((views == MINE) | (probabilities == 1.0)).sum(axis=(1, 2))
        share = left / np.maximum(is_undecided.sum(axis=(1, 2)), 1)
        share = np.clip(share, _MARGIN, 1 - _MARGIN)  # past the budget the total may be impossible
        return np.where(is_undecided, share[:, None, None], probabilities)
