"""The tiered solver: each tier on a drawn board, the exact posterior inside its budget, its estimates past that."""

import re
import time

import numpy as np
import pytest
from scipy.stats import chisquare
from test_posterior import brute_force, clue_view, drawn, every_second, fitting_layouts, random_view
from test_single_point import check_against_brute_force, check_drawn, check_play, each_odd_mode, keys_of

from minesweeper.arena import choice_keys, first_cells
from minesweeper.board import HIDDEN, MINE
from minesweeper.frontier import SAFE
from minesweeper.games import PLAYING, Games
from minesweeper.mode import MODES, Mode
from minesweeper.posterior import InconsistentViewError, mine_posterior, proved_by_single_point
from minesweeper.solvers import make_solver
from minesweeper.solvers.tiered import proved_by_rules

SMALL = "1.2*\n...."  # a component of five cells; together with one of six, and interior cells, it makes:
TWO_COMPONENTS = "1.2*.......1\n............\n...........2\n............"


def clues_of(view):
    """[(need, undecided cells)] of the numbers of one view, by a plain loop."""
    clues = []
    for row, col in np.argwhere(view >= 0):
        near = [(r, c) for r in (row - 1, row, row + 1) for c in (col - 1, col, col + 1)]
        near = [(r, c) for r, c in near if 0 <= r < view.shape[0] and 0 <= c < view.shape[1]]
        need = view[row, col] - sum(view[cell] == MINE for cell in near)
        clues.append((int(need), frozenset(cell for cell in near if view[cell] == HIDDEN)))
    return clues


def plain_rules(view):
    """Tiers 1 and 2 with sets: (safe cells, mines)."""
    safe, mines = set(), set()
    while True:
        clues = {(need - len(cells & mines), cells - mines - safe) for need, cells in clues_of(view)}
        clues = {clue for clue in clues if clue[1]}
        differences = {(n - m, b - a) for m, a in clues for n, b in clues if a < b}
        new_safe = {cell for need, cells in clues | differences if need == 0 for cell in cells}
        new_mines = {cell for need, cells in clues | differences if need == len(cells) for cell in cells}
        if not new_safe and not new_mines:
            return safe, mines
        safe |= new_safe
        mines |= new_mines


def as_set(mask):
    return {tuple(map(int, cell)) for cell in np.argwhere(mask)}


def played_views(mode, num_games, solver, seed=0, most=25):
    """Views of the games that the solver plays, after each of its decisions."""
    games = Games(mode, num_games, seed)
    games.reveal(*first_cells("random", games))
    views = []
    for decision in range(1, most):
        live = np.flatnonzero(games.status == PLAYING)
        views.append(games.views[live])
        mask = np.zeros(games.views.shape, bool)
        mask[live], _ = solver.choose(views[-1], mode.mines, choice_keys(games, decision)[live])
        games.reveal_mask(mask)
    return np.concatenate(views)


@pytest.mark.parametrize(
    ("view", "num_mines", "safe", "mines"),
    [
        ("0..\n...\n...", 3, [(0, 1), (1, 0), (1, 1)], []),  # counting
        ("3..\n...\n...", 4, [], [(0, 1), (1, 0), (1, 1)]),  # counting
        ("0.1...", 2, [(0, 1)], [(0, 3)]),  # counting, to the fixpoint
        ("11.\n...\n...", 2, [(0, 2), (1, 2)], []),  # subset: the same need, so the rest is safe
        ("1211\n....\n....", 3, [(1, 1), (1, 3)], [(1, 0), (1, 2)]),  # subset: one more in one more cell; then counting
        ("12*\n...\n...", 3, [(1, 2)], []),  # subset, the known mine taken off
        ("13*\n...\n...", 3, [], [(1, 2)]),  # subset, the known mine taken off
        ("...\n.21\n.10", 2, [], []),  # no pair of numbers decides here
    ],
)
def test_rules(view, num_mines, safe, mines):
    known = proved_by_rules(drawn(view)[None], num_mines)[0]
    assert as_set(known == SAFE) == set(safe)
    assert as_set(known == MINE) == set(mines)


