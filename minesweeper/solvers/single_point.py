"""Single-point rules: opens what one number at a time proves safe, otherwise a random cell.

The rules, repeated until nothing more follows (`frontier.single_point`):
    1. A number that has all its mines: its other hidden neighbours are safe.
    2. A number that needs as many mines as it has undecided neighbours: they are mines.
    3. The total: when no mine is left, every undecided cell is safe; when only mines are left, each is one.
    4. Otherwise each undecided cell has the same estimate, the share of the remaining mines among the undecided cells,
       and the move is a random one of them.

Source: rules 1 and 2 as "single point" in Studholme, "Minesweeper as a Constraint Satisfaction Problem" (2000). There a
cell waits its turn and a number is looked at once; here all numbers are used to the fixpoint, and a cell proved safe
counts as safe for other numbers before it is opened. Rule 3 is ours; it changes no win, only what is called a guess.
"""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.frontier import SAFE
from minesweeper.kernels import kernel
from minesweeper.posterior import IMPOSSIBLE_TOTAL, checked_views, proved_by_single_point, raise_fault
from minesweeper.solvers.base import Solver


class SinglePointSolver(Solver):
    """Plays by single numbers, with random cells in between."""

    name = "single_point"

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`.

        Raises:
            InconsistentViewError: a number cannot be met, or the total of mines leaves too many or too few. Views that
                contradict themselves in subtler ways are not noticed.
        """
        return shares(views, proved_by_single_point(views, num_mines), num_mines)


def shares(views: NDArray[np.int8], known: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
    """Rules 3 and 4: the probabilities when the `known` cells are decided and all others are alike.

    Args:
        views: int8 [N, R, C].
        known: int8 [N, R, C], of the hidden cells: `SAFE`, `MINE`, or `HIDDEN` for the undecided ones.
        num_mines: integer, or integers [N].

    Returns:
        float64 [N, R, C], NaN where revealed.

    Raises:
        InconsistentViewError: the undecided cells cannot hold the mines that are left.
    """
    views, mines = checked_views(views, num_mines)
    probabilities = np.empty(views.shape)
    game, low, high = _shares(views, known, mines, probabilities)
    if game >= 0:
        raise_fault(views, mines, 0, game, IMPOSSIBLE_TOTAL, -1, low, high)
    return probabilities


@kernel
def _shares(views, known, num_mines, probabilities):
    """Fills `probabilities`; returns (-1, 0, 0), or the first game that is wrong and the mines that it could have."""
    num_games, rows, cols = views.shape
    for game in range(num_games):
        undecided = 0
        mines = 0
        for row in range(rows):
            for col in range(cols):
                value = views[game, row, col]
                undecided += value == HIDDEN and known[game, row, col] == HIDDEN
                mines += value == MINE or (value == HIDDEN and known[game, row, col] == MINE)
        left = num_mines[game] - mines
        if not 0 <= left <= undecided:
            return game, mines, mines + undecided
        share = left / max(undecided, 1)
        for row in range(rows):
            for col in range(cols):
                probability = np.nan
                if views[game, row, col] == HIDDEN:
                    decision = known[game, row, col]
                    probability = 0.0 if decision == SAFE else 1.0 if decision == MINE else share
                probabilities[game, row, col] = probability
    return -1, 0, 0
