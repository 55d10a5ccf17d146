"""The end of a game played out exactly: the move tree over all layouts that are left.

Opening a cell that is safe in every layout left costs nothing, so all of these are opened first. Then what is known is
just which layouts are left, whatever the order of the moves; so a set of layouts has one value: in how many of them the
game is won by best play. It is the best over the cells of the sum, over the numbers the cell may show, of the value of
the layouts that show it. Values are kept by a 64-bit hash of the set.
"""

import numpy as np

from minesweeper.board import HIDDEN, MINE, mix
from minesweeper.frontier import fill_field, make_boxes, neighbour_offsets, new_field, single_point
from minesweeper.kernels import kernel

GAVE_UP = -1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def endgame_values(view, num_mines, max_layouts, max_sets, values):
    """For each hidden cell, in how many of the layouts left the game is won if it is opened now and then played best.

    Args:
        view: int8 [R, C], at least one layout fits.
        num_mines: mines on the board.
        max_layouts: gives up if there are more layouts.
        max_sets: gives up after this many sets of layouts.
        values: float64 [R, C], out: NaN where revealed.

    Returns:
        The number of layouts, or `GAVE_UP`.
    """
    rows, cols = view.shape
    width = cols + 2
    field, need, unknown, stack = new_field(rows, cols)
    fill_field(view, field)
    if single_point(field, width, need, unknown, stack) >= 0:
        return GAVE_UP
    cells = _undecided(field, width)
    left = num_mines - (field == MINE).sum()
    layouts = _enumerate(field, width, need, unknown, cells, left, max_layouts)
    if layouts.shape[0] == 0:
        return GAVE_UP
    numbers = _numbers(field, width, cells, layouts)
    wins = np.empty(cells.size, np.int64)
    if not _play_out(layouts, numbers, max_sets, wins):
        return GAVE_UP
    values[:] = np.nan
    for row in range(rows):
        for col in range(cols):
            if view[row, col] == HIDDEN:
                values[row, col] = 0.0 if field[(row + 1) * width + col + 1] == MINE else layouts.shape[0]
    for i in range(cells.size):
        values[cells[i] // width - 1, cells[i] % width - 1] = wins[i]
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
def _play_out(layouts, numbers, max_sets, values):
    """Writes to `values` int64 [cells] in how many layouts opening each cell first wins; False if out of budget.

    A depth-first search with its own stack (Numba cannot keep recursive kernels on disk). A frame is a set of layouts,
    a piece of `pool`, cut into parts by `label`: by what the frame's current cell shows, or, in a frame that `splits`,
    by what all its safe cells show. The parts become frames in turn, and their values are added up.
    """
    num_layouts, num_cells = layouts.shape
    depth = 2 * num_cells + 3
    pool = np.empty(4 * num_layouts + 16, np.int64)
    label = np.empty(pool.size, np.int64)  # part of each member; -1: lost by this cell
    start = np.zeros(depth, np.int64)
    size = np.zeros(depth, np.int64)
    key = np.zeros(depth, np.uint64)
    splits = np.zeros(depth, np.bool_)
    order = np.zeros((depth, num_cells), np.int64)  # cells by the number of layouts that mine them
    mines = np.zeros((depth, num_cells), np.int64)
    candidate = np.zeros(depth, np.int64)  # place in `order`
    part = np.zeros(depth, np.int64)  # the next part
    num_parts = np.zeros(depth, np.int64)
    total = np.zeros(depth, np.int64)
    best = np.zeros(depth, np.int64)
    shown = np.empty(num_layouts, np.uint64)
    table_keys = np.zeros(1024, np.uint64)
    table_values = np.empty(1024, np.int64)
    num_known = 0

    pool[:num_layouts] = np.arange(num_layouts)
    size[0] = num_layouts
    order[0] = np.arange(num_cells)
    candidate[0] = -1
    frame = 0
    returned = np.int64(-1)  # value of the part just finished; -1: none
    while True:
        if returned >= 0:
            total[frame] += returned
            returned = np.int64(-1)

        # 1. All parts done: the cell's value is known; go on with the next cell, or the frame is done.
        if part[frame] == num_parts[frame]:
            is_root = frame == 0
            if candidate[frame] >= 0:
                if is_root:
                    values[order[0, candidate[0]]] = total[0]
                best[frame] = max(best[frame], total[frame])
            candidate[frame] += 1
            while not (is_root or splits[frame]) and candidate[frame] < num_cells:
                lost = mines[frame, order[frame, candidate[frame]]]
                if lost > 0 and size[frame] - lost > best[frame]:
                    break
                candidate[frame] += 1  # opened already, or no better even if all went well
            if candidate[frame] == num_cells or splits[frame]:
                if is_root:
                    return True
                place = _place_of(key[frame], table_keys)
                table_keys[place] = key[frame]
                table_values[place] = best[frame]
                num_known += 1
                if 2 * num_known > table_keys.size:
                    table_keys, table_values = _larger(table_keys, table_values)
                returned = best[frame]
                frame -= 1
                continue
            cell = order[frame, candidate[frame]]
            for j in range(start[frame], start[frame] + size[frame]):
                label[j] = -1 if layouts[pool[j], cell] else numbers[pool[j], cell]
            total[frame] = 0
            part[frame] = 0
            num_parts[frame] = 9

        # 2. The next part, copied behind its parent.
        begin = start[frame] + size[frame]
        if begin + size[frame] > pool.size:
            pool = _longer(pool)
            label = _longer(label)
        count = 0
        part_key = np.uint64(0)
        for j in range(start[frame], begin):
            if label[j] == part[frame]:
                pool[begin + count] = pool[j]
                part_key += mix(np.uint64(pool[j] + 1) * _GOLDEN)
                count += 1
        part[frame] += 1
        if count <= 1:
            returned = np.int64(count)
            continue
        part_key |= np.uint64(1)  # zero marks a free place
        place = _place_of(part_key, table_keys)
        if table_keys[place] == part_key:
            returned = table_values[place]
            continue
        max_sets -= 1
        if max_sets < 0:
            return False

        # 3. A new frame. Cells that are safe in all its layouts are opened; do their numbers tell layouts apart?
        frame += 1
        start[frame] = begin
        size[frame] = count
        key[frame] = part_key
        best[frame] = 0
        total[frame] = 0
        part[frame] = 0
        num_parts[frame] = 0
        candidate[frame] = -1
        mines[frame] = 0
        for j in range(begin, begin + count):
            for i in range(num_cells):
                mines[frame, i] += layouts[pool[j], i]
        shown[:count] = 0
        for i in range(num_cells):
            if mines[frame, i] == 0:
                for j in range(count):
                    shown[j] = mix(shown[j] + np.uint64(numbers[pool[begin + j], i]) + _GOLDEN)
        different = 0
        for j in range(count):
            label[begin + j] = -1
        for j in range(count):
            if label[begin + j] < 0:
                for other in range(j, count):
                    if shown[other] == shown[j]:
                        label[begin + other] = different
                different += 1
        splits[frame] = different > 1
        if splits[frame]:
            num_parts[frame] = different
            candidate[frame] = 0
        else:
            order[frame] = np.argsort(mines[frame])


@kernel
def _place_of(key, table_keys):
    """Where `key` is in the hash table, or the free place for it."""
    place = np.int64(key >> np.uint64(1)) & (table_keys.size - 1)
    while table_keys[place] != 0 and table_keys[place] != key:
        place = (place + 1) & (table_keys.size - 1)
    return place


@kernel
def _larger(table_keys, table_values):
    keys = np.zeros(2 * table_keys.size, np.uint64)
    values = np.empty(keys.size, np.int64)
    for i in range(table_keys.size):
        if table_keys[i] != 0:
            place = _place_of(table_keys[i], keys)
            keys[place] = table_keys[i]
            values[place] = table_values[i]
    return keys, values


@kernel
def _longer(array):
    longer = np.empty(2 * array.size, array.dtype)
    longer[: array.size] = array
    return longer
