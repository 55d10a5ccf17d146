"""What opening a cell would bring: chances and features against enumeration, by hand, turned, and in any company."""

import math

import numpy as np
import pytest
from test_posterior import drawn, fitting_layouts, interior_cells, live_views, random_view, symmetries

from minesweeper import HIDDEN, MODES, Mode, mine_posterior, solve_posterior
from minesweeper.board import MINE
from minesweeper.prospects import NUM_CELL, NUM_FEATURES, NUM_OUTCOME, NUM_POSITION, prospects

POSITION = (
    "lowest", "near", "open", "frontier", "mines_left", "density", "open_share", "spread", "even", "layouts", "size",
)  # fmt: skip
CELL = ("p", "above", "is_interior", "undecided", "neighbours", "nearer_edge", "farther_edge")
OUTCOME = (
    "is_won", "safe", "has_telling", "has_two_telling", "safe_beside", "lowest_after", "near_after", "new_mines",
    "layouts_after", "surprise", "spread_after", "frontier_spread", "open_after", "interior_after", "interior_p",
    "even_after", "good", "needs_0", "needs_1", "needs_2", "needs_more", "open_beside", "density_after",
    "second_after", "third_after", "fourth_after", "fifth_after", "telling",
)  # fmt: skip
PLACE = {name: place for place, name in enumerate((*POSITION, *CELL, *OUTCOME))}
MODES_SEEN = [MODES["beginner"], Mode(5, 7, 8), Mode(2, 9, 4), Mode(7, 7, 10)]


def log(count, share=4):
    return math.log1p(count) / share


def of_view(view, num_mines, cells=None, **settings):
    """The prospects of cells of one view [R, C], of all that are no proved mines unless given; and their posterior."""
    posterior = solve_posterior(view[None], num_mines)
    if cells is None:
        cells = np.flatnonzero(posterior.probabilities < 1)
    cells = np.asarray(cells, np.int64)
    games = np.zeros(cells.size, np.int64)
    found = prospects(np.ascontiguousarray(view[None]), np.array([num_mines]), posterior, games, cells, **settings)
    return found, cells, posterior.of(0)


def around(cell, shape):
    """The neighbours of a flat cell, bool [R, C], and the cell itself."""
    row, col = divmod(int(cell), shape[1])
    rows, cols = np.indices(shape)
    return (abs(rows - row) <= 1) & (abs(cols - col) <= 1)


def chances_of(mines, view):
    """P(mine) of the hidden cells by a list of layouts, NaN elsewhere."""
    return np.where(view == HIDDEN, mines.mean(axis=0), np.nan)


def count_telling(view, mines, cell):
    """How many of the safe cells show a number that differs between the layouts [L, R, C]."""
    is_safe = ~mines.any(axis=0) & (view == HIDDEN)
    is_safe.flat[cell] = False
    shown = [mines[:, around(other, view.shape)].sum(axis=1) for other in np.flatnonzero(is_safe)]
    return sum(np.unique(numbers).size > 1 for numbers in shown)


