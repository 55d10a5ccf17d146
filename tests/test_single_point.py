"""The single-point solver: each rule on a drawn board, proofs against brute force and the truth, its random cell."""

import re

import numpy as np
import pytest
from scipy.stats import chisquare
from test_posterior import brute_force, drawn, random_view

from minesweeper.arena import choice_keys, first_cells
from minesweeper.board import HIDDEN, random_key
from minesweeper.games import PLAYING, Games
from minesweeper.mode import Mode
from minesweeper.posterior import InconsistentViewError
from minesweeper.solvers import make_solver

ODD_MODES = [
    Mode(1, 12, 3), Mode(12, 1, 4), Mode(2, 2, 1), Mode(2, 2, 1, "any"), Mode(1, 1, 0), Mode(4, 6, 23), Mode(3, 5, 0),
    Mode(3, 5, 14, "any"), Mode(7, 3, 5), Mode(4, 9, 7, openings=False), Mode(9, 5, 9, "zero"), Mode(6, 6, 30),
]  # fmt: skip
each_odd_mode = pytest.mark.parametrize(
    "mode", ODD_MODES, ids=lambda m: f"{m.rows}x{m.cols}-{m.mines}-{m.first_click}-{m.openings}"
)


def keys_of(num_games):
    return np.array([random_key(np.uint64(5), index, 1) for index in range(num_games)], np.uint64)


def cells_with(probabilities, value):
    return [tuple(map(int, cell)) for cell in np.argwhere(probabilities == value)]


def check_drawn(name, view, num_mines, safe, mines, estimates=()):
    """The cells with 0.0 and 1.0 of one drawn view, and the values elsewhere, each once."""
    probabilities = make_solver(name).mine_probabilities(drawn(view)[None], num_mines)[0]
    assert cells_with(probabilities, 0.0) == safe
    assert cells_with(probabilities, 1.0) == mines
    rest = probabilities[(probabilities > 0) & (probabilities < 1)]
    np.testing.assert_allclose(np.unique(rest), estimates, rtol=1e-15)


def check_against_brute_force(solver, num_views, seed):
    """No cell of small random views is proved falsely; returns how many proofs stood and how many it missed."""
    rng = np.random.default_rng(seed)
    found = missed = 0
    for _ in range(num_views):
        shape = [(1, 9), (9, 1), (2, 2), (3, 4), (4, 3), (2, 6), (5, 3)][rng.integers(7)]
        view, num_mines = random_view(shape, rng)
        _, truth = brute_force(view, num_mines)
        probabilities = solver.mine_probabilities(view[None], num_mines)[0]
        np.testing.assert_array_equal(np.isnan(probabilities), view != HIDDEN)
        for proof in (0.0, 1.0):
            assert (truth[probabilities == proof] == proof).all(), (view, num_mines)
            found += (probabilities == proof).sum()
            missed += ((truth == proof) & (probabilities != proof)).sum()
    return found, missed


def check_play(solver, mode, num_games, seed=0):
    """Plays all games to their end; no proof contradicts the hidden truth. Returns (games won, proofs)."""
    games = Games(mode, num_games, seed)
    games.reveal(*first_cells("random", games))
    proofs = 0
    for decision in range(1, mode.cells + 1):
        live = np.flatnonzero(games.status == PLAYING)
        if not live.size:
            break
        views = games.views[live]
        probabilities = solver.mine_probabilities(views, mode.mines)
        mines = games.mines[live]
        assert not mines[probabilities == 0.0].any()
        assert mines[probabilities == 1.0].all()
        assert not (probabilities[views == HIDDEN] < 0).any()
        assert not (probabilities[views == HIDDEN] > 1).any()
        proofs += ((probabilities == 0.0) | (probabilities == 1.0)).sum()
        chosen, is_guess = solver.choose(views, mode.mines, choice_keys(games, decision)[live])
        assert (views[chosen] == HIDDEN).all()
        assert (chosen.sum(axis=(1, 2))[is_guess] == 1).all()
        assert not (mines & chosen)[~is_guess].any()
        mask = np.zeros(games.views.shape, bool)
        mask[live] = chosen
        games.reveal_mask(mask)
    assert not (games.status == PLAYING).any()
    return int((games.status == 1).sum()), proofs


