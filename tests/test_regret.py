"""Regret: drawn positions by hand, the exact solver has none, a plain loop with brute force, components, the table."""

import numpy as np
import pytest
from observing import observed
from test_posterior import brute_force, drawn, fitting_layouts, interior_cells, live_views, random_view

from minesweeper import MODES, Mode, Solver, make_solver, mine_posterior, play_games
from minesweeper.arena import Decisions
from minesweeper.board import HIDDEN, neighbour_counts
from minesweeper.components import component_cells, proved_safe_locally
from minesweeper.frontier import SAFE
from minesweeper.posterior import InconsistentViewError, StateBudgetError, proved_by_single_point
from minesweeper.regret import CLASSES, COLUMNS, Regrets, classify, regret_table

BEGINNER = MODES["beginner"]
SOLVER = make_solver("random")


class BoldSolver(Solver):
    """Takes every cell up to 25% for safe, by the exact posterior."""

    name = "bold"
    guess_threshold = 0.25

    def mine_probabilities(self, views, num_mines):
        return mine_posterior(views, num_mines)


def decided(view, num_mines, *cells, mines=()):
    """The only row of one decision: `cells` are opened, and `mines` are there."""
    chosen, truth = np.zeros((2, 1, *view.shape), bool)
    for cell in cells:
        chosen[0][cell] = True
    for cell in mines:
        truth[0][cell] = True
    regrets = Regrets()
    regrets.observe(Decisions(SOLVER, view[None], num_mines, chosen, truth, (chosen & truth).any(axis=(1, 2))))
    (row,) = regrets.rows()
    return tuple(row[column] for column in COLUMNS)


def almost(*expected):
    return pytest.approx(expected, abs=1e-12)


def check(row, names, decisions, risk, regret, losses, regret_losses):
    assert row[:3] == names
    assert row[3:] == almost(decisions, risk, regret, losses, regret_losses)


def test_single_point_by_hand():
    """The zero makes the last cell safe, so the one beside the 1 is the mine."""
    view = np.array([[HIDDEN, 1, 0, HIDDEN]], np.int8)
    check(decided(view, 1, (0, 3), mines=[(0, 0)]), ("single_point", "0-2", "1-8"), 1, 0, 0, 0, 0)
    check(decided(view, 1, (0, 0), mines=[(0, 0)]), ("single_point", "0-2", "1-8"), 1, 1, 1, 1, 1)
    check(decided(view, 1, (0, 0), (0, 3), mines=[(0, 0)]), ("single_point", "0-2", "1-8"), 1, 1, 1, 1, 1)


def test_local_by_hand():
    """1 1 1 under three hidden cells: a+b = a+b+c = b+c = 1, so b is the mine. No single number says so."""
    view = drawn("...\n111")
    check(decided(view, 1, (0, 0), mines=[(0, 1)]), ("local", "0-2", "1-8"), 1, 0, 0, 0, 0)
    check(decided(view, 1, (0, 1), mines=[(0, 1)]), ("local", "0-2", "1-8"), 1, 1, 1, 1, 1)


def test_total_by_hand():
    """The one mine is beside the numbers, so the two cells away from them are safe."""
    view = drawn("1..\n1..")
    check(decided(view, 1, (0, 2)), ("total", "0-2", "0"), 1, 0, 0, 0, 0)
    check(decided(view, 1, (0, 1), mines=[(0, 1)]), ("total", "0-2", "1-8"), 1, 0.5, 0.5, 1, 1)
    check(decided(view, 1, (0, 1), mines=[(1, 1)]), ("total", "0-2", "1-8"), 1, 0.5, 0.5, 0, 0)
    # 1/2 + 1/2 + 0: at most a certainty, and the riskiest cell names the component
    check(decided(view, 1, (0, 1), (1, 1), (0, 2)), ("total", "0-2", "1-8"), 1, 1, 1, 0, 0)


def test_guesses_by_hand():
    """One mine in the two frontier cells, the others in the interior."""
    view = drawn("1...\n1...")
    for num_mines, name, lowest in (
        (2, "guess_interior", 0.25),
        (3, "guess_frontier", 0.5),
        (4, "guess_frontier", 0.5),
    ):
        mines_left = "3-5" if num_mines > 2 else "0-2"
        interior = (num_mines - 1) / 4
        frontier = (name, mines_left, "1-8")
        check(decided(view, num_mines, (1, 1), mines=[(1, 1)]), frontier, 1, 0.5, 0.5 - lowest, 1, int(lowest < 0.5))
        check(decided(view, num_mines, (0, 3)), (name, mines_left, "0"), 1, interior, interior - lowest, 0, 0)


