"""The constraint solver: each rule on a drawn board, and against testing consistency cell by cell, done literally."""

import re

import numpy as np
import pytest
from test_posterior import drawn, fitting_layouts, random_view
from test_single_point import check_against_brute_force, check_drawn, check_play, check_random_cell, each_odd_mode

from minesweeper.arena import choice_keys, first_cells
from minesweeper.board import HIDDEN, MINE
from minesweeper.games import PLAYING, Games
from minesweeper.mode import MODES
from minesweeper.posterior import InconsistentViewError, mine_posterior
from minesweeper.solvers import make_solver


@pytest.mark.parametrize(
    ("view", "num_mines", "safe", "mines", "estimates"),
    [
        ("0..\n...\n...", 3, [(0, 1), (1, 0), (1, 1)], [], [3 / 5]),  # rule 1, one number
        ("3..\n...\n...", 4, [], [(0, 1), (1, 0), (1, 1)], [1 / 5]),  # rule 2, one number
        ("1..\n1..\n...", 2, [(2, 0), (2, 1)], [], [2 / 5]),  # rule 1, two numbers
        ("13.\n...", 3, [], [(0, 2), (1, 2)], [1 / 2]),  # rule 2, two numbers
        ("1.1\n...\n...", 1, [(1, 0), (1, 2), (2, 0), (2, 1), (2, 2)], [], [1 / 2]),  # rule 1, the total
        (".1.1...", 4, [(0, 2)], [(0, 0), (0, 4), (0, 5), (0, 6)], []),  # rule 2, the total
        ("1..\n...\n...", 2, [], [], [2 / 8]),  # rule 3: all alike, whatever their probability
        ("1*.\n...\n...", 2, [(1, 0), (1, 1)], [], [1 / 5]),  # a known mine is a mine
    ],
)
def test_rules(view, num_mines, safe, mines, estimates):
    check_drawn("csp", view, num_mines, safe, mines, estimates)


def test_the_random_cell_is_any_undecided_one():
    """Not a proved mine, nor the likeliest to be safe; all undecided ones equally often."""
    check_random_cell("csp", "1.2.....*", 5, [4, 5, 6, 7])
    check_random_cell("csp", "..1......", 2, [0, 1, 3, 4, 5, 6, 7, 8])


def is_consistent(view, num_mines):
    return bool((fitting_layouts(view).sum(axis=(1, 2)) == num_mines).any())


def consistency_tests(view, num_mines):
    """(cells into which no mine fits, cells into which none of the numbers 0..8 fits), bool [R, C] each."""
    safe = np.zeros(view.shape, bool)
    mines = np.zeros(view.shape, bool)
    for row, col in np.argwhere(view == HIDDEN):
        placed = view.copy()
        placed[row, col] = MINE
        safe[row, col] = not is_consistent(placed, num_mines)
        mines[row, col] = True
        for number in range(9):
            placed[row, col] = number
            if is_consistent(placed, num_mines):
                mines[row, col] = False
                break
    return safe, mines


@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (2, 2), (2, 5), (3, 3), (4, 3), (3, 5)])
def test_equals_testing_consistency_cell_by_cell(shape):
    rng = np.random.default_rng(sum(shape))
    proofs = 0
    for _ in range(25):
        view, num_mines = random_view(shape, rng)
        view = np.where((view == HIDDEN) & (np.cumsum(view == HIDDEN).reshape(shape) > 9), MINE, view)  # a small search
        if not is_consistent(view, num_mines):
            continue
        probabilities = make_solver("csp").mine_probabilities(view[None], num_mines)[0]
        safe, mines = consistency_tests(view, num_mines)
        np.testing.assert_array_equal(probabilities == 0.0, safe)
        np.testing.assert_array_equal(probabilities == 1.0, mines)
        undecided = (view == HIDDEN) & ~safe & ~mines
        left = num_mines - (view == MINE).sum() - mines.sum()
        np.testing.assert_array_equal(probabilities[undecided], left / max(undecided.sum(), 1))
        proofs += (safe | mines).sum()
    assert proofs > 20


def test_proofs_against_brute_force():
    found, missed = check_against_brute_force(make_solver("csp"), 400, seed=1)
    assert found > 300
    assert missed == 0


@each_odd_mode
def test_proofs_against_the_truth(mode):
    check_play(make_solver("csp"), mode, 300)


def positions(mode, num_games, name):
    """Views [N, R, C] of every position that a solver meets."""
    games = Games(mode, num_games, seed=4)
    games.reveal(*first_cells("corner", games))
    solver = make_solver(name)
    views = []
    for decision in range(1, mode.cells):
        live = np.flatnonzero(games.status == PLAYING)
        if not live.size:
            break
        views.append(games.views[live])
        mask = np.zeros(games.views.shape, bool)
        mask[live] = solver.choose(views[-1], mode.mines, choice_keys(games, decision)[live])[0]
        games.reveal_mask(mask)
    return np.concatenate(views)


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_proves_what_the_exact_posterior_proves(mode):
    views = positions(mode, 60, "csp")
    probabilities = make_solver("csp").mine_probabilities(views, mode.mines)
    exact = mine_posterior(views, mode.mines)
    np.testing.assert_array_equal(probabilities == 0.0, exact == 0.0)
    np.testing.assert_array_equal(probabilities == 1.0, exact == 1.0)
    for values in probabilities:
        assert np.unique(values[(values > 0) & (values < 1)]).size <= 1


def test_past_the_budget_fewer_cells_are_proved_and_none_wrongly():
    views = np.concatenate(
        [positions(MODES["intermediate"], 30, "csp"), positions(MODES["intermediate"], 10, "random")]
    )
    full = make_solver("csp").mine_probabilities(views, 40)
    weak = make_solver("csp", max_states=1).mine_probabilities(views, 40)
    for proof in (0.0, 1.0):
        assert (full[weak == proof] == proof).all()
        assert (weak == proof).sum() < (full == proof).sum()
    undecided = (weak != 0.0) & (weak != 1.0) & (views == HIDDEN)
    assert (weak[undecided] > 0).all()
    assert (weak[undecided] < 1).all()


@pytest.mark.parametrize(
    ("view", "num_mines", "message"),
    [
        ("1.1...", 5, "5 mines are not possible on this 1x6 view: it needs between 1 and 3"),
        ("*0.", 1, "the number 0 at (0, 1) cannot be met"),
    ],
)
def test_contradictions(view, num_mines, message):
    with pytest.raises(InconsistentViewError, match=f"^{re.escape(message)}$"):
        make_solver("csp").mine_probabilities(drawn(view)[None], num_mines)


def test_refused_settings():
    with pytest.raises(ValueError, match=r"^max_states must be an integer from 1 to \d+, got 0$"):
        make_solver("csp", max_states=0)