def enumerated(view, mines, left, cell, number, num_telling):
    """The features by name, once a cell shows a number.

    `mines`: the layouts before, `left`: those then; `num_telling`: how many of the safe cells count as telling.
    """
    num_mines, layouts, p = int(mines[0].sum()), len(mines), chances_of(mines, view)
    trial = view.copy()
    trial.flat[cell] = number
    after = len(left)
    q = chances_of(left, trial)
    block, trial_interior, interior = around(cell, view.shape), interior_cells(trial), interior_cells(view)
    row, col = divmod(cell, view.shape[1])
    edges = sorted(min(at, size - 1 - at, 4) for at, size in zip((row, col), view.shape, strict=True))
    is_open, is_open_after = p < 1, (q > 0) & (q < 1)
    on_frontier, on_frontier_after = p[is_open & ~interior], q[is_open_after & ~trial_interior]
    known = (p == 1).sum() + (view == MINE).sum()
    new_mines = (q == 1).sum() - (p == 1).sum()
    need = number - ((p == 1) | (view == MINE))[block].sum()
    lowest = np.nanmin(p)
    safest = np.sort([*np.zeros(num_telling), *q[is_open_after], *np.ones(5)]) if is_open_after.any() else np.zeros(5)
    near = (q[is_open_after] <= safest[0] + 0.03).sum()
    return {
        "lowest": lowest,
        "near": log((p <= lowest + 0.03).sum()),
        "open": log(is_open.sum()),
        "frontier": log(on_frontier.size),
        "mines_left": log(num_mines - known),
        "density": (num_mines - known) / is_open.sum(),
        "open_share": is_open.sum() / view.size,
        "spread": log((on_frontier * (1 - on_frontier)).sum()),
        "even": log(((on_frontier >= 0.4) & (on_frontier <= 0.6)).sum()),
        "layouts": log(math.log(layouts)),
        "size": math.log(view.size) / 4,
        "p": p.flat[cell],
        "above": 5 * (p.flat[cell] - lowest),
        "is_interior": interior.flat[cell],
        "undecided": (is_open[block].sum() - 1) / 8,
        "neighbours": (block.sum() - 1) / 8,
        "nearer_edge": edges[0] / 4,
        "farther_edge": edges[1] / 4,
        "is_won": not is_open_after.any(),
        "safe": log((q == 0).sum(), 2),
        "has_telling": num_telling >= 1,
        "has_two_telling": num_telling >= 2,
        "safe_beside": (q[block] == 0).sum() / 8,
        "lowest_after": safest[0],
        "near_after": 0 if num_telling else log(near),
        "new_mines": log(new_mines, 2),
        "layouts_after": log(math.log(after)),
        "surprise": math.log(layouts / after) / 4,
        "spread_after": log((q * (1 - q))[is_open_after].sum()),
        "frontier_spread": log((on_frontier_after * (1 - on_frontier_after)).sum()),
        "open_after": log(is_open_after.sum()),
        "interior_after": log((is_open_after & trial_interior).sum()),
        "interior_p": q[is_open_after & trial_interior].max(initial=0),
        "even_after": log(((on_frontier_after >= 0.4) & (on_frontier_after <= 0.6)).sum()),
        "good": log((q[is_open_after] < 0.1).sum()),
        "needs_0": need == 0,
        "needs_1": need == 1,
        "needs_2": need == 2,
        "needs_more": need >= 3,
        "open_beside": is_open_after[block].sum() / 8,
        "density_after": (num_mines - known - new_mines) / max((q < 1).sum(), 1),
        "second_after": safest[1],
        "third_after": safest[2],
        "fourth_after": safest[3],
        "fifth_after": safest[4],
        "telling": log(num_telling, 2),
    }


def test_every_feature_has_a_name_here():
    assert (len(POSITION), len(CELL), len(OUTCOME)) == (NUM_POSITION, NUM_CELL, NUM_OUTCOME)
    assert len(PLACE) == NUM_FEATURES


@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (2, 3), (3, 3), (2, 7), (4, 3), (3, 5), (5, 4)], ids=str)
def test_equal_enumeration(shape):
    """Random views, with known mines and proved cells too: the numbers that can be, their chances and all features.

    A cell that counts as telling nothing shows the same number in all layouts; nearly all such cells are found.
    """
    rng = np.random.default_rng(3)
    compared = missed = 0
    for _ in range(15):
        view, num_mines = random_view(shape, rng)
        found, cells, _ = of_view(view, num_mines)
        mines = fitting_layouts(view)
        mines = mines[mines.sum(axis=(1, 2)) == num_mines]
        rows = iter(range(len(found.of)))
        for i, cell in enumerate(cells.tolist()):
            for number in range(9):
                is_left = ~mines.reshape(len(mines), -1)[:, cell]
                is_left &= mines[:, around(cell, view.shape)].sum(axis=1) == number
                if not is_left.any():
                    continue
                left = mines[is_left]
                row = next(rows)
                num_telling = round(math.expm1(2 * found.features[row, PLACE["telling"]]))
                expected = enumerated(view, mines, left, cell, number, num_telling)
                more = num_telling - count_telling(view, left, cell)
                assert more >= 0
                missed += more > 0
                assert (found.of[row], found.numbers[row]) == (i, number)
                assert found.chances[row] == pytest.approx(len(left) / len(mines), rel=1e-9)
                for name, place in PLACE.items():
                    message = f"{name} of {number} at {cell} in\n{view}, {num_mines} mines"
                    assert found.features[row, place] == pytest.approx(float(expected[name]), abs=2e-6), message
                compared += 1
        assert next(rows, None) is None
    assert compared > 40
    assert missed <= 0.03 * compared


