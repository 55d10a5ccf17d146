"""Counting the layouts of the boxes by dynamic programming, and the expected mines of each box.

The steps, for one view (see `frontier.py` for the terms):
    1. Forward, per component: sweep its boxes. A state is (mines still needed by each open clue, mines used so far),
       its value the number of layouts of the boxes placed so far that lead to it. A clue opens with its first box and
       closes, fully met, with its last. The last layer is the component's polynomial: layouts by mines used.
    2. Combine: chain the polynomials with each other and with C(interior, mines left for it), forward and backward, so
       that each component gets the weight of each of its totals, and the interior its share.
    3. Backward, per component: the weight of all completions of each state, and from both the marginal of each box.

On large boards each mine of a layout weighs a factor, the tilt, chosen so that the known total is the likely one. All
layouts have the same total, so this changes no probability; without it the total could lie in a tail too small for
floating point. Counts are float64, without tilt exact up to 2**53, and rescaled by powers of two when they grow.
Whether a layout exists at all never depends on rounding: a positive value is kept at or above `TINY`, so zero means
"no layout".

One file, since the three steps share the states and their layout in memory.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper.kernels import kernel

TINY = 1e-280
_BIG = 1e100
_SLOTS_IN_FIRST = 16  # open clues in a state's first word, four bits each
MAX_OPEN_CLUES = 27  # the second word has eleven more, below its mine count
MINES_SHIFT = np.uint64(44)
_HASH_1 = np.uint64(0x9E3779B97F4A7C15)
_HASH_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_BINOMIAL = np.array([[1, 0, 0, 0, 0, 0, 0, 0, 0]] + [[0] * 9 for _ in range(8)], np.float64)
for _n in range(1, 9):
    for _k in range(9):
        _BINOMIAL[_n, _k] = _BINOMIAL[_n - 1, _k] + (_BINOMIAL[_n - 1, _k - 1] if _k else 0)

COUNTED, CONTRADICTION, OVER_BUDGET = 0, 1, 2


class Layers(NamedTuple):
    """The states of all sweeps, layer after layer; S states, E edges."""

    word_1: NDArray[np.uint64]  # [S] needs of the first 16 slots
    word_2: NDArray[np.uint64]  # [S] needs of the other slots, and the mines used
    forward: NDArray[np.float64]  # [S] layouts that lead here
    first_edge: NDArray[np.int32]  # [S] edges of a state stand together: mines least, least + 1, ... in its box
    num_edges: NDArray[np.int8]  # [S]
    least: NDArray[np.int8]  # [S]
    target: NDArray[np.int32]  # [E] state in the next layer


@kernel
def _grown(array, used, capacity):
    larger = np.empty(capacity, array.dtype)
    larger[:used] = array[:used]
    return larger


@kernel
def _with_room(layers, used_states, used_edges, more_states, more_edges):
    """`layers`, moved to larger arrays when there is no room for that many more."""
    states = layers.word_1.size
    edges = layers.target.size
    if used_states + more_states <= states and used_edges + more_edges <= edges:
        return layers
    states = max(states, 2 * used_states + more_states)
    edges = max(edges, 2 * used_edges + more_edges)
    return Layers(
        _grown(layers.word_1, used_states, states),
        _grown(layers.word_2, used_states, states),
        _grown(layers.forward, used_states, states),
        _grown(layers.first_edge, used_states, states),
        _grown(layers.num_edges, used_states, states),
        _grown(layers.least, used_states, states),
        _grown(layers.target, used_edges, edges),
    )


@kernel
def new_layers():
    states, edges = 1024, 2048
    return Layers(
        np.empty(states, np.uint64),
        np.empty(states, np.uint64),
        np.empty(states, np.float64),
        np.empty(states, np.int32),
        np.empty(states, np.int8),
        np.empty(states, np.int8),
        np.empty(edges, np.int32),
    )


@kernel
def scale(values, factor):
    """Multiplies by `factor` in place; what was positive stays so."""
    for i in range(values.size):
        if values[i] > 0.0:
            values[i] = max(values[i] * factor, TINY)


@kernel
def sweep(order, boxes, need, ways, layers, num_states, num_edges, layer_start, table, slot_of, left, max_states):
    """Step 1 for one component.

    Args:
        order: int32 [B'], its boxes in sweep order.
        ways: float64 [9, 9], from `weighted_ways`.
        layer_start: int32, out: [i] first state of the layer before box i of `order`; [B'] of the last layer.
        table: int32 [power of two], hash table of state numbers; entries of earlier layers count as empty.
        slot_of, left: int32 [K], scratch space.

    Returns:
        (outcome, clue that cannot be met, layers, table, number of states, number of edges, log of the scale).
    """
    for box in order:
        for k in range(boxes.degree[box]):
            left[boxes.clues[box, k]] = -1
    free_slots = (np.int64(1) << MAX_OPEN_CLUES) - 1
    log_scale = 0.0
    is_tilted = ways[1, 1] != 1.0
    cells_unscaled = np.int64(0)
    layers.word_1[num_states] = 0
    layers.word_2[num_states] = 0
    layers.forward[num_states] = 1.0
    begin = num_states
    end = begin + 1
    shifts_1 = np.empty(8, np.uint64)
    shifts_2 = np.empty(8, np.uint64)
    room = np.empty(8, np.int64)  # cells that each clue of the box has left in later boxes
    for step in range(order.size):
        box = order[step]
        size = np.int64(boxes.size[box])
        layer_start[step] = begin

        # The clues of this box: open the new ones, note where each is kept and what it has left.
        opened_1 = np.uint64(0)
        opened_2 = np.uint64(0)
        unit_1 = np.uint64(0)  # one mine in this box takes this much from the words
        unit_2 = np.uint64(0)
        closed_slots = np.int64(0)
        in_first = 0
        in_second = 0
        room_second = np.empty(8, np.int64)
        for k in range(boxes.degree[box]):
            clue = boxes.clues[box, k]
            is_new = left[clue] < 0
            if is_new:
                left[clue] = 0
                for j in range(boxes.clue_degree[clue]):
                    left[clue] += boxes.size[boxes.clue_boxes[clue, j]]
                if free_slots == 0:
                    return OVER_BUDGET, clue, layers, table, begin, num_edges, 0.0
                slot = 0
                while not (free_slots >> slot) & 1:
                    slot += 1
                free_slots ^= np.int64(1) << slot
                slot_of[clue] = slot
            left[clue] -= size
            slot = slot_of[clue]
            if slot < _SLOTS_IN_FIRST:
                shift = np.uint64(4 * slot)
                shifts_1[in_first] = shift
                room[in_first] = left[clue]
                in_first += 1
                unit_1 += np.uint64(1) << shift
                if is_new:
                    opened_1 += np.uint64(need[boxes.clue_cell[clue]]) << shift
            else:
                shift = np.uint64(4 * (slot - _SLOTS_IN_FIRST))
                shifts_2[in_second] = shift
                room_second[in_second] = left[clue]
                in_second += 1
                unit_2 += np.uint64(1) << shift
                if is_new:
                    opened_2 += np.uint64(need[boxes.clue_cell[clue]]) << shift
            if left[clue] == 0:
                closed_slots |= np.int64(1) << slot
        free_slots |= closed_slots

        # Room for the next layer: at most size + 1 followers a state.
        most_new = (end - begin) * (size + 1)
        layers = _with_room(layers, end, num_edges, min(most_new, max_states + 1 - end), most_new)
        if table.size < 2 * most_new:
            capacity = table.size
            while capacity < 2 * most_new:
                capacity *= 2
            table = np.full(capacity, -1, np.int32)
        bits = np.uint64(0)
        while (np.int64(1) << bits) < 2 * most_new:
            bits += np.uint64(1)
        top = np.uint64(64) - bits
        slot_mask = (np.int64(1) << bits) - 1

        next_end = end
        for state in range(begin, end):
            word_1 = layers.word_1[state] + opened_1
            word_2 = layers.word_2[state] + opened_2
            least = np.int64(0)
            most = size
            for k in range(in_first):
                wanted = np.int64((word_1 >> shifts_1[k]) & np.uint64(15))
                most = min(most, wanted)
                least = max(least, wanted - room[k])
            for k in range(in_second):
                wanted = np.int64((word_2 >> shifts_2[k]) & np.uint64(15))
                most = min(most, wanted)
                least = max(least, wanted - room_second[k])
            layers.first_edge[state] = num_edges
            layers.least[state] = least
            layers.num_edges[state] = max(0, most - least + 1)
            value = layers.forward[state]
            for mines in range(least, most + 1):
                new_1 = word_1 - np.uint64(mines) * unit_1
                new_2 = word_2 - np.uint64(mines) * unit_2 + (np.uint64(mines) << MINES_SHIFT)
                place = np.int64(((new_1 ^ (new_2 * _HASH_2)) * _HASH_1) >> top)
                while True:
                    found = table[place]
                    if found < end:
                        if next_end >= max_states:
                            return OVER_BUDGET, -1, layers, table, begin, num_edges, 0.0
                        found = next_end
                        next_end += 1
                        table[place] = found
                        layers.word_1[found] = new_1
                        layers.word_2[found] = new_2
                        layers.forward[found] = 0.0
                        break
                    if layers.word_1[found] == new_1 and layers.word_2[found] == new_2:
                        break
                    place = (place + 1) & slot_mask
                layers.forward[found] += max(value * ways[size, mines], TINY)
                layers.target[num_edges] = found
                num_edges += 1
        if next_end == end:
            return CONTRADICTION, boxes.clues[box, 0], layers, table, begin, num_edges, 0.0
        begin, end = end, next_end
        cells_unscaled += size
        if cells_unscaled > 250 or is_tilted:
            cells_unscaled = np.int64(0)
            largest = layers.forward[begin:end].max()
            if not 1 / _BIG < largest < _BIG:
                power = 2.0 ** np.floor(np.log2(largest))
                scale(layers.forward[begin:end], 1 / power)
                log_scale += np.log(power)
    layer_start[order.size] = begin
    return COUNTED, -1, layers, table, end, num_edges, log_scale


@kernel
def sweep_back(order, boxes, ways, layers, layer_start, num_states, backward, probability):
    """Step 3 for one component: writes the mine probability of each box, given `backward` of the last layer.

    `backward` float64 [S] is filled for the other layers. Proved boxes get exactly 0.0 or 1.0.
    """
    end = num_states
    for step in range(order.size - 1, -1, -1):
        box = order[step]
        size = boxes.size[box]
        begin = layer_start[step]
        end = layer_start[step + 1]
        total = 0.0
        expected = 0.0
        can_be_mine = False
        can_be_safe = False
        largest = 0.0
        for state in range(begin, end):
            completions = 0.0
            mine_share = 0.0
            for k in range(layers.num_edges[state]):
                after = backward[layers.target[layers.first_edge[state] + k]]
                if after > 0.0:
                    mines = layers.least[state] + k
                    weight = max(ways[size, mines] * after, TINY)
                    completions += weight
                    mine_share += mines * weight
                    can_be_mine |= mines > 0
                    can_be_safe |= mines < size
            backward[state] = completions
            largest = max(largest, completions)
            total += layers.forward[state] * completions
            expected += layers.forward[state] * mine_share
        if not can_be_mine:
            probability[box] = 0.0
        elif not can_be_safe:
            probability[box] = 1.0
        else:
            probability[box] = not_proved(expected / total / size)
        if largest > 0.0 and not 1 / _BIG < largest < _BIG:
            scale(backward[begin:end], 1.0 / largest)


@kernel
def mines_used(word_2):
    """How many mines a state has used, which stand in the high bits of its second word."""
    return np.int64(word_2 >> MINES_SHIFT)


@kernel
def weighted_ways(tilt):
    """float64 [9, 9]: [n, m] the ways to lay m mines in n cells, times tilt**m."""
    return _BINOMIAL * tilt ** np.arange(9)


@kernel
def not_proved(probability):
    """The nearest probability that does not read as a proof."""
    return min(max(probability, TINY), 1.0 - 2.0**-53)


@kernel
def interior_weights(num_interior, mines_left, least, most, tilt):
    """C(num_interior, m) * tilt**m for m = mines_left - total, total = least..most, over the largest of them.

    Returns:
        (float64 [most - least + 1], log of the largest).
    """
    weights = np.zeros(most - least + 1)
    low = max(0, mines_left - most)
    high = min(num_interior, mines_left - least)
    if low > high:
        return weights, 0.0
    peak = min(max(np.int64((num_interior + 1) * tilt / (1 + tilt)), low), high)
    log_scale = log_choose(num_interior, peak) + peak * np.log(tilt)
    value = 1.0
    weights[mines_left - peak - least] = value
    for m in range(peak + 1, high + 1):
        value = max(value * tilt * (num_interior - m + 1) / m, TINY)
        weights[mines_left - m - least] = value
    value = 1.0
    for m in range(peak - 1, low - 1, -1):
        value = max(value * (m + 1) / (num_interior - m) / tilt, TINY)
        weights[mines_left - m - least] = value
    return weights, log_scale


@kernel
def log_choose(n, k):
    """Natural logarithm of the binomial coefficient."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@kernel
def normalise(values):
    """Scales to a largest value of 1, in place; returns the log of the factor taken out (0 if all are 0)."""
    largest = values.max()
    if largest <= 0.0:
        return 0.0
    scale(values, 1.0 / largest)
    return np.log(largest)


class Totals(NamedTuple):
    """Step 2: what the total of mines says. C components."""

    weights: NDArray[np.float64]  # concatenated: the weight of each total of each component
    is_possible: bool
    expected_interior: float  # mines
    interior_can_have: bool  # structurally: a mine, and a safe cell
    interior_can_lack: bool
    log_layouts: float


@kernel
def log_tilt_for(polynomials, lengths, leasts, num_interior, mines_left, tilt):
    """The log of the factor a mine by which the weights must change for `mines_left` to be the expected total.

    On a large board the total in question can lie hundreds of orders of magnitude below the most likely one; with this
    factor on each mine, which changes no posterior, it is the most likely itself.
    """
    low, high = -300.0, 300.0
    for _ in range(60):
        middle = (low + high) / 2
        odds = tilt * np.exp(min(max(middle, -300.0), 300.0))
        expected = num_interior * odds / (1 + odds)
        start = 0
        for c in range(lengths.size):
            weight = 0.0
            mines = 0.0
            top = -np.inf
            for k in range(lengths[c]):
                if polynomials[start + k] > 0.0:
                    top = max(top, np.log(polynomials[start + k]) + k * middle)
            for k in range(lengths[c]):
                if polynomials[start + k] > 0.0:
                    share = np.exp(np.log(polynomials[start + k]) + k * middle - top)
                    weight += share
                    mines += share * k
            expected += leasts[c] + mines / weight
            start += lengths[c]
        if expected < mines_left:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@kernel
def tilt_polynomials(polynomials, lengths, log_tilt):
    """Multiplies each value by exp(log_tilt) a mine above the component's least, in place; positive values stay so."""
    start = 0
    for length in lengths:
        for k in range(length):
            if polynomials[start + k] > 0.0:
                polynomials[start + k] = np.exp(min(max(np.log(polynomials[start + k]) + k * log_tilt, -644.0), 644.0))
        start += length


@kernel
def combine(polynomials, lengths, leasts, num_interior, mines_left, tilt):
    """Step 2: the components' polynomials with each other and the interior.

    Args:
        polynomials: float64, concatenated: layouts by mines used. Component c has `lengths[c]` values, for `leasts[c]`
            mines and up.
        tilt: the factor that a mine of the interior has, as the polynomials have it already.
    """
    num_components = lengths.size
    starts = np.zeros(num_components + 1, np.int64)  # of each component's values
    sizes = np.ones(num_components + 1, np.int64)  # possible totals of the components before c
    for c in range(num_components):
        starts[c + 1] = starts[c] + lengths[c]
        sizes[c + 1] = sizes[c] + lengths[c] - 1
    offsets = np.zeros(num_components + 2, np.int64)
    for c in range(num_components + 1):
        offsets[c + 1] = offsets[c] + sizes[c]
    least = leasts.sum()
    most = least + sizes[num_components] - 1

    weights = np.zeros(polynomials.size)
    before = np.zeros(offsets[num_components + 1])  # all ways that the components before c can use a total
    before[0] = 1.0
    log_layouts = 0.0
    for c in range(num_components):
        target = before[offsets[c + 1] : offsets[c + 2]]
        for i in range(sizes[c]):
            for j in range(lengths[c]):
                add_product(target, i + j, before[offsets[c] + i], polynomials[starts[c] + j])
        log_layouts += normalise(target)
    after, log_scale = interior_weights(num_interior, mines_left, least, most, tilt)

    last = before[offsets[num_components] : offsets[num_components + 1]]
    total = 0.0
    expected = 0.0
    is_possible = False
    can_have = False
    can_lack = False
    for i in range(last.size):
        if last[i] > 0.0 and after[i] > 0.0:
            weight = max(last[i] * after[i], TINY)
            mines = mines_left - least - i
            total += weight
            expected += weight * mines
            is_possible = True
            can_have |= mines > 0
            can_lack |= mines < num_interior
    if not is_possible:
        return Totals(weights, False, 0.0, False, False, 0.0)
    log_layouts += log_scale + np.log(total)

    for c in range(num_components - 1, -1, -1):
        following = np.zeros(sizes[c])
        for j in range(lengths[c]):
            for i in range(sizes[c]):
                add_product(weights, starts[c] + j, before[offsets[c] + i], after[i + j])
                add_product(following, i, polynomials[starts[c] + j], after[i + j])
        normalise(weights[starts[c] : starts[c + 1]])
        normalise(following)
        after = following
    return Totals(weights, True, expected / total, can_have, can_lack, log_layouts)


@kernel
def product(a, b):
    """a * b, which is positive when both are."""
    return max(a * b, TINY) if a > 0.0 and b > 0.0 else 0.0


@kernel
def add_product(values, place, a, b):
    """values[place] += a * b, which stays positive when both are."""
    values[place] += product(a, b)


@kernel
def chain_length(lengths):
    """Values that `combine` keeps: the sum over components of the possible totals before it."""
    total = np.int64(1)
    size = np.int64(1)
    for length in lengths:
        size += length - 1
        total += size
    return total
