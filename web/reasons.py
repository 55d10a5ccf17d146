"""Why a cell is safe: the few numbers that prove it.

A cell is proved by a set of numbers if these leave no way to put a mine there. The set is found as a player would look
for it: the numbers beside the cell, then those that share hidden cells with them, and so on, until they suffice; then
each that is not needed is dropped, the farthest first. What a single number proves, alone or in a chain, and what
several prove only together come out alike.

Terms: a *box* is all hidden cells with the same numbers of the set beside them, as in `minesweeper.frontier`; here each
has a range of mines, narrowed by the numbers, and split where they leave it open.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper import HIDDEN, MINE
from minesweeper.components import proved_safe_locally
from web.game import around
from web.validation import Cell

_MOST_NUMBERS = 40  # of a set that is looked at
_MOST_STEPS = 500  # of the search in one set
_MOST_NAMED = 3


class _Number(NamedTuple):
    cell: Cell
    need: int  # mines among its hidden neighbours
    hidden: frozenset[Cell]


class _TooLong(Exception):  # noqa: N818 - not an error: the sentence then names no numbers
    pass


def place(cell: Sequence[int]) -> str:
    """A cell as people say it, counted from 1."""
    return f"row {cell[0] + 1}, column {cell[1] + 1}"


def why_safe(view: NDArray[np.int8], num_mines: int, cell: Cell) -> str:
    """Why `cell` [R, C], which is proved safe in this view, is safe, as the end of a sentence."""
    numbers = proof(view, cell)
    if numbers:
        named = [f"the {view[number]} at {place(number)}" for number in numbers[:_MOST_NAMED]]
        if len(numbers) > _MOST_NAMED:
            named.append(f"{len(numbers) - _MOST_NAMED} more")
        return "proved by " + (" and ".join(named) if len(named) < 3 else f"{', '.join(named[:-1])} and {named[-1]}")
    if proved_safe_locally(view[None])[0][cell]:
        return "no arrangement of the mines puts one here"
    left = num_mines - int((view == MINE).sum())
    return f"safe because of the mines left: no arrangement of {left} puts one here"


def proof(view: NDArray[np.int8], cell: Cell) -> list[Cell]:
    """Numbers that prove `cell` safe, none of which can be left out, the nearest first; [] if none were found.

    The number of mines is not used, and proofs by more than some dozens of numbers are not found.
    """
    chosen: list[_Number] = []
    seen: set[Cell] = set()
    reached: set[Cell] = {cell}
    try:
        while True:
            ring = sorted(_numbers_beside(view, reached) - seen)
            if not ring or len(seen) + len(ring) > _MOST_NUMBERS:
                return []
            seen.update(ring)
            chosen += [_number(view, number) for number in ring]
            if not _can_be_mine(chosen, cell):
                break
            reached = set().union(*(number.hidden for number in chosen))
        for number in reversed(list(chosen)):
            fewer = [other for other in chosen if other is not number]
            if not _can_be_mine(fewer, cell):
                chosen = fewer
    except _TooLong:
        return []
    return [number.cell for number in chosen]


def _numbers_beside(view: NDArray[np.int8], cells: set[Cell]) -> set[Cell]:
    found = set()
    for cell in cells:
        rows, cols = around(cell)
        for row, col in np.argwhere(view[rows, cols] >= 0):
            found.add((rows.start + int(row), cols.start + int(col)))
    return found


def _number(view: NDArray[np.int8], cell: Cell) -> _Number:
    rows, cols = around(cell)
    part = view[rows, cols]
    hidden = frozenset((rows.start + int(row), cols.start + int(col)) for row, col in np.argwhere(part == HIDDEN))
    return _Number(cell, int(view[cell] - (part == MINE).sum()), hidden)


def _can_be_mine(numbers: list[_Number], cell: Cell) -> bool:
    """Whether some layout of the mines meets these numbers and has a mine in `cell`."""
    members: dict[Cell, list[int]] = {}
    for i, number in enumerate(numbers):
        for hidden in number.hidden:
            members.setdefault(hidden, []).append(i)
    boxes: dict[tuple[int, ...], int] = {}
    for hidden, which in members.items():
        if hidden != cell:
            boxes[tuple(which)] = boxes.get(tuple(which), 0) + 1
    needs = [number.need - (cell in number.hidden) for number in numbers]
    parts: list[list[int]] = [[] for _ in numbers]
    for box, beside in enumerate(boxes):
        for i in beside:
            parts[i].append(box)
    return _has_layout(needs, parts, [0] * len(boxes), list(boxes.values()), itertools.count())


def _has_layout(
    needs: list[int], parts: list[list[int]], low: list[int], high: list[int], steps: "itertools.count[int]"
) -> bool:
    """Whether mines from `low` to `high` in each box can meet all needs; `parts` are the boxes of each number."""
    if next(steps) > _MOST_STEPS:
        raise _TooLong
    is_changed = True
    while is_changed:
        is_changed = False
        for need, boxes in zip(needs, parts, strict=True):
            least, most = sum(low[box] for box in boxes), sum(high[box] for box in boxes)
            if not least <= need <= most:
                return False
            for box in boxes:
                new_low, new_high = max(low[box], need - most + high[box]), min(high[box], need - least + low[box])
                if (new_low, new_high) != (low[box], high[box]):
                    least, most = least + new_low - low[box], most + new_high - high[box]
                    low[box], high[box] = new_low, new_high
                    is_changed = True
    undecided = [box for box in range(len(low)) if low[box] < high[box]]
    if not undecided:
        return True
    box = min(undecided, key=lambda box: high[box] - low[box])
    for mines in range(low[box], high[box] + 1):
        lower, higher = low.copy(), high.copy()
        lower[box] = higher[box] = mines
        if _has_layout(needs, parts, lower, higher, steps):
            return True
    return False
