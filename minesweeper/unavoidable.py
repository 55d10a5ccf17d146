"""Guesses that nothing can spare: even sets, of two layouts that only opening one of their cells tells apart.

An even set is some undecided cells of which one of two layouts holds, each the opposite of the other, with as many
mines in the one as in the other. If every cell outside that shows a number, or may yet, has as many of those mines
around it in the one as in the other, then to swap the two turns every layout of the board into another that fits all
that can ever be seen from outside. So half of the games that come this far are lost at the set, now or later, and to
guess there now costs no more than it will later, and tells what its safe cells show. What is known as a 50/50 that
cannot be avoided is the smallest case, two cells.

Strictly, what a guess at one layout tells could turn out to be worth less than what the other would have told, which
another guess may show first; this has not been seen in thousands of positions.
"""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.kernels import kernel
from minesweeper.posterior import Posterior
from minesweeper.prospects import most_promising

_MOST_CELLS = 64  # of a set
_ROUNDING = 1e-6
_UNSET = -1


def unavoidable_guesses(views: NDArray[np.int8], probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Two cells of an even set of each view: one is safe in the one layout of the set, the other in the other.

    Args:
        views: int8 [N, R, C], nothing proved safe in them.
        probabilities: float64 [N, R, C], their posterior.

    Returns:
        int64 [N, 2], flat; -1 where there is no such set.
    """
    found = np.full((len(views), 2), -1, np.int64)
    _unavoidable_guesses(np.ascontiguousarray(views), np.ascontiguousarray(probabilities), found)
    return found


def candidates(views: NDArray[np.int8], posterior: Posterior, margin: float, most: int) -> NDArray[np.int64]:
    """The cells worth a look at guesses: the two of `unavoidable_guesses` where there are such, or `most_promising`,
    which see; int64 [N, K], flat, -1: no more."""
    cells = most_promising(views, posterior, margin, most)
    guesses = unavoidable_guesses(views, posterior.probabilities)
    is_unavoidable = guesses[:, 0] >= 0
    if is_unavoidable.any():
        cells = np.pad(cells, ((0, 0), (0, 2)), constant_values=-1)
        cells[is_unavoidable] = -1
        cells[is_unavoidable, :2] = guesses[is_unavoidable]
    return cells


@kernel
def _unavoidable_guesses(views, probabilities, found):
    rows, cols = views.shape[1:]
    layout = np.full((2, rows, cols), _UNSET, np.int8)  # of the set: 1 a mine, 0 safe
    cells = np.empty((2, _MOST_CELLS, 2), np.int64)
    sizes = np.empty(2, np.int64)
    for game in range(views.shape[0]):
        view, probability = views[game], probabilities[game]
        for row in range(rows):
            for col in range(cols):
                if found[game, 0] >= 0 or not abs(probability[row, col] - 0.5) < _ROUNDING:
                    continue
                for is_mine in range(2):
                    sizes[is_mine] = _follow(view, probability, row, col, is_mine, layout[is_mine], cells[is_mine])
                if _is_even(view, probability, layout, cells[0, : sizes[0]], sizes[1]):
                    for i in range(sizes[0]):
                        r, c = cells[0, i]
                        found[game, layout[0, r, c]] = r * cols + c
                for is_mine in range(2):
                    for i in range(sizes[is_mine]):
                        layout[is_mine, cells[is_mine, i, 0], cells[is_mine, i, 1]] = _UNSET


@kernel
def _follow(view, probability, row, col, is_mine, layout, cells):
    """What follows by single numbers if the cell is a mine, or is safe: writes it to `layout` [R, C] and the cells that
    it decides to `cells`, the given one first; returns how many these are. Too many, or a contradiction, end it."""
    rows, cols = view.shape
    layout[row, col] = is_mine
    cells[0, 0], cells[0, 1] = row, col
    size = 1
    done = 0
    while done < size:
        at_row, at_col = cells[done]
        done += 1
        for r in range(max(at_row - 1, 0), min(at_row + 2, rows)):
            for c in range(max(at_col - 1, 0), min(at_col + 2, cols)):
                if view[r, c] < 0:
                    continue
                need = np.int64(view[r, c])
                num_open = 0
                for i in range(max(r - 1, 0), min(r + 2, rows)):
                    for j in range(max(c - 1, 0), min(c + 2, cols)):
                        if _is_mine(view, probability, i, j):
                            need -= 1
                        elif layout[i, j] != _UNSET:
                            need -= layout[i, j]
                        elif probability[i, j] > 0.0:  # False if revealed
                            num_open += 1
                if need != 0 and need != num_open:
                    continue
                for i in range(max(r - 1, 0), min(r + 2, rows)):
                    for j in range(max(c - 1, 0), min(c + 2, cols)):
                        if layout[i, j] == _UNSET and 0.0 < probability[i, j] < 1.0:
                            if size == cells.shape[0]:
                                return size
                            layout[i, j] = need > 0
                            cells[size, 0], cells[size, 1] = i, j
                            size += 1
    return size


@kernel
def _is_even(view, probability, layout, cells, other_size):
    """Whether the two layouts [2, R, C] of these cells are each other's opposite, and look the same from outside."""
    rows, cols = view.shape
    if cells.shape[0] != other_size:
        return False
    more = 0  # mines of the one layout than of the other
    for i in range(cells.shape[0]):
        row, col = cells[i]
        if layout[0, row, col] + layout[1, row, col] != 1:  # not in the other one, or the same there
            return False
        more += layout[0, row, col] - layout[1, row, col]
        for r in range(max(row - 1, 0), min(row + 2, rows)):
            for c in range(max(col - 1, 0), min(col + 2, cols)):
                if layout[0, r, c] != _UNSET or _is_mine(view, probability, r, c):
                    continue
                difference = 0
                for j in range(max(r - 1, 0), min(r + 2, rows)):
                    for k in range(max(c - 1, 0), min(c + 2, cols)):
                        if layout[0, j, k] != _UNSET:
                            difference += layout[0, j, k] - layout[1, j, k]
                if difference != 0:
                    return False
    return more == 0


@kernel
def _is_mine(view, probability, row, col):
    """Whether a cell is known to be a mine."""
    return view[row, col] == MINE or (view[row, col] == HIDDEN and probability[row, col] == 1.0)
