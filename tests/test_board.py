"""One board: counts against a naive loop, mines at the expected rates, openings against a recursive flood."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2, chisquare

from minesweeper.board import HIDDEN, draw, lay_mines, neighbour_counts, open_cells, random_key

SHAPES = [(4, 7), (7, 4), (1, 9), (9, 1), (2, 2), (1, 1), (3, 11)]


def naive_counts(mines):
    rows, cols = mines.shape
    counts = np.zeros((rows, cols), np.int8)
    for row in range(rows):
        for col in range(cols):
            for r in range(rows):
                for c in range(cols):
                    if (r, c) != (row, col) and abs(r - row) <= 1 and abs(c - col) <= 1:
                        counts[row, col] += mines[r, c]
    return counts


def naive_opening(view, counts, row, col):
    """The recursive textbook rule, on a copy of the view."""
    if not (0 <= row < view.shape[0] and 0 <= col < view.shape[1]) or view[row, col] != HIDDEN:
        return
    view[row, col] = counts[row, col]
    if counts[row, col] == 0:
        for r in (row - 1, row, row + 1):
            for c in (col - 1, col, col + 1):
                naive_opening(view, counts, r, c)


def laid(shape, num_mines, first, radius, seed, index=0):
    mines = np.zeros(shape, np.bool_)
    lay_mines(
        mines,
        num_mines,
        *first,
        radius,
        np.uint64(random_key(np.uint64(seed), index, 0)),
        np.empty(mines.size, np.int32),
    )
    return mines


def test_counts_of_a_drawn_board():
    mines = np.array([list(row) for row in ["..*..", "***..", "..*.."]]) == "*"
    assert neighbour_counts(mines).tolist() == [
        [2, 4, 2, 2, 0],
        [1, 4, 3, 3, 0],
        [2, 4, 2, 2, 0],
    ]


def test_a_cell_has_at_most_eight():
    assert neighbour_counts(np.ones((3, 4), bool)).tolist() == [[3, 5, 5, 3], [5, 8, 8, 5], [3, 5, 5, 3]]


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_equal_a_naive_loop(shape):
    rng = np.random.default_rng(1)
    for share in (0.1, 0.3, 0.6, 0.9):
        mines = rng.random(shape) < share
        before = mines.copy()
        counts = neighbour_counts(mines)
        assert counts.dtype == np.int8
        np.testing.assert_array_equal(counts, naive_counts(mines))
        np.testing.assert_array_equal(mines, before)


def test_counts_of_an_array_that_is_not_contiguous():
    mines = np.random.default_rng(2).random((8, 6)) < 0.4
    np.testing.assert_array_equal(neighbour_counts(mines.T), neighbour_counts(mines).T)
    np.testing.assert_array_equal(neighbour_counts(mines[::2, ::3]), naive_counts(mines[::2, ::3]))


@pytest.mark.parametrize("radius", [-1, 0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_mine_count_is_exact_at_every_number(shape, radius):
    rows, cols = shape
    first = (rows - 1, cols - 1)
    distance = np.maximum(*np.abs(np.indices(shape) - np.reshape(first, (2, 1, 1))))
    for num_mines in range((distance > radius).sum() + 1):
        mines = laid(shape, num_mines, first, radius, seed=num_mines)
        assert mines.sum() == num_mines
        assert not mines[distance <= radius].any()


@pytest.mark.parametrize("first", [(1, 2), (0, 0), (4, 7)])
@pytest.mark.parametrize("radius", [-1, 0, 1])
def test_each_allowed_cell_is_mined_at_the_same_rate(radius, first):
    shape, num_mines, num_boards = (5, 8), 9, 4000
    total = sum(laid(shape, num_mines, first, radius, 3, index).astype(int) for index in range(num_boards))
    distance = np.maximum(*np.abs(np.indices(shape) - np.reshape(first, (2, 1, 1))))
    assert (total[distance <= radius] == 0).all()
    allowed = total[distance > radius]
    rate = num_mines / allowed.size
    # Draws without replacement: the covariance is n / (n - 1) times the binomial variance off the constant vector.
    variance = num_boards * rate * (1 - rate) * allowed.size / (allowed.size - 1)
    statistic = ((allowed - num_boards * rate) ** 2).sum() / variance
    assert 1e-3 < chi2.sf(statistic, allowed.size - 1) < 1 - 1e-3


@pytest.mark.parametrize(
    ("shape", "num_mines", "first", "radius"),
    [((2, 3), 3, (1, 2), -1), ((2, 3), 2, (0, 1), 0), ((3, 4), 2, (2, 3), 1), ((1, 6), 2, (0, 0), 1)],
)
def test_each_allowed_layout_is_equally_likely(shape, num_mines, first, radius):
    distance = np.maximum(*np.abs(np.indices(shape) - np.reshape(first, (2, 1, 1)))).ravel()
    layouts = list(combinations(np.flatnonzero(distance > radius).tolist(), num_mines))
    num_boards = 200 * len(layouts)
    seen = Counter(
        tuple(np.flatnonzero(laid(shape, num_mines, first, radius, 5, i)).tolist()) for i in range(num_boards)
    )
    assert set(seen) == set(layouts)
    assert 1e-3 < chisquare([seen[layout] for layout in layouts]).pvalue < 1 - 1e-3


def test_boards_of_one_key_differ_only_in_the_mines_that_had_to_move():
    differences = [
        (laid((6, 9), 20, (0, 0), 0, 7, index) ^ laid((6, 9), 20, (5, 8), 0, 7, index)).sum() for index in range(200)
    ]
    assert set(differences) == {0, 2}


def test_keys_differ_in_each_of_their_parts():
    keys = {
        int(random_key(np.uint64(seed), index, move))
        for seed in (0, 1, 2, 2**64 - 1)
        for index in range(20)
        for move in range(20)
    }
    assert len(keys) == 4 * 20 * 20


@pytest.mark.parametrize("bound", [1, 2, 3, 480])
def test_draws_are_uniform(bound):
    state, seen = 11, np.zeros(bound, int)
    for _ in range(20 * bound + 2000):
        state, value = draw(np.uint64(state), bound)
        seen[value] += 1
    assert (seen > 0).all()
    assert bound == 1 or 1e-3 < chisquare(seen).pvalue < 1 - 1e-3


def test_draws_of_a_large_bound_have_no_bias():
    """Without the rejection step every third value of this bound would come twice as often as the others."""
    state, seen = 13, np.zeros(3, int)
    for _ in range(6000):
        state, value = draw(np.uint64(state), 3 * 2**30)
        seen[value % 3] += 1
    assert chisquare(seen).pvalue > 1e-3


@pytest.mark.parametrize("shape", SHAPES)
def test_openings_equal_a_recursive_flood(shape):
    rng = np.random.default_rng(4)
    stack = np.zeros(shape[0] * shape[1], np.int32)
    for _ in range(60):
        mines = rng.random(shape) < rng.choice([0.0, 0.1, 0.25])
        counts = neighbour_counts(mines)
        view = np.where(~mines & (rng.random(shape) < 0.2), counts, HIDDEN).astype(np.int8)
        for row, col in np.argwhere(~mines & (view == HIDDEN)):
            expected, opened = view.copy(), view.copy()
            naive_opening(expected, counts, int(row), int(col))
            revealed = open_cells(opened, counts, row, col, True, stack)
            np.testing.assert_array_equal(opened, expected)
            assert revealed == (opened != view).sum()


def test_without_openings_a_zero_opens_itself_alone():
    view = np.full((3, 5), HIDDEN, np.int8)
    counts = np.zeros((3, 5), np.int8)
    assert open_cells(view, counts, 1, 3, False, np.zeros(15, np.int32)) == 1
    assert view.tolist() == [[-2] * 5, [-2, -2, -2, 0, -2], [-2] * 5]