@pytest.mark.parametrize(
    ("view", "num_mines", "safe", "mines", "estimates"),
    [
        ("...\n.21\n.10", 2, [(0, 0)], [], [1 / 2]),  # search: 1 + 1 make the 2
        ("..1\n.2.\n1.1", 2, [(0, 0)], [], [1 / 2]),
        ("1.1\n...\n...", 1, [(1, 0), (1, 2), (2, 0), (2, 1), (2, 2)], [], [1 / 2]),  # total: one mine for both
        ("1.1\n...\n...", 2, [], [], [1 / 7, 2 / 7, 3 / 7]),
        ("1..\n...", 3, [], [(0, 2), (1, 2)], [1 / 3]),  # total: one of three, so the interior is full
        ("...\n...", 2, [], [], [1 / 3]),  # only interior
        ("...\n...", 0, [(r, c) for r in range(2) for c in range(3)], [], []),
    ],
)
def test_search_and_total(view, num_mines, safe, mines, estimates):
    check_drawn("tiered", view, num_mines, safe, mines, estimates)
    assert make_solver("tiered").solve(drawn(view)[None], num_mines)[1].all()


def test_rules_reach_the_fixpoint():
    """Against sets in a plain loop, on small random views and on views that play reaches."""
    rng = np.random.default_rng(1)
    views = [random_view((5, 6), rng)[0] for _ in range(200)]
    views += list(played_views(Mode(8, 12, 20), 40, make_solver("tiered", max_nodes=1000)))
    num_by_subsets = 0
    for view in views:
        known = proved_by_rules(view[None], 20)[0]
        counted = proved_by_single_point(view[None], 20)[0]
        safe, mines = plain_rules(view)
        assert as_set(known == SAFE) == safe
        assert as_set(known == MINE) == mines
        num_by_subsets += len(safe) + len(mines) - np.isin(counted, (SAFE, MINE)).sum()
    assert num_by_subsets > 300


@pytest.mark.parametrize("mode", [*MODES.values(), Mode(7, 5, 11), Mode(1, 20, 6), Mode(6, 6, 30), Mode(30, 40, 240)])
def test_equals_the_exact_posterior_inside_the_budget(mode):
    solver = make_solver("tiered", max_nodes=20_000)
    views = played_views(mode, 40 if mode.cells < 1000 else 3, solver)
    probabilities, is_exact = solver.solve(views, mode.mines)
    expected = mine_posterior(views[is_exact], mode.mines)
    np.testing.assert_allclose(probabilities[is_exact], expected, rtol=0, atol=1e-9)
    for proof in (0.0, 1.0):
        np.testing.assert_array_equal(probabilities[is_exact] == proof, expected == proof)
    assert is_exact.mean() > (0.8 if mode.cells < 1000 else 0.2)


