"""Set inference, as in a knowledge base of sentences "so many mines are among these cells".

    1. Each number is a set: its undecided neighbours, and how many mines are among them.
    2. A set with count 0 is all safe; one whose count is its size is all mines. Known cells are taken out of all sets.
    3. A set that contains another splits: the rest of its cells is a set too, with the rest of its count. The rests are
       compared like the others, until none is new.
    4. The mine total is a set too: all undecided cells and the mines left. When rules 1 to 3 decide nothing more, it is
       split by sets that don't overlap, one after another; rule 2 decides what is left of it.
    5. Rules 1 to 4 are repeated until they decide nothing. The safe cells are opened.
    6. If there are none, a cell in no set but the total is opened; failing that, one of the set with the smallest
       count / size.

Rule 3 needs no bound. A rest lies around the same number as the set that it is the rest of, so there are at most 255
sets a number, and a set meets only sets within two rows and columns. Rule 4 is a search for the best family of sets, so
it is bounded, and what is left of the total is not compared with other sets: see `knowledge_total.py`. What takes
unions of sets, or a distinction of cases, is not proved; `csp` has it.

The probability of an undecided cell is the smallest count / size over its sets; a split set doesn't count, since its
parts say more (the lowest cell is the same). A cell in no set but the total gets mines left / undecided cells, or
`_BELOW` times the lowest of the others if that is less, because rule 6 opens it first.

Source: the project "Minesweeper" of CS50's Introduction to Artificial Intelligence with Python (Harvard, 2020). We
differ: there a random cell is opened when none is safe, and the mine total is not used.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.frontier import SAFE, fill_field, neighbour_offsets, new_field, single_point
from minesweeper.kernels import kernel
from minesweeper.posterior import InconsistentViewError, impossible_total, proved_by_single_point
from minesweeper.solvers.knowledge_total import decide_by_total, number_of
from minesweeper.solvers.singles_first import SinglesFirst

# A fault is the field cell where a view contradicts itself, or one of these.
_CONSISTENT, _TOTAL, _FULL = -1, -2, -3  # none; the mine total can't be met; no room for another set

_NO_SET = -1
_BELOW = 0.999
_ROW = 5  # bits a row of a mask: its 3x3 cells shift up to two columns without meeting the next row
_FIRST_ROW = 0b111
_FIRST_COL = 1 | 1 << _ROW | 1 << 2 * _ROW


class KnowledgeSolver(SinglesFirst):
    """Proves by comparing sets of cells; see the module."""

    name = "knowledge"

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`.

        Raises:
            InconsistentViewError: sets contradict each other or the mine total.
        """
        known = proved_by_single_point(views, num_mines)
        probabilities = np.empty(views.shape)
        mines = np.full(len(views), num_mines, np.int64)
        game, fault = _infer_each(views, np.where(views == HIDDEN, known, views), mines, probabilities)
        if game >= 0:
            _, rows, cols = views.shape
            which = f"view {game}: " if len(views) > 1 else ""
            if fault == _TOTAL:
                raise InconsistentViewError(f"{which}{impossible_total(mines[game], rows, cols)}", game)
            row, col = (x - 1 for x in divmod(fault, cols + 2))
            raise InconsistentViewError(f"{which}the numbers around ({row}, {col}) cannot all be met", game, row, col)
        return probabilities


class Sets(NamedTuple):
    """S sets of undecided cells, each in a 3x3 box whose first row and column it touches."""

    num: NDArray[np.int64]  # [1] how many there are; the arrays may be larger
    corner: NDArray[np.int32]  # [S] the field cell at the top left of the box
    mask: NDArray[np.int32]  # [S] bit _ROW * row + col of the box for each cell
    cells: NDArray[np.int32]  # [S, 8] its field cells
    size: NDArray[np.int8]  # [S] how many
    mines: NDArray[np.int8]  # [S] the count
    is_split: NDArray[np.bool_]  # [S] it contains another set
    following: NDArray[np.int32]  # [S] the next set with the same corner, or _NO_SET
    first: NDArray[np.int32]  # [field size] the first set with this corner, or _NO_SET


@kernel
def _infer_each(views, decided_views, num_mines, probabilities):
    """Fills `probabilities`; `decided_views` are the views with `SAFE` and `MINE` where single numbers prove it.

    Returns:
        (-1, _CONSISTENT), or the first view that contradicts itself and where: a field cell, or _TOTAL.
    """
    num_games, rows, cols = views.shape
    width = cols + 2
    field, need, unknown, stack = new_field(rows, cols)
    smallest = np.empty(field.size)
    sets = _no_sets(64, field.size)
    for game in range(num_games):
        fill_field(decided_views[game], field)
        has_decided = True
        while has_decided:
            fault = single_point(field, width, need, unknown, stack)
            if fault == _CONSISTENT:
                fault = _find_sets(field, width, need, unknown, sets)
            if fault == _FULL:
                sets = _no_sets(2 * sets.mask.size, field.size)
                continue
            if fault != _CONSISTENT:
                return game, fault
            has_decided = _decide(field, sets)
            left = num_mines[game] - number_of(field, MINE)
            if not has_decided:
                has_decided, is_possible = decide_by_total(field, width, sets, left)
                if not is_possible:
                    return game, _TOTAL
        outside = _smallest_shares(field, sets, left, smallest)
        for row in range(rows):
            for col in range(cols):
                cell = (row + 1) * width + col + 1
                if views[game, row, col] != HIDDEN:
                    probability = np.nan
                elif field[cell] == SAFE:
                    probability = 0.0
                elif field[cell] == MINE:
                    probability = 1.0
                elif smallest[cell] == np.inf:
                    probability = outside
                else:
                    probability = smallest[cell]
                probabilities[game, row, col] = probability
    return -1, _CONSISTENT