@pytest.mark.parametrize(
    ("num_mines", "mines_left"),
    [(1, "0-2"), (2, "0-2"), (3, "3-5"), (5, "3-5"), (6, "6-10"), (10, "6-10"), (11, "11+")],
)
def test_mines_left(num_mines, mines_left):
    """A new board; and one whose 3 in the corner proves three mines more."""
    view = np.full((6, 6), HIDDEN, np.int8)
    check(decided(view, num_mines, (2, 2)), ("guess_interior", mines_left, "0"), 1, num_mines / 36, 0, 0, 0)
    view[0, 0] = 3
    row = decided(view, num_mines + 3, (3, 3))
    assert row[1:3] == (mines_left, "0")


@pytest.mark.parametrize(
    ("cols", "component"), [(8, "1-8"), (9, "9-16"), (16, "9-16"), (17, "17-32"), (32, "17-32"), (33, "33+")]
)
def test_components_by_size(cols, component):
    """A row of hidden cells under a row of numbers is one component."""
    mines = np.zeros((2, cols), bool)
    mines[1, 1::3] = True
    view = neighbour_counts(mines)
    view[1] = HIDDEN
    assert decided(view, int(mines.sum()), (1, 0))[2] == component


def test_component_cells_of_a_drawn_board():
    view = drawn("..1..\n..1..\n.....\n.....\n0....")
    expected = np.array([[0, 6, 0, 6, 0], [0, 6, 0, 6, 0], [0, 6, 6, 6, 0], [3, 3, 0, 0, 0], [0, 3, 0, 0, 0]])
    # beside the numbers in column 2: columns 1 and 3 of the rows 0 to 2, and the cell below them
    expected[:3] = np.where(expected[:3] > 0, 7, 0)
    np.testing.assert_array_equal(component_cells(view[None])[0], expected)


def flooded(view):
    """Sizes of the components by a plain flood over cells and numbers."""
    sizes, left = (
        np.zeros(view.shape, int),
        set(zip(*np.nonzero((view == HIDDEN) & ~interior_cells(view)), strict=True)),
    )

    def around(cell):
        return {(cell[0] + r, cell[1] + c) for r in (-1, 0, 1) for c in (-1, 0, 1)}

    numbers = set(zip(*np.nonzero(view >= 0), strict=True))
    while left:
        members, waiting = set(), [next(iter(left))]
        while waiting:
            cell = waiting.pop()
            members.add(cell)
            left.discard(cell)
            reached = {other for number in around(cell) & numbers for other in around(number) & left}
            left -= reached
            waiting += reached
        for cell in members:
            sizes[cell] = len(members)
    return sizes


def test_component_cells_equal_a_plain_flood():
    rng = np.random.default_rng(5)
    views = [random_view(shape, rng)[0] for shape in ((4, 7), (7, 4), (1, 9), (6, 6)) for _ in range(50)]
    views += list(live_views(Mode(9, 12, 18), 10, 5))
    for view in views:
        np.testing.assert_array_equal(component_cells(view[None])[0], flooded(view))


def test_local_proofs_equal_brute_force():
    """Safe whatever the total is: no layout that meets the numbers, with any number of mines, has a mine there."""
    rng = np.random.default_rng(6)
    found = 0
    for shape in ((3, 5), (5, 3), (4, 4), (2, 7), (1, 12), (5, 5)):
        for _ in range(60):
            view, _ = random_view(shape, rng)
            expected = (view == HIDDEN) & ~fitting_layouts(view).any(axis=0)
            is_safe = proved_safe_locally(view[None])
            np.testing.assert_array_equal(is_safe[0], expected)
            found += (is_safe & (proved_by_single_point(view[None], 0) != SAFE)).any()
    assert found > 20


def test_local_proofs_past_the_budget_and_of_contradictions():
    view = drawn("...\n111")[None]
    assert proved_safe_locally(view).tolist() == [[[True, False, True], [False] * 3]]
    assert not proved_safe_locally(view, max_states=1).any()
    with pytest.raises(InconsistentViewError, match=r"^the number 3 at \(1, 0\) cannot be met$"):
        proved_safe_locally(drawn("...\n311")[None])
    # 2 of the two on the left, so the number in the middle has too many
    with pytest.raises(InconsistentViewError, match=r"cannot be met$"):
        proved_safe_locally(drawn("....\n1221\n....\n....\n1001")[None])


@pytest.mark.parametrize("settings", [{}, {"tie_break": "corner"}])
@pytest.mark.parametrize("mode", [BEGINNER, Mode(5, 8, 9, "any"), MODES["intermediate"]])
def test_the_exact_solver_has_no_regret(mode, settings):
    num_games = 600 if mode == BEGINNER else 150
    records = play_games(make_solver("exact", **settings), mode, num_games, 7, "solver")
    rows = observed(Regrets(), make_solver("exact", **settings), mode, num_games, 7, "solver").rows()
    assert {row["class"] for row in rows} == set(CLASSES)
    assert sum(row["regret"] for row in rows) < 1e-6
    assert sum(row["regret_losses"] for row in rows) == 0
    losses, risk = (sum(row[key] for row in rows) for key in ("losses", "risk"))
    assert losses == num_games - records.won.sum()
    assert abs(losses - risk) < 4 * risk**0.5
    assert all(row["risk"] == row["losses"] == 0 for row in rows if not row["class"].startswith("guess"))


