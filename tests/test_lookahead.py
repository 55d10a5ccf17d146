"""One move ahead and the endgame, against plain enumeration on small boards; and the settings of the exact solver."""

import itertools
from functools import cache

import numpy as np
import pytest

from minesweeper import HIDDEN, PLAYING, Games, Mode, make_solver, neighbour_counts, play_games, solve_posterior
from minesweeper.endgame import GAVE_UP, endgame_values

BOARDS = [(3, 3, 2), (3, 4, 3), (4, 4, 4), (1, 7, 2), (2, 5, 3), (4, 3, 5)]


def stuck_views(rows, cols, mines, num_games=30):
    """Views of games that the exact solver plays, at its first guess; int8 [N, R, C]."""
    games = Games(Mode(rows, cols, mines), num_games, seed=rows * 100 + cols * 10 + mines)
    games.reveal(0, 0)
    for _ in range(rows * cols):
        games.reveal_mask(solve_posterior(games.views, mines).probabilities == 0.0)
    return games.views[games.status == PLAYING]


def layouts_of(view, num_mines):
    """All layouts, each a tuple of flat mined cells, that fit the view."""
    hidden = [int(cell) for cell in np.flatnonzero(view == HIDDEN)]
    found = []
    for mined in itertools.combinations(hidden, num_mines):
        board = np.zeros(view.size, bool)
        board[list(mined)] = True
        counts = neighbour_counts(board.reshape(view.shape))
        if (counts == view)[view != HIDDEN].all():
            found.append((mined, tuple(counts.ravel().tolist())))
    return hidden, found


def best_play(view, num_mines):
    """For each hidden flat cell, in how many layouts opening it now and playing best after wins; by plain recursion."""
    hidden, everything = layouts_of(view, num_mines)

    def after(opened, layouts, cell):
        total = 0
        alive = [layout for layout in layouts if cell not in layout[0]]
        for number in {layout[1][cell] for layout in alive}:
            total += value(opened | {cell}, tuple(layout for layout in alive if layout[1][cell] == number))
        return total

    @cache
    def value(opened, layouts):
        left = [cell for cell in hidden if cell not in opened]
        if len(left) == num_mines:
            return len(layouts)
        return max(after(opened, layouts, cell) for cell in left)

    return {cell: after(frozenset(), tuple(everything), cell) for cell in hidden}, len(everything)


@pytest.mark.parametrize(("rows", "cols", "mines"), BOARDS)
def test_endgame_equals_plain_recursion(rows, cols, mines):
    values = np.empty((rows, cols))
    views = stuck_views(rows, cols, mines)
    compared = 0
    for view in np.unique(views, axis=0)[:8]:
        if len(layouts_of(view, mines)[1]) > 60:
            continue
        expected, num_layouts = best_play(view, mines)
        assert endgame_values(view, mines, 1000, 10**6, True, values) == num_layouts
        np.testing.assert_array_equal(np.isnan(values), view != HIDDEN)
        assert {cell: values.flat[cell] for cell in expected} == expected
        assert endgame_values(view, mines, 1000, 10**6, False, values) == num_layouts
        best = int(np.nanargmax(values))
        assert values.flat[best] == expected[best] == max(expected.values())
        assert all(values.flat[cell] <= wins for cell, wins in expected.items())
        compared += 1
    assert compared > 0


def test_endgame_gives_up_in_time():
    view = np.full((4, 4), HIDDEN, np.int8)
    view[0, 0] = 1
    values = np.empty((4, 4))
    num_layouts = len(layouts_of(view, 4)[1])
    assert endgame_values(view, 4, num_layouts - 1, 10**6, True, values) == GAVE_UP
    assert endgame_values(view, 4, num_layouts, 10, True, values) == GAVE_UP
    assert endgame_values(view, 4, num_layouts, 10**6, True, values) == num_layouts


