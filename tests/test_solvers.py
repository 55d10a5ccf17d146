"""Solvers: one contract over all of them, the default move on drawn boards, and every refusal."""

import inspect
import math
import re

import numpy as np
import pytest
from scipy.stats import chisquare
from test_posterior import brute_force

from minesweeper.arena import first_cells
from minesweeper.board import HIDDEN, MINE, neighbour_counts, random_key
from minesweeper.games import PLAYING, Games
from minesweeper.mode import MODES, Mode
from minesweeper.posterior import StateBudgetError, mine_posterior
from minesweeper.solvers import SOLVERS, Solver, make_solver
from minesweeper.solvers.base import TIE_TOLERANCE, choose_lowest
from minesweeper.textio import text_to_view

BOARDS = [(5, 8, 9), (1, 9, 3), (9, 1, 3), (2, 2, 1), (6, 4, 20), (3, 5, 0)]
CONTRACT_MODES = [*MODES.values(), *(Mode(*board) for board in BOARDS)]
each_solver = pytest.mark.parametrize("name", SOLVERS)


def drawn(*texts):
    return np.array([text_to_view(text)[0] for text in texts])


def keys_of(num_games, start=0):
    return np.array([random_key(np.uint64(start), index, 1) for index in range(num_games)], np.uint64)


def small_views(num_views, rng):
    """(views [N, 3, 4] that show any cells but mines of random boards, mines on each)."""
    mines = rng.random((num_views, 3, 4)) < rng.choice([0.1, 0.3, 0.6], (num_views, 1, 1))
    counts = np.array([neighbour_counts(board) for board in mines])
    is_hidden = mines | (rng.random(mines.shape) < 0.6)
    is_hidden[:, 0, 0] = True
    return np.where(is_hidden, HIDDEN, counts).astype(np.int8), mines.sum(axis=(1, 2))


def positions(mode, num_games=40):
    """Views of games that are still going, before and after a few random moves."""
    games = Games(mode, num_games, seed=1)
    views = [games.views.copy()]
    rng = np.random.default_rng(1)
    games.reveal(*first_cells("random", games))
    for _ in range(4):
        views.append(games.views[games.status == PLAYING])
        games.reveal(rng.integers(mode.rows, size=num_games), rng.integers(mode.cols, size=num_games))
    return np.concatenate(views)


@each_solver
@pytest.mark.parametrize("mode", CONTRACT_MODES, ids=lambda mode: f"{mode.rows}x{mode.cols}-{mode.mines}")
def test_contract(name, mode):
    """Shapes, types and values; single views equal batches; the view is not touched; the move follows the values."""
    solver = make_solver(name)
    views = positions(mode)
    keys = keys_of(len(views))
    before = views.copy()
    probabilities = solver.mine_probabilities(views, mode.mines)
    chosen, is_guess = solver.choose(views, mode.mines, keys)
    np.testing.assert_array_equal(views, before)

    hidden = views == HIDDEN
    assert (probabilities.shape, probabilities.dtype) == (views.shape, np.float64)
    np.testing.assert_array_equal(np.isnan(probabilities), ~hidden)
    assert ((probabilities[hidden] >= 0) & (probabilities[hidden] <= 1)).all()
    assert (chosen.shape, chosen.dtype) == (views.shape, np.bool_)
    assert (is_guess.shape, is_guess.dtype) == ((len(views),), np.bool_)
    assert not chosen[~hidden].any()
    assert chosen.any(axis=(1, 2)).all()
    np.testing.assert_array_equal(is_guess, np.nanmin(probabilities, axis=(1, 2)) > solver.guess_threshold)
    assert (chosen[is_guess].sum(axis=(1, 2)) == 1).all()
    assert (probabilities[~is_guess][chosen[~is_guess]] <= solver.guess_threshold).all()

    order = np.random.default_rng(2).permutation(len(views))
    np.testing.assert_array_equal(solver.mine_probabilities(views[order], mode.mines), probabilities[order])
    for result, expected in zip(solver.choose(views[order], mode.mines, keys[order]), (chosen, is_guess), strict=True):
        np.testing.assert_array_equal(result, expected[order])
    for game in order[:25]:
        one = slice(game, game + 1)
        np.testing.assert_array_equal(solver.mine_probabilities(views[one], mode.mines), probabilities[one])
        for result, expected in zip(solver.choose(views[one], mode.mines, keys[one]), (chosen, is_guess), strict=True):
            np.testing.assert_array_equal(result, expected[one])


