"""The mine total as one more set of `knowledge`: all undecided cells, split by other sets.

A *family* is some sets that don't overlap. Take one away from the total: if all the mines that are left are in the
family, the other cells are safe; if all the safe cells that are left are in it, the others are mines. So, for one kind
after the other (mines, safe cells):
    1. The undecided cells in sets fall into components, linked by numbers; the best families of each add up.
    2. A cell's share is the largest (count of the kind / size) of its sets. No family has more of the kind than the
       shares of its cells add up to; where all shares are less than what is left, the total decides nothing.
    3. Per component, a depth-first search for the best families: the first cell that is not covered yet is covered by
       one of the sets that begin with it, or stays uncovered. It turns back where the bound of step 2 is too low.
    4. If the best families have all that is left, each cell that one of them doesn't cover is decided, and so is each
       cell in no set.

The search is exponential. It is tried when at most `_MOST_CELLS` cells are in sets, and stops after `_MOST_STEPS` in a
component with the best families so far; they may miss a proof, but prove nothing false.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.frontier import SAFE, neighbour_offsets
from minesweeper.kernels import kernel

_MOST_CELLS = 200
_MOST_STEPS = 2000
_ROUNDING = 1e-9
_NO_SET = -1


class _Choices(NamedTuple):
    """The sets for the search, S of those in `Sets`; P places, the undecided cells in sets, component by component."""

    places: NDArray[np.int16]  # [S, 8]
    size: NDArray[np.int8]  # [S]
    value: NDArray[np.int64]  # [S] mines, or safe cells
    first: NDArray[np.int32]  # [P] the first set that begins at this place, or _NO_SET
    following: NDArray[np.int32]  # [S] the next set that begins at the same place, or _NO_SET
    bound: NDArray[np.float64]  # [P + 1] the shares of this place and all that follow, summed up


@kernel
def decide_by_total(field, width, sets, left):
    """Writes `SAFE` and `MINE` into `field` where the total proves it and the other rules prove nothing.

    Args:
        field: see `frontier.py`.
        sets: `Sets` of knowledge.py.
        left: mines left for the undecided cells.

    Returns:
        (whether it decides a cell, whether `left` is possible as far as the families tell).
    """
    undecided = number_of(field, HIDDEN)
    if not 0 <= left <= undecided:
        return False, False
    if left == 0 or left == undecided:
        _decide_hidden(field, SAFE if left == 0 else MINE)
        return undecided > 0, True
    place_of = np.full(field.size, -1, np.int16)
    start, num_components = _components(field, width, place_of)
    if num_components <= 0:
        return False, True
    num_places = start[num_components]
    covered = np.zeros(num_places, np.bool_)
    uncovered = np.zeros(num_places, np.bool_)
    for decision in (SAFE, MINE):  # of what is not in the family
        needed = left if decision == SAFE else undecided - left
        choices = _choices(sets, decision == SAFE, place_of, num_places)
        slack = choices.bound[0] - needed
        component = 0
        while slack > -_ROUNDING and component < num_components:
            begin, end = start[component], start[component + 1]
            most = choices.bound[begin] - choices.bound[end]
            best = _best_families(begin, end, np.ceil(most - slack - _ROUNDING), choices, covered, uncovered)
            slack -= most - best if best >= 0 else np.inf
            component += 1
        if slack > _ROUNDING:
            return False, False
        if slack > -_ROUNDING and (num_places < undecided or np.any(uncovered)):
            for cell in range(field.size):
                if field[cell] == HIDDEN and (place_of[cell] < 0 or uncovered[place_of[cell]]):
                    field[cell] = decision
            return True, True
    return False, True


@kernel
def number_of(field, value):
    """How many cells of `field` have this value."""
    number = 0
    for i in range(field.size):
        number += field[i] == value
    return number


@kernel
def _decide_hidden(field, decision):
    for cell in range(field.size):
        if field[cell] == HIDDEN:
            field[cell] = decision


@kernel
def _components(field, width, place_of):
    """Fills `place_of` [field size] for the undecided cells beside a number.

    Returns:
        (int64 [components + 1], the place where each begins; number of components, or -1 if there are too many cells).
    """
    offsets = neighbour_offsets(width)
    start = np.zeros(_MOST_CELLS + 1, np.int64)
    cells = np.empty(_MOST_CELLS, np.int64)
    num_components = 0
    head = end = 0
    for root in range(width + 1, field.size - width - 1):
        if field[root] < 0:
            continue
        end = _place_around(root, field, offsets, place_of, cells, end)
        while head < end:
            for k in range(8):
                clue = cells[head] + offsets[k]
                if field[clue] >= 0:
                    end = _place_around(clue, field, offsets, place_of, cells, end)
            head += 1
        if end < 0:
            return start, -1
        if end > start[num_components]:
            num_components += 1
            start[num_components] = end
    return start, num_components


@kernel
def _place_around(clue, field, offsets, place_of, cells, end):
    """Gives the undecided cells around a number places from `end` on; returns the new end, -1 without room."""
    for k in range(8):
        cell = clue + offsets[k]
        if end >= 0 and field[cell] == HIDDEN and place_of[cell] < 0:
            if end == cells.size:
                return -1
            place_of[cell] = end
            cells[end] = cell
            end += 1
    return end


@kernel
def _choices(sets, is_mines, place_of, num_places):
    """The sets that are not split, since the parts of the others do as well, with their mines or their safe cells."""
    num_sets = sets.num[0]
    choices = _Choices(
        np.empty((num_sets, 8), np.int16),
        np.empty(num_sets, np.int8),
        np.empty(num_sets, np.int64),
        np.full(num_places, _NO_SET, np.int32),
        np.empty(num_sets, np.int32),
        np.zeros(num_places + 1),
    )
    for i in range(num_sets):
        if sets.is_split[i]:
            continue
        size = sets.size[i]
        choices.size[i] = size
        choices.value[i] = sets.mines[i] if is_mines else size - sets.mines[i]
        begin = num_places
        for k in range(size):
            place = place_of[sets.cells[i, k]]
            choices.places[i, k] = place
            choices.bound[place] = max(choices.bound[place], choices.value[i] / size)
            begin = min(begin, place)
        choices.following[i] = choices.first[begin]
        choices.first[begin] = i
    for place in range(num_places - 1, -1, -1):
        choices.bound[place] += choices.bound[place + 1]
    return choices


@kernel
def _is_free(choices, choice, covered):
    is_free = True
    for k in range(choices.size[choice]):
        is_free &= not covered[choices.places[choice, k]]
    return is_free


@kernel
def _cover(choices, choice, covered, is_covered):
    for k in range(choices.size[choice]):
        covered[choices.places[choice, k]] = is_covered


@kernel
def _best_families(begin, end, needed, choices, covered, uncovered):
    """Step 3 for the component with the places begin..end-1.

    No recursion: Numba can't load a kernel that calls itself from its cache.

    Args:
        needed: families of less value are of no use.
        covered: bool [P], scratch space, all False.
        uncovered: bool [P], out: not covered by one of the best families.

    Returns:
        The value of the best families, or -1 if none was found.
    """
    chosen = np.empty(end, np.int32)  # at each place: the set that begins there, or _NO_SET
    best = -1
    value = 0
    steps = 0
    at = begin
    is_forward = True
    while at >= begin:
        if is_forward:
            reachable = value + choices.bound[at] - choices.bound[end] + _ROUNDING
            is_forward = steps < _MOST_STEPS and reachable >= max(needed, best)
            steps += 1
            if is_forward and at == end:
                for place in range(begin, end):
                    uncovered[place] = not covered[place] or (uncovered[place] and value == best)
                best = value
                is_forward = False
            if not is_forward:
                at -= 1
                continue
            choice = np.int64(choices.first[at]) if not covered[at] else _NO_SET
        else:
            choice = np.int64(chosen[at])
            if choice == _NO_SET:  # the last choice there was
                at -= 1
                continue
            _cover(choices, choice, covered, False)
            value -= choices.value[choice]
            choice = np.int64(choices.following[choice])
        while choice != _NO_SET and not _is_free(choices, choice, covered):
            choice = np.int64(choices.following[choice])
        chosen[at] = choice
        if choice != _NO_SET:
            _cover(choices, choice, covered, True)
            value += choices.value[choice]
        at += 1
        is_forward = True
    return best
