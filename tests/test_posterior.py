"""The exact posterior and single-point rules: against brute force, on large boards, past every limit."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from minesweeper.arena import choice_keys, first_cells
from minesweeper.board import HIDDEN, MINE, neighbour_counts
from minesweeper.frontier import SAFE
from minesweeper.games import PLAYING, Games
from minesweeper.mode import MODES, Mode
from minesweeper.posterior import (
    InconsistentViewError,
    StateBudgetError,
    mine_posterior,
    proved_by_single_point,
    solve_posterior,
)
from minesweeper.solvers import make_solver
from minesweeper.textio import text_to_view

MOST_HIDDEN = 15  # brute force lists 2**hidden layouts
SHAPES = [
    (1, 1), (1, 2), (2, 1), (1, 7), (7, 1), (1, 14), (14, 1), (2, 2), (2, 3), (3, 2), (3, 3),
    (2, 7), (7, 2), (3, 4), (4, 3), (4, 4), (3, 5), (5, 3), (4, 5), (5, 4), (5, 5),
]  # fmt: skip


def fitting_layouts(view):
    """All layouts, bool [layouts, R, C], that meet every number of the view, whatever their number of mines."""
    hidden = np.argwhere(view == HIDDEN)
    layouts = (np.arange(2 ** len(hidden))[:, None] >> np.arange(len(hidden))) & 1 == 1  # [layouts, hidden]
    mines = np.broadcast_to(view == MINE, (len(layouts), *view.shape)).copy()
    mines[:, hidden[:, 0], hidden[:, 1]] = layouts
    for row, col in np.argwhere(view >= 0):
        around = mines[:, max(row - 1, 0) : row + 2, max(col - 1, 0) : col + 2].sum(axis=(1, 2))
        mines = mines[around == view[row, col]]
    return mines


def brute_force(view, num_mines):
    """(number of layouts, float [R, C] mine probability of the hidden cells and NaN elsewhere)."""
    mines = fitting_layouts(view)
    mines = mines[mines.sum(axis=(1, 2)) == num_mines]
    with np.errstate(invalid="ignore"):
        return len(mines), np.where(view == HIDDEN, mines.sum(axis=0) / np.float64(len(mines)), np.nan)


def interior_cells(view):
    """Hidden cells beside no number, by a plain loop."""
    cells = np.zeros(view.shape, bool)
    for row, col in np.argwhere(view == HIDDEN):
        cells[row, col] = not (view[max(row - 1, 0) : row + 2, max(col - 1, 0) : col + 2] >= 0).any()
    return cells


def random_view(shape, rng):
    """(view, number of mines) of a random board; mostly all its mines are hidden, the others are shown."""
    mines = rng.random(shape) < rng.choice([0.1, 0.2, 0.35, 0.6])
    most = min(mines.size, MOST_HIDDEN)
    num_hidden = rng.integers(0, most + 1) if rng.random() < 0.3 else max(most - rng.integers(0, 5), 1)
    keep_secret = mines.ravel() & (rng.random() < 0.9)
    order = np.lexsort((rng.random(mines.size), ~keep_secret))
    view = np.where(mines, MINE, neighbour_counts(mines)).astype(np.int8)
    view.flat[order[:num_hidden]] = HIDDEN
    return view, int(mines.sum())


def random_digits(shape, rng):
    """A view that may well be impossible."""
    view = rng.integers(0, 4, shape, dtype=np.int8)
    view[rng.random(shape) < 0.1] = MINE
    view.flat[rng.permutation(view.size)[: min(MOST_HIDDEN, int(view.size * rng.uniform(0.4, 0.8)))]] = HIDDEN
    return view


def drawn(text):
    return text_to_view(text)[0]


def clue_view(shape, is_clue, num_mines, rng):
    """View of a random board that shows the marked cells, which are no mines, and nothing else."""
    mines = np.zeros(shape, bool)
    mines.flat[rng.choice(np.flatnonzero(~is_clue), num_mines, replace=False)] = True
    return np.where(is_clue, neighbour_counts(mines), HIDDEN).astype(np.int8)


def every_second(rows, cols):
    is_clue = np.zeros((rows, cols), bool)
    is_clue[1::2, 1::2] = True
    return is_clue


def live_views(mode, num_games, decisions, seed=0):
    """Views [N, R, C] of the games of the exact solver that are still going after each of some decisions."""
    games = Games(mode, num_games, seed)
    games.reveal(*first_cells("random", games))
    solver = make_solver("exact")
    views = []
    for decision in range(1, decisions + 1):
        live = games.status == PLAYING
        views.append(games.views[live].copy())
        chosen = np.zeros(games.views.shape, bool)
        chosen[live], _ = solver.choose(views[-1], mode.mines, choice_keys(games, decision)[live])
        games.reveal_mask(chosen)
    return np.concatenate(views)


def assert_meets_numbers_and_total(view, probabilities, num_mines):
    """The expected mines around each number and on the whole board are the true ones."""
    expected = np.where(view == HIDDEN, probabilities, view == MINE)
    np.testing.assert_array_equal(np.isnan(probabilities), view != HIDDEN)
    assert (expected >= 0).all()
    assert (expected <= 1).all()
    rows, cols = view.shape
    padded = np.pad(expected, 1)
    around = sum(padded[r : r + rows, c : c + cols] for r in range(3) for c in range(3)) - expected
    np.testing.assert_allclose(around[view >= 0], view[view >= 0], rtol=0, atol=1e-9)
    assert expected.sum() == pytest.approx(num_mines, rel=1e-12, abs=1e-9)


def assert_equals_brute_force(view, num_mines, answer):
    num_layouts, expected = brute_force(view, num_mines)
    np.testing.assert_allclose(answer.probabilities, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(answer.probabilities == 0.0, expected == 0.0)
    np.testing.assert_array_equal(answer.probabilities == 1.0, expected == 1.0)
    assert answer.log_layouts == pytest.approx(math.log(num_layouts), rel=0, abs=1e-12)
    assert answer.exact
    interior = interior_cells(view)
    if interior.any():
        assert np.all(answer.probabilities[interior] == answer.interior)
    else:
        assert np.isnan(answer.interior)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equals_brute_force(shape):
    rng = np.random.default_rng(1)
    views, mines = zip(*(random_view(shape, rng) for _ in range(40)), strict=True)
    batch = solve_posterior(np.array(views), np.array(mines))
    assert batch.probabilities.shape == (40, *shape)
    assert batch.interior.shape == batch.log_layouts.shape == batch.exact.shape == (40,)
    for game, (view, num_mines) in enumerate(zip(views, mines, strict=True)):
        before = view.copy()
        answer = solve_posterior(view, num_mines)
        np.testing.assert_array_equal(view, before)
        assert_equals_brute_force(view, num_mines, answer)
        for name in ("probabilities", "interior", "log_layouts", "exact"):
            np.testing.assert_array_equal(getattr(batch, name)[game], getattr(answer, name), err_msg=name)


@pytest.mark.parametrize("shape", [(1, 8), (8, 1), (2, 2), (2, 5), (3, 4), (4, 3), (4, 4)], ids=str)
def test_every_total_of_any_digits_is_answered_or_refused(shape):
    """A refusal names a number if no total would do, and the range of the totals that would otherwise."""
    rng = np.random.default_rng(2)
    answered = refused = contradictory = 0
    for _ in range(150):
        view = random_digits(shape, rng)
        totals = fitting_layouts(view).sum(axis=(1, 2))
        for num_mines in range(-1, view.size + 2):
            if (totals == num_mines).any():
                answered += 1
                assert_equals_brute_force(view, num_mines, solve_posterior(view, num_mines))
                continue
            with pytest.raises(InconsistentViewError) as caught:
                solve_posterior(view, num_mines)
            if totals.size:
                refused += 1
                said = "1 mine is" if num_mines == 1 else f"{num_mines} mines are"
                assert str(caught.value) == (
                    f"{said} not possible on this {shape[0]}x{shape[1]} view: "
                    f"it needs between {totals.min()} and {totals.max()}"
                )
                assert (caught.value.row, caught.value.col) == (None, None)
            else:
                contradictory += 1
                row, col = caught.value.row, caught.value.col
                assert view[row, col] >= 0
                assert str(caught.value) == f"the number {view[row, col]} at ({row}, {col}) cannot be met"
            assert caught.value.game == 0
    assert min(answered, refused, contradictory) > 20


@pytest.mark.parametrize(
    ("view", "cells"),
    [
        ("1", [(0, 0)]),
        ("....\n....\n...4", [(2, 3)]),
        ("*1*\n...", [(0, 1)]),
        ("....\n....\n*0..", [(2, 1)]),
        ("1.0", [(0, 0), (0, 2)]),
        ("....\n.02.\n.00.\n....", [(1, 2)]),
        # No single number is at fault in these. On the left is a pair that can be met.
        ("1...1..\n....3..", [(0, 4), (1, 4)]),
        ("......1..\n.1.......\n......32.", [(0, 6), (2, 6), (2, 7)]),
    ],
)
def test_numbers_that_cannot_be_met(view, cells):
    view = drawn(view)
    with pytest.raises(InconsistentViewError) as caught:
        solve_posterior(view, 3)
    row, col = caught.value.row, caught.value.col
    assert (row, col) in cells
    assert str(caught.value) == f"the number {view[row, col]} at ({row}, {col}) cannot be met"


@pytest.mark.parametrize("function", [solve_posterior, proved_by_single_point])
def test_a_refusal_names_its_game(function):
    views = np.array([drawn("1.."), drawn("..."), drawn("1.0"), drawn("0.1")])
    with pytest.raises(
        InconsistentViewError, match=r"^view 2: the number [01] at \(0, [02]\) cannot be met$"
    ) as caught:
        function(views, 1)
    assert caught.value.game == 2
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("view", "num_mines", "low", "high"),
    [
        ("...\n...", 7, 0, 6),
        ("...\n...", -1, 0, 6),
        ("*..\n...", 0, 1, 6),
        ("*1\n11", 2, 1, 1),
        ("1.*\n..*", 2, 3, 3),
        ("1.2.1", 3, 2, 2),
        ("1.....1\n.......", 1, 2, 8),
        ("1.....1\n.......", 9, 2, 8),
        (".1.0.1.\n...0...", 3, 2, 2),  # two components far apart, exactly one mine each, no interior
        (".1..\n2.3.\n2..1\n..21", 4, 3, 5),  # 3 or 5 mines, never 4
    ],
)
def test_totals_that_are_impossible(view, num_mines, low, high):
    view = drawn(view)
    rows, cols = view.shape
    said = "1 mine is" if num_mines == 1 else f"{num_mines} mines are"
    message = f"{said} not possible on this {rows}x{cols} view: it needs between {low} and {high}"
    with pytest.raises(InconsistentViewError, match=f"^{re.escape(message)}$") as caught:
        solve_posterior(view, num_mines)
    assert (caught.value.game, caught.value.row, caught.value.col) == (0, None, None)
    with pytest.raises(InconsistentViewError, match=f"^view 1: {re.escape(message)}$") as caught:
        solve_posterior(np.array([view, view, view]), [low, num_mines, high])
    assert caught.value.game == 1
    assert solve_posterior(np.array([view, view]), [low, high]).exact.all()


def test_proofs_by_the_total_alone():
    nan = math.nan
    view = drawn("1..\n1..")
    np.testing.assert_array_equal(mine_posterior(view, 1), [[nan, 0.5, 0], [nan, 0.5, 0]])
    np.testing.assert_array_equal(mine_posterior(view, 2), [[nan, 0.5, 0.5], [nan, 0.5, 0.5]])
    np.testing.assert_array_equal(mine_posterior(view, 3), [[nan, 0.5, 1], [nan, 0.5, 1]])
    # One mine must serve both numbers; three leave none in the cells beside both, and one for the corner.
    view = drawn("..1.\n.1..\n....")
    fewest = [[0, 1 / 2, nan, 0], [0, nan, 1 / 2, 0], [0, 0, 0, 0]]
    between = [[1 / 6, 1 / 12, nan, 5 / 12], [1 / 6, nan, 1 / 12, 5 / 12], [1 / 6, 1 / 6, 1 / 6, 1 / 6]]
    most = [[1 / 5, 0, nan, 1 / 2], [1 / 5, nan, 0, 1 / 2], [1 / 5, 1 / 5, 1 / 5, 1]]
    for num_mines, expected in enumerate((fewest, between, most), start=1):
        answer = mine_posterior(view, num_mines)
        np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(np.isin(answer, (0, 1)), np.isin(expected, (0, 1)))


def test_views_without_numbers_or_without_hidden_cells():
    for num_mines in range(13):
        answer = solve_posterior(np.full((3, 4), HIDDEN), num_mines)
        assert (answer.probabilities == answer.interior).all()
        assert answer.interior == pytest.approx(num_mines / 12, abs=1e-15)
        assert (answer.interior in (0.0, 1.0)) == (num_mines in (0, 12))
        assert answer.log_layouts == pytest.approx(math.log(math.comb(12, num_mines)), abs=1e-12)
    answer = solve_posterior(drawn("1*1\n111"), 1)
    assert np.isnan(answer.probabilities).all()
    assert (answer.log_layouts, bool(answer.exact)) == (0.0, True)
    assert np.isnan(answer.interior)


def test_forms_of_the_same_view():
    view = drawn("..1.\n.2..\n....")
    expected = solve_posterior(view, 4).probabilities
    turned = np.asfortranarray(view)
    for other in (view.tolist(), view.astype(np.int64), turned, np.repeat(view, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(mine_posterior(other, np.uint8(4)), expected)
    np.testing.assert_array_equal(mine_posterior(view[None], [4])[0], expected)
    assert mine_posterior(np.zeros((0, 3, 4), np.int8), 4).shape == (0, 3, 4)
    revealed = np.array([[1, 1], [0, 0]], np.uint8)
    assert np.isnan(mine_posterior(np.pad(revealed, 1)[2:], 0)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 9]], 1), "a cell must be -2 (hidden), -1 (mine) or 0 to 8, got 9"),
        (([[1, -5]], 1), "a cell must be -2 (hidden), -1 (mine) or 0 to 8, got -5"),
        (([[-3, -2]], 1), "a cell must be -2 (hidden), -1 (mine) or 0 to 8, got -3"),
        (([[[1, -2]], [[9, -2]]], 1), "view 1: a cell must be -2 (hidden), -1 (mine) or 0 to 8, got 9"),
        (([[1.0, -2.0]], 1), "views must be integers, got float64"),
        (([[True, False]], 1), "views must be integers, got bool"),
        (([1, -2], 1), "views must have shape [R, C] or [N, R, C], got [2]"),
        (([[[[1, -2]]]], 1), "views must have shape [R, C] or [N, R, C], got [1, 1, 1, 2]"),
        ((np.zeros((0, 3), int), 1), "views must have shape [R, C] or [N, R, C], got [0, 3]"),
        ((np.zeros((2, 3, 0), int), 1), "views must have shape [R, C] or [N, R, C], got [2, 3, 0]"),
        (([[1, -2]], [1, 1]), "num_mines must be an integer or integers [1], got [1, 1]"),
        (([[[1, -2]]] * 3, [1, 1]), "num_mines must be an integer or integers [3], got [1, 1]"),
        (([[[1, -2]]] * 3, [[1, 1, 1]]), "num_mines must be an integer or integers [3], got [[1, 1, 1]]"),
        (([[1, -2]], 1.0), "num_mines must be an integer or integers [1], got 1.0"),
        (([[1, -2]], True), "num_mines must be an integer or integers [1], got True"),
        (([[1, -2]], None), "num_mines must be an integer or integers [1], got None"),
        (([[1, -2]], "1"), "num_mines must be an integer or integers [1], got '1'"),
    ],
)
def test_refused_values(arguments, message):
    functions = [solve_posterior, mine_posterior]
    if np.ndim(arguments[0]) == 3:
        functions.append(proved_by_single_point)
    for function in functions:
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$") as caught:
            function(*arguments)
        assert not isinstance(caught.value, InconsistentViewError)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"over_budget": "guess"}, "over_budget must be one of raise, density, got 'guess'"),
        ({"max_states": 0}, "max_states must be an integer from 1 to 1073741824, got 0"),
        ({"max_states": 2**30 + 1}, "max_states must be an integer from 1 to 1073741824, got 1073741825"),
    ],
)
def test_refused_settings(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        solve_posterior([[1, -2]], 1, **settings)


def symmetries(boards):
    """The boards [N, R, C] under all eight symmetries; four of them swap rows and columns."""
    for turned in (boards, boards.transpose(0, 2, 1)):
        yield from (turned, turned[:, ::-1], turned[:, :, ::-1], turned[:, ::-1, ::-1])


@pytest.mark.parametrize("name", MODES)
def test_positions_of_real_games(name):
    """Numbers and total are met; batches equal single views; the answer turns with the board."""
    mode = MODES[name]
    views = live_views(mode, 40, 12, seed=3)
    assert len(views) > 200
    batch = solve_posterior(views, mode.mines)
    assert batch.exact.all()
    for game, view in enumerate(views):
        assert_meets_numbers_and_total(view, batch.probabilities[game], mode.mines)
    for game in range(0, len(views), 20):
        single = solve_posterior(views[game], mode.mines)
        for field in ("probabilities", "interior", "log_layouts"):
            np.testing.assert_array_equal(getattr(single, field), getattr(batch, field)[game])
    for turned, expected in zip(symmetries(views[::3]), symmetries(batch.probabilities[::3]), strict=True):
        probabilities = mine_posterior(turned, mode.mines)
        np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-12)
        for proof in (0.0, 1.0):
            np.testing.assert_array_equal(probabilities == proof, expected == proof)


@pytest.mark.parametrize("mode", [Mode(7, 11, 30, "zero"), Mode(3, 40, 25), Mode(12, 5, 9, openings=False)], ids=str)
def test_positions_of_other_modes(mode):
    views = live_views(mode, 30, 6, seed=4)
    answers = mine_posterior(views, mode.mines)
    for view, answer in zip(views, answers, strict=True):
        assert_meets_numbers_and_total(view, answer, mode.mines)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7])
def test_60_by_60_revealed_at_random(share):
    rng = np.random.default_rng(5)
    is_clue = rng.random((60, 60)) < share
    num_mines = int(0.18 * (~is_clue).sum())
    view = clue_view((60, 60), is_clue, num_mines, rng)
    answer = solve_posterior(view, num_mines)
    assert answer.exact
    assert_meets_numbers_and_total(view, answer.probabilities, num_mines)


@pytest.mark.parametrize(
    "share",
    [
        0.02,
        0.1,
        0.2,
        0.5,
        0.7,
    ],
)
def test_300_by_300_revealed_at_random(share):
    rng = np.random.default_rng(6)
    is_clue = rng.random((300, 300)) < share
    num_mines = int(0.18 * (~is_clue).sum())
    view = clue_view((300, 300), is_clue, num_mines, rng)
    answer = solve_posterior(view, num_mines)
    assert answer.exact
    assert_meets_numbers_and_total(view, answer.probabilities, num_mines)


@pytest.mark.parametrize("num_clue_rows", range(1, 9))
def test_coupled_clue_grids(num_clue_rows):
    """Every second cell of every second row of 16x30; with 8 rows all hidden cells are one component."""
    is_clue = every_second(16, 30)
    is_clue[2 * num_clue_rows :] = False
    view = clue_view((16, 30), is_clue, 99, np.random.default_rng(7))
    answer = solve_posterior(view, 99)
    assert answer.exact
    assert_meets_numbers_and_total(view, answer.probabilities, 99)


@pytest.mark.parametrize(("rows", "cols"), [(2, 3), (10, 10), (20, 20)])
@pytest.mark.parametrize("extra", [1, 3])
def test_many_components_near_their_fewest_mines(rows, cols, extra):
    """Tiles of 3x5 with two 1s each: one mine in the 3 cells they share (3 ways), or one in each outer 5 (25 ways).

    With `tiles + extra` mines exactly `extra` of the tiles have two.
    """
    view = np.tile(drawn(".....\n.1.1.\n....."), (rows, cols))
    num_tiles = rows * cols
    answer = solve_posterior(view, num_tiles + extra)
    two = extra / num_tiles
    tile = np.array([[two / 5, two / 5, (1 - two) / 3, two / 5, two / 5]] * 3)
    tile[1, [1, 3]] = math.nan
    np.testing.assert_allclose(answer.probabilities, np.tile(tile, (rows, cols)), rtol=1e-9)
    layouts = math.comb(num_tiles, extra) * 3 ** (num_tiles - extra) * 25**extra
    assert answer.log_layouts == pytest.approx(math.log(layouts), rel=1e-12)


def chain_posterior(length, num_mines):
    """Exact P(mine) by column of a 3 x (2 * length + 1) view whose middle row is `.1.1.1.`, counted with integers.

    A column of 3 cells between two 1s has a mine or none, the 2 cells above and below a 1 too.
    """
    # ways[i][mine][total]: after i 1s, whether the last column between them has a mine, mines so far.
    ways = [[[1, 0], [0, 3]]]
    for _ in range(length):
        (none, one), size = ways[-1], len(ways[-1][0]) + 1
        none, one = none + [0] * (size - len(none)), one + [0] * (size - len(one))
        own = [one[k] + (2 * none[k - 1] if k else 0) for k in range(size)]
        ways.append([own, [3 * none[k - 1] if k else 0 for k in range(size)]])
    # The chain reads the same from both ends; a mine of the column counts once, and so do its three places.
    ends = len(ways[-1][0])
    total = sum(ways[-1][mine][num_mines] for mine in (0, 1)) if num_mines < ends else 0
    column = []
    for left in range(length + 1):
        a, b = ways[left][1], ways[length - left][1]
        both = sum(a[k] * b[num_mines + 1 - k] for k in range(len(a)) if 0 <= num_mines + 1 - k < len(b))
        column.append(Fraction(both, 9 * total))
    return total, column


@pytest.mark.parametrize("length", [3, 50, 400, 1300])
def test_one_long_component_near_its_fewest_mines(length):
    view = np.full((3, 2 * length + 1), HIDDEN, np.int8)
    view[1, 1::2] = 1
    num_mines = (length + 1) // 2 + 1
    answer = solve_posterior(view, num_mines)
    total, column = chain_posterior(length, num_mines)
    np.testing.assert_allclose(answer.probabilities[0, ::2], [float(p) for p in column], rtol=1e-9)
    assert answer.log_layouts == pytest.approx(math.log(total), rel=1e-12)
    assert_meets_numbers_and_total(view, answer.probabilities, num_mines)


def two_ways(num_blocks, side):
    """A view with two layouts of its frontier: the middles of all blocks are mines, or all their corners.

    A block is 5x5: a hidden middle, 7s diagonally beside it, hidden corners, known mines elsewhere. It shares a corner
    with the next block.
    """
    view = np.full((side, side), HIDDEN, np.int8)
    block = drawn(".***.\n*7*7*\n**.**\n*7*7*\n.***.")
    for k in range(0, 4 * num_blocks, 4):
        view[k : k + 5, k : k + 5] = block
    return view


@pytest.mark.parametrize(("num_blocks", "side"), [(1, 9), (4, 40), (10, 60), (60, 260)])
def test_nearly_certain_is_no_proof(num_blocks, side):
    view = two_ways(num_blocks, side)
    middles, corners = num_blocks, 3 * num_blocks + 1
    known = int((view == MINE).sum())
    num_interior = int(interior_cells(view).sum())
    answer = solve_posterior(view, known + corners)
    middle, corner = answer.probabilities[2, 2], answer.probabilities[0, 0]
    assert 0.0 < corner < 1e-3
    assert 0.999 < middle < 1.0
    ways = math.comb(num_interior, corners - middles)
    if num_blocks < 60:
        assert corner == pytest.approx(1 / (ways + 1), rel=1e-9)
        assert num_blocks == 1 or corner < 1e-17
    else:
        assert ways > 10**308  # a float of the probability would be 0.0
    assert 0.0 < answer.interior < 1.0
    assert answer.exact
    proved = mine_posterior(view, known + middles)  # no mine more: now it is a proof
    assert (proved[2, 2], proved[0, 0]) == (1.0, 0.0)


def too_many_at_once():
    return clue_view((60, 60), every_second(60, 60), 700, np.random.default_rng(8))


def test_past_the_budget():
    view = drawn("1..1.2..\n........\n..2...1.")
    expected = solve_posterior(view, 6)
    message = (
        "counting needs more than max_states=1 states or 27 numbers open at once; "
        "raise max_states or choose over_budget=density"
    )
    with pytest.raises(StateBudgetError, match=f"^{re.escape(message)}$") as caught:
        solve_posterior(view, 6, max_states=1)
    assert isinstance(caught.value, RuntimeError)
    with pytest.raises(StateBudgetError, match=f"^view 1: {re.escape(message)}$"):
        solve_posterior(np.array([np.full_like(view, HIDDEN), view]), 6, max_states=1)
    weak = solve_posterior(view, 6, max_states=1, over_budget="density")
    assert not weak.exact
    assert np.isnan(weak.log_layouts)
    again = solve_posterior(view, 6, over_budget="density")
    assert again.exact
    np.testing.assert_array_equal(again.probabilities, expected.probabilities)
    assert again.log_layouts == expected.log_layouts


@pytest.mark.parametrize("max_states", [1, 10, 50])
def test_the_weaker_answer_proves_nothing_false(max_states):
    mode = MODES["expert"]
    views = live_views(mode, 40, 10, seed=9)
    exact = mine_posterior(views, mode.mines)
    weak = solve_posterior(views, mode.mines, max_states=max_states, over_budget="density")
    assert len(views) > 200
    assert (~weak.exact).sum() > 20
    np.testing.assert_array_equal(np.isnan(weak.log_layouts), ~weak.exact)
    np.testing.assert_array_equal(weak.probabilities[weak.exact], exact[weak.exact])
    assert (exact[weak.probabilities == 0.0] == 0.0).all()
    assert (exact[weak.probabilities == 1.0] == 1.0).all()
    hidden = weak.probabilities[views == HIDDEN]
    assert ((hidden >= 0.0) & (hidden <= 1.0)).all()
    np.testing.assert_array_equal(np.isnan(weak.probabilities), views != HIDDEN)
    known = proved_by_single_point(views, mode.mines)
    assert (weak.probabilities[known == SAFE] == 0.0).all()
    assert (weak.probabilities[known == MINE] == 1.0).all()


def test_too_many_open_numbers():
    """Any sweep of a 60x60 clue grid has about 30 numbers open at once."""
    view = too_many_at_once()
    with pytest.raises(StateBudgetError, match="27 numbers open at once"):
        solve_posterior(view, 700)
    weak = solve_posterior(view, 700, over_budget="density")
    assert not weak.exact
    known = proved_by_single_point(view[None], 700)[0]
    hidden = view == HIDDEN
    np.testing.assert_array_equal(weak.probabilities[hidden] == 0.0, known[hidden] == SAFE)
    np.testing.assert_array_equal(weak.probabilities[hidden] == 1.0, known[hidden] == MINE)
    assert ((weak.probabilities[hidden] >= 0) & (weak.probabilities[hidden] <= 1)).all()
    small = drawn("1..\n1..")
    np.testing.assert_array_equal(mine_posterior(small, 1)[:, 1:], [[0.5, 0], [0.5, 0]])


def naive_single_point(view):
    """The two rules in plain loops until nothing changes; None if a number cannot be met."""
    known = view.copy()
    numbers = np.argwhere(view >= 0)
    changed = True
    while changed:
        changed = False
        for row, col in numbers:
            around = known[max(row - 1, 0) : row + 2, max(col - 1, 0) : col + 2]
            needed, undecided = view[row, col] - (around == MINE).sum(), (around == HIDDEN).sum()
            if not 0 <= needed <= undecided:
                return None
            if undecided and needed in (0, undecided):
                around[around == HIDDEN] = SAFE if needed == 0 else MINE
                changed = True
    return np.where(view == HIDDEN, known, 0)


@pytest.mark.parametrize(
    ("view", "known"),
    [
        ("1.\n..", "r.\n.."),
        ("3.\n..", "rm\nmm"),
        ("0.\n..", "rs\nss"),
        ("*1.\n...", "rrs\nsss"),
        ("1*..\n.2..\n....", "rr..\nsr..\n...."),
        ("1.2.1", "rmrmr"),
        (".1.2.", "srmrm"),
        ("....\n....", "....\n...."),
    ],
)
def test_single_point_on_drawn_views(view, known):
    values = {"r": 0, ".": HIDDEN, "s": SAFE, "m": MINE}
    expected = [[values[letter] for letter in row] for row in known.split("\n")]
    answer = proved_by_single_point(drawn(view)[None], 1)
    assert answer.dtype == np.int8
    assert answer[0].tolist() == expected


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (2, 5), (4, 4), (6, 3), (9, 12)], ids=str)
def test_single_point_equals_plain_loops(shape):
    rng = np.random.default_rng(10)
    contradictory = proved = 0
    for trial in range(150):
        view = random_view(shape, rng)[0] if trial % 3 else random_digits(shape, rng)
        expected = naive_single_point(view)
        if expected is None:
            contradictory += 1
            with pytest.raises(InconsistentViewError, match=r"^the number \d at \(\d+, \d+\) cannot be met$"):
                proved_by_single_point(view[None], 1)
        else:
            proved += (expected < HIDDEN).any() or (expected == MINE).any()
            np.testing.assert_array_equal(proved_by_single_point(view[None], 1)[0], expected)
    assert min(contradictory, proved) > 20
