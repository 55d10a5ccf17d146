"""Counting the layouts anew after one more number, for all values of the number at once, from what does not change.

Once for a position, `begin`: each component's polynomial, and for each of its totals the chance of each box.

For a cell, `recount`: the boxes of the components that it touches are split by its number, which is one more clue. They
are swept once, with all values of the number: until its first box the states are the same for all values, then each
state is kept with what the number still needs. So before that point there is one count of the ways that lead to a state
and one for each value of the ways that go on; behind it, the other way round, for what goes on from a state depends on
what is needed, not on what was. The other components and the interior depend on the value only through the total of
these boxes, and are mixed by its weights.

What is proved is told by sets of values and totals, kept as bits, and never by a sum of floats.

One file, since its steps share the arrays of `Room` and make sense together alone. The sweep is that of `counting.py`
with a value for each number instead of one; they are apart because that one is the hot path of all solvers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.counting import (
    COUNTED,
    MAX_OPEN_CLUES,
    MINES_SHIFT,
    TINY,
    Layers,
    add_product,
    interior_weights,
    mines_used,
    new_layers,
    normalise,
    not_proved,
    scale,
    sweep,
    sweep_back,
    weighted_ways,
)
from minesweeper.frontier import (
    Boxes,
    fill_field,
    find_components,
    make_boxes,
    neighbour_offsets,
    new_boxes,
    new_field,
    order_boxes,
    single_point,
)
from minesweeper.kernels import kernel

MOST_CELLS = 1000  # undecided ones; with more, the counts would need a tilt
_MOST_CHANGED = 250  # of them in the changed boxes, so that no count overflows
_MOST_STATES = 20_000
_MOST_EDGES = 4 * _MOST_STATES
_TABLE = 1 << 16
_MOST_TOTALS = 64  # bits of a set
_VALUES = 9
_FIRST_SLOTS = 16
_HASH_1 = np.uint64(0x9E3779B97F4A7C15)
_HASH_2 = np.uint64(0xC2B2AE3D27D4EB4F)


class Parts(NamedTuple):
    """Components that were counted, for each of their totals: P parts of B boxes together."""

    first_box: NDArray[np.int64]  # [P + 1]
    first_value: NDArray[np.int64]  # [P + 1]
    least: NDArray[np.int64]  # [P] mines
    log_scale: NDArray[np.float64]  # [P]
    values: NDArray[np.float64]  # each part's polynomial, from its least mines up, over its largest value
    size: NDArray[np.int64]  # [B] cells
    share: NDArray[np.float64]  # [B, 64] the chance of a mine, given the part's total
    can_be_mine: NDArray[np.uint64]  # [B] the totals with which a cell can be a mine, as bits
    can_be_safe: NDArray[np.uint64]  # [B]


class Graph(NamedTuple):
    """The states of the changed boxes, for all values of the number."""

    word_1: NDArray[np.uint64]  # [S] as in `Layers`
    word_2: NDArray[np.uint64]  # [S]
    first_edge: NDArray[np.int32]  # [S]
    num_edges: NDArray[np.int8]  # [S]
    least: NDArray[np.int8]  # [S]
    target: NDArray[np.int32]  # [E]
    single: NDArray[np.float64]  # [S] ways that lead here before the number opens, that go on from here behind
    each: NDArray[np.float64]  # [S, 9] the others, for each value
    values: NDArray[np.int64]  # [S] the values that have any, as bits
    layer_start: NDArray[np.int64]  # [B + 1] as in `sweep`
    table: NDArray[np.int32]  # hash table, all -1 between sweeps


class Mix(NamedTuple):
    """The boxes of the parts and the interior, given the total of the changed boxes."""

    weights: NDArray[np.float64]  # [64] ways to complete each total
    chance: NDArray[np.float64]  # [B, 64]
    can_be_mine: NDArray[np.uint64]  # [B] the totals, as bits
    can_be_safe: NDArray[np.uint64]  # [B]
    size: NDArray[np.int64]  # [B]


class Found(NamedTuple):
    """What is known once the cell shows each value; the boxes beside it come first."""

    log_layouts: NDArray[np.float64]  # [9] NaN: cannot be
    size: NDArray[np.int64]  # [B]
    is_beside: NDArray[np.bool_]  # [B] the cell
    probability: NDArray[np.float64]  # [B, 9]
    interior: NDArray[np.float64]  # [9]


class Room(NamedTuple):
    """All arrays, for boards of one shape."""

    field: NDArray[np.int8]
    need: NDArray[np.int8]
    unknown: NDArray[np.int8]
    stack: NDArray[np.int32]
    ways: NDArray[np.float64]
    layers: Layers
    table: NDArray[np.int32]
    layer_start: NDArray[np.int32]
    slot_of: NDArray[np.int64]
    left: NDArray[np.int64]
    probability: NDArray[np.float64]
    part_of: NDArray[np.int64]  # of each box of the position
    beside: NDArray[np.int64]  # cells of each box of the position that are neighbours of the cell; 0 between
    place: NDArray[np.int64]  # [2, boxes of the position] in `found`: of their cells beside the cell (1) and others (0)
    place_of: NDArray[np.int64]  # in `found`, of each changed box; 0 is of the interior if any of it is beside the cell
    new_clue: NDArray[np.int32]  # of each clue of the position; -1 between
    is_changed: NDArray[np.bool_]  # parts
    changed: Boxes
    parts: Parts
    graph: Graph
    mix: Mix
    found: Found


@kernel
def new_room(rows, cols):
    field, need, unknown, stack = new_field(rows, cols)
    cells = min(field.size, MOST_CELLS) + 32  # boxes, clues and parts are no more than undecided cells
    clues = field.size + 1
    parts = Parts(
        np.zeros(2 * cells, np.int64), np.zeros(2 * cells, np.int64), np.empty(2 * cells, np.int64),
        np.empty(2 * cells), np.empty(4 * cells), np.empty(2 * cells, np.int64),
        np.empty((2 * cells, _MOST_TOTALS)), np.empty(2 * cells, np.uint64), np.empty(2 * cells, np.uint64),
    )  # fmt: skip
    graph = Graph(
        np.empty(_MOST_STATES, np.uint64), np.empty(_MOST_STATES, np.uint64), np.empty(_MOST_STATES, np.int32),
        np.empty(_MOST_STATES, np.int8), np.empty(_MOST_STATES, np.int8), np.empty(_MOST_EDGES, np.int32),
        np.empty(_MOST_STATES), np.empty((_MOST_STATES, _VALUES)), np.empty(_MOST_STATES, np.int64),
        np.empty(cells + 1, np.int64), np.full(_TABLE, -1, np.int32),
    )  # fmt: skip
    mix = Mix(
        np.empty(_MOST_TOTALS), np.empty((2 * cells, _MOST_TOTALS)), np.empty(2 * cells, np.uint64),
        np.empty(2 * cells, np.uint64), np.empty(2 * cells, np.int64),
    )  # fmt: skip
    found = Found(
        np.empty(_VALUES), np.empty(2 * cells, np.int64), np.empty(2 * cells, np.bool_),
        np.empty((2 * cells, _VALUES)), np.empty(_VALUES),
    )  # fmt: skip
    return Room(
        field, need, unknown, stack, weighted_ways(1.0), new_layers(), np.empty(1024, np.int32),
        np.empty(cells + 1, np.int32), np.empty(clues, np.int64), np.empty(clues, np.int64), np.empty(cells),
        np.empty(cells, np.int64), np.zeros(cells, np.int64), np.zeros((2, cells), np.int64),
        np.zeros(2 * cells, np.int64), np.full(clues, -1, np.int32), np.zeros(2 * cells, np.bool_),
        new_boxes(clues + 16), parts, graph, mix, found,
    )  # fmt: skip


@kernel
def begin(view, room):
    """Counts the components of a position.

    Returns:
        (whether `recount` can go on from here, boxes, parts, interior cells, mines known or proved by single numbers).
    """
    field, need = room.field, room.need
    width = view.shape[1] + 2
    is_bad = fill_field(view, field) >= 0 or single_point(field, width, need, room.unknown, room.stack) >= 0
    boxes, num_boxes, num_clues, num_interior = make_boxes(field, width)
    num_mines = (field == MINE).sum()
    if is_bad or num_interior + boxes.size[:num_boxes].astype(np.int64).sum() > MOST_CELLS:
        return False, boxes, 0, num_interior, num_mines
    num_parts = find_components(boxes, num_boxes, num_clues)
    order_boxes(boxes, num_parts, need, width, num_boxes, num_clues)
    for part in range(num_parts):
        members = boxes.order[boxes.start[part] : boxes.start[part + 1]]
        if not _count_part(part, members, boxes, room):
            return False, boxes, 0, num_interior, num_mines
        for box in members:
            room.part_of[box] = part
    return True, boxes, num_parts, num_interior, num_mines


@kernel
def _count_part(part, members, boxes, room):
    """Counts a component as the next part; returns whether that was possible."""
    parts, layer_start = room.parts, room.layer_start
    room.table[:] = -1
    outcome, _, layers, _, end, _, log_scale = sweep(
        members, boxes, room.need, room.ways, room.layers, 0, 0, layer_start, room.table, room.slot_of, room.left,
        _MOST_STATES,
    )  # fmt: skip
    if outcome != COUNTED:
        return False
    last = layer_start[members.size]
    least = mines_used(layers.word_2[last:end].min())
    length = mines_used(layers.word_2[last:end].max()) - least + 1
    if length > _MOST_TOTALS:
        return False
    first = parts.first_box[part]
    after = first + members.size
    values = parts.values[parts.first_value[part] : parts.first_value[part] + length]
    values[:] = 0.0
    parts.share[first:after, :length] = 0.0
    parts.can_be_mine[first:after] = 0
    parts.can_be_safe[first:after] = 0
    backward = np.empty(end)
    for state in range(last, end):
        total = mines_used(layers.word_2[state]) - least
        values[total] = layers.forward[state]
        backward[last:end] = 0.0
        backward[state] = 1.0
        layer = layer_start[: members.size + 1]
        sweep_back(members, boxes, room.ways, layers, layer, end, backward, room.probability)
        bit = np.uint64(1) << np.uint64(total)
        for i in range(members.size):
            probability = room.probability[members[i]]
            parts.share[first + i, total] = probability
            if probability > 0.0:
                parts.can_be_mine[first + i] |= bit
            if probability < 1.0:
                parts.can_be_safe[first + i] |= bit
    for i in range(members.size):
        parts.size[first + i] = boxes.size[members[i]]
    parts.least[part] = least
    parts.log_scale[part] = log_scale + normalise(values)
    parts.first_box[part + 1] = after
    parts.first_value[part + 1] = parts.first_value[part] + length
    return True


@kernel
def recount(cell, width, boxes, num_parts, num_interior, mines_left, room):
    """Writes into `room.found` what is known once the cell shows each number.

    Args:
        cell: of the field, undecided.
        boxes, num_parts, num_interior: from `begin`.
        mines_left: that `begin` did not know.

    Returns:
        (whether it was possible, proved mines beside the cell, boxes, interior cells). The values of `room.found` are
        of the mines beside the cell that were not proved.
    """
    found, graph, mix = room.found, room.graph, room.mix
    num_changed, num_clues, num_around, num_proved, num_interior = _split(
        cell, width, boxes, num_parts, num_interior, room
    )
    changed = room.changed
    num_cells = 0
    for box in range(num_changed):
        num_cells += changed.size[box]
    if num_cells > _MOST_CHANGED:
        return False, 0, 0, 0
    num_components = find_components(changed, num_changed, num_clues)
    order_boxes(changed, num_components, room.need, width, num_changed, num_clues)

    # Components that came off and no longer touch the cell are parts like the unchanged ones.
    order = changed.order[:0]
    num_all = num_parts
    for component in range(num_components):
        members = changed.order[changed.start[component] : changed.start[component + 1]]
        is_beside = False
        for box in members:
            is_beside |= changed.clues[box, 0] == 0
        if is_beside:
            order = members
        else:
            if not _count_part(num_all, members, changed, room):
                return False, 0, 0, 0
            room.is_changed[num_all] = False
            num_all += 1

    is_counted, opens, before_open, last, end = _sweep_values(order, num_around, room)
    if not is_counted:
        return False, 0, 0, 0
    least = mines_used(graph.word_2[last:end].min())
    length = mines_used(graph.word_2[last:end].max()) - least + 1
    if length > _MOST_TOTALS:
        return False, 0, 0, 0
    num_mixed, log_scale = _mix_parts(num_all, num_interior, mines_left, least, length, room)

    # The chance of each total of the changed boxes, given the value.
    shares = np.zeros((_VALUES, length))
    totals = np.zeros(_VALUES, np.uint64)
    for state in range(last, end):
        total = mines_used(graph.word_2[state]) - least
        graph.single[state] = mix.weights[total]
        if mix.weights[total] > 0.0:
            for value in range(num_around + 1):
                if graph.values[state] >> value & 1:
                    shares[value, total] = max(graph.each[state, value] * mix.weights[total], TINY)
                    totals[value] |= np.uint64(1) << np.uint64(total)
    for value in range(_VALUES):
        found.log_layouts[value] = np.nan
        if totals[value]:
            ways = 0.0
            for k in range(length):
                ways += shares[value, k]
            found.log_layouts[value] = np.log(ways) + log_scale
            for k in range(length):
                shares[value, k] /= ways
    if not _sweep_values_back(order, opens, before_open, num_around, room):
        return False, 0, 0, 0

    for i in range(num_mixed - (num_interior > 0)):
        found.size[order.size + i] = mix.size[i]
        found.is_beside[order.size + i] = False
    for value in range(num_around + 1):
        if not totals[value]:
            continue
        for i in range(num_mixed):
            if not mix.can_be_mine[i] & totals[value]:
                probability = 0.0
            elif not mix.can_be_safe[i] & totals[value]:
                probability = 1.0
            else:
                probability = 0.0
                for k in range(length):
                    probability += shares[value, k] * mix.chance[i, k]
                probability = not_proved(probability)
            found.probability[order.size + i, value] = probability
    _note_places(order, num_parts, num_components, boxes, room)
    num_boxes = order.size + num_mixed
    if num_interior > 0:
        num_boxes -= 1
        found.interior[:] = found.probability[num_boxes]
    return True, num_proved, num_boxes, num_interior


@kernel
def _split(cell, width, boxes, num_parts, num_interior, room):
    """Writes the boxes of the components that the cell touches into `room.changed`, with its number as clue 0.

    Returns:
        (boxes, clues, undecided neighbours, proved mines beside it, interior cells that are left).
    """
    field, beside, changed = room.field, room.beside, room.changed
    num_fresh = 0
    num_around = 0
    num_proved = 0
    room.is_changed[:num_parts] = False
    own = boxes.cell_box[cell]
    if own >= 0:
        room.is_changed[room.part_of[own]] = True
    for offset in neighbour_offsets(width):
        other = cell + offset
        num_proved += field[other] == MINE
        if field[other] != HIDDEN:
            continue
        num_around += 1
        box = boxes.cell_box[other]
        if box < 0:
            num_fresh += 1
        else:
            beside[box] += 1
            room.is_changed[room.part_of[box]] = True

    num_boxes = 0
    num_clues = 1
    changed.clue_cell[0] = cell
    changed.clue_degree[0] = 0
    room.need[cell] = num_around // 2  # for the estimate of costs only
    if num_fresh > 0:
        changed.size[0] = num_fresh
        changed.cell[0] = cell
        changed.degree[0] = 1
        changed.clues[0, 0] = 0
        changed.clue_boxes[0, 0] = 0
        changed.clue_degree[0] = 1
        num_boxes = 1
    for part in range(num_parts):
        if not room.is_changed[part]:
            continue
        for i in range(boxes.start[part], boxes.start[part + 1]):
            box = boxes.order[i]
            for is_beside in range(1, -1, -1):
                size = beside[box] if is_beside else boxes.size[box] - beside[box] - (box == own)
                if size == 0:
                    continue
                room.place[is_beside, box] = num_boxes
                changed.size[num_boxes] = size
                changed.cell[num_boxes] = boxes.cell[box]
                degree = 0
                if is_beside:
                    _add_clue(num_boxes, 0, 0, changed)
                    degree = 1
                for k in range(boxes.degree[box]):
                    clue = boxes.clues[box, k]
                    if room.new_clue[clue] < 0:
                        room.new_clue[clue] = num_clues
                        changed.clue_cell[num_clues] = boxes.clue_cell[clue]
                        changed.clue_degree[num_clues] = 0
                        num_clues += 1
                    _add_clue(num_boxes, degree, room.new_clue[clue], changed)
                    degree += 1
                changed.degree[num_boxes] = degree
                num_boxes += 1
        for i in range(boxes.start[part], boxes.start[part + 1]):
            box = boxes.order[i]
            beside[box] = 0
            for k in range(boxes.degree[box]):
                room.new_clue[boxes.clues[box, k]] = -1
    return num_boxes, num_clues, num_around, num_proved, num_interior - num_fresh - (own < 0)


@kernel
def _note_places(order, num_parts, num_components, boxes, room):
    """Where the boxes of the position are in `room.found`: the changed ones first, then the others part by part."""
    changed, place_of = room.changed, room.place_of
    for i in range(order.size):
        place_of[order[i]] = i
    num_boxes = order.size
    for part in range(num_parts):
        members = boxes.order[boxes.start[part] : boxes.start[part + 1]]
        if not room.is_changed[part]:
            for i in range(members.size):
                room.place[:, members[i]] = num_boxes + i
            num_boxes += members.size
    for component in range(num_components):
        members = changed.order[changed.start[component] : changed.start[component + 1]]
        if order.size == 0 or members[0] != order[0]:
            for i in range(members.size):
                place_of[members[i]] = num_boxes + i
            num_boxes += members.size
    for part in range(num_parts):
        if room.is_changed[part]:
            for box in boxes.order[boxes.start[part] : boxes.start[part + 1]]:
                for is_beside in range(2):
                    room.place[is_beside, box] = place_of[room.place[is_beside, box]]


@kernel
def spread_out(value, row, col, boxes, room, after):
    """Writes the probability of each cell [R, C] once the cell shows the value, after `recount` of the cell; NaN where
    revealed."""
    rows, cols = after.shape
    for r in range(rows):
        for c in range(cols):
            cell = (r + 1) * (cols + 2) + c + 1
            state = room.field[cell]
            after[r, c] = 1.0 if state == MINE else np.nan
            if state == HIDDEN and (r != row or c != col):
                box = boxes.cell_box[cell]
                is_beside = abs(r - row) <= 1 and abs(c - col) <= 1
                if box >= 0:
                    after[r, c] = room.found.probability[room.place[np.int64(is_beside), box], value]
                elif is_beside:
                    after[r, c] = room.found.probability[room.place_of[0], value]
                else:
                    after[r, c] = room.found.interior[value]


@kernel
def _add_clue(box, place, clue, boxes):
    boxes.clues[box, place] = clue
    boxes.clue_boxes[clue, boxes.clue_degree[clue]] = box
    boxes.clue_degree[clue] += 1


@kernel
def _sweep_values(order, num_around, room):
    """Sweeps the changed boxes, as `sweep` does, for all values of clue 0; it opens with a layer of its own.

    Returns:
        (whether it was possible, the step at which clue 0 opens, first state of the layer before it opens, of the last
        layer, number of states).
    """
    boxes, graph, need, left, slot_of = room.changed, room.graph, room.need, room.left, room.slot_of
    for box in order:
        for k in range(boxes.degree[box]):
            left[boxes.clues[box, k]] = -1
    free_slots = (np.int64(1) << MAX_OPEN_CLUES) - 1
    num_edges = 0
    begin = np.int64(0)
    end = np.int64(1)
    graph.word_1[0] = 0
    graph.word_2[0] = 0
    graph.single[0] = 1.0
    opens = -1
    before_open = np.int64(0)
    table_used = np.int64(0)
    is_counted = True
    shifts = np.empty(8, np.uint64)  # of each clue of the box; those of the second word come last
    room_left = np.empty(8, np.int64)
    for step in range(order.size + 1):
        if opens < 0 and (step == order.size or boxes.clues[order[step], 0] == 0):
            opens = step
            before_open = begin
            if free_slots == 0 or end + (end - begin) * (num_around + 1) > _MOST_STATES:
                is_counted = False
                break
            slot = 0
            while not (free_slots >> slot) & 1:
                slot += 1
            free_slots ^= np.int64(1) << slot
            slot_of[0] = slot
            left[0] = num_around
            following = end
            for state in range(begin, end):
                for value in range(num_around + 1):
                    graph.word_1[following] = graph.word_1[state]
                    graph.word_2[following] = graph.word_2[state]
                    if slot < _FIRST_SLOTS:
                        graph.word_1[following] += np.uint64(value) << np.uint64(4 * slot)
                    else:
                        graph.word_2[following] += np.uint64(value) << np.uint64(4 * (slot - _FIRST_SLOTS))
                    graph.each[following] = 0.0
                    graph.each[following, value] = graph.single[state]
                    graph.values[following] = 1 << value
                    following += 1
            begin, end = end, following
        graph.layer_start[step] = begin
        if step == order.size:
            break

        box = order[step]
        size = np.int64(boxes.size[box])
        opened_1 = np.uint64(0)
        opened_2 = np.uint64(0)
        unit_1 = np.uint64(0)
        unit_2 = np.uint64(0)
        closed_slots = np.int64(0)
        in_first = 0
        in_second = 0
        for k in range(boxes.degree[box]):
            clue = boxes.clues[box, k]
            wanted_1 = np.uint64(0)
            if left[clue] < 0:
                left[clue] = 0
                for j in range(boxes.clue_degree[clue]):
                    left[clue] += boxes.size[boxes.clue_boxes[clue, j]]
                if free_slots == 0:
                    is_counted = False
                    break
                slot = 0
                while not (free_slots >> slot) & 1:
                    slot += 1
                free_slots ^= np.int64(1) << slot
                slot_of[clue] = slot
                wanted_1 = np.uint64(need[boxes.clue_cell[clue]])
            left[clue] -= size
            slot = slot_of[clue]
            if slot < _FIRST_SLOTS:
                shift = np.uint64(4 * slot)
                last_used = in_first
                in_first += 1
                unit_1 += np.uint64(1) << shift
                opened_1 += wanted_1 << shift
            else:
                shift = np.uint64(4 * (slot - _FIRST_SLOTS))
                in_second += 1
                last_used = 8 - in_second
                unit_2 += np.uint64(1) << shift
                opened_2 += wanted_1 << shift
            shifts[last_used] = shift
            room_left[last_used] = left[clue]
            if left[clue] == 0:
                closed_slots |= np.int64(1) << slot
        if not is_counted:
            break
        free_slots |= closed_slots

        most_new = (end - begin) * (size + 1)
        if num_edges + most_new > _MOST_EDGES or 2 * most_new > _TABLE:
            is_counted = False
            break
        bits = np.uint64(1)
        while (np.int64(1) << bits) < 2 * most_new:
            bits += np.uint64(1)
        top = np.uint64(64) - bits
        slot_mask = (np.int64(1) << bits) - 1
        table_used = max(table_used, slot_mask + 1)
        next_end = end
        for state in range(begin, end):
            word_1 = graph.word_1[state] + opened_1
            word_2 = graph.word_2[state] + opened_2
            least = np.int64(0)
            most = size
            for k in range(in_first):
                wanted = np.int64((word_1 >> shifts[k]) & np.uint64(15))
                most = min(most, wanted)
                least = max(least, wanted - room_left[k])
            for k in range(8 - in_second, 8):
                wanted = np.int64((word_2 >> shifts[k]) & np.uint64(15))
                most = min(most, wanted)
                least = max(least, wanted - room_left[k])
            graph.first_edge[state] = num_edges
            graph.least[state] = least
            graph.num_edges[state] = max(0, most - least + 1)
            for mines in range(least, most + 1):
                new_1 = word_1 - np.uint64(mines) * unit_1
                new_2 = word_2 - np.uint64(mines) * unit_2 + (np.uint64(mines) << MINES_SHIFT)
                place = np.int64(((new_1 ^ (new_2 * _HASH_2)) * _HASH_1) >> top)
                while True:
                    found = graph.table[place]
                    if found < end:
                        if next_end >= _MOST_STATES:
                            graph.table[:table_used] = -1
                            return False, 0, 0, 0, 0
                        found = next_end
                        next_end += 1
                        graph.table[place] = found
                        graph.word_1[found] = new_1
                        graph.word_2[found] = new_2
                        if opens < 0:
                            graph.single[found] = 0.0
                        else:
                            graph.values[found] = 0
                            for value in range(_VALUES):
                                graph.each[found, value] = 0.0
                        break
                    if graph.word_1[found] == new_1 and graph.word_2[found] == new_2:
                        break
                    place = (place + 1) & slot_mask
                ways = room.ways[size, mines]
                if opens < 0:
                    graph.single[found] += graph.single[state] * ways
                else:
                    graph.values[found] |= graph.values[state]
                    for value in range(_VALUES):
                        graph.each[found, value] += graph.each[state, value] * ways
                graph.target[num_edges] = found
                num_edges += 1
        if next_end == end:
            is_counted = False
            break
        begin, end = end, next_end
    graph.table[:table_used] = -1
    return is_counted, opens, before_open, begin, end


@kernel
def _sweep_values_back(order, opens, before_open, num_around, room):
    """Writes the probabilities of the changed boxes for each value, given `single` of the last layer."""
    boxes, graph = room.changed, room.graph
    expected = np.empty(_VALUES)
    total = np.empty(_VALUES)
    shares = np.empty(_VALUES)
    for step in range(order.size - 1, opens - 1, -1):
        size = np.int64(boxes.size[order[step]])
        begin, end = graph.layer_start[step], graph.layer_start[step + 1]
        expected[:] = 0.0
        total[:] = 0.0
        can_be_mine = 0
        can_be_safe = 0
        largest = 0.0
        for state in range(begin, end):
            completions = 0.0
            mine_share = 0.0
            for k in range(graph.num_edges[state]):
                after = graph.single[graph.target[graph.first_edge[state] + k]]
                if after > 0.0:
                    mines = graph.least[state] + k
                    weight = max(room.ways[size, mines] * after, TINY)
                    completions += weight
                    mine_share += mines * weight
                    if mines > 0:
                        can_be_mine |= graph.values[state]
                    if mines < size:
                        can_be_safe |= graph.values[state]
            graph.single[state] = completions
            largest = max(largest, completions)
            for value in range(_VALUES):
                total[value] += graph.each[state, value] * completions
                expected[value] += graph.each[state, value] * mine_share
        if not _keep_box(step, order[step], expected, total, can_be_mine, can_be_safe, room):
            return False
        if largest > 0.0 and not 1e-100 < largest < 1e100:
            scale(graph.single[begin:end], 1.0 / largest)

    # Before clue 0 opens, `single` and `each` change places.
    first = graph.layer_start[opens]
    for state in range(before_open, first):
        graph.values[state] = 0
        graph.each[state] = 0.0
        for value in range(num_around + 1):
            completions = graph.single[first + (state - before_open) * (num_around + 1) + value]
            graph.each[state, value] = completions
            graph.values[state] |= np.int64(completions > 0.0) << value
    for step in range(opens - 1, -1, -1):
        size = np.int64(boxes.size[order[step]])
        begin = graph.layer_start[step]
        end = graph.layer_start[step + 1] if step < opens - 1 else before_open
        expected[:] = 0.0
        total[:] = 0.0
        can_be_mine = 0
        can_be_safe = 0
        for state in range(begin, end):
            values = 0
            for value in range(_VALUES):
                graph.each[state, value] = 0.0
                shares[value] = 0.0
            for k in range(graph.num_edges[state]):
                target = graph.target[graph.first_edge[state] + k]
                mines = graph.least[state] + k
                ways = room.ways[size, mines]
                values |= graph.values[target]
                if mines > 0:
                    can_be_mine |= graph.values[target]
                if mines < size:
                    can_be_safe |= graph.values[target]
                for value in range(_VALUES):
                    weight = ways * graph.each[target, value]
                    graph.each[state, value] += weight
                    shares[value] += mines * weight
            graph.values[state] = values
            for value in range(_VALUES):
                total[value] += graph.single[state] * graph.each[state, value]
                expected[value] += graph.single[state] * shares[value]
        if not _keep_box(step, order[step], expected, total, can_be_mine, can_be_safe, room):
            return False
    return True


@kernel
def _keep_box(place, box, expected, total, can_be_mine, can_be_safe, room):
    """Writes a changed box into `room.found`; returns False where a chance was too small for floats."""
    size = room.changed.size[box]
    room.found.size[place] = size
    room.found.is_beside[place] = room.changed.clues[box, 0] == 0
    for value in range(_VALUES):
        if not can_be_mine >> value & 1:
            probability = 0.0
        elif not can_be_safe >> value & 1:
            probability = 1.0
        elif not total[value] > 0.0:
            return False
        else:
            probability = not_proved(expected[value] / total[value] / size)
        room.found.probability[place, value] = probability
    return True


@kernel
def _mix_parts(num_parts, num_interior, mines_left, least, length, room):
    """Writes into `room.mix` what is known of the unchanged parts and the interior (the last box, if there is one) for
    each total of the changed boxes, from `least` up.

    Returns:
        (boxes, log of the scale of the weights).
    """
    parts, mix = room.parts, room.mix
    sizes = np.ones(num_parts + 1, np.int64)  # totals of the parts before
    offsets = np.zeros(num_parts + 2, np.int64)
    log_scale = 0.0
    before_least = np.int64(least)
    for part in range(num_parts):
        sizes[part + 1] = sizes[part]
        if not room.is_changed[part]:
            sizes[part + 1] += parts.first_value[part + 1] - parts.first_value[part] - 1
            before_least += parts.least[part]
            log_scale += parts.log_scale[part]
    for part in range(num_parts + 1):
        offsets[part + 1] = offsets[part] + sizes[part]
    before = np.zeros(offsets[num_parts + 1])
    before[0] = 1.0
    for part in range(num_parts):
        source = before[offsets[part] : offsets[part + 1]]
        target = before[offsets[part + 1] : offsets[part + 2]]
        if room.is_changed[part]:
            target[:] = source
            continue
        values = parts.values[parts.first_value[part] : parts.first_value[part + 1]]
        for i in range(source.size):
            for j in range(values.size):
                add_product(target, i + j, source[i], values[j])
        normalise(target)
    most = before_least + length + sizes[num_parts] - 2
    after, log_largest = interior_weights(num_interior, mines_left, before_least, most, 1.0)
    log_scale += log_largest

    num_boxes = 0
    for part in range(num_parts):
        if not room.is_changed[part]:
            num_boxes += parts.first_box[part + 1] - parts.first_box[part]
    if num_interior > 0:
        last = before[offsets[num_parts] :]
        _mix_interior(num_boxes, last, after, num_interior, mines_left - before_least, length, mix)
    place = num_boxes
    for part in range(num_parts - 1, -1, -1):
        if room.is_changed[part]:
            continue
        values = parts.values[parts.first_value[part] : parts.first_value[part + 1]]
        others = np.zeros(length + values.size - 1)  # ways of all else, by the totals of the changed and of this
        for i in range(sizes[part]):
            for j in range(others.size):
                add_product(others, j, before[offsets[part] + i], after[i + j])
        place -= parts.first_box[part + 1] - parts.first_box[part]
        _mix_part(place, part, values, others, length, parts, mix)
        following = np.zeros(length + sizes[part] - 1)
        for i in range(following.size):
            for j in range(values.size):
                add_product(following, i, values[j], after[i + j])
        log_scale += normalise(following)
        after = following
    mix.weights[:length] = after[:length]
    return num_boxes + (num_interior > 0), log_scale


@kernel
def _mix_part(place, part, values, others, length, parts, mix):
    """Writes the boxes of a part into `mix`, from `place` on."""
    first = parts.first_box[part]
    num_boxes = parts.first_box[part + 1] - first
    for i in range(num_boxes):
        mix.size[place + i] = parts.size[first + i]
        mix.can_be_mine[place + i] = 0
        mix.can_be_safe[place + i] = 0
    weights = np.empty(values.size)
    for total in range(length):
        allowed = np.uint64(0)
        ways = 0.0
        for own in range(values.size):
            weights[own] = 0.0
            add_product(weights, own, values[own], others[total + own])
            if weights[own] > 0.0:
                allowed |= np.uint64(1) << np.uint64(own)
                ways += weights[own]
        bit = np.uint64(1) << np.uint64(total)
        for i in range(num_boxes):
            chance = 0.0
            if allowed:
                for own in range(values.size):
                    chance += weights[own] * parts.share[first + i, own]
                chance /= ways
            mix.chance[place + i, total] = chance
            if parts.can_be_mine[first + i] & allowed:
                mix.can_be_mine[place + i] |= bit
            if parts.can_be_safe[first + i] & allowed:
                mix.can_be_safe[place + i] |= bit


@kernel
def _mix_interior(place, before, after, num_interior, mines_left, length, mix):
    """Writes the interior into `mix`; `mines_left` are those of the interior when all else has its least."""
    mix.size[place] = num_interior
    mix.can_be_mine[place] = 0
    mix.can_be_safe[place] = 0
    for total in range(length):
        ways = 0.0
        expected = 0.0
        bit = np.uint64(1) << np.uint64(total)
        for i in range(before.size):
            if before[i] > 0.0 and after[total + i] > 0.0:
                weight = max(before[i] * after[total + i], TINY)
                mines = mines_left - total - i
                ways += weight
                expected += weight * mines
                if mines > 0:
                    mix.can_be_mine[place] |= bit
                if mines < num_interior:
                    mix.can_be_safe[place] |= bit
        mix.chance[place, total] = expected / ways / num_interior if ways > 0.0 else 0.0
