"""The equalising solver: each step on a drawn board, and all of them against the same steps cell by cell."""

import math
import re

import numpy as np
import pytest
from test_csp import positions
from test_posterior import drawn, random_view
from test_single_point import check_against_brute_force, check_drawn, check_play, each_odd_mode

from minesweeper.arena import play_games
from minesweeper.board import HIDDEN, MINE
from minesweeper.frontier import SAFE
from minesweeper.mode import MODES
from minesweeper.posterior import InconsistentViewError, mine_posterior, proved_by_single_point
from minesweeper.solvers import make_solver
from minesweeper.solvers.equalize import _MARGIN, _MAX_ROUNDS, _TOLERANCE


def estimate(view, num_mines):
    return make_solver("equalize").mine_probabilities(drawn(view)[None], num_mines)[0]


@pytest.mark.parametrize(
    ("view", "num_mines", "safe", "mines", "estimates"),
    [
        ("0..\n...\n...", 3, [(0, 1), (1, 0), (1, 1)], [], [3 / 5]),  # step 1, then 4
        ("*2.1...", 3, [(0, 4)], [(0, 2)], [1 / 2]),
        ("1.1...", 1, [(0, 3), (0, 4), (0, 5)], [(0, 1)], []),  # step 1, the total
        ("0.1...", 3, [(0, 1)], [(0, 3), (0, 4), (0, 5)], []),
        ("1..\n...\n...", 2, [], [], [1 / 5, 1 / 3]),  # step 2: one number has nothing to equalise
        (".1.....*", 3, [], [], [1 / 4, 1 / 2]),  # step 4: 3 - 1 - 1 in 4 cells
        ("1..\n...\n...", 1, [], [], [_MARGIN, 1 / 3]),  # step 4, cut off: the number takes the only mine
        (".1...", 3, [], [], [1 / 2, 1 - _MARGIN]),
    ],
)
def test_steps(view, num_mines, safe, mines, estimates):
    check_drawn("equalize", view, num_mines, safe, mines, estimates)


def test_two_numbers_are_equalised():
    """Each needs a mine in two cells, one of them shared: first 1/2, 3/4, 1/2, in the end x / 2, 3x^2 / 4, x / 2."""
    x = (math.sqrt(13) - 1) / 3  # x / 2 + 3x^2 / 4 = 1
    expected = [x / 2, 3 * x * x / 4, x / 2]
    np.testing.assert_allclose(estimate(".1.1...", 2)[0, [0, 2, 4]], expected, atol=2 * _TOLERANCE)
    assert sum(expected[:2]) == pytest.approx(1)


def test_what_two_numbers_prove_comes_close_and_is_no_proof():
    """Between 1 and 1 nothing is left for the third cell; 2 beside 1 needs it."""
    one, two = estimate("11.\n...\n...", 2), estimate("13*\n...", 3)
    assert 0 < two[1, 0] < 1
    assert 0.9 < two[1, 2] < 1
    assert 0 < one[0, 2] < 0.1
    assert (one[2] > 0).all()


def neighbours(cell, shape):
    around = [(row, col) for row in range(cell[0] - 1, cell[0] + 2) for col in range(cell[1] - 1, cell[1] + 2)]
    return [(row, col) for row, col in around if 0 <= row < shape[0] and 0 <= col < shape[1] and (row, col) != cell]


def equalised_cell_by_cell(view, num_mines):
    """The steps, literally: float [R, C], NaN where revealed."""
    known = proved_by_single_point(view[None], num_mines)[0]
    field = np.where(view == HIDDEN, known, view)
    undecided = [tuple(cell) for cell in np.argwhere(field == HIDDEN).tolist()]
    left = num_mines - (field == MINE).sum()
    probabilities = np.full(view.shape, np.nan)
    probabilities[(view == HIDDEN) & (field == SAFE)] = 0.0
    probabilities[(view == HIDDEN) & (field == MINE)] = 1.0
    if left in (0, len(undecided)):
        for cell in undecided:
            probabilities[cell] = float(left > 0)
        return probabilities
    groups = {}  # by number, in the order in which a scan of the undecided cells meets them
    for cell in undecided:
        for clue in neighbours(cell, view.shape):
            if field[clue] >= 0:
                near = neighbours(clue, view.shape)
                mines = view[clue] - sum(field[other] == MINE for other in near)
                groups[clue] = [other for other in near if field[other] == HIDDEN], mines
    estimates = {}
    for group, mines in groups.values():
        for cell in group:
            estimates[cell] = 1 - (1 - estimates.get(cell, 0)) * (1 - mines / len(group))
    for _ in range(_MAX_ROUNDS):
        before = dict(estimates)
        for group, mines in groups.values():
            factor = mines / sum(estimates[cell] for cell in group)
            for cell in group:
                estimates[cell] = min(max(estimates[cell] * factor, _MARGIN), 1 - _MARGIN)
        if all(abs(estimates[cell] - before[cell]) <= _TOLERANCE for cell in estimates):
            break
    beside_none = [cell for cell in undecided if cell not in estimates]
    for cell in beside_none:
        share = (left - sum(estimates.values())) / len(beside_none)
        probabilities[cell] = min(max(share, _MARGIN), 1 - _MARGIN)
    for cell, value in estimates.items():
        probabilities[cell] = value
    return probabilities