@pytest.mark.parametrize("name", ["exact", "random"])
def test_guesses_have_the_lowest_probability(name):
    solver = make_solver(name)
    for mode in CONTRACT_MODES[2:4]:
        views = positions(mode)
        probabilities = solver.mine_probabilities(views, mode.mines)
        chosen, is_guess = solver.choose(views, mode.mines, keys_of(len(views)))
        lowest = np.nanmin(probabilities[is_guess], axis=(1, 2))
        assert lowest.size > 10
        assert (probabilities[is_guess][chosen[is_guess]] <= lowest + TIE_TOLERANCE).all()


@each_solver
def test_proofs_are_true(name):
    """0.0 and 1.0 stand only where brute force finds no layout against it, and cells opened as safe are safe."""
    solver = make_solver(name)
    views, mines = small_views(300, np.random.default_rng(3))
    probabilities = solver.mine_probabilities(views, mines)
    chosen, is_guess = solver.choose(views, mines, keys_of(300))
    proofs = opened = 0
    for game, (view, num_mines) in enumerate(zip(views, mines, strict=True)):
        truth = brute_force(view, num_mines)[1]
        for proof in (0.0, 1.0):
            claimed = probabilities[game] == proof
            assert (truth[claimed] == proof).all()
            proofs += claimed.sum()
        if not is_guess[game]:
            assert (truth[chosen[game]] == 0.0).all()
            opened += 1
    if name == "exact":  # so there was something to prove, and something to guess
        assert min(proofs, opened, is_guess.sum()) > 10


@each_solver
def test_mines_of_each_game(name):
    solver = make_solver(name)
    views, mines = small_views(50, np.random.default_rng(4))
    keys = keys_of(50)
    probabilities = solver.mine_probabilities(views, mines)
    chosen, is_guess = solver.choose(views, mines, keys)
    assert len(set(mines.tolist())) > 3
    for game in range(50):
        one = slice(game, game + 1)
        np.testing.assert_array_equal(solver.mine_probabilities(views[one], int(mines[game])), probabilities[one])
        single = solver.choose(views[one], int(mines[game]), keys[one])
        np.testing.assert_array_equal(single[0], chosen[one])
        np.testing.assert_array_equal(single[1], is_guess[one])


@each_solver
def test_keys_alone_decide_random_choices(name):
    solver, again = make_solver(name), make_solver(name)
    views = np.full((200, 4, 6), HIDDEN, np.int8)
    chosen, _ = solver.choose(views, 5, keys_of(200))
    np.testing.assert_array_equal(again.choose(views, 5, keys_of(200))[0], chosen)
    np.testing.assert_array_equal(solver.choose(views, 5, keys_of(200))[0], chosen)
    if name == "exact":  # a solver may well have no random choices
        assert (solver.choose(views, 5, keys_of(200, start=1))[0] != chosen).any(axis=(1, 2)).mean() > 0.5
    same = solver.choose(views, 5, np.full(200, keys_of(1)[0]))[0]
    assert (same == same[0]).all()


@each_solver
def test_name_and_settings(name):
    assert {"exact", "random"} <= set(SOLVERS)
    solver = make_solver(name)
    assert isinstance(solver, Solver)
    assert (type(solver), solver.name) == (SOLVERS[name], name)
    assert (solver.tie_break, solver.guess_threshold) == ("random", 0.0)
    assert make_solver(name, tie_break="corner").tie_break == "corner"
    with pytest.raises(ValueError, match=r"^tie_break must be one of random, corner.*, got 'first'$"):
        make_solver(name, tie_break="first")


@pytest.mark.parametrize("name", ["perfect", "", "Exact"])
def test_refused_names(name):
    message = f"solver must be one of {', '.join(SOLVERS)}, got {name!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make_solver(name)


@each_solver
def test_refused_settings(name):
    allowed = ", ".join(inspect.signature(SOLVERS[name]).parameters)
    assert "tie_break" in allowed
    message = f"solver {name} has no setting 'depth_of_thought'; it has {allowed}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make_solver(name, tie_break="random", depth_of_thought=3)


def test_a_solver_without_probabilities():
    class Empty(Solver):
        name = "empty"

    with pytest.raises(NotImplementedError, match=r"^Empty must define mine_probabilities$"):
        Empty().choose(np.full((1, 2, 2), HIDDEN, np.int8), 1, keys_of(1))