@pytest.mark.parametrize(("rows", "cols", "mines"), BOARDS)
def test_progress_equals_plain_enumeration(rows, cols, mines):
    views = np.unique(stuck_views(rows, cols, mines), axis=0)[:8]
    solver = make_solver("exact", tie_break="progress", tie_margin=1.0)
    chances = solver.guess_scores(views, np.full(len(views), mines), solve_posterior(views, mines))
    for view, chance in zip(views, chances, strict=True):
        hidden, layouts = layouts_of(view, mines)
        np.testing.assert_array_equal(np.isnan(chance), view != HIDDEN)
        for cell in hidden:
            expected = 0
            for number in range(9):
                part = [mined for mined, counts in layouts if cell not in mined and counts[cell] == number]
                mined_somewhere = set().union(*part)
                has_safe = any(other not in mined_somewhere for other in hidden if other != cell)
                is_won = len(hidden) - 1 == mines
                expected += len(part) * (has_safe or is_won)
            assert chance.flat[cell] == pytest.approx(expected / len(layouts), abs=1e-7)


@pytest.mark.parametrize(("rows", "cols", "mines"), BOARDS)
def test_safety_equals_plain_enumeration(rows, cols, mines):
    """The worth of a number: 0.6 of the safest cell's chance and 0.4 of the second safest's, where safe cells count
    only if their numbers differ between the layouts. A few of those that do not may be missed, which scores more."""
    views = np.unique(stuck_views(rows, cols, mines), axis=0)[:8]
    solver = make_solver("exact", tie_break="safety", tie_margin=1.0)
    scores = solver.guess_scores(views, np.full(len(views), mines), solve_posterior(views, mines))
    too_high = []
    for view, score in zip(views, scores, strict=True):
        hidden, layouts = layouts_of(view, mines)
        for cell in hidden:
            if np.isnan(score.flat[cell]):
                continue
            expected = 0.0
            for number in range(9):
                part = [layout for layout in layouts if cell not in layout[0] and layout[1][cell] == number]
                risks = []
                for other in hidden:
                    safe = [counts[other] for mined, counts in part if other not in mined]
                    if other != cell and safe and (len(safe) < len(part) or len(set(safe)) > 1):
                        risks.append(1 - len(safe) / len(part))
                worst = [1.0, 1.0] if any(risks) else [0.0, 0.0]
                first, second = sorted(risks + worst)[:2]
                expected += len(part) * (1 - 0.6 * first - 0.4 * second)
            assert score.flat[cell] > expected / len(layouts) - 1e-6
            too_high.append(score.flat[cell] > expected / len(layouts) + 1e-6)
    assert len(too_high) > 5
    assert np.mean(too_high) < 0.2


def test_margin_asks_near_the_lowest_alone():
    view = np.full((3, 9), HIDDEN, np.int8)
    view[1, 1] = 2
    posterior = solve_posterior(view[None], 4)
    probabilities = posterior.probabilities
    chances = make_solver("exact", tie_break="progress").guess_scores(view[None], np.array([4]), posterior)
    lowest = np.nanmin(probabilities)
    np.testing.assert_array_equal(~np.isnan(chances), np.nan_to_num(probabilities, nan=9) <= lowest)
    assert chances[0, 0, 8] > chances[0, 1, 6]  # a corner shows a zero more often than a cell of eight neighbours
    assert chances[0, 0, 8] == chances[0, 2, 8]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tie_break": "first"}, "tie_break must be one of random, corner, progress, safety, got 'first'"),
        ({"tie_margin": -0.1}, "tie_margin must be 0 to 1, got -0.1"),
        ({"endgame": -1}, "endgame must be 0 to 100000, got -1"),
        ({"max_states": 0}, "max_states must be an integer from 1"),
    ],
)
def test_refused_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        make_solver("exact", **settings)


def test_endgame_and_progress_win_more():
    """4x4/4 from the corner: lowest probability 65.57%, best play 69.52% (a full search of the game tree).

    Four standard deviations of 4,000 games are 2.9 points; on the same boards the difference is surer than that.
    """
    wins = {
        name: play_games(make_solver("exact", **settings), Mode(4, 4, 4), 4000, first_cell="corner").won.mean()
        for name, settings in (("lowest", {}), ("progress", {"tie_break": "progress"}), ("best", {"endgame": 2000}))
    }
    assert abs(wins["lowest"] - 0.6557) < 0.03
    assert abs(wins["best"] - 0.6952) < 0.03
    assert wins["lowest"] + 0.02 < wins["best"]
    assert wins["lowest"] < wins["progress"]