def check_random_cell(name, row, num_mines, cols):
    """Each of `cols` of this stuck view of one row is chosen equally often, other cells never."""
    view = np.repeat(drawn(row)[None], 4000, axis=0)
    chosen, is_guess = make_solver(name).choose(view, num_mines, keys_of(4000))
    times = chosen.sum(axis=0)[0]
    assert is_guess.all()
    assert np.flatnonzero(times).tolist() == cols
    assert 1e-3 < chisquare(times[cols]).pvalue < 1 - 1e-3


@pytest.mark.parametrize(
    ("view", "num_mines", "safe", "mines", "estimates"),
    [
        ("0..\n...\n...", 3, [(0, 1), (1, 0), (1, 1)], [], [3 / 5]),  # rule 1
        ("*1..\n....", 2, [(0, 2), (1, 0), (1, 1), (1, 2)], [], [1 / 2]),  # rule 1, with a known mine
        ("3..\n...\n...", 4, [], [(0, 1), (1, 0), (1, 1)], [1 / 5]),  # rule 2
        ("*2.1...", 3, [(0, 4)], [(0, 2)], [1 / 2]),  # rule 2, with a known mine; then rule 1
        ("1.1...", 2, [(0, 3)], [(0, 1)], [1 / 2]),  # a mine of rule 2 makes rule 1 apply
        ("0.1...", 2, [(0, 1)], [(0, 3)], [1 / 2]),  # a safe cell of rule 1, still hidden, makes rule 2 apply
        ("1.1...", 1, [(0, 3), (0, 4), (0, 5)], [(0, 1)], []),  # rule 3: none is left
        ("0.1...", 3, [(0, 1)], [(0, 3), (0, 4), (0, 5)], []),  # rule 3: only mines are left
        ("...\n...", 2, [], [], [1 / 3]),  # rule 4
        ("111\n...\n...", 2, [], [], [2 / 6]),  # two numbers together would prove more
    ],
)
def test_rules(view, num_mines, safe, mines, estimates):
    check_drawn("single_point", view, num_mines, safe, mines, estimates)


@pytest.mark.parametrize(
    ("view", "num_mines", "message"),
    [
        ("1*1\n*2.\n...", 3, "the number 1 at (0, 0) cannot be met"),
        ("1.1...", 5, "5 mines are not possible on this 1x6 view: it needs between 1 and 3"),
        ("1.1...", 0, "0 mines are not possible on this 1x6 view: it needs between 1 and 3"),
        ("2.", 1, "the number 2 at (0, 0) cannot be met"),
    ],
)
def test_contradictions(view, num_mines, message):
    with pytest.raises(InconsistentViewError, match=f"^{re.escape(message)}$"):
        make_solver("single_point").mine_probabilities(drawn(view)[None], num_mines)
    both = np.array([np.full_like(drawn(view), HIDDEN), drawn(view)])
    with pytest.raises(InconsistentViewError, match=f"^view 1: {re.escape(message)}$") as error:
        make_solver("single_point").mine_probabilities(both, np.array([1, num_mines]))
    assert error.value.game == 1


def test_proofs_against_brute_force():
    found, missed = check_against_brute_force(make_solver("single_point"), 400, seed=1)
    assert found > 300
    assert missed > 30  # single numbers do not see everything


@each_odd_mode
def test_proofs_against_the_truth(mode):
    won, proofs = check_play(make_solver("single_point"), mode, 400)
    if 0 < mode.mines < mode.cells // 2:
        assert won > 0
        assert proofs > 0 or mode.cells == 4


def test_the_random_cell_is_any_undecided_one():
    """Not a proved mine, nor another revealed cell; and all undecided ones equally often."""
    check_random_cell("single_point", "1.2....*", 4, [4, 5, 6])
