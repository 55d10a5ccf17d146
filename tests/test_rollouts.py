"""Rollouts: without bias against best play and against games that are really played, and what they depend on."""

import numpy as np
import pytest
from test_lookahead import best_play
from test_planner import guesses

from minesweeper import HIDDEN, MODES, PLAYING, WON, Games, Mode, make_solver, sample_layouts, solve_posterior
from minesweeper import rollouts as rollouts_file
from minesweeper.rollouts import rollout_values
from models.planner_task import play_out


def safest(posterior, most):
    """The flat cells of the lowest probabilities of each position, [N, most]."""
    probabilities = posterior.probabilities.reshape(len(posterior.probabilities), -1)
    return np.nan_to_num(probabilities, nan=2.0).argsort(axis=1)[:, :most]


def test_with_few_layouts_left_the_mean_is_best_play():
    """Once the cell is opened at most 60 layouts are left, which are played out exactly: only numbers are by lot."""
    errors = []
    for mode in (Mode(4, 4, 4), Mode(3, 5, 5)):
        views, mines, posterior = guesses(mode, 60)
        views, which = np.unique(views, axis=0, return_index=True)
        few = np.flatnonzero(posterior.log_layouts[which] < np.log(60))[:25]
        views, posterior = views[few], posterior.of(which[few])
        cells = np.full((len(views), 3), -1)
        for i, probabilities in enumerate(posterior.probabilities.reshape(len(views), -1)):
            hidden = np.flatnonzero(probabilities < 1)[:3]
            cells[i, : hidden.size] = hidden
        values = rollout_values(views, mines[: len(views)], posterior, cells, 300)
        assert (np.isnan(values) == (cells < 0)).all()
        for view, own, found in zip(views, cells, values, strict=True):
            wins, num_layouts = best_play(view, mode.mines)
            errors += [found[k] - wins[cell] / num_layouts for k, cell in enumerate(own.tolist()) if cell >= 0]
    errors = np.array(errors)
    assert errors.size > 100
    assert abs(errors).max() < 0.12
    assert abs(errors.mean()) < 0.01
    assert errors.std() > 0.001


def test_the_mean_is_the_chance_to_win_of_that_player():
    """Against the same player on boards drawn at random, where a mine loses: the same means, with much less noise."""
    views, mines, posterior = guesses(MODES["beginner"], 60, seed=4)
    many = np.flatnonzero(posterior.log_layouts > np.log(1000))[::4][:8]
    views, mines, posterior = views[many], mines[many], posterior.of(many)
    cells = posterior.probabilities.reshape(len(views), -1)
    cells = np.nan_to_num(cells, nan=2.0).argmin(axis=1)[:, None]
    values = rollout_values(views, mines, posterior, cells, 400)[:, 0]
    layouts = sample_layouts(views, 10, 1000, seed=3).reshape(-1, 9, 9)
    games = Games.on_boards(layouts, views=np.repeat(views, 1000, axis=0))
    games.reveal(*np.divmod(np.repeat(cells[:, 0], 1000), 9))
    play_out(make_solver("exact", tie_break="corner", endgame=60), games)
    won = (games.status == WON).reshape(len(views), 1000).mean(axis=1)
    assert 0.2 < won.mean() < 0.95
    errors = (values - won) / np.sqrt(won * (1 - won) * (1 / 1000 + 0.25 / 400))
    assert abs(errors).max() < 4
    assert abs(errors.mean()) < 3 / np.sqrt(len(errors))


def test_no_game_is_lost(monkeypatch):
    """Not one mine is opened, and layouts that took another's place fit what was seen."""
    played = []
    play_on = rollouts_file._play_on

    def kept(games, cells):
        played.append(games)
        return play_on(games, cells)

    monkeypatch.setattr(rollouts_file, "_play_on", kept)
    views, mines, posterior = guesses(MODES["beginner"], 20)
    cells = safest(posterior, 2)
    rollout_values(views, mines, posterior, cells, 20)
    for games in played:
        assert set(games.status.tolist()) <= {PLAYING, WON}
        shown = games.views >= 0
        assert not (games.mines & shown).any()
        rebuilt = Games.on_boards(games.mines, views=np.where(games.views < 0, HIDDEN, games.views))
        assert (rebuilt.views == games.views)[shown].all()


def test_what_is_drawn_depends_on_the_view_alone():
    """Not on the other positions, which may have other numbers of mines."""
    views, mines, _ = guesses(MODES["beginner"], 30)
    mines[::2] = 11
    posterior = solve_posterior(views, mines)
    is_guess = np.nanmin(posterior.probabilities, axis=(1, 2)) > 0
    views, mines, posterior = views[is_guess], mines[is_guess], posterior.of(is_guess)
    assert set(mines.tolist()) == {10, 11}
    cells = safest(posterior, 2)
    together = rollout_values(views, mines, posterior, cells, 7)
    for i in range(0, len(views), 5):
        one = np.array([i])
        alone = rollout_values(views[one], mines[one], posterior.of(one), cells[one], 7)
        np.testing.assert_array_equal(alone[0], together[i])
    other = rollout_values(views, mines, posterior, cells, 7, number=1)
    assert (other != together).any()
    assert abs((other - together).mean()) < 0.1


def test_a_proved_mine_cannot_be_tried():
    views, mines, posterior = guesses(MODES["beginner"], 20)
    game, cell = np.argwhere(posterior.probabilities.reshape(len(views), -1) == 1)[0]
    one = np.array([game])
    with pytest.raises(ValueError, match="there is no layout in which"):
        rollout_values(views[one], mines[one], posterior.of(one), np.array([[cell]]), 3)


def test_no_cell_at_all():
    views, mines, posterior = guesses(MODES["beginner"], 20)
    few = np.arange(2)
    assert np.isnan(rollout_values(views[:2], mines[:2], posterior.of(few), np.full((2, 3), -1), 4)).all()


def test_many_rollouts_are_made_in_parts(monkeypatch):
    """Each part draws layouts of its own; the mean is that of all."""
    views, mines, posterior = guesses(MODES["beginner"], 20)
    views, mines, posterior = views[:3], mines[:3], posterior.of(np.arange(3))
    cells = safest(posterior, 2)
    drawn = []
    sample = rollouts_file.sample_layouts

    def kept(own_views, num_mines, count, seed, **settings):
        layouts = sample(own_views, num_mines, count, seed, **settings)
        if "safe" not in settings:
            drawn.append(layouts)
        return layouts

    monkeypatch.setattr(rollouts_file, "sample_layouts", kept)
    together = rollout_values(views, mines, posterior, cells, 40)
    assert [layouts.shape[:2] for layouts in drawn] == [(3, 40)]
    monkeypatch.setattr(rollouts_file, "_AT_ONCE", 32)
    drawn.clear()
    parts = rollout_values(views, mines, posterior, cells, 40)
    assert [layouts.shape[:2] for layouts in drawn] == [(1, 16)] * 6 + [(2, 8), (1, 8)]
    assert (drawn[0] != drawn[3]).any()
    assert abs(parts - together).max() < 0.2


def test_positions_that_take_too_long_have_no_value(monkeypatch):
    views, mines, posterior = guesses(MODES["beginner"], 20)
    cells = safest(posterior, 1)
    every = rollout_values(views, mines, posterior, cells, 5)
    monkeypatch.setattr(rollouts_file, "_MOST_STATES", 15)
    some = rollout_values(views, mines, posterior, cells, 5)
    is_left_out = np.isnan(some)
    assert is_left_out.any()
    assert not is_left_out.all()
    np.testing.assert_array_equal(some[~is_left_out], every[~is_left_out])
