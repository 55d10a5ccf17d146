"""The frontier of whole batches: which cells are on it, how large its components are, and what these prove alone.

A component here is made of all frontier cells that are connected through numbers, the proved ones too: what a player
who marks nothing sees. (For counting, as in `proved_safe_locally`, what single numbers decide is taken away first.)
"""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN
from minesweeper.counting import CONTRADICTION, COUNTED, new_layers, sweep, sweep_back, weighted_ways
from minesweeper.frontier import SAFE, fill_field, find_components, make_boxes, new_field, order_boxes, single_point
from minesweeper.kernels import kernel
from minesweeper.posterior import MAX_STATES, checked_views, raise_fault


def frontier_mask(views: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Which cells are hidden and beside a number, bool [N, R, C], for views int8 [N, R, C].

    >>> frontier_mask(np.array([[[1, -2, -2]]], np.int8))
    array([[[False,  True, False]]])
    """
    is_number = np.pad(views >= 0, ((0, 0), (1, 1), (1, 1)))
    beside = is_number[:, 1:-1] | is_number[:, :-2] | is_number[:, 2:]  # [N, R, C+2], in the same column
    return (views == HIDDEN) & (beside[:, :, 1:-1] | beside[:, :, :-2] | beside[:, :, 2:])


def component_cells(views: NDArray[np.int8]) -> NDArray[np.int32]:
    """How many cells the component of each frontier cell has, int32 [N, R, C]; 0 where there is none.

    >>> component_cells(np.array([[[1, -2, -2], [1, -2, -2]]], np.int8))
    array([[[0, 2, 0],
            [0, 2, 0]]], dtype=int32)
    """
    views, _ = checked_views(views, 0)
    cells = np.zeros(views.shape, np.int32)
    _component_cells(views, cells)
    return cells


def proved_safe_locally(views: NDArray[np.int8], max_states: int = MAX_STATES) -> NDArray[np.bool_]:
    """The frontier cells that are safe whatever the total of mines is.

    These are the cells that no layout of their component gives a mine: the components share nothing but the total.

    Args:
        views: int8 [N, R, C].
        max_states: budget of one component; one past it proves no more than its single numbers do.

    Returns:
        bool [N, R, C].

    Raises:
        InconsistentViewError: a number cannot be met.
    """
    views, mines = checked_views(views, 0)
    is_safe = np.zeros(views.shape, np.bool_)
    game, where = _proved_safe_locally(views, max_states, is_safe)
    if game >= 0:
        raise_fault(views, mines, max_states, game, CONTRADICTION, where, 0, 0)
    return is_safe


@kernel
def _component_cells(views, cells):
    num_games, rows, cols = views.shape
    width = cols + 2
    field = new_field(rows, cols)[0]
    for game in range(num_games):
        fill_field(views[game], field)
        boxes, num_boxes, num_clues, _ = make_boxes(field, width)
        num_components = find_components(boxes, num_boxes, num_clues)
        box_cells = np.zeros(num_boxes, np.int32)
        for c in range(num_components):
            members = boxes.order[boxes.start[c] : boxes.start[c + 1]]
            size = 0
            for box in members:
                size += boxes.size[box]
            for box in members:
                box_cells[box] = size
        for row in range(rows):
            for col in range(cols):
                if views[game, row, col] == HIDDEN:
                    box = boxes.cell_box[(row + 1) * width + col + 1]
                    cells[game, row, col] = box_cells[box] if box >= 0 else 0


@kernel
def _proved_safe_locally(views, max_states, is_safe):
    """Fills `is_safe`; returns (-1, -1), or the first game that contradicts itself and the number at fault."""
    num_games, rows, cols = views.shape
    width = cols + 2
    field, need, unknown, stack = new_field(rows, cols)
    for game in range(num_games):
        fill_field(views[game], field)
        clue = single_point(field, width, need, unknown, stack)
        if clue >= 0:
            return game, clue
        boxes, num_boxes, num_clues, _ = make_boxes(field, width)
        clue, is_safe_box = _safe_boxes(boxes, num_boxes, num_clues, need, width, max_states)
        if clue >= 0:
            return game, boxes.clue_cell[clue]
        for row in range(rows):
            for col in range(cols):
                cell = (row + 1) * width + col + 1
                if field[cell] == SAFE:
                    is_safe[game, row, col] = True
                elif field[cell] == HIDDEN and boxes.cell_box[cell] >= 0:
                    is_safe[game, row, col] = is_safe_box[boxes.cell_box[cell]]
    return -1, -1


@kernel
def _safe_boxes(boxes, num_boxes, num_clues, need, width, max_states):
    """Which boxes no layout of their component gives a mine, bool [B], after the clue that cannot be met, or -1.

    Each component is counted as in `posterior.py`, but each of its totals weighs the same.
    """
    num_components = find_components(boxes, num_boxes, num_clues)
    order_boxes(boxes, num_components, need, width, num_boxes, num_clues)
    ways = weighted_ways(1.0)
    slot_of = np.empty(num_clues, np.int64)
    left = np.empty(num_clues, np.int64)
    probability = np.ones(num_boxes)
    for c in range(num_components):
        members = boxes.order[boxes.start[c] : boxes.start[c + 1]]
        layer = np.empty(members.size + 1, np.int32)
        table = np.full(1024, -1, np.int32)
        outcome, clue, layers, table, end, _, _ = sweep(
            members, boxes, need, ways, new_layers(), 0, 0, layer, table, slot_of, left, max_states
        )
        if outcome == CONTRADICTION:
            return clue, probability == 0.0
        if outcome == COUNTED:
            backward = np.empty(end)
            backward[layer[members.size] : end] = 1.0
            sweep_back(members, boxes, ways, layers, layer, end, backward, probability)
    return -1, probability == 0.0
