"""Set inference: each rule on a drawn board, and against the same rules on Python sets, without a bound."""

import re

import numpy as np
import pytest
from scipy.stats import chisquare
from test_csp import positions
from test_posterior import drawn, random_view
from test_single_point import (
    check_against_brute_force,
    check_drawn,
    check_play,
    check_random_cell,
    each_odd_mode,
    keys_of,
)

from minesweeper.arena import play_games
from minesweeper.board import HIDDEN, MINE, neighbour_counts
from minesweeper.mode import MODES
from minesweeper.posterior import InconsistentViewError
from minesweeper.solvers import make_solver
from minesweeper.solvers.knowledge import _BELOW


@pytest.mark.parametrize(
    ("view", "num_mines", "safe", "mines", "estimates"),
    [
        ("0..\n...\n...", 3, [(0, 1), (1, 0), (1, 1)], [], [3 / 5]),  # rule 2, none
        ("3..\n...\n...", 4, [], [(0, 1), (1, 0), (1, 1)], [1 / 5]),  # rule 2, all
        ("1.1...", 2, [(0, 3)], [(0, 1)], [1 / 2]),  # rule 2, a known mine is taken out
        ("0.1...", 2, [(0, 1)], [(0, 3)], [1 / 2]),  # and a known safe cell
        ("....\n12*.", 3, [(0, 2)], [], [_BELOW / 2, 1 / 2]),  # rule 3, 1-1 (one of the 2 is known)
        ("....\n13*.", 4, [], [(0, 2)], [_BELOW / 2, 1 / 2]),  # 1-2
        ("...\n121", 2, [(0, 1)], [(0, 0), (0, 2)], []),  # 1-2-1
        ("....\n1221", 2, [(0, 0), (0, 3)], [(0, 1), (0, 2)], []),  # 1-2-2-1
        (
            "1.1\n...\n...",
            1,
            [(1, 0), (1, 2), (2, 0), (2, 1), (2, 2)],
            [],
            [1 / 2],
        ),  # rule 4, the last mine is in a set
        (".1..1...", 2, [(0, 6), (0, 7)], [], [1 / 2]),  # in two sets
        (".1.1...", 4, [(0, 2)], [(0, 0), (0, 4), (0, 5), (0, 6)], []),  # the last safe cell is in a set
        ("...\n...", 2, [], [], [1 / 3]),  # rule 6, in no set
        ("1...\n....\n....", 3, [], [], [3 / 11, 1 / 3]),
        ("1...\n....\n....", 8, [], [], [_BELOW / 3, 1 / 3]),  # lowered below all others
        ("....\n1..2\n....", 3, [], [], [1 / 5, 2 / 5]),  # none outside: the smallest share
        ("....\n13..\n....", 4, [], [], [_BELOW / 4, 1 / 4, 2 / 3]),  # the parts of the 3, not its 3 / 7
    ],
)
def test_rules(view, num_mines, safe, mines, estimates):
    check_drawn("knowledge", view, num_mines, safe, mines, estimates)


def test_the_smallest_share_over_the_sets_of_a_cell():
    probabilities = make_solver("knowledge").mine_probabilities(drawn(".......\n1..1.2.\n.......")[None], 4)[0]
    assert probabilities[:, 4].tolist() == [1 / 8, 1 / 8, 1 / 8]
    assert probabilities[0].tolist() == [1 / 5, 1 / 5, 1 / 8, 1 / 8, 1 / 8, 2 / 8, 2 / 8]


def test_the_random_cell():
    """Outside all sets, each equally often; where there is none, in the set with the smallest share."""
    check_random_cell("knowledge", "..1......", 3, [0, 4, 5, 6, 7, 8])
    check_random_cell("knowledge", "..1.......", 7, [0, 4, 5, 6, 7, 8, 9])
    views = np.repeat(drawn("....\n1..2\n....")[None], 2000, axis=0)
    chosen, is_guess = make_solver("knowledge").choose(views, 3, keys_of(2000))
    times = chosen.sum(axis=0)
    assert is_guess.all()
    assert times[:, 2:].sum() == 0
    assert chisquare(times[:, :2][drawn("..\n1.\n..") == HIDDEN]).pvalue > 1e-3


def literal_inference(view, num_mines):
    """The rules on Python sets, with every family of sets that don't overlap; float [R, C], NaN where revealed."""
    known = {tuple(cell): 1 for cell in np.argwhere(view == MINE).tolist()}
    while True:
        undecided = frozenset(map(tuple, np.argwhere(view == HIDDEN).tolist())) - known.keys()
        sets = {}
        for row, col in np.argwhere(view >= 0).tolist():
            near = {(r, c) for r in range(row - 1, row + 2) for c in range(col - 1, col + 2)}
            if near & undecided:
                sets[frozenset(near & undecided)] = view[row, col] - sum(known.get(cell, 0) for cell in near)
        num_sets = 0
        while num_sets < len(sets):
            num_sets = len(sets)
            rests = {b - a: sets[b] - sets[a] for a in sets for b in sets if a < b}
            assert all(sets.get(rest, count) == count for rest, count in rests.items())
            sets |= rests
        decided = {cell: count > 0 for cells, count in sets.items() if count in (0, len(cells)) for cell in cells}
        if not decided:
            families = [(undecided, num_mines - sum(known.values()))]
            for cells, count in sets.items():
                families += [(rest - cells, left - count) for rest, left in families if cells <= rest]
            decided = {cell: left > 0 for rest, left in families if left in (0, len(rest)) for cell in rest}
        if not decided:
            break
        known |= {cell: int(is_mine) for cell, is_mine in decided.items()}
    parts = {cells: count / len(cells) for cells, count in sets.items() if not any(other < cells for other in sets)}
    outside = min([families[0][1] / max(len(undecided), 1), *(_BELOW * share for share in parts.values())])
    probabilities = np.full(view.shape, np.nan)
    for cell in map(tuple, np.argwhere(view == HIDDEN).tolist()):
        shares = [share for cells, share in parts.items() if cell in cells]
        probabilities[cell] = known[cell] if cell in known else min(shares, default=outside)
    return probabilities


