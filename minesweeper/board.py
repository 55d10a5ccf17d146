"""One board: laying mines, counting them around each cell, opening cells. Pure rules on arrays, compiled."""

import numpy as np
from numpy.typing import NDArray

from minesweeper.kernels import kernel

HIDDEN = -2
MINE = -1

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW_32 = np.uint64(0xFFFFFFFF)


@kernel
def mix(x):
    """Scrambles a uint64 (the output function of SplitMix64; Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@kernel
def random_key(seed, index, move):
    """A uint64 that depends on (seed, game index, move) alone; starts the random stream of one game or one choice."""
    key = mix(np.uint64(seed) + _GOLDEN)
    key = mix(key ^ (np.uint64(index) + _GOLDEN))
    return mix(key ^ (np.uint64(move) + _GOLDEN))


@kernel
def draw(state, bound):
    """(next stream state, uniform integer in 0..bound-1), bound below 2**32; Lemire's method, so without bias."""
    bound = np.uint64(bound)
    state += _GOLDEN
    product = (mix(state) & _LOW_32) * bound
    if (product & _LOW_32) < bound:
        threshold = (_LOW_32 + np.uint64(1) - bound) % bound
        while (product & _LOW_32) < threshold:
            state += _GOLDEN
            product = (mix(state) & _LOW_32) * bound
    return state, np.int64(product >> np.uint64(32))


@kernel
def draw_share(state, whole):
    """(next stream state, uniform float64 in 0..whole)."""
    state += _GOLDEN
    return state, np.float64(mix(state) >> np.uint64(11)) * 2.0**-53 * whole


@kernel
def lay_mines(mines, num_mines, first_row, first_col, clear_radius, key, order):
    """Lays `num_mines` mines on one empty board `mines` [R, C] bool, in place.

    The cells are shuffled by `key` and the first ones that are allowed get the mines; so every allowed layout is
    equally likely, and boards of one key that differ in the first cell differ only in the mines that had to move.

    Args:
        clear_radius: cells within this distance of the first cell stay free: -1 none, 0 the cell, 1 its neighbours.
        order: int32 [at least R*C], scratch space.
    """
    rows, cols = mines.shape
    for cell in range(rows * cols):
        order[cell] = cell
    state = key
    left = num_mines
    position = 0
    while left > 0:
        state, offset = draw(state, rows * cols - position)
        cell = order[position + offset]
        order[position + offset] = order[position]
        position += 1
        row = np.int64(np.uint32(cell) // np.uint32(cols))
        col = cell - row * cols
        if max(abs(row - first_row), abs(col - first_col)) > clear_radius:
            mines[row, col] = True
            left -= 1


@kernel
def count_neighbours(mines, counts):
    """Writes the number of mines around each cell of one board into `counts` [R, C] int8."""
    rows, cols = mines.shape
    three = np.zeros(cols + 2, np.int8)  # mines in the cell's column, in its row and those above and below
    for row in range(rows):
        for col in range(cols):
            three[col + 1] = mines[row, col]
        if row > 0:
            for col in range(cols):
                three[col + 1] += mines[row - 1, col]
        if row + 1 < rows:
            for col in range(cols):
                three[col + 1] += mines[row + 1, col]
        for col in range(cols):
            counts[row, col] = three[col] + three[col + 1] + three[col + 2] - mines[row, col]


def neighbour_counts(mines: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Number of mines among the up to eight neighbours of each cell.

    Args:
        mines: bool [R, C], True for a mine.

    Returns:
        int8 [R, C]; for a mine's own cell, the other mines around it.

    >>> neighbour_counts(np.array([[True, False, False],
    ...                            [False, False, True]]))
    array([[0, 2, 1],
           [1, 2, 0]], dtype=int8)
    """
    mines = np.ascontiguousarray(mines, dtype=bool)
    counts = np.empty(mines.shape, np.int8)
    count_neighbours(mines, counts)
    return counts


@kernel
def open_cells(view, counts, row, col, cascade, stack):
    """Reveals the safe hidden cell (row, col) of one `view` [R, C] in place, and the opening of a zero.

    Iterative, so the size of an opening is bounded by memory alone. `stack` is int32 [R*C + 1] scratch space: each cell
    is pushed at most once, as it is revealed.

    Returns:
        The number of cells revealed.
    """
    rows, cols = view.shape
    view[row, col] = counts[row, col]
    revealed = 1
    if counts[row, col] != 0 or not cascade:
        return revealed
    stack[0] = row * cols + col
    size = 1
    while size > 0:
        size -= 1
        row, col = stack[size] // cols, stack[size] % cols
        for r in range(max(row - 1, 0), min(row + 2, rows)):
            for c in range(max(col - 1, 0), min(col + 2, cols)):
                is_new = view[r, c] == HIDDEN
                view[r, c] = counts[r, c]
                revealed += is_new
                stack[size] = r * cols + c  # kept only if it goes on: no branch to mispredict
                size += is_new & (counts[r, c] == 0)
    return revealed