@kernel
def _no_sets(room, field_size):
    return Sets(
        np.zeros(1, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty((room, 8), np.int32),
        np.empty(room, np.int8),
        np.empty(room, np.int8),
        np.empty(room, np.bool_),
        np.empty(room, np.int32),
        np.empty(field_size, np.int32),
    )


@kernel
def _find_sets(field, width, need, unknown, sets):
    """Rules 1 and 3: fills `sets`; returns a fault."""
    offsets = neighbour_offsets(width)
    sets.num[0] = 0
    for cell in range(field.size):
        sets.first[cell] = _NO_SET
    for clue in range(width + 1, field.size - width - 1):
        if field[clue] < 0 or unknown[clue] == 0:
            continue
        mask = 0
        for k in range(8):
            if field[clue + offsets[k]] == HIDDEN:
                from_corner = offsets[k] + width + 1
                mask |= 1 << (from_corner // width * _ROW + from_corner % width)
        fault = _add(sets, clue - width - 1, mask, np.int64(need[clue]), width)
        if fault != _CONSISTENT:
            return fault
    latest = 0
    while latest < sets.num[0]:
        fault = _split_with_earlier(sets, latest, width)
        if fault != _CONSISTENT:
            return fault
        latest += 1
    return _CONSISTENT


@kernel
def _split_with_earlier(sets, latest, width):
    """Rule 3 for the set `latest` and each earlier one; returns a fault."""
    for row in range(3):  # from the corner of the larger set to that of the smaller
        for col in range(3):
            for direction in range(-1, 2, 2):
                other_corner = sets.corner[latest] + direction * (row * width + col)
                if not 0 <= other_corner < sets.first.size:
                    continue
                other = np.int64(sets.first[other_corner])
                while other != _NO_SET:
                    larger = latest if direction > 0 else other
                    smaller = other if direction > 0 else latest
                    larger_mask = np.int64(sets.mask[larger])
                    inner = np.int64(sets.mask[smaller]) << (row * _ROW + col)
                    if other < latest and inner & ~larger_mask == 0:
                        sets.is_split[larger] = True
                        corner = np.int64(sets.corner[larger])
                        count = np.int64(sets.mines[larger]) - sets.mines[smaller]
                        fault = _add(sets, corner, larger_mask & ~inner, count, width)
                        if fault != _CONSISTENT:
                            return fault
                    other = np.int64(sets.following[other])
    return _CONSISTENT


@kernel
def _add(sets, corner, mask, count, width):
    """Adds a set unless it is there; returns a fault."""
    while mask & _FIRST_ROW == 0:
        mask >>= _ROW
        corner += width
    while mask & _FIRST_COL == 0:
        mask >>= 1
        corner += 1
    other = sets.first[corner]
    while other != _NO_SET:
        if sets.mask[other] == mask:
            return _CONSISTENT if sets.mines[other] == count else corner
        other = sets.following[other]
    new = sets.num[0]
    if new == sets.mask.size:
        return _FULL
    size = 0
    for row in range(3):
        for col in range(3):
            if mask >> (row * _ROW + col) & 1:
                sets.cells[new, size] = corner + row * width + col
                size += 1
    sets.corner[new] = corner
    sets.mask[new] = mask
    sets.size[new] = size
    sets.mines[new] = count
    sets.is_split[new] = False
    sets.following[new] = sets.first[corner]
    sets.first[corner] = new
    sets.num[0] = new + 1
    return _CONSISTENT if 0 <= count <= size else corner


@kernel
def _decide(field, sets):
    """Rule 2. Returns whether it decides a cell."""
    has_decided = False
    for i in range(sets.num[0]):
        if sets.mines[i] == 0 or sets.mines[i] == sets.size[i]:
            for k in range(sets.size[i]):
                field[sets.cells[i, k]] = SAFE if sets.mines[i] == 0 else MINE
            has_decided = True
    return has_decided


@kernel
def _smallest_shares(field, sets, left, smallest):
    """Fills `smallest` [field size] with the smallest count / size of each cell, infinite in no set but the total.

    Returns:
        The probability of a cell in no set but the total.
    """
    for cell in range(smallest.size):
        smallest[cell] = np.inf
    outside = left / max(number_of(field, HIDDEN), 1)
    for i in range(sets.num[0]):
        if sets.is_split[i]:
            continue
        share = sets.mines[i] / sets.size[i]
        outside = min(outside, _BELOW * share)
        for k in range(sets.size[i]):
            cell = sets.cells[i, k]
            smallest[cell] = min(smallest[cell], share)
    return outside