@pytest.mark.parametrize("mode", MODES_SEEN, ids=str)
def test_chances_add_up_to_that_of_no_mine(mode):
    views = live_views(mode, 15, 8, seed=1)
    posterior = solve_posterior(views, mode.mines)
    p = posterior.probabilities.reshape(len(views), -1)
    games, cells = np.nonzero(p < 1)
    found = prospects(views, np.full(len(views), mode.mines), posterior, games, cells)
    assert (np.diff(found.of) >= 0).all()
    assert ((found.chances > 0) & (found.chances <= 1 + 1e-9)).all()
    np.testing.assert_allclose(np.bincount(found.of, found.chances, cells.size), 1 - p[games, cells], atol=1e-9)
    assert np.isfinite(found.features).all()
    # The expected mines that the cell shows are those that are expected around it and it being safe.
    for i in range(0, cells.size, 97):
        view, shows = views[games[i]], found.of == i
        mean = (found.chances * found.numbers)[shows].sum()
        joint = 0.0
        for number, chance in zip(found.numbers[shows], found.chances[shows], strict=True):
            trial = view.copy()
            trial.flat[cells[i]] = number
            joint += chance * np.nansum(mine_posterior(trial, mode.mines)[around(cells[i], view.shape)])
        assert mean == pytest.approx(joint, abs=1e-9)


def by_name(row):
    return {name: float(row[place]) for name, place in PLACE.items()}


def test_three_cells_and_one_mine_by_hand():
    """Whichever cell is opened shows 1, and the mine is in one of two cells."""
    found, _, _ = of_view(drawn("1.\n.."), 1, [1])
    assert found.numbers.tolist() == [1]
    assert found.chances.tolist() == pytest.approx([2 / 3])
    expected = {
        "lowest": 1 / 3, "near": math.log(4) / 4, "open": math.log(4) / 4, "frontier": math.log(4) / 4,
        "mines_left": math.log(2) / 4, "density": 1 / 3, "open_share": 3 / 4, "spread": math.log(1 + 3 * 2 / 9) / 4,
        "layouts": math.log(1 + math.log(3)) / 4, "size": math.log(4) / 4,
        "p": 1 / 3, "undecided": 2 / 8, "neighbours": 3 / 8,
        "lowest_after": 1 / 2, "near_after": math.log(3) / 4, "layouts_after": math.log(1 + math.log(2)) / 4,
        "surprise": math.log(3 / 2) / 4, "spread_after": math.log(1.5) / 4, "frontier_spread": math.log(1.5) / 4,
        "open_after": math.log(3) / 4, "even_after": math.log(3) / 4, "needs_1": 1, "open_beside": 2 / 8,
        "density_after": 1 / 2, "second_after": 1 / 2, "third_after": 1, "fourth_after": 1, "fifth_after": 1,
    }  # fmt: skip
    assert by_name(found.features[0]) == pytest.approx(dict.fromkeys(PLACE, 0.0) | expected, abs=1e-6)


