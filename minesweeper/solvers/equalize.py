"""Equalised estimates: every number shares its mines out evenly, then the shares are rescaled until they agree.

    1. Single-point rules to a fixpoint, and the mine total if no mine or nothing but mines are left (rules 1 to 3 of
       `single_point`): only these are proofs. The cells they decide leave the problem.
    2. A number that needs m mines among k undecided neighbours gives each of them m / k. A cell that several numbers
       see gets 1 - (1 - m1 / k1)(1 - m2 / k2)...
    3. Number after number, the probabilities of its undecided neighbours are multiplied by one factor that makes them
       sum to m, and cut off at `_MARGIN` from 0 and 1. Rounds over all numbers (in the order in which a scan of the
       undecided cells meets them) go on until no probability has moved by more than `_TOLERANCE` since the round
       before, or for `_MAX_ROUNDS`.
    4. A cell beside no number gets the mines that the others leave over, divided by the number of such cells, cut off
       likewise.
    5. The cell of lowest probability is opened.

Step 3 is iterative proportional fitting. It converges, but only slowly (as 1 / rounds) where the numbers together force
a cell to 0 or 1, and not quite to sums that agree where the cut-off is in the way; the last round is then the answer.

Source: "Algorithms of a bot for Minesweeper" (in Russian), habr.com/ru/articles/211188, 2014. We differ: it first
splits groups that contain each other, which proves more; it rescales until all sums are within 0.01 (for ever, if they
never are) and cuts off at .99 in the end.
"""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.frontier import fill_field, make_boxes, new_field, single_point
from minesweeper.kernels import kernel
from minesweeper.posterior import proved_by_single_point
from minesweeper.solvers.single_point import shares
from minesweeper.solvers.singles_first import SinglesFirst

_TOLERANCE = 1e-4
_MAX_ROUNDS = 200
_MARGIN = 1e-3


class EqualizeSolver(SinglesFirst):
    """Approximate probabilities that meet the numbers one by one; see the module."""

    name = "equalize"

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`.

        Raises:
            InconsistentViewError: as `single_point`.
        """
        known = proved_by_single_point(views, num_mines)
        probabilities = shares(views, known, num_mines)
        mines = np.full(len(views), num_mines, np.int64)
        _estimate_each(np.where(views == HIDDEN, known, views), mines, probabilities)
        return probabilities


@kernel
def _estimate_each(views, num_mines, probabilities):
    """Steps 2 to 4, for the `probabilities` strictly between 0 and 1; `views` have `SAFE` and `MINE` where proved."""
    num_games, rows, cols = views.shape
    width = cols + 2
    field, need, unknown, stack = new_field(rows, cols)
    for game in range(num_games):
        fill_field(views[game], field)
        single_point(field, width, need, unknown, stack)  # for need and unknown; it has nothing left to decide
        boxes, num_boxes, num_clues, num_interior = make_boxes(field, width)
        box_probability = _equalised(boxes, num_boxes, num_clues, need, unknown)
        left = float(num_mines[game])
        for cell in range(field.size):
            left -= field[cell] == MINE
        for box in range(num_boxes):
            left -= boxes.size[box] * box_probability[box]
        interior = _inside(left / num_interior)
        for row in range(rows):
            for col in range(cols):
                if 0.0 < probabilities[game, row, col] < 1.0:
                    box = boxes.cell_box[(row + 1) * width + col + 1]
                    probabilities[game, row, col] = interior if box < 0 else box_probability[box]


@kernel
def _equalised(boxes, num_boxes, num_clues, need, unknown):
    """Steps 2 and 3, a box at a time: its cells see the same numbers, so they have the same probability."""
    probability = np.empty(num_boxes)
    for box in range(num_boxes):
        none = 1.0
        for k in range(boxes.degree[box]):
            clue = boxes.clue_cell[boxes.clues[box, k]]
            none *= 1.0 - need[clue] / unknown[clue]
        probability[box] = _inside(1.0 - none)
    before = np.empty(num_boxes)
    for _ in range(_MAX_ROUNDS):
        for box in range(num_boxes):
            before[box] = probability[box]
        for clue in range(num_clues):
            total = 0.0
            for k in range(boxes.clue_degree[clue]):
                box = boxes.clue_boxes[clue, k]
                total += boxes.size[box] * probability[box]
            factor = need[boxes.clue_cell[clue]] / total
            for k in range(boxes.clue_degree[clue]):
                box = boxes.clue_boxes[clue, k]
                probability[box] = _inside(probability[box] * factor)
        largest_move = 0.0
        for box in range(num_boxes):
            largest_move = max(largest_move, abs(probability[box] - before[box]))
        if largest_move <= _TOLERANCE:
            break
    return probability


@kernel
def _inside(probability):
    return min(max(probability, _MARGIN), 1.0 - _MARGIN)
