"""The end of a game played out exactly: the move tree over all layouts that are left.

Opening a cell that is safe in every layout left costs nothing, so all of these are opened first. Then what is known is
just which layouts are left, whatever the order of the moves; so a set of layouts has one value: in how many of them the
game is won by best play. It is the best over the cells of the sum, over the numbers the cell may show, of the value of
the layouts that show it. Values are kept by a 64-bit hash of the set; what cannot be better than what is known is left.

One file, since the search makes sense only with what it is given.
"""

import numpy as np

from minesweeper.board import HIDDEN, MINE, mix
from minesweeper.frontier import fill_field, make_boxes, neighbour_offsets, new_field, single_point
from minesweeper.kernels import kernel

GAVE_UP = -1
_MINED = 9
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def endgame_values(view, num_mines, max_layouts, max_sets, finds_all, values):
    """For each hidden cell, in how many of the layouts left the game is won if it is opened now and then played best.

    Args:
        view: int8 [R, C], at least one layout fits.
        num_mines: mines on the board.
        max_layouts: gives up if there are more layouts.
        max_sets: gives up after this many sets of layouts.
        finds_all: whether the values of all cells are wanted, not of the best alone; then the others are less.
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
    wins = np.empty(cells.size, np.int64)
    if not _play_out(_shown(field, width, cells, layouts), max_sets, finds_all, wins):
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
def _shown(field, width, cells, layouts):
    """uint8 [L, cells]: in each layout, the undecided mines around each cell (the decided ones tell nothing apart), or
    `_MINED`."""
    at = np.full(field.size, -1, np.int64)
    for i in range(cells.size):
        at[cells[i]] = i
    offsets = neighbour_offsets(width)
    shown = np.zeros(layouts.shape, np.uint8)
    for i in range(cells.size):
        for k in range(8):
            other = at[cells[i] + offsets[k]]
            if other >= 0:
                for layout in range(layouts.shape[0]):
                    shown[layout, i] += layouts[layout, other]
    for layout in range(layouts.shape[0]):
        for i in range(cells.size):
            if layouts[layout, i]:
                shown[layout, i] = _MINED
    return shown


@kernel
def _play_out(shown, max_sets, finds_all, values):
    """Writes to `values` int64 [cells] in how many layouts opening each cell first wins; False if out of budget.

    A depth-first search with its own stack (Numba cannot keep recursive kernels on disk). A frame is a set of layouts,
    a piece of `pool`. It is cut into parts by what one of its cells shows, or, if it `splits`, by what all its safe
    cells show; the parts are put behind it, one after the other, become frames in turn, and their values are added up.

    A frame matters only if its value is more than `needed`, which follows from the best cell of the frame above; as
    soon as that is out of reach, the cell or the whole frame is left.

    Args:
        shown: uint8 [L, cells], what each cell shows in each layout; `_MINED`: a mine.
        max_sets, finds_all: as in `endgame_values`.
    """
    num_layouts, num_cells = shown.shape
    depth = 2 * num_cells + 3
    pool = np.empty(4 * num_layouts + 16, np.int64)
    label = np.empty(pool.size, np.int64)  # the part of each member
    start = np.zeros(depth, np.int64)
    size = np.zeros(depth, np.int64)
    cursor = np.zeros(depth, np.int64)  # where the next part starts
    stop = np.zeros(depth, np.int64)  # and the last one ends
    key = np.zeros(depth, np.uint64)
    splits = np.zeros(depth, np.bool_)
    order = np.zeros((depth, num_cells), np.int64)  # undecided cells by the number of layouts that mine them
    num_open = np.zeros(depth, np.int64)  # of these cells
    lost = np.zeros((depth, num_cells), np.int64)  # layouts that mine each
    candidate = np.zeros(depth, np.int64)  # place in `order`
    left = np.zeros(depth, np.int64)  # layouts of the parts that are still to come
    total = np.zeros(depth, np.int64)
    best = np.zeros(depth, np.int64)
    needed = np.full(depth, -1, np.int64)
    signs = np.empty(num_layouts, np.uint64)
    counts = np.empty(max(num_layouts, _MINED) + 1, np.int64)
    table_keys = np.zeros(1024, np.uint64)
    table_values = np.empty(1024, np.int64)  # of a set; -1 - x: at most x
    num_known = 0

    pool[:num_layouts] = np.arange(num_layouts)
    size[0] = num_layouts
    num_open[0] = num_cells
    for i in range(num_cells):
        lost[0, i] = (shown[:, i] == _MINED).sum()
    order[0] = np.argsort(lost[0])
    candidate[0] = -1
    frame = 0
    returned = np.int64(-1)  # value of the part just finished; -1: none
    while True:
        is_root = frame == 0
        if returned >= 0:
            total[frame] += returned
            returned = np.int64(-1)

        # 1. All parts done: the cell's value is known; go on with the next cell, or the frame is done.
        if cursor[frame] == stop[frame]:
            if candidate[frame] >= 0:
                if is_root:
                    is_known = finds_all or total[0] > best[0]
                    values[order[0, candidate[0]]] = total[0] if is_known else 0
                best[frame] = max(best[frame], total[frame])
            candidate[frame] += 1
            bound = max(best[frame], needed[frame])
            while not (is_root and finds_all) and not splits[frame] and candidate[frame] < num_open[frame]:
                cell = order[frame, candidate[frame]]
                if size[frame] - lost[frame, cell] > bound:
                    break
                if is_root:
                    values[cell] = 0
                candidate[frame] += 1  # no better even if all went well
            if splits[frame] or candidate[frame] == num_open[frame]:
                if is_root:
                    return True
                place = _place_of(key[frame], table_keys)
                num_known += table_keys[place] == 0
                table_keys[place] = key[frame]
                table_values[place] = best[frame] if best[frame] > needed[frame] else -1 - needed[frame]
                if 2 * num_known > table_keys.size:
                    table_keys, table_values = _larger(table_keys, table_values)
                returned = best[frame]
                frame -= 1
                continue
            cell = order[frame, candidate[frame]]
            for j in range(start[frame], start[frame] + size[frame]):
                label[j] = shown[pool[j], cell]
            behind = size[0] if is_root else stop[frame - 1]
            if behind + size[frame] > pool.size:
                pool, label = _longer(pool), _longer(label)
            cursor[frame] = behind
            stop[frame] = _sort(pool, label, start[frame], size[frame], behind, _MINED, counts)
            total[frame] = 0
            left[frame] = size[frame] - lost[frame, cell]

        # 2. Without hope the cell is left.
        bound = needed[frame] if splits[frame] else max(needed[frame], best[frame])
        if is_root and finds_all:
            bound = np.int64(-1)
        if total[frame] + left[frame] <= bound:
            cursor[frame] = stop[frame]
            total[frame] = 0
            continue

        # 3. The next part, and what it must win.
        begin = cursor[frame]
        end = begin
        part_key = np.uint64(0)
        while end < stop[frame] and label[end] == label[begin]:
            part_key += mix(np.uint64(pool[end] + 1) * _GOLDEN)
            end += 1
        part_key |= np.uint64(1)  # zero marks a free place
        count = end - begin
        cursor[frame] = end
        left[frame] -= count
        if count <= 1:
            returned = count
            continue
        wanted = max(bound - total[frame] - left[frame], -1)
        place = _place_of(part_key, table_keys)
        if table_keys[place] == part_key:
            known = table_values[place]
            if known >= 0:
                returned = known
                continue
            if -1 - known <= wanted:
                returned = -1 - known
                continue
        max_sets -= 1
        if max_sets < 0:
            return False

        # 4. A new frame. Cells that are safe in all its layouts are opened; do their numbers tell layouts apart?
        above = frame
        frame += 1
        start[frame] = begin
        size[frame] = count
        key[frame] = part_key
        needed[frame] = wanted
        best[frame] = 0
        total[frame] = 0
        cursor[frame] = 0
        stop[frame] = 0
        candidate[frame] = -1
        num_open[frame] = 0
        signs[:count] = 0
        is_any_safe = False
        for k in range(num_open[above]):
            cell = order[above, k]
            mines = 0
            for j in range(begin, end):
                mines += shown[pool[j], cell] == _MINED
            if mines == 0:
                is_any_safe = True
                for j in range(count):
                    signs[j] = mix(signs[j] + np.uint64(shown[pool[begin + j], cell]) + _GOLDEN)
            elif mines < count:
                lost[frame, cell] = mines
                place = num_open[frame]
                while place > 0 and lost[frame, order[frame, place - 1]] > mines:
                    order[frame, place] = order[frame, place - 1]
                    place -= 1
                order[frame, place] = cell
                num_open[frame] += 1
        different = _label_equal(signs[:count], label[begin:end]) if is_any_safe else 1
        splits[frame] = different > 1
        if splits[frame]:
            candidate[frame] = 0
            left[frame] = count
            behind = stop[above]
            if behind + count > pool.size:
                pool, label = _longer(pool), _longer(label)
            cursor[frame] = behind
            stop[frame] = _sort(pool, label, begin, count, behind, different, counts)


@kernel
def _label_equal(signs, label):
    """Writes to `label` the same number, from 0 up, where `signs` are the same; returns how many there are."""
    different = 0
    label[:] = -1
    for j in range(signs.size):
        if label[j] < 0:
            for other in range(j, signs.size):
                if signs[other] == signs[j]:
                    label[other] = different
            different += 1
    return different


@kernel
def _sort(pool, label, start, size, target, num_parts, counts):
    """Copies the members of a piece to `target`, part after part, but for those with the label `num_parts`.

    Returns:
        Where the copies end.
    """
    counts[: num_parts + 1] = 0
    for j in range(start, start + size):
        counts[label[j]] += 1
    end = target
    for part in range(num_parts):
        count = counts[part]
        counts[part] = end
        end += count
    for j in range(start, start + size):
        part = label[j]
        if part < num_parts:
            pool[counts[part]] = pool[j]
            label[counts[part]] = part
            counts[part] += 1
    return end


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