def test_what_is_proved_by_hand():
    """The cell of the interior is safe in 3 of 6 layouts; then the one below it is a mine, and the 1 has one more."""
    found, _, _ = of_view(drawn("1..\n..."), 2, [2])
    assert found.numbers.tolist() == [1, 2]
    assert found.chances.tolist() == pytest.approx([1 / 6, 2 / 6])
    one, two = map(by_name, found.features)
    for row in (one, two):
        assert (row["p"], row["above"], row["is_interior"]) == pytest.approx((1 / 2, 5 / 6, 1))
        assert (row["is_won"], row["has_telling"], row["safe_beside"] * 8) == (row is one, 0, 2 if row is one else 0)
    # The 1: both mines are known, the two cells above one another are safe, and that wins.
    assert (one["safe"], one["telling"], one["new_mines"]) == pytest.approx((math.log(3) / 2, 0, math.log(3) / 2))
    assert (one["layouts_after"], one["surprise"], one["density_after"]) == pytest.approx((0, math.log(6) / 4, 0))
    assert (one["open_after"], one["open_beside"], one["needs_1"], one["lowest_after"]) == (0, 0, 1, 0)
    # The 2: one cell is safe and far from it, the second mine is in one of two cells beside it.
    assert (two["safe"], two["telling"], two["new_mines"]) == pytest.approx((math.log(2) / 2, 0, math.log(2) / 2))
    assert (two["surprise"], two["density_after"]) == pytest.approx((math.log(3) / 4, 1 / 3))
    assert (two["open_after"], two["open_beside"], two["needs_2"]) == pytest.approx((math.log(3) / 4, 2 / 8, 1))


def test_a_win_by_hand():
    found, _, _ = of_view(drawn("1.\n1."), 1, [1])
    assert (found.numbers.tolist(), found.chances.tolist()) == ([1], pytest.approx([1 / 2]))
    row = by_name(found.features[0])
    assert (row["is_won"], row["telling"], row["open_after"], row["lowest_after"], row["near_after"]) == (
        1,
        0,
        0,
        0,
        0,
    )
    assert row["new_mines"] == pytest.approx(math.log(2) / 2)


def test_known_mines_are_not_needed_by_hand():
    """The second cell of a line has the known mine beside it and perhaps the other one."""
    found, _, _ = of_view(drawn("*...."), 2, [1, 4])
    assert (found.of.tolist(), found.numbers.tolist()) == ([0, 0, 1, 1], [1, 2, 0, 1])
    assert found.chances.tolist() == pytest.approx([2 / 4, 1 / 4, 2 / 4, 1 / 4])
    rows = [by_name(row) for row in found.features]
    assert [(row["needs_0"], row["needs_1"]) for row in rows] == [(1, 0), (0, 1), (1, 0), (0, 1)]
    assert [row["new_mines"] for row in rows] == pytest.approx([0, math.log(2) / 2, 0, math.log(2) / 2])
    assert [row["mines_left"] for row in rows] == pytest.approx([math.log(2) / 4] * 4)
    assert [row["undecided"] for row in rows] == [1 / 8, 1 / 8, 1 / 8, 1 / 8]
    assert [row["neighbours"] for row in rows] == [2 / 8, 2 / 8, 1 / 8, 1 / 8]


@pytest.mark.parametrize("mode", MODES_SEEN, ids=str)
def test_nothing_changes_when_the_board_is_turned(mode):
    """All eight symmetries; those that swap rows and columns make another board of what is not square."""
    views = live_views(mode, 6, 6, seed=2)[::3]
    numbered = np.arange(mode.cells).reshape(1, mode.rows, mode.cols)
    for view in views:
        expected, cells, _ = of_view(view, mode.mines)
        order = np.lexsort((expected.numbers, cells[expected.of]))
        for turned, origin in zip(symmetries(view[None]), symmetries(numbered), strict=True):
            found, turned_cells, _ = of_view(turned[0], mode.mines)
            own = origin.ravel()[turned_cells[found.of]]
            own_order = np.lexsort((found.numbers, own))
            np.testing.assert_array_equal(own[own_order], cells[expected.of][order])
            np.testing.assert_array_equal(found.numbers[own_order], expected.numbers[order])
            np.testing.assert_allclose(found.chances[own_order], expected.chances[order], atol=1e-9)
            np.testing.assert_allclose(found.features[own_order], expected.features[order], atol=2e-6)


