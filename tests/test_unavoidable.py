"""Guesses that nothing can spare: by hand, and against best play."""

import numpy as np
import pytest
from test_lookahead import best_play
from test_planner import guesses
from test_posterior import drawn, fitting_layouts

from minesweeper import HIDDEN, Mode, solve_posterior
from minesweeper.prospects import most_promising
from minesweeper.unavoidable import candidates, unavoidable_guesses


def pair_of(text, num_mines):
    view = drawn(text)[None]
    return sorted(unavoidable_guesses(view, solve_posterior(view, num_mines).probabilities)[0].tolist())


@pytest.mark.parametrize(
    ("text", "num_mines", "cells"),
    [
        (".1\n.1", 1, [0, 2]),
        (".3*\n.3*", 3, [0, 3]),  # the mines beside it are known
        (".11..\n.11..", 3, [0, 5]),  # the first of two
        ("1.1\n2.2\n...\n...", 3, [-1, -1]),  # what is below may tell
        ("..\n..", 2, [-1, -1]),  # nothing says that there are only two layouts
    ],
)
def test_by_hand(text, num_mines, cells):
    assert pair_of(text, num_mines) == cells


def test_a_set_of_more_cells():
    """In all layouts just one of the two cells is a mine, each in half of them; many sets have more cells than two."""
    found = 0
    for view, num_mines in positions():
        pair = unavoidable_guesses(view[None], solve_posterior(view[None], num_mines).probabilities)[0]
        if pair[0] >= 0:
            layouts = fitting_layouts(view)
            layouts = layouts[layouts.sum(axis=(1, 2)) == num_mines].reshape(-1, view.size)
            first, second = layouts[:, pair[0]], layouts[:, pair[1]]
            assert (first != second).all()
            assert first.mean() == 0.5
            opposite = (layouts == second[:, None]).all(axis=0) | (layouts == first[:, None]).all(axis=0)
            found += opposite.sum() > 2
    assert found > 10


def positions():
    for mode in (Mode(4, 4, 4), Mode(4, 4, 6), Mode(3, 5, 5), Mode(5, 3, 4), Mode(2, 7, 5), Mode(4, 5, 8)):
        for view in np.unique(guesses(mode, 300)[0], axis=0):
            if (view == HIDDEN).sum() <= 9:
                yield view, mode.mines


def test_no_other_guess_is_better():
    """In none of these positions does best play win more by another cell."""
    compared = strictly = 0
    for view, num_mines in positions():
        pair = unavoidable_guesses(view[None], solve_posterior(view[None], num_mines).probabilities)[0]
        if pair[0] >= 0:
            wins, _ = best_play(view, num_mines)
            assert max(wins[cell] for cell in pair.tolist()) == max(wins.values())
            compared += 1
            strictly += min(wins.values()) < max(wins.values())
    assert compared > 100
    assert strictly > 30


def test_they_are_the_only_candidates():
    views = np.stack([drawn(".11..\n.11.."), drawn("1....\n.....")])
    posterior = solve_posterior(views, np.array([3, 3]))
    cells = candidates(views, posterior, 0.5, 3)
    assert sorted(cells[0][cells[0] >= 0].tolist()) == [0, 5]
    expected = most_promising(views, posterior, 0.5, 3)[1]
    assert cells[1].tolist() == [*expected.tolist(), -1, -1]
    np.testing.assert_array_equal(candidates(views[1:], posterior.of([1]), 0.5, 3), [expected])
