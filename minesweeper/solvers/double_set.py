"""Double-set single point (DSSP): a set of safe cells to open, and a set of numbers that still hold information.

The algorithm plays one game with two sets and marks on mines:
    S  cells to open.   Q  opened numbers with undecided neighbours.
    1. While S has a cell: open it. If all its neighbours are free (AFN: as many marked as its number says), its hidden
       unmarked neighbours join S; otherwise it joins Q.
    2. All mines (AMN): each number of Q with as many hidden neighbours as it says has them marked, and leaves Q.
    3. All free (AFN): each number of Q with as many marked neighbours as it says sends the others to S, and leaves Q.
    4. If S is empty: a random hidden cell that is not marked joins S. Go to 1.

Here the view is all the memory. A number that left Q has its neighbours marked, opened or in S, and both rules find
them again: marking changes no number's hidden neighbours, so one pass of AMN, then one of AFN, over all numbers of the
view gives the marks and S. All of S is opened at once, in reading order; the order changes nothing that is opened.

Against `single_point`: the rules are the same, but a cell of S counts as hidden until it is opened, so a view can have
fewer proofs here than at that solver's fixpoint. Once S is used up there is no difference: both stop at the same view
with the same marks, and draw from the same cells. So the chance to win is the same; DSSP needs more rounds and less
thought in each. It differs from the *naive* single point of the same thesis, which keeps no Q and guesses more.

Source: Becerra, "Algorithmic Approaches to Playing Minesweeper", Harvard thesis (2015), section 5.3. Ours: estimates
for the undecided cells, with the total as a proof when it leaves none or only mines (see `single_point.shares`).
"""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.counting import CONTRADICTION
from minesweeper.frontier import SAFE, fill_field, neighbour_offsets
from minesweeper.kernels import kernel
from minesweeper.posterior import checked_views, raise_fault
from minesweeper.solvers.base import Solver
from minesweeper.solvers.single_point import shares


class DoubleSetSolver(Solver):
    """Plays by the two sets, with random cells in between."""

    name = "double_set"

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`: 0.0 in S, 1.0 for marks, and the share of the remaining mines elsewhere.

        Raises:
            InconsistentViewError: a number cannot be met, or the total of mines leaves too many or too few.
        """
        return shares(views, safe_set_and_marks(views, num_mines), num_mines)


def safe_set_and_marks(views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.int8]:
    """Steps 2 and 3: the cells that the algorithm has marked and those it would open.

    Args:
        views: int8 [N, R, C].
        num_mines: integer, or integers [N]; only checked.

    Returns:
        int8 [N, R, C]: `MINE` for marks, `SAFE` for S, `HIDDEN` for other hidden cells, 0 where revealed.

    Raises:
        ValueError: a shape, type or value that does not fit.
        InconsistentViewError: a number has too few hidden neighbours, or too many marked ones.
    """
    views, mines = checked_views(views, num_mines)
    known = np.empty(views.shape, np.int8)
    game, where = _sets_each(views, known)
    if game >= 0:
        raise_fault(views, mines, 0, game, CONTRADICTION, where, 0, 0)
    return known


@kernel
def _sets_each(views, known):
    """Fills `known`; returns (-1, -1), or the first game that is wrong and the number, as a cell of its field."""
    num_games, rows, cols = views.shape
    width = cols + 2
    field = np.empty((rows + 2) * width, np.int8)
    decisions = np.empty_like(field)
    for game in range(num_games):
        where = fill_field(views[game], field)
        if where < 0:
            where = _mark_and_free(field, width, decisions)
        if where >= 0:
            return game, where
        for row in range(rows):
            for col in range(cols):
                cell = (row + 1) * width + col + 1
                known[game, row, col] = decisions[cell] if field[cell] == HIDDEN else 0
    return -1, -1


@kernel
def _mark_and_free(field, width, decisions):
    """Writes the marks and S of one field into `decisions`; returns -1, or the first number that cannot be met."""
    offsets = neighbour_offsets(width)
    decisions[:] = field
    for cell in range(width + 1, field.size - width - 1):
        if field[cell] < 0:
            continue
        hidden = 0
        for k in range(8):
            value = field[cell + offsets[k]]
            hidden += value in (HIDDEN, MINE)
        if hidden < field[cell]:
            return cell
        if hidden == field[cell]:
            for k in range(8):
                if field[cell + offsets[k]] == HIDDEN:
                    decisions[cell + offsets[k]] = MINE
    for cell in range(width + 1, field.size - width - 1):
        if field[cell] < 0:
            continue
        marked = 0
        for k in range(8):
            marked += decisions[cell + offsets[k]] == MINE
        if marked > field[cell]:
            return cell
        if marked == field[cell]:
            for k in range(8):
                if decisions[cell + offsets[k]] == HIDDEN:
                    decisions[cell + offsets[k]] = SAFE
    return -1