@pytest.mark.parametrize("mode", MODES_SEEN, ids=str)
def test_a_known_mine_is_a_proved_mine(mode):
    marked = 0
    for view in live_views(mode, 8, 8, seed=4)[::2]:
        is_proved = mine_posterior(view, mode.mines) == 1
        expected, cells, _ = of_view(view, mode.mines)
        found, same_cells, _ = of_view(np.where(is_proved, MINE, view).astype(np.int8), mode.mines)
        np.testing.assert_array_equal(same_cells, cells)
        np.testing.assert_array_equal(found.of, expected.of)
        np.testing.assert_array_equal(found.numbers, expected.numbers)
        np.testing.assert_allclose(found.chances, expected.chances, atol=1e-9)
        np.testing.assert_allclose(found.features, expected.features, atol=2e-6)
        marked += is_proved.any()
    assert marked > 3


def assert_same(found, rows, expected):
    for name in ("numbers", "chances", "features"):
        np.testing.assert_array_equal(getattr(found, name)[rows], getattr(expected, name), err_msg=name)


def test_undisturbed_cells_share_one_count_but_have_places_of_their_own():
    """Beside a single 1 in the corner: each cell asked for alone gives what it gives in the company of all."""
    view = drawn("1........\n" + ".........\n" * 5)
    found, cells, _ = of_view(view, 9)
    for i, cell in enumerate(cells.tolist()):
        alone, _, _ = of_view(view, 9, [cell])
        rows = found.of == i
        np.testing.assert_array_equal(found.numbers[rows], alone.numbers)
        np.testing.assert_allclose(found.chances[rows], alone.chances, rtol=1e-9)
        np.testing.assert_allclose(found.features[rows], alone.features, atol=2e-6)
    cell_features = found.features[:, NUM_POSITION : NUM_POSITION + NUM_CELL]
    p = np.float32((9 - 1) / 50)
    above = 5 * (p - p)
    for cell, neighbours, nearer, farther in ((8, 3, 0, 0), (53, 3, 0, 0), (6, 5, 0, 2), (26, 5, 0, 2), (31, 8, 2, 4)):
        expected = [p, above, 1, neighbours / 8, neighbours / 8, nearer / 4, farther / 4]
        (rows,) = np.nonzero(cells[found.of] == cell)
        np.testing.assert_allclose(cell_features[rows], [expected] * rows.size, atol=1e-6)
    corners = [found.chances[cells[found.of] == cell] for cell in (8, 53)]
    np.testing.assert_array_equal(*corners)


def test_views_do_not_depend_on_each_other():
    mode = MODES["beginner"]
    views = np.concatenate([live_views(mode, 6, 6, seed=5), np.full((1, 9, 9), HIDDEN, np.int8)])
    posterior = solve_posterior(views, mode.mines)
    games, cells = np.nonzero(posterior.probabilities.reshape(len(views), -1) < 1)
    before = views.copy()
    found = prospects(views, np.full(len(views), mode.mines), posterior, games, cells)
    np.testing.assert_array_equal(views, before)
    for game, view in enumerate(views):
        alone, _, _ = of_view(view, mode.mines, cells[games == game])
        assert_same(found, games[found.of] == game, alone)


def test_numbers_past_the_budget_are_left_out():
    """Those that are counted are as ever."""
    mode = MODES["beginner"]
    left_out = kept = 0
    for view in live_views(mode, 10, 6, seed=6):
        full, cells, _ = of_view(view, mode.mines)
        found, _, _ = of_view(view, mode.mines, cells, max_states=60)
        known = {key: row for row, key in enumerate(zip(full.of.tolist(), full.numbers.tolist(), strict=True))}
        rows = [known[key] for key in zip(found.of.tolist(), found.numbers.tolist(), strict=True)]
        np.testing.assert_allclose(full.chances[rows], found.chances, rtol=1e-9)
        left_out += len(full.of) - len(rows)
        kept += len(rows)
    assert left_out > 0
    assert kept > 0


def test_no_cells():
    found, _, _ = of_view(drawn("1.\n.."), 1, [])
    assert [array.shape for array in found] == [(0,), (0,), (0,), (0, NUM_FEATURES)]
