"""Constraint satisfaction: opens what the numbers and the mine total prove together, otherwise a random cell.

    1. A hidden cell is safe if no layout of the mines that fits the view has a mine there.
    2. It is a mine if no layout that fits the view lacks one there.
    3. All safe cells are opened. If there are none, a random one of the cells that are no proved mines is opened: each
       has the same estimate, the mines left over the undecided cells.

Rules 1 and 2 find what testing the view for consistency cell by cell finds (the problem of R. Kaye, "Minesweeper is
NP-complete", 2000; here with the mine total): put a mine into the cell, and if nothing fits, it is safe; put each
number 0..8 into it, and if nothing fits any of them, it is a mine. We don't search for each cell and value: the exact
posterior (`minesweeper.posterior`) is 0 or 1 for just these cells, and decides that by structure, not by rounding.
Tests run the search itself on small boards. Past the state budget (artificial boards) fewer cells are proved, and none
wrongly.
"""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.frontier import SAFE
from minesweeper.posterior import MAX_STATES, check_max_states, mine_posterior
from minesweeper.solvers.single_point import shares
from minesweeper.solvers.singles_first import SinglesFirst


class CspSolver(SinglesFirst):
    """Proves all that can be proved, and has no probabilities for the rest.

    Args:
        tie_break: see `Solver`.
        max_states: budget of one position, see `mine_posterior`; past it, its `over_budget="density"` proves less.
    """

    name = "csp"

    def __init__(self, tie_break: str = "random", max_states: int = MAX_STATES) -> None:
        super().__init__(tie_break)
        check_max_states(max_states)
        self.max_states = max_states

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`.

        Raises:
            InconsistentViewError: no layout fits a view.
        """
        posterior = mine_posterior(views, num_mines, max_states=self.max_states, over_budget="density")
        known = np.full(views.shape, HIDDEN, np.int8)
        known[posterior == 0.0] = SAFE
        known[posterior == 1.0] = MINE
        return shares(views, known, num_mines)