def test_random_gives_the_share_of_mines_left():
    nan = math.nan
    views = drawn("1.*\n..1", "...\n...", "0..\n...", "1.1\n1.1")
    expected = [[[nan, 2 / 3, nan], [2 / 3, 2 / 3, nan]], [[0.5] * 3] * 2, [[nan, 0, 0], [0] * 3], [[nan, 1, nan]] * 2]
    mines = np.array([3, 3, 0, 2])
    np.testing.assert_array_equal(make_solver("random").mine_probabilities(views, mines), expected)


@pytest.mark.parametrize(
    ("view", "num_mines", "opened"),
    [
        ("0..\n...\n...", 1, [(0, 1), (1, 0), (1, 1)]),  # a single number
        ("1..\n1..\n...", 2, [(2, 0), (2, 1)]),  # two numbers together
        ("1.1\n...\n...", 1, [(1, 0), (1, 2), (2, 0), (2, 1), (2, 2)]),  # the total: one mine serves both
        ("1..\n...\n...", 2, None),
    ],
)
def test_exact_on_drawn_views(view, num_mines, opened):
    """All proved cells at once, and otherwise one of the least likely: here 1 mine in 5 cells, not 1 in 3."""
    chosen, is_guess = make_solver("exact").choose(drawn(view), num_mines, keys_of(1))
    cells = [tuple(map(int, cell)) for cell in np.argwhere(chosen[0])]
    assert is_guess[0] == (opened is None)
    if opened:
        assert cells == opened
    else:
        assert len(cells) == 1
        assert 2 in cells[0]


def test_exact_past_its_budget_plays_the_weaker_answer():
    views = drawn("..1...2.\n........\n.2..1..1")
    with pytest.raises(StateBudgetError):
        mine_posterior(views, 6, max_states=1)
    solver = make_solver("exact", max_states=1)
    weak = solver.mine_probabilities(views, 6)
    np.testing.assert_array_equal(weak, mine_posterior(views, 6, max_states=1, over_budget="density"))
    assert np.nanmax(np.abs(weak - make_solver("exact").mine_probabilities(views, 6))) > 1e-3
    chosen, is_guess = solver.choose(views, 6, keys_of(1))
    assert (chosen.sum(), is_guess.tolist()) == (1, [True])


def chosen_cells(probabilities, view, num_keys=300, **settings):
    """(how often each cell was chosen, int [R, C], whether each move was a guess)."""
    views = np.repeat(view[None], num_keys, axis=0)
    probabilities = np.repeat(probabilities[None], num_keys, axis=0)
    mask, is_guess = choose_lowest(probabilities, views, keys_of(num_keys), **settings)
    return mask.sum(axis=0), is_guess


@pytest.mark.parametrize("tie_break", ["random", "corner"])
def test_all_cells_up_to_the_threshold_are_opened_at_once(tie_break):
    view = drawn("....1")[0]
    probabilities = np.array([[0.0, 0.02, 0.0, 0.3, math.nan]])
    cells, is_guess = chosen_cells(probabilities, view, 5, tie_break=tie_break)
    assert cells.tolist() == [[5, 0, 5, 0, 0]]
    assert not is_guess.any()
    cells, is_guess = chosen_cells(probabilities, view, 5, guess_threshold=0.02, tie_break=tie_break)
    assert cells.tolist() == [[5, 5, 5, 0, 0]]
    assert not is_guess.any()
    cells, is_guess = chosen_cells(probabilities + 0.1, view, 5, guess_threshold=0.02, tie_break=tie_break)
    assert cells.sum() == 5
    assert cells[0, [0, 2]].sum() == 5
    assert is_guess.all()


def test_probabilities_of_revealed_cells_are_not_read():
    view = drawn("1.*.")[0]
    cells, _ = chosen_cells(np.array([[0.0, 0.4, 0.0, 0.5]]), view, 5)
    assert cells.tolist() == [[0, 5, 0, 0]]


def test_no_hidden_cell_no_move():
    mask, is_guess = choose_lowest(np.full((1, 1, 2), math.nan), drawn("1*"), keys_of(1))
    assert not mask.any()
    assert is_guess.tolist() == [False]


@pytest.mark.parametrize(("rows", "cols"), [(3, 5), (1, 7), (4, 2)])
def test_random_ties_spread_evenly(rows, cols):
    view = np.full((rows, cols), HIDDEN, np.int8)
    cells, is_guess = chosen_cells(np.full((rows, cols), 0.2), view, 6000)
    assert is_guess.all()
    assert cells.sum() == 6000
    assert 1e-3 < chisquare(cells.ravel()).pvalue < 1 - 1e-3


