"""Games brought to their next guess, and forks of games."""

import numpy as np
import pytest

from minesweeper import (
    HIDDEN,
    LOST,
    MODES,
    PLAYING,
    WON,
    Games,
    Mode,
    make_solver,
    mine_posterior,
    play_games,
    solve_posterior,
)
from minesweeper.arena import choice_keys
from minesweeper.proving import open_proved


def begun(mode="beginner", num_games=60, seed=3):
    games = Games(MODES[mode], num_games, seed)
    games.reveal(0, 0)
    return games


@pytest.mark.parametrize("mode", ["beginner", "expert"])
def test_nothing_is_proved_afterwards_and_no_game_is_lost(mode):
    games = begun(mode)
    found = open_proved(games)
    assert not (games.status == LOST).any()
    goes_on = games.status == PLAYING
    assert goes_on.any()
    expected = mine_posterior(games.views[goes_on], games.mode.mines)
    np.testing.assert_array_equal(found.probabilities[goes_on], expected)
    assert not (expected == 0.0).any()
    assert found.exact[goes_on].all()
    assert np.isfinite(found.log_layouts[goes_on]).all()
    assert np.isnan(found.probabilities[~goes_on]).all()
    assert not found.exact[~goes_on].any()


@pytest.mark.parametrize("is_begun", [True, False])
@pytest.mark.parametrize(
    "mode",
    [
        MODES["beginner"],
        MODES["expert"],
        Mode(4, 4, 8, "any", openings=False),
        Mode(9, 9, 10, "zero", openings=False),
        Mode(1, 30, 4),
        Mode(5, 5, 0),
        Mode(3, 3, 8),
        Mode(30, 30, 60),
    ],
    ids=str,
)
def test_as_one_posterior_after_the_other(mode, is_begun):
    games = Games(mode, 60, seed=5)
    if is_begun:
        games.reveal(0, 0)
    expected = games.fork(np.arange(60))
    found = open_proved(games)
    while True:
        live = np.flatnonzero(expected.status == PLAYING)
        if not live.size:
            break
        posterior = solve_posterior(expected.views[live], mode.mines)
        mask = np.zeros(expected.views.shape, np.bool_)
        mask[live] = posterior.probabilities == 0.0
        if not mask.any():
            for name, array in vars(found.of(live)).items():
                np.testing.assert_array_equal(array, getattr(posterior, name))
            break
        expected.reveal_mask(mask)
    np.testing.assert_array_equal(games.views, expected.views)
    np.testing.assert_array_equal(games.status, expected.status)


def test_an_opening_is_one_move_and_without_openings_each_cell_is():
    mines = np.zeros((1, 6, 6), np.bool_)
    mines[0, 0, 5] = True
    for openings in (True, False):
        games = Games.on_boards(mines, openings)
        games.reveal(5, 0)
        open_proved(games)
        assert games.status[0] == WON
        assert games.moves[0] == (1 if openings else 35)


def test_the_games_won_without_a_guess_are_those_of_the_exact_solver():
    games = begun()
    open_proved(games)
    records = play_games(make_solver("exact"), MODES["beginner"], 60, 3, (0, 0))
    np.testing.assert_array_equal(games.status == WON, records.guess_free)


def test_only_the_slots_asked_for_change():
    games = begun()
    before = games.state_dict()
    open_proved(games, [4, 7])
    after = games.state_dict()
    others = np.delete(np.arange(60), [4, 7])
    for name in before:
        np.testing.assert_array_equal(before[name][others], after[name][others])
    games_both = begun()
    open_proved(games_both)
    np.testing.assert_array_equal(games.views[[4, 7]], games_both.views[[4, 7]])


def test_a_fork_plays_on_alone_and_is_adopted():
    games = begun()
    open_proved(games)
    before = games.state_dict()
    slots = np.flatnonzero(games.status == PLAYING)[[0, 0, 2]]
    forks = games.fork(slots)
    assert forks.num_games == 3
    np.testing.assert_array_equal(forks.views, games.views[slots])
    np.testing.assert_array_equal(forks.index, games.index[slots])
    safe = np.argwhere((forks.views[0] == HIDDEN) & ~forks.mines[0])[0]
    mined = np.argwhere(forks.mines[1])[0]
    forks.reveal([safe[0], mined[0], safe[0]], [safe[1], mined[1], safe[1]])
    assert forks.status[0] != LOST
    assert forks.status[1] == LOST
    for name, array in games.state_dict().items():
        np.testing.assert_array_equal(array, before[name])
    games.adopt(slots[:1], forks, [0])
    assert games.views[slots[0], safe[0], safe[1]] == forks.views[0, safe[0], safe[1]] >= 0
    assert games.moves[slots[0]] == before["moves"][slots[0]] + 1
    untouched = np.delete(np.arange(60), slots[0])
    np.testing.assert_array_equal(games.views[untouched], before["views"][untouched])


def test_a_fork_that_is_played_out_ends_as_its_game():
    games = begun()
    forks = games.fork(np.arange(60))
    solver = make_solver("exact")
    for table in (games, forks):
        for step in range(1, 200):
            live = np.flatnonzero(table.status == PLAYING)
            if not live.size:
                break
            mask = np.zeros(table.views.shape, np.bool_)
            mask[live] = solver.choose(table.views[live], table.mode.mines, choice_keys(table, step)[live])[0]
            table.reveal_mask(mask)
    np.testing.assert_array_equal(games.status, forks.status)
    np.testing.assert_array_equal(games.views, forks.views)


@pytest.mark.parametrize("slots", [[60], [-1], [0.5], [True, False]])
def test_slots_that_are_none(slots):
    games = begun()
    for use in (games.fork, lambda own: open_proved(games, own)):
        with pytest.raises(ValueError, match="slots must be"):
            use(slots)


def test_no_slots_at_all():
    games = begun()
    before = games.views.copy()
    assert not open_proved(games, []).exact.any()
    np.testing.assert_array_equal(games.views, before)
