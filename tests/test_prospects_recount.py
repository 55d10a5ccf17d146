"""Prospects against a plain recount: each number is written into the view, and the whole view is solved again."""

import math

import numpy as np
import pytest

from minesweeper import MINE, PLAYING, Games, Mode, solve_posterior
from minesweeper.posterior import InconsistentViewError
from minesweeper.prospects import prospects
from minesweeper.proving import open_proved

SAME = 1e-9  # what a probability may lie beside a bound and still count as on it


def around(array, row, col):
    """The cell and its neighbours."""
    return array[max(row - 1, 0) : row + 2, max(col - 1, 0) : col + 2]


def beside_numbers(view):
    rows, cols = view.shape
    return np.array([[(around(view, row, col) >= 0).any() for col in range(cols)] for row in range(rows)])


def log4(value):
    return math.log1p(value) / 4


def position_features(view, num_mines, posterior):
    p = posterior.probabilities
    is_open = p < 1
    frontier = p[is_open & beside_numbers(view)]
    lowest = min(1.0, p[is_open].min(initial=1.0))
    mines_left = num_mines - (view == MINE).sum() - (p == 1).sum()
    return [
        lowest, log4((p <= lowest + 0.03 + SAME).sum()), log4(is_open.sum()), log4(frontier.size),
        log4(max(mines_left, 0)), mines_left / max(is_open.sum(), 1), is_open.sum() / p.size,
        log4((frontier * (1 - frontier)).sum()), log4((abs(frontier - 0.5) <= 0.1 + SAME).sum()),
        log4(posterior.log_layouts), math.log(p.size) / 4,
    ]  # fmt: skip


def cell_features(view, posterior, row, col):
    p = posterior.probabilities
    rows, cols = p.shape
    edges = min(row, rows - 1 - row, 4), min(col, cols - 1 - col, 4)
    near = around(p, row, col)
    return [
        p[row, col], 5 * (p[row, col] - np.nanmin(p)), not beside_numbers(view)[row, col], ((near < 1).sum() - 1) / 8,
        (near.size - 1) / 8, min(edges) / 4, max(edges) / 4,
    ]  # fmt: skip


def is_told(trial, p, row, col):
    """Whether the mines around a safe cell follow from numbers at most two away whose undecided cells are all around it
    too, or from the total."""
    is_open = (p > 0) & (p < 1)

    def undecided_around(at_row, at_col):
        mask = np.zeros(p.shape, np.bool_)
        around(mask, at_row, at_col)[:] = True
        return mask & is_open

    asked = undecided_around(row, col)
    if not asked.any() or asked.sum() == is_open.sum():
        return True
    groups = [
        undecided_around(r, c)[asked]
        for r, c in np.argwhere(trial >= 0)
        if max(abs(r - row), abs(c - col)) <= 2 and not (undecided_around(r, c) & ~asked).any()
    ]
    groups = np.array([*groups, np.zeros(asked.sum())], np.float64)
    with_asked = np.concatenate([groups, np.ones((1, asked.sum()))])
    return np.linalg.matrix_rank(with_asked) == np.linalg.matrix_rank(groups)


def outcome_features(trial, now, after, num_mines, row, col, need):
    """`trial`: the view with the number; `now` and `after`: the posteriors before and then."""
    p = after.probabilities
    beside = beside_numbers(trial)
    is_open = (p > 0) & (p < 1)
    frontier = p[is_open & beside]
    interior = p[is_open & ~beside]
    num_safe, num_open = (p == 0).sum(), is_open.sum()
    num_telling = sum(not is_told(trial, p, r, c) for r, c in np.argwhere(p == 0))
    safest = np.sort([*np.zeros(num_telling), *p[is_open], *np.ones(5)])[:5] if num_open else np.zeros(5)
    near = (p[is_open] <= safest[0] + 0.03 + SAME).sum() if num_telling == 0 else 0
    proved = (now.probabilities == 1).sum()
    mines_left = num_mines - (trial == MINE).sum() - proved
    new_mines = (p == 1).sum() - proved
    return [
        num_open == 0, math.log1p(num_safe) / 2, num_telling >= 1, num_telling >= 2,
        (around(p, row, col) == 0).sum() / 8, safest[0], log4(near), math.log1p(max(new_mines, 0)) / 2,
        log4(after.log_layouts), (now.log_layouts - after.log_layouts) / 4, log4((p * (1 - p))[is_open].sum()),
        log4((frontier * (1 - frontier)).sum()), log4(num_open), log4(interior.size),
        interior[0] if interior.size else 0, log4((abs(frontier - 0.5) <= 0.1 + SAME).sum()),
        log4((p[is_open] < 0.1 - SAME).sum()), need == 0, need == 1, need == 2, need >= 3,
        around(is_open, row, col).sum() / 8, (mines_left - new_mines) / max(num_open + num_safe, 1), *safest[1:],
        math.log1p(num_telling) / 2,
    ]  # fmt: skip


def recounted(views, num_mines, posterior, games, cells):
    """(of, numbers, chances, features) as `prospects`."""
    found = []
    for i, (game, cell) in enumerate(zip(games.tolist(), cells.tolist(), strict=True)):
        row, col = divmod(cell, views.shape[2])
        view, now = views[game], posterior.of(game)
        low = ((around(now.probabilities, row, col) == 1) | (around(view, row, col) == MINE)).sum()
        for number in range(9):
            trial = view.copy()
            trial[row, col] = number
            try:
                after = solve_posterior(trial, num_mines[game])
            except InconsistentViewError:
                continue
            features = [
                *position_features(view, num_mines[game], now), *cell_features(view, now, row, col),
                *outcome_features(trial, now, after, num_mines[game], row, col, number - low),
            ]  # fmt: skip
            found.append((i, number, math.exp(after.log_layouts - now.log_layouts), features))
    return tuple(np.array(column) for column in zip(*found, strict=True))