@pytest.mark.parametrize("tie_break", ["random", "corner"])
def test_ties_spread_evenly_over_the_best_cells_only(tie_break):
    view = drawn("..1..\n.....\n..1..")[0]
    probabilities = np.where(view == HIDDEN, 0.4, math.nan)
    best = [(0, 0), (0, 4), (2, 4)]
    probabilities[tuple(zip(*best, strict=True))] = 0.3
    cells, _ = chosen_cells(probabilities, view, 3000, tie_break=tie_break)
    counts = [cells[cell] for cell in best]
    assert sum(counts) == 3000
    assert 1e-3 < chisquare(counts).pvalue < 1 - 1e-3


@pytest.mark.parametrize(
    ("view", "fewest"),
    [
        (".....\n.....\n.....\n.....", [(0, 0), (0, 4), (3, 0), (3, 4)]),
        (".......", [(0, 0), (0, 6)]),
        (".\n.\n.", [(0, 0), (2, 0)]),
        # Hidden neighbours: the cell among the 1s has none, a corner has three.
        (".....\n.....\n.111.\n.1.1.\n.111.", [(3, 2)]),
        ("1....\n.....\n.....", [(0, 4), (2, 0), (2, 4)]),
        ("111..\n1.1..\n.....", [(2, 0)]),
        ("*1...\n.1...\n*1...", [(1, 0)]),
    ],
)
def test_corner_prefers_the_fewest_hidden_neighbours(view, fewest):
    view = drawn(view)[0]
    probabilities = np.where(view == HIDDEN, 0.25, math.nan)
    cells, is_guess = chosen_cells(probabilities, view, 1000, tie_break="corner")
    assert is_guess.all()
    assert {tuple(map(int, cell)) for cell in np.argwhere(cells)} == set(fewest)
    if len(fewest) > 1:
        assert chisquare([cells[cell] for cell in fewest]).pvalue > 1e-3
    cells, _ = chosen_cells(probabilities, view, 1000, tie_break="random")
    assert (cells > 0).sum() == (view == HIDDEN).sum()


def test_corner_breaks_ties_only():
    view = np.full((3, 4), HIDDEN, np.int8)
    probabilities = np.full((3, 4), 0.2)
    probabilities[1, 2] = 0.19
    cells, _ = chosen_cells(probabilities, view, 20, tie_break="corner")
    assert cells[1, 2] == 20


@pytest.mark.parametrize("tie_break", ["random", "corner"])
@pytest.mark.parametrize(("gap", "is_tie"), [(0.5 * TIE_TOLERANCE, True), (2 * TIE_TOLERANCE, False)])
def test_tie_tolerance(tie_break, gap, is_tie):
    view = drawn("...")[0]
    cells, _ = chosen_cells(np.array([[0.2 + gap, 0.5, 0.2]]), view, 200, tie_break=tie_break)
    assert cells[0, 1] == 0
    assert (cells[0, 0] > 60) == is_tie
    assert cells.sum() == 200


def test_rounding_is_no_proof():
    """A cell within the tolerance of a proved one is not opened with it."""
    cells, is_guess = chosen_cells(np.array([[0.5 * TIE_TOLERANCE, 0.0, 0.2]]), drawn("...")[0], 5)
    assert cells.tolist() == [[0, 5, 0]]
    assert not is_guess.any()


def test_single_precision_probabilities():
    """What a network gives: float32."""
    view = drawn("..1.")[0]
    cells, is_guess = chosen_cells(np.array([[0.3, 0.2, math.nan, 0.9]], np.float32), view, 5)
    assert cells.tolist() == [[0, 5, 0, 0]]
    assert is_guess.all()
    cells, _ = chosen_cells(np.array([[0.01, 0.5, math.nan, 0.9]], np.float32), view, 5, guess_threshold=0.02)
    assert cells.tolist() == [[5, 0, 0, 0]]


def test_known_mines_are_never_chosen():
    views = drawn("1*.\n...")
    for name in SOLVERS:
        chosen, _ = make_solver(name).choose(views, 2, keys_of(1))
        assert not chosen[views == MINE].any()
        assert chosen.any()


def test_probabilities_of_another_shape():
    class Own(Solver):
        name = "own"

        def mine_probabilities(self, views, num_mines):  # noqa: ARG002
            return np.full(views.shape[1:], 0.5)

    message = "solver own: mine_probabilities must have the shape of the views, [2, 3, 4], got [3, 4]"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Own().choose(np.full((2, 3, 4), HIDDEN, np.int8), 3, keys_of(2))