def test_equals_brute_force():
    rng = np.random.default_rng(2)
    solver = make_solver("tiered")
    for _ in range(300):
        view, num_mines = random_view([(1, 11), (9, 1), (2, 2), (3, 4), (4, 4), (2, 7), (5, 3)][rng.integers(7)], rng)
        (probabilities,), (is_exact,) = solver.solve(view[None], num_mines)
        _, truth = brute_force(view, num_mines)
        assert is_exact
        np.testing.assert_allclose(probabilities, truth, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(np.isin(probabilities, (0, 1)), np.isin(truth, (0, 1)))


def test_a_component_too_large_for_the_budget():
    """The small one counts all its layouts alike; the large one and the interior get their estimates."""
    view = drawn(TWO_COMPONENTS)
    (probabilities,), (is_exact,) = make_solver("tiered", max_component=5).solve(view[None], 10)
    assert not is_exact
    small = drawn(SMALL)
    np.testing.assert_allclose(
        probabilities[:2, :4][small == HIDDEN], fitting_layouts(small).mean(axis=0)[small == HIDDEN], rtol=1e-15
    )
    large = {(0, 10): 1 / 3, (1, 10): 11 / 30, (1, 11): 11 / 30, (2, 10): 2 / 5, (3, 10): 2 / 5, (3, 11): 2 / 5}
    assert {cell: pytest.approx(probabilities[cell]) for cell in large} == large
    interior = np.array([probabilities[row, col] for row in range(4) for col in range(4, 10)])
    assert np.unique(interior) == pytest.approx([9 / 43], abs=1e-15)

    (probabilities,), (is_exact,) = make_solver("tiered", max_component=4).solve(view[None], 10)
    assert not is_exact
    needed = {(0, 1): (1 / 3 + 1 / 4) / 2, (1, 1): (1 / 3 + 1 / 4) / 2, (1, 0): 1 / 3, (1, 2): 1 / 4, (1, 3): 1 / 4}
    assert {cell: pytest.approx(probabilities[cell]) for cell in needed} == needed


def test_every_number_of_nodes():
    """More nodes give nothing, then the small component, then everything; never a false proof."""
    view = drawn(TWO_COMPONENTS)[None]
    exact = mine_posterior(view, 10)
    answers = []
    for max_nodes in range(200):
        probabilities, is_exact = make_solver("tiered", max_nodes=max_nodes).solve(view, 10)
        assert not np.isin(probabilities, (0, 1)).any()
        if is_exact[0]:
            np.testing.assert_allclose(probabilities, exact, atol=1e-12)
        answers.append((bool(is_exact[0]), probabilities.tobytes()))
    assert len(set(answers)) == 3
    assert [answer[0] for answer in answers] == sorted(answer[0] for answer in answers)


def test_a_finished_search_proves_past_the_budget():
    view = drawn("1.........\n..........\n2.........\n........21\n........10")
    (probabilities,), (is_exact,) = make_solver("tiered", max_component=5).solve(view[None], 8)
    assert not is_exact
    assert as_set(probabilities == 0.0) == {(2, 7)}
    assert not (probabilities == 1.0).any()


@pytest.mark.parametrize("settings", [{"max_component": 0}, {"max_component": 6}, {"max_nodes": 40}, {}])
def test_proofs_against_brute_force(settings):
    found, missed = check_against_brute_force(make_solver("tiered", **settings), 150, seed=3)
    assert found > 100
    assert (missed == 0) == (not settings)


@each_odd_mode
@pytest.mark.parametrize("settings", [{"max_component": 5, "max_nodes": 60}, {}], ids=["tiny", "default"])
def test_proofs_against_the_truth(mode, settings):
    won, proofs = check_play(make_solver("tiered", **settings), mode, 200)
    if 0 < mode.mines < mode.cells // 2:
        assert won > 0
        assert proofs > 0 or mode.cells == 4


@pytest.mark.parametrize("settings", [{}, {"max_component": 250}, {"max_component": 250, "max_nodes": 2_000_000}])
def test_never_hangs(settings):
    """Coupled boards that no search ends: the nodes run out, or the component is refused."""
    rng = np.random.default_rng(4)
    views = [clue_view((21, 21), every_second(21, 21), 80, rng), clue_view((60, 60), every_second(60, 60), 600, rng)]
    views.append(clue_view((40, 40), rng.random((40, 40)) < 0.1, 300, rng))
    solver = make_solver("tiered", **settings)
    solver.solve(views[0][None], 80)
    for view, num_mines in zip(views, (80, 600, 300), strict=True):
        begin = time.perf_counter()
        (probabilities,), (is_exact,) = solver.solve(view[None], num_mines)
        assert time.perf_counter() - begin < 5
        assert not is_exact
        assert (np.isnan(probabilities) == (view != HIDDEN)).all()


def chosen_cells(view, num_mines, **settings):
    """How often each cell is chosen, int [R, C]."""
    views = np.repeat(drawn(view)[None], 3000, axis=0)
    mask, is_guess = make_solver("tiered", **settings).choose(views, num_mines, keys_of(3000))
    assert (is_guess == (mask.sum(axis=(1, 2)) == 1)).all()
    return mask.sum(axis=0)


@pytest.mark.parametrize(
    ("view", "num_mines", "settings", "expected"),
    [
        (".....\n.....\n.....", 3, {}, {(1, 1), (1, 2), (1, 3)}),
        (".....\n.....\n.....", 3, {"tie_break": "corner"}, {(1, 1), (1, 2), (1, 3)}),
        (".....\n.....\n.....", 3, {"most_hidden_first": False}, {(r, c) for r in range(3) for c in range(5)}),
        (
            ".....\n.....\n.....",
            3,
            {"most_hidden_first": False, "tie_break": "corner"},
            {(0, 0), (0, 4), (2, 0), (2, 4)},
        ),
        ("1.1\n...\n...", 2, {}, {(1, 0), (1, 2)}),  # 1/7; the cells with most hidden neighbours have 2/7 and 3/7
        ("1...\n....\n....", 2, {}, {(1, 2)}),  # 1/8 in the interior, 1/3 beside the number
    ],
)
def test_the_move_among_equals(view, num_mines, settings, expected):
    times = chosen_cells(view, num_mines, **settings)
    assert as_set(times) == expected
    counts = times[times > 0]
    assert counts.size == 1 or chisquare(counts).pvalue > 1e-3


def test_all_proved_cells_are_opened():
    assert as_set(chosen_cells("1.1\n...\n...", 1)) == {(1, 0), (1, 2), (2, 0), (2, 1), (2, 2)}
    assert as_set(chosen_cells("111\n...\n...", 2)) == {(1, 0), (1, 2)}


def test_counters():
    solver = make_solver("tiered", max_component=5)
    all_hidden = np.full((4, 12), HIDDEN, np.int8)
    zero = all_hidden.copy()
    zero[0, 0] = 0
    views = np.array([drawn(TWO_COMPONENTS), all_hidden, zero])
    solver.choose(views, 10, keys_of(3))
    assert (solver.num_decisions, solver.num_searches, solver.num_over_budget) == (3, 2, 1)
    solver.choose(views[:2], 10, keys_of(2))
    assert (solver.num_decisions, solver.num_searches, solver.num_over_budget) == (5, 4, 2)
    solver.mine_probabilities(views, 10)
    assert (solver.num_decisions, solver.num_searches, solver.num_over_budget) == (5, 4, 2)


@pytest.mark.parametrize(
    ("view", "num_mines", "message"),
    [
        ("2.", 1, "the number 2 at (0, 0) cannot be met"),  # counting
        ("*4*\n...\n*3*\n...", 6, "the number 3 at (2, 1) cannot be met"),  # subset: two of three, but one of six
        (".....\n.13.1", 3, "the number 1 at (1, 1) cannot be met"),  # search
        ("1.1\n...\n...", 0, "0 mines are not possible on this 3x3 view: it needs between 1 and 5"),
        ("1.1\n...\n...", 6, "6 mines are not possible on this 3x3 view: it needs between 1 and 5"),
    ],
)
def test_contradictions(view, num_mines, message):
    both = np.array([np.full_like(drawn(view), HIDDEN), drawn(view)])
    solver = make_solver("tiered")
    for ask in (solver.mine_probabilities, lambda *given: solver.choose(*given, keys_of(2))):
        with pytest.raises(InconsistentViewError, match=f"^view .: {re.escape(message)}$"):
            ask(both, np.array([1, num_mines]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_component": 251}, "max_component must be an integer from 0 to 250, got 251"),
        ({"max_component": 2.5}, "max_component must be an integer from 0 to 250, got 2.5"),
        ({"max_nodes": -1}, "max_nodes must be an integer from 0 to 1099511627776, got -1"),
        ({"max_nodes": True}, "max_nodes must be an integer from 0 to 1099511627776, got True"),
        ({"most_hidden_first": 1}, "most_hidden_first must be true or false, got 1"),
    ],
)
def test_refused_settings(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make_solver("tiered", **settings)