def guesses(mode, num_games, seed):
    """Views where nothing is proved, at all stages of games: a safe cell is opened at each guess."""
    games = Games(mode, num_games, seed)
    games.reveal(mode.rows // 2, mode.cols // 2)
    found = []
    while (games.status == PLAYING).any():
        posterior = open_proved(games)
        is_live = games.status == PLAYING
        found.append(games.views[is_live & posterior.exact])
        chances = np.where(games.mines | np.isnan(posterior.probabilities), 2, posterior.probabilities)
        cells = chances.reshape(num_games, -1).argmin(axis=1)
        mask = np.zeros(games.views.shape, np.bool_)
        mask.reshape(num_games, -1)[is_live, cells[is_live]] = True
        games.reveal_mask(mask)
    return np.concatenate(found)


def sample(views, num_mines, num_cells, seed=0):
    """Arguments of `prospects` for some of the cells that are no proved mines; games in rising order."""
    posterior = solve_posterior(views, num_mines)
    games, cells = np.nonzero(posterior.probabilities.reshape(len(views), -1) < 1)
    chosen = np.sort(np.random.default_rng(seed).choice(games.size, min(num_cells, games.size), replace=False))
    return views, np.full(len(views), num_mines), posterior, games[chosen], cells[chosen]


def assert_same(found, expected):
    of, numbers, chances, features = expected
    np.testing.assert_array_equal(found.of, of)
    np.testing.assert_array_equal(found.numbers, numbers)
    np.testing.assert_allclose(found.chances, chances, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found.features, features, rtol=1e-5, atol=1e-6)


MANY = [
    (Mode(9, 9, 10), 30), (Mode(16, 16, 40), 6), (Mode(16, 30, 99), 4), (Mode(5, 5, 5), 60), (Mode(1, 18, 5), 40),
    (Mode(18, 1, 5), 40), (Mode(2, 12, 6), 30), (Mode(7, 7, 20), 15), (Mode(6, 7, 30, "any"), 30),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "num_games"), MANY, ids=lambda value: str(value).replace(" ", ""))
def test_as_a_plain_recount(mode, num_games):
    """Open, dense and narrow boards, from the first guess to the last."""
    arguments = sample(guesses(mode, num_games, 3), mode.mines, 60 if mode.cells < 400 else 30)
    assert_same(prospects(*arguments), recounted(*arguments))


@pytest.mark.parametrize("mode", [Mode(9, 9, 10), Mode(7, 7, 20), Mode(4, 5, 6)], ids=lambda mode: f"{mode.cells}")
def test_with_marked_mines(mode):
    """Of the proved mines half are marked, so some of a cell's mines are marked and some proved."""
    views = guesses(mode, 40, 4)
    posterior = solve_posterior(views, mode.mines)
    is_marked = (posterior.probabilities == 1) & (np.random.default_rng(1).random(views.shape) < 0.5)
    assert is_marked.any()
    views[is_marked] = MINE
    arguments = sample(views, mode.mines, 60)
    assert_same(prospects(*arguments), recounted(*arguments))


def test_where_something_is_safe_already():
    mode = Mode(8, 8, 10)
    games = Games(mode, 20, 6)
    games.reveal(3, 3)
    games.reveal(0, 0)
    views = games.views[games.status == PLAYING]
    arguments = sample(views, mode.mines, 40)
    assert (arguments[2].probabilities == 0).any()
    assert_same(prospects(*arguments), recounted(*arguments))


@pytest.mark.parametrize("shape", [(3, 120), (40, 40)])
def test_what_is_too_large_for_the_quick_way(shape):
    """One component of 300 cells; a board of 1600."""
    rng = np.random.default_rng(2)
    mines = np.zeros((1, *shape), np.bool_)
    even = np.arange(0, shape[1], 2)
    mines[0, 2 * rng.integers(2, size=even.size), even] = True  # so no number is zero
    mines[0, 0, 1::2] = rng.random(shape[1] // 2) < 0.3
    mines[0, 4:] = rng.random(mines[0, 4:].shape) < 0.2
    games = Games.on_boards(mines, openings=False)
    for col in range(1, shape[1], 2):
        games.reveal(1, col)
    arguments = sample(games.views, int(mines.sum()), 6)
    assert_same(prospects(*arguments), recounted(*arguments))


def test_a_budget_of_states():
    """Below the quick way's own budget each number is counted alone; what is over the budget is left out."""
    mode = Mode(9, 9, 10)
    arguments = sample(guesses(mode, 10, 7), mode.mines, 100)
    found = prospects(*arguments)
    assert_same(prospects(*arguments, max_states=50_000), found)
    assert prospects(*arguments, max_states=20).of.size < found.of.size


def test_the_order_of_cells_in_a_game_does_not_matter():
    """What one cell leaves behind is not seen by the next."""
    mode = Mode(9, 9, 10)
    views, mines, posterior, games, cells = sample(guesses(mode, 6, 8)[:1], mode.mines, 80)
    found = prospects(views, mines, posterior, games, cells)
    back = prospects(views, mines, posterior, games, cells[::-1].copy())
    order = np.lexsort((back.numbers, -back.of))
    np.testing.assert_array_equal(back.numbers[order], found.numbers)
    np.testing.assert_allclose(back.features[order], found.features, rtol=1e-6, atol=1e-7)