@pytest.mark.parametrize("solver", [make_solver("random"), make_solver("equalize"), BoldSolver()])
def test_equals_a_plain_loop(solver):
    """On boards small enough to list every layout, with classes from their definitions."""
    mode = Mode(3, 5, 4, "any")
    seen, expected = [], {}
    play_games(solver, mode, 150, 8, "solver", batch=64, observers=[seen.append])
    for decisions in seen:
        np.testing.assert_array_equal(decisions.posterior, mine_posterior(decisions.views, 4))
        for view, chosen, is_lost in zip(decisions.views, decisions.chosen, decisions.is_lost, strict=True):
            posterior = brute_force(view, 4)[1]
            is_frontier = (view == HIDDEN) & ~interior_cells(view)
            lowest = np.nanmin(posterior)
            if (proved_by_single_point(view[None], 4) == SAFE).any():
                name = "single_point"
            elif ((view == HIDDEN) & ~fitting_layouts(view).any(axis=0)).any():
                name = "local"
            elif lowest == 0:
                name = "total"
            else:
                name = "guess_frontier" if (posterior[is_frontier] < lowest + 1e-9).any() else "guess_interior"
            left = 4 - (posterior == 1).sum()
            cells = sorted(zip(*np.nonzero(chosen), strict=True), key=lambda cell: -round(posterior[cell], 9))
            size = flooded(view)[cells[0]]
            key = (name, "0-2" if left < 3 else "3-5", "0" if size == 0 else "1-8" if size < 9 else "9-16")
            risk = min(sum(posterior[cell] for cell in cells), 1)
            one = np.array([1, risk, risk - lowest, is_lost, is_lost and risk - lowest > 0.001])
            expected[key] = expected.get(key, 0) + one
    rows = observed(Regrets(), solver, mode, 150, 8, "solver").rows()
    assert {tuple(row[column] for column in COLUMNS[:3]) for row in rows} == set(expected)
    for row in rows:
        key = tuple(row[column] for column in COLUMNS[:3])
        np.testing.assert_allclose([row[column] for column in COLUMNS[3:]], expected[key], atol=1e-9, err_msg=key)


def test_classes_of_positions_in_one_batch():
    views = np.array([[[1, HIDDEN, HIDDEN, HIDDEN], [1, HIDDEN, HIDDEN, HIDDEN]]] * 3, np.int8)
    views[1, 0, 0], views[2] = 2, drawn("....\n1111")
    views[1, 1, 0] = 2
    posterior = np.concatenate([mine_posterior(views[i : i + 1], 2) for i in range(3)])
    # 2 of the two frontier cells: by single numbers no cell is safe, but the total leaves no mine for the others
    assert [CLASSES[i] for i in classify(views, 2, posterior)] == ["guess_interior", "total", "local"]


def test_over_budget_positions_are_accepted():
    """A board that is too large to count gets the weaker posterior; nothing is called proved that is not."""
    view = np.full((60, 60), HIDDEN, np.int8)
    view[1::2, 1::2] = 2
    with pytest.raises(StateBudgetError):
        mine_posterior(view, 800)
    chosen = np.zeros((1, 60, 60), bool)
    chosen[0, 0, 0] = True
    regrets = Regrets()
    regrets.observe(Decisions(SOLVER, view[None], 800, chosen, np.zeros_like(chosen), np.array([False])))
    (row,) = regrets.rows()
    assert row["class"].startswith("guess")


def test_the_table_adds_up():
    regrets = observed(Regrets(), make_solver("equalize"), BEGINNER, 200, 9)
    rows = [{"solver": "equalize", **row} for row in regrets.rows()]
    lines = regret_table(rows, 200)
    assert len({len(line) for line in lines}) == 1
    values = {line.split()[1]: [float(value) for value in line.split()[2:]] for line in lines[1:]}
    assert list(values) == [*CLASSES, "all"]
    assert all(line.startswith("equalize") for line in lines[1:])
    np.testing.assert_allclose(values.pop("all"), np.sum(list(values.values()), axis=0), atol=0.03)
    decisions, risk, regret, lost, _ = (float(x) for x in lines[-1].split()[2:])
    assert decisions == pytest.approx(sum(row["decisions"] for row in rows) / 200, abs=0.01)
    assert 0 < regret < risk < 100
    assert lost == pytest.approx(100 * (1 - play_games(make_solver("equalize"), BEGINNER, 200, 9).won.mean()), abs=0.01)
