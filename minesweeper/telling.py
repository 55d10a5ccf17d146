"""Which proved cells are a way on: opening a cell whose number is known before tells nothing."""

import numpy as np

from minesweeper.kernels import kernel

_ROUNDING = 1e-9


@kernel
def count_telling(view, row, col, after):
    """How many of the safe cells show a number that is not known before, once the cell (row, col) is opened.

    A number is taken to be known if it follows from sums of mines near by (`_is_told`). That is sound, and misses few.

    Args:
        view: int8 [R, C], before the cell is opened.
        after: float64 [R, C], the posterior then, NaN where revealed.
    """
    rows, cols = view.shape
    num_undecided = 0
    for probability in after.flat:
        num_undecided += 0.0 < probability < 1.0
    around = np.empty(8, np.int64)
    sums = np.empty((26, 8))
    count = 0
    for r in range(rows):
        for c in range(cols):
            if after[r, c] == 0.0:
                count += not _is_told(view, row, col, after, r, c, num_undecided, around, sums)
    return count


@kernel
def _is_told(view, row, col, after, at_row, at_col, num_undecided, around, sums):
    """Whether the number of a safe cell is known: the undecided cells around it are a linear combination of groups
    whose mines are known, each the undecided cells around a revealed cell at most two away; or they are all that are
    left.

    Args:
        around: room for 8 cells.
        sums: room for 26 rows, the groups and the cells asked for.
    """
    rows, cols = view.shape
    num_around = 0
    for r in range(max(at_row - 1, 0), min(at_row + 2, rows)):
        for c in range(max(at_col - 1, 0), min(at_col + 2, cols)):
            if 0.0 < after[r, c] < 1.0:
                around[num_around] = r * cols + c
                num_around += 1
    if num_around == 0 or num_around == num_undecided:
        return True
    num_sums = 0
    for clue_row in range(max(at_row - 2, 0), min(at_row + 3, rows)):
        for clue_col in range(max(at_col - 2, 0), min(at_col + 3, cols)):
            if view[clue_row, clue_col] < 0 and (clue_row != row or clue_col != col):
                continue
            group = sums[num_sums]
            group[:] = 0.0
            num_inside = 0
            num_outside = 0
            for r in range(max(clue_row - 1, 0), min(clue_row + 2, rows)):
                for c in range(max(clue_col - 1, 0), min(clue_col + 2, cols)):
                    if 0.0 < after[r, c] < 1.0:
                        num_outside += 1
                        for k in range(num_around):
                            if around[k] == r * cols + c:
                                group[k] = 1.0
                                num_inside += 1
                                num_outside -= 1
            num_sums += num_inside > 0 and num_outside == 0
    sums[num_sums] = 0.0
    sums[num_sums, :num_around] = 1.0
    return _is_combination(sums[: num_sums + 1])


@kernel
def _is_combination(vectors):
    """Whether the last of the vectors [V, D] is a linear combination of the others, by elimination; changes them."""
    last = vectors.shape[0] - 1
    done = 0
    for k in range(vectors.shape[1]):
        for i in range(done, last):
            if abs(vectors[i, k]) > _ROUNDING:
                for j in range(vectors.shape[1]):
                    vectors[i, j], vectors[done, j] = vectors[done, j], vectors[i, j]
                for below in range(done + 1, last + 1):
                    share = vectors[below, k] / vectors[done, k]
                    for j in range(vectors.shape[1]):
                        vectors[below, j] -= share * vectors[done, j]
                done += 1
                break
    return np.abs(vectors[last]).max() <= _ROUNDING