@pytest.mark.parametrize("shape", [(1, 14), (9, 1), (2, 2), (2, 7), (3, 3), (4, 3), (3, 5), (4, 5), (5, 5)])
def test_equals_the_rules_on_python_sets(shape):
    rng = np.random.default_rng(shape)
    estimated = proved = 0
    for _ in range(60):
        view, num_mines = random_view(shape, rng)
        probabilities = make_solver("knowledge").mine_probabilities(view[None], num_mines)[0]
        np.testing.assert_allclose(probabilities, literal_inference(view, num_mines), rtol=1e-14)
        is_proof = (probabilities == 0) | (probabilities == 1)
        proved += is_proof.sum()
        estimated += ((view == HIDDEN) & ~is_proof).sum()
    assert proved > 50
    assert estimated > 5


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_proves_more_than_single_numbers_and_less_than_all(mode):
    views = positions(mode, 60, "csp")
    single, sets, full = (
        make_solver(name).mine_probabilities(views, mode.mines) for name in ("single_point", "knowledge", "csp")
    )
    for proof in (0.0, 1.0):
        assert (sets[single == proof] == proof).all()
        assert (full[sets == proof] == proof).all()
        assert (single == proof).sum() < (sets == proof).sum() < (full == proof).sum()


def test_games_won_without_a_guess():
    """Which ones, is no matter of chance: all that single numbers win, and more; only some of those that can be won."""
    for mode, num_games in zip(MODES.values(), (400, 200, 200), strict=True):
        single, sets, full = (
            play_games(make_solver(name), mode, num_games, seed=2, first_cell="corner").guess_free
            for name in ("single_point", "knowledge", "csp")
        )
        assert not (single & ~sets).any()
        assert not (sets & ~full).any()
        assert single.sum() < sets.sum() <= full.sum()


def test_proofs_against_brute_force():
    found, missed = check_against_brute_force(make_solver("knowledge"), 400, seed=1)
    assert found > 300
    assert 0 < missed < 100


@each_odd_mode
def test_proofs_against_the_truth(mode):
    check_play(make_solver("knowledge"), mode, 300)


def test_the_total_is_used_up_to_the_bound():
    """100 sets of two cells hold all 100 mines; with one set more the total is left alone."""
    for num_sets, is_proved in ((100, True), (101, False)):
        probabilities = make_solver("knowledge").mine_probabilities(drawn(".1." * num_sets + "...")[None], num_sets)[0]
        outside = probabilities[0, 3 * num_sets :]
        assert (outside == 0).all() == is_proved
        assert probabilities[0, 0] == 1 / 2


def test_large_views_end():
    """Long chains, which have many families, and scattered numbers, which have many sets; nothing false is proved."""
    rng = np.random.default_rng(6)
    for cells in (21, 60, 98, 99, 150):
        view = drawn(".1" * cells + "....")
        probabilities = make_solver("knowledge").mine_probabilities(view[None], (cells + 1) // 2)[0]
        truth = make_solver("csp").mine_probabilities(view[None], (cells + 1) // 2)[0]
        assert (truth[probabilities == 0] == 0).all()
        assert (truth[probabilities == 1] == 1).all()
    for share in (0.1, 0.3, 0.6):
        mines = rng.random((40, 50)) < 0.2
        view = np.where(mines | (rng.random(mines.shape) > share), HIDDEN, neighbour_counts(mines)).astype(np.int8)
        probabilities = make_solver("knowledge").mine_probabilities(view[None], int(mines.sum()))[0]
        assert not mines[probabilities == 0].any()
        assert mines[probabilities == 1].all()
        assert (probabilities == 0).any()


@pytest.mark.parametrize(
    ("view", "num_mines", "message"),
    [
        ("2.", 1, "the number 2 at (0, 0) cannot be met"),
        ("...\n21.\n...", 3, "the numbers around (0, 2) cannot all be met"),
        ("....\n1..2\n....", 2, "2 mines are not possible on this 3x4 view"),
        ("1.1...", 5, "5 mines are not possible on this 1x6 view"),
        ("1*", 2, "2 mines are not possible on this 1x2 view"),
    ],
)
def test_contradictions(view, num_mines, message):
    with pytest.raises(InconsistentViewError, match=f"^{re.escape(message)}$"):
        make_solver("knowledge").mine_probabilities(drawn(view)[None], num_mines)
    both = np.array([np.full_like(drawn(view), HIDDEN), drawn(view)])
    with pytest.raises(InconsistentViewError, match=f"^view 1: {re.escape(message)}$") as error:
        make_solver("knowledge").mine_probabilities(both, np.array([1, num_mines]))
    assert error.value.game == 1
