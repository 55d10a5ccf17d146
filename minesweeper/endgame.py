"""The end of a game played out exactly: the move tree over all layouts that are left.

Opening a cell that is safe in every layout left costs nothing, so all of these are opened first. Then what is known is
just which layouts are left, whatever the order of the moves; so a set of layouts has one value: in how many of them the
game is won by best play. It is the best over the cells of the sum, over the numbers the cell may show, of the value of
the layouts that show it. Values are kept by a 64-bit hash of the set.
"""

import numpy as np
from numba import types
from numba.typed import Dict

from minesweeper.board import HIDDEN, MINE, mix
from minesweeper.frontier import fill_field, make_boxes, neighbour_offsets, single_point
from minesweeper.kernels import kernel

GAVE_UP = -1


@kernel
def endgame_values(view, num_mines, max_layouts, max_nodes, values):
    """For each hidden cell, in how many of the layouts left the game is won if it is opened now and then played best.

    Args:
        view: int8 [R, C], at least one layout fits.
        num_mines: mines on the board.
        max_layouts: gives up if there are more layouts.
        max_nodes: gives up after this many sets of layouts.
        values: float64 [R, C], out: NaN where revealed.

    Returns:
        The number of layouts, or `GAVE_UP`.
    """
    rows, cols = view.shape
    width = cols + 2
    field = np.empty((rows + 2) * width, np.int8)
    need = np.empty_like(field)
    unknown = np.empty_like(field)
    stack = np.empty(field.size, np.int32)
    fill_field(view, field)
    if single_point(field, width, need, unknown, stack) >= 0:
        return GAVE_UP
    cells = _undecided(field, width)
    left = num_mines - (field == MINE).sum()
    layouts = _enumerate(field, width, need, unknown, cells, left, max_layouts)
    if layouts.shape[0] == 0:
        return GAVE_UP
    numbers = _numbers(field, width, cells, layouts)
    keys = np.empty(layouts.shape[0], np.uint64)
    for i in range(keys.size):
        keys[i] = mix(np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15))
    known = Dict.empty(types.uint64, types.int64)
    budget = np.array([max_nodes], np.int64)
    everything = np.arange(layouts.shape[0])

    values[:] = np.nan
    for row in range(rows):
        for col in range(cols):
            if view[row, col] == HIDDEN:
                values[row, col] = 0.0 if field[(row + 1) * width + col + 1] == MINE else layouts.shape[0]
    for i in range(cells.size):
        value = _value_of(everything, i, layouts, numbers, keys, known, budget)
        if value < 0:
            return GAVE_UP
        values[cells[i] // width - 1, cells[i] % width - 1] = value
    return layouts.shape[0]


@kernel
def _undecided(field, width):
    """The undecided cells, in the order of a sweep over the boxes so that clues close early; the interior last."""
    boxes, num_boxes, _, num_interior = make_boxes(field, width)
    total = num_interior
    for box in range(num_boxes):
        total += boxes.size[box]
    cells = np.empty(total, np.int64)
    size = 0
    for interior in range(2):
        for cell in range(field.size):
            if field[cell] == HIDDEN and (boxes.cell_box[cell] < 0) == (interior == 1):
                cells[size] = cell
                size += 1
    return cells


@kernel
def _enumerate(field, width, need, unknown, cells, num_mines, max_layouts):
    """All layouts of `num_mines` mines on the cells that meet the clues: bool [L, cells]; L = 0 if too many."""
    offsets = neighbour_offsets(width)
    need = need.copy()
    unknown = unknown.copy()
    found = np.empty((max_layouts, cells.size), np.bool_)
    num_found = 0
    none = found[:0]
    mine = np.zeros(cells.size, np.bool_)
    tried = np.zeros(cells.size + 1, np.int64)  # 0 nothing, 1 safe, 2 a mine too
    left = num_mines
    steps = 0
    i = 0
    while i >= 0:
        steps += 1
        if steps > 1000 * (max_layouts + cells.size):
            return none
        if i == cells.size:
            if num_found == max_layouts:
                return none
            found[num_found] = mine
            num_found += 1
            i -= 1
            if i < 0:
                break
        if tried[i] > 0:  # take back what was tried last
            for k in range(8):
                clue = cells[i] + offsets[k]
                if field[clue] >= 0:
                    unknown[clue] += 1
                    need[clue] += mine[i]
            left += mine[i]
        if tried[i] == 2:
            tried[i] = 0
            mine[i] = False
            i -= 1
            continue
        mine[i] = tried[i] == 1
        tried[i] += 1
        left -= mine[i]
        fits = 0 <= left <= cells.size - i - 1
        for k in range(8):
            clue = cells[i] + offsets[k]
            if field[clue] >= 0:
                unknown[clue] -= 1
                need[clue] -= mine[i]
                fits &= 0 <= need[clue] <= unknown[clue]
        if fits:
            i += 1
            tried[i] = 0
    return found[:num_found]


@kernel
def _numbers(field, width, cells, layouts):
    """uint8 [L, cells]: in each layout, the undecided mines around each cell (the decided ones tell nothing apart)."""
    at = np.full(field.size, -1, np.int64)
    for i in range(cells.size):
        at[cells[i]] = i
    offsets = neighbour_offsets(width)
    numbers = np.zeros(layouts.shape, np.uint8)
    for i in range(cells.size):
        for k in range(8):
            other = at[cells[i] + offsets[k]]
            if other >= 0:
                for layout in range(layouts.shape[0]):
                    numbers[layout, i] += layouts[layout, other]
    return numbers


@kernel
def _value_of(members, first, layouts, numbers, keys, known, budget):
    """In how many of the layouts `members` best play wins; they are alike in all cells opened so far.

    With `first` >= 0 that cell is opened next. Negative: out of budget.
    """
    if first < 0:
        if members.size == 1:
            return 1
        key = np.uint64(0)
        for m in members:
            key += keys[m]
        if key in known:
            return known[key]
        budget[0] -= 1
        if budget[0] < 0:
            return GAVE_UP
    num_cells = layouts.shape[1]
    mines = np.zeros(num_cells, np.int64)
    for m in members:
        for i in range(num_cells):
            mines[i] += layouts[m, i]
    chosen = np.empty(members.size, np.bool_)

    # Open the cells that are safe in all; if their numbers tell layouts apart, go on with each part by itself.
    if first < 0:
        shown = np.zeros(members.size, np.uint64)
        for i in range(num_cells):
            if mines[i] == 0:
                for j in range(members.size):
                    shown[j] = mix(shown[j] * np.uint64(31) + np.uint64(numbers[members[j], i] + 1))
        if (shown != shown[0]).any():
            total = 0
            is_done = np.zeros(members.size, np.bool_)
            for j in range(members.size):
                if not is_done[j]:
                    chosen[:] = shown == shown[j]
                    is_done |= chosen
                    value = _value_of(members[chosen], -1, layouts, numbers, keys, known, budget)
                    if value < 0:
                        return GAVE_UP
                    total += value
            known[key] = total
            return total

    best = 0
    for i in np.argsort(mines):
        if (mines[i] == 0 if first < 0 else i != first) or members.size - mines[i] <= best:
            continue  # opened already, or no better even if all went well
        value = 0
        for number in range(9):
            for j in range(members.size):
                chosen[j] = not layouts[members[j], i] and numbers[members[j], i] == number
            if chosen.any():
                part = _value_of(members[chosen], -1, layouts, numbers, keys, known, budget)
                if part < 0:
                    return GAVE_UP
                value += part
        best = max(best, value)
    if first < 0:
        known[key] = best
    return best