def test_equals_the_steps_cell_by_cell():
    rng = np.random.default_rng(1)
    views = [random_view(shape, rng) for shape in [(1, 9), (9, 1), (3, 4), (4, 5), (5, 5)] for _ in range(60)]
    expert = positions(MODES["expert"], 3, "equalize")[::4]
    views += [(view, 99) for view in expert]
    estimated = 0
    for view, num_mines in views:
        expected = equalised_cell_by_cell(view, num_mines)
        probabilities = make_solver("equalize").mine_probabilities(view[None], num_mines)[0]
        np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-9)
        estimated += ((expected > 0) & (expected < 1)).sum()
    assert estimated > 500


def test_only_single_numbers_and_the_total_prove():
    for mode in MODES.values():
        views = positions(mode, 20, "equalize")
        probabilities = make_solver("equalize").mine_probabilities(views, mode.mines)
        single = make_solver("single_point").mine_probabilities(views, mode.mines)
        for proof in (0.0, 1.0):
            np.testing.assert_array_equal(probabilities == proof, single == proof)
        rest = probabilities[(probabilities != 0) & (probabilities != 1) & (views == HIDDEN)]
        assert (rest >= _MARGIN).all()
        assert (rest <= 1 - _MARGIN).all()


def test_proofs_against_brute_force():
    found, missed = check_against_brute_force(make_solver("equalize"), 400, seed=1)
    assert found > 300
    assert missed > 30


@each_odd_mode
def test_proofs_against_the_truth(mode):
    check_play(make_solver("equalize"), mode, 300)


def test_the_lowest_estimate_is_opened():
    view = drawn("..1..2.\n.......\n.......")[None]
    probabilities = make_solver("equalize").mine_probabilities(view, 4)
    chosen, is_guess = make_solver("equalize").choose(view, 4, np.zeros(1, np.uint64))
    assert is_guess.all()
    assert probabilities[chosen] == np.nanmin(probabilities)


@pytest.mark.parametrize(("name", "most"), [("beginner", 0.03), ("intermediate", 0.02), ("expert", 0.02)])
def test_close_to_the_exact_posterior(name, most):
    """Mean absolute error of the undecided cells, much below that of the mines' share for every cell."""
    mode = MODES[name]
    views = positions(mode, 60, "equalize")
    probabilities = make_solver("equalize").mine_probabilities(views, mode.mines)
    shares = make_solver("single_point").mine_probabilities(views, mode.mines)
    exact = mine_posterior(views, mode.mines)
    undecided = (shares > 0) & (shares < 1)
    error = np.abs(probabilities - exact)[undecided].mean()
    assert error < most
    assert error < np.abs(shares - exact)[undecided].mean() / 3


def test_wins_more_than_single_numbers_alone():
    won = [
        play_games(make_solver(name), MODES["beginner"], 1500, seed=3, first_cell="corner").won.mean()
        for name in ("equalize", "single_point")
    ]
    assert won[0] > 0.86
    assert won[1] < 0.78


@pytest.mark.parametrize(
    ("view", "num_mines", "message"),
    [
        ("1.1...", 5, "5 mines are not possible on this 1x6 view: it needs between 1 and 3"),
        ("*0.", 1, "the number 0 at (0, 1) cannot be met"),
    ],
)
def test_contradictions(view, num_mines, message):
    with pytest.raises(InconsistentViewError, match=f"^{re.escape(message)}$"):
        make_solver("equalize").mine_probabilities(drawn(view)[None], num_mines)
