"""The tiered solver: each tier on a drawn board, the exact posterior inside its budget, what is left of it past that."""

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
from minesweeper.posterior import InconsistentViewError, mine_posterior
from minesweeper.solvers import make_solver
from minesweeper.solvers.tiered import proved_by_rules

# A component of two cells at the left, one of five at the right, 8 interior cells between and below them.
TWO_COMPONENTS = "1.....1\n1.....1\n......."


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
        ("1211\n....\n....", 3, [(1, 1)], [(1, 0), (1, 2)]),  # subset: two more in two more cells, then counting
        ("12*\n...\n...", 3, [], []),  # subset, the known mine taken off: nothing between 0 and 2
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
        ("1.1\n...\n...", 2, [], [], [1 / 8, 3 / 8, 4 / 8]),
        ("1..\n...", 4, [], [(0, 2), (1, 2)], [1 / 3]),  # replaced below
        ("...\n...", 2, [], [], [1 / 3]),  # only interior
        ("...\n...", 0, [(r, c) for r in range(2) for c in range(3)], [], []),
    ],
)
def test_search_and_total(view, num_mines, safe, mines, estimates):
    check_drawn("tiered", view, num_mines, safe, mines, estimates)
    assert make_solver("tiered").solve(drawn(view)[None], num_mines)[1].all()
