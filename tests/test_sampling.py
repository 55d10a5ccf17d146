"""Layouts at random: each as likely as any other, against enumeration and the posterior; conditions, seeds, errors."""

import re

import numpy as np
import pytest
from scipy.stats import chi2
from test_posterior import clue_view, drawn, every_second, fitting_layouts, live_views, random_view

from minesweeper import HIDDEN, MODES, InconsistentViewError, StateBudgetError, sample_layouts, solve_posterior
from minesweeper.board import neighbour_counts


def layouts_of(view, num_mines):
    """All layouts that fit, as bytes."""
    mines = fitting_layouts(view)
    return {layout.tobytes(): i for i, layout in enumerate(mines[mines.sum(axis=(1, 2)) == num_mines])}


def surprise(view, num_mines, layouts):
    """(chi-square statistic of the drawn layouts, degrees of freedom); KeyError if one does not fit."""
    known = layouts_of(view, num_mines)
    drawn_layouts = np.bincount([known[layout.tobytes()] for layout in layouts], minlength=len(known))
    expected = len(layouts) / len(known)
    return ((drawn_layouts - expected) ** 2 / expected).sum(), len(known) - 1


def test_every_layout_is_as_likely():
    rng = np.random.default_rng(3)
    total = degrees = compared = 0
    for shape in ((1, 9), (3, 4), (4, 4), (5, 5), (2, 7), (9, 2)):
        for _ in range(25):
            view, num_mines = random_view(shape, rng)
            num_layouts = len(layouts_of(view, num_mines))
            if 2 <= num_layouts <= 100:
                statistic, freedom = surprise(
                    view, num_mines, sample_layouts(view, num_mines, 30 * num_layouts, compared)
                )
                total, degrees, compared = total + statistic, degrees + freedom, compared + 1
    assert compared > 60
    assert 1e-3 < chi2.sf(total, degrees) < 1 - 1e-3


@pytest.mark.parametrize(
    ("text", "num_mines"),
    [
        ("...\n...", 2),  # nothing revealed
        ("1..1\n1..1", 2),  # one component
        ("1.2.1\n.....", 3),
        (".1...1.\n.......", 3),  # two components and an interior
        ("*2..\n2...", 3),  # a marked mine
    ],
)
def test_views_by_hand(text, num_mines):
    view = drawn(text)
    statistic, degrees = surprise(view, num_mines, sample_layouts(view, num_mines, 20_000, seed=1))
    assert degrees > 0
    assert 1e-4 < chi2.sf(statistic, degrees) < 1 - 1e-4


def test_one_layout_is_drawn_every_time():
    assert (sample_layouts(drawn("1.\n11"), 1, 5) == [[False, True], [False, False]]).all()


def check_marginals(views, num_mines, count):
    """How often each cell has a mine, against the posterior; all layouts fit."""
    layouts = sample_layouts(views, num_mines, count, seed=7)
    assert (layouts.shape, layouts.dtype) == ((len(views), count, *views.shape[1:]), np.bool_)
    assert (layouts.sum(axis=(2, 3)) == num_mines).all()
    for view, drawn_layouts in zip(views, layouts, strict=True):
        shown = np.array([neighbour_counts(layout) for layout in drawn_layouts[:50]])
        assert (shown == view)[:, view >= 0].all()
    expected = solve_posterior(views, num_mines).probabilities
    frequency = layouts.mean(axis=1)
    is_sure = (expected == 0) | (expected == 1)
    np.testing.assert_array_equal(frequency[is_sure], expected[is_sure])
    is_open = (expected > 0.02) & (expected < 0.98)
    errors = (frequency - expected)[is_open] / np.sqrt(expected * (1 - expected) / count)[is_open]
    assert errors.size > 200
    assert abs(errors).max() < 5.5
    assert 0.9 < np.sqrt((errors**2).mean()) < 1.1


def test_expert_positions():
    views = live_views(MODES["expert"], 30, 8)
    check_marginals(views[::12], 99, 2000)


def test_boards_so_large_that_mines_are_weighted():
    rng = np.random.default_rng(0)
    check_marginals(clue_view((100, 100), rng.random((100, 100)) < 0.05, 2000, rng)[None], 2000, 400)
    # Tiles with one mine or two, almost all with one: a total in the far tail of those that the numbers allow.
    tiles = np.tile(drawn(".....\n.1.1.\n....."), (20, 20))
    check_marginals(tiles[None], 430, 400)
    # With an interior, and a total for which the weights of the sweeps need a correction afterwards.
    view = np.pad(tiles, ((0, 20), (0, 0)), constant_values=HIDDEN)
    check_marginals(view[None], 800, 3000)


def test_a_view_is_drawn_from_alone():
    views = live_views(MODES["beginner"], 20, 3)
    seeds = np.arange(len(views))
    together = sample_layouts(views, 10, 4, seeds)
    for view, seed, layouts in zip(views, seeds, together, strict=True):
        np.testing.assert_array_equal(sample_layouts(view, 10, 4, int(seed)), layouts)
    assert (sample_layouts(views, 10, 4, 99) != together).any()


def test_a_cell_can_be_asked_to_be_safe():
    view = drawn("1.2.1\n.....")
    for cell in (1, 6, 9):
        layouts = sample_layouts(view, 3, 4000, safe=cell)
        assert not layouts.reshape(4000, -1)[:, cell].any()
        known = [np.frombuffer(layout, bool) for layout in layouts_of(view, 3)]
        left = np.array([layout for layout in known if not layout[cell]])
        assert len(left) > 1
        _, counts = np.unique(layouts.reshape(4000, -1), axis=0, return_counts=True)
        assert counts.size == len(left)
        expected = 4000 / len(left)
        assert chi2.sf(((counts - expected) ** 2 / expected).sum(), len(left) - 1) > 1e-3
    views = np.stack([view, view])
    both = sample_layouts(views, 3, 500, safe=[1, -1]).reshape(2, 500, -1)[:, :, 1]
    assert not both[0].any()
    assert both[1].any()


def test_any_cell_that_can_be_safe():
    """Against enumeration, for each hidden cell of many views; a cell that cannot be safe is refused."""
    rng = np.random.default_rng(4)
    total = degrees = refused = 0
    for shape in ((1, 9), (3, 4), (4, 4), (5, 5)):
        for _ in range(12):
            view, num_mines = random_view(shape, rng)
            fitting = np.array([np.frombuffer(layout, bool) for layout in layouts_of(view, num_mines)])
            if len(fitting) > 100:
                continue
            for cell in np.flatnonzero(view == HIDDEN):
                left = {layout.tobytes(): i for i, layout in enumerate(fitting[~fitting[:, cell]])}
                if not left:
                    refused += 1
                    with pytest.raises(ValueError, match=f"^there is no layout in which safe={cell}, the cell "):
                        sample_layouts(view, num_mines, 1, safe=cell)
                    continue
                layouts = sample_layouts(view, num_mines, 20 * len(left), seed=cell, safe=cell)
                counts = np.bincount([left[layout.tobytes()] for layout in layouts], minlength=len(left))
                total += ((counts - 20) ** 2 / 20).sum()
                degrees += len(left) - 1
    assert refused > 20
    assert degrees > 1000
    assert 1e-3 < chi2.sf(total, degrees) < 1 - 1e-3


def test_a_cell_that_cannot_be_safe():
    cases = [
        (drawn("1.\n11"), 1, 1),  # one number proves the mine
        (drawn("1...\n1..."), 5, 2),  # the total does
        (drawn("1*..\n11.."), 3, 1),  # it is marked, and its number would fit
        (drawn("..*\n..."), 2, 2),  # beside no number
    ]
    for view, num_mines, cell in cases:
        row, col = divmod(cell, view.shape[1])
        message = f"there is no layout in which safe={cell}, the cell ({row}, {col}), is safe"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$") as caught:
            sample_layouts(view, num_mines, 3, safe=cell)
        assert not isinstance(caught.value, InconsistentViewError)
        with pytest.raises(ValueError, match=f"^view 1: {re.escape(message)}$"):
            sample_layouts(np.stack([view, view]), num_mines, 3, safe=[-1, cell])
    with pytest.raises(InconsistentViewError, match=r"^view 1: the number 3 at \(0, 0\) cannot be met$"):
        sample_layouts(np.stack([drawn("1.\n1."), drawn("3.\n1.")]), 1, 1, safe=[1, 1])
    with pytest.raises(InconsistentViewError, match=r"^9 mines are not possible on this 2x3 view: it needs between 1 "):
        sample_layouts(drawn("1..\n..."), 9, 1, safe=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": 0}, "count must be an integer of at least 1, got 0"),
        ({"count": True}, "count must be an integer of at least 1, got True"),
        ({"seed": -1}, f"seed must be an integer from 0 to {2**64 - 1}, or [1] of them, got -1"),
        ({"seed": 0.5}, f"seed must be an integer from 0 to {2**64 - 1}, or [1] of them, got 0.5"),
        ({"seed": [1, 2]}, f"seed must be an integer from 0 to {2**64 - 1}, or [1] of them, got [1, 2]"),
        ({"safe": 6}, "safe must be an integer from -1 to 5, or [1] of them, got 6"),
        ({"max_states": 0}, f"max_states must be an integer from 1 to {2**30}, got 0"),
        ({"views": np.zeros((2, 2))}, "views must be integers, got float64"),
    ],
)
def test_what_cannot_be_drawn(settings, message):
    given = {"views": drawn("1*.\n2.."), "num_mines": 2, "count": 1} | settings
    with pytest.raises(ValueError, match=re.escape(message)):
        sample_layouts(given.pop("views"), given.pop("num_mines"), **given)


def test_a_view_that_no_layout_fits():
    with pytest.raises(InconsistentViewError, match=r"the number 3 at \(0, 0\) cannot be met"):
        sample_layouts(drawn("3.\n11"), 1, 1)
    with pytest.raises(InconsistentViewError, match="9 mines are not possible on this 2x3 view"):
        sample_layouts(drawn("1..\n..."), 9, 1)
    view = clue_view((9, 9), every_second(9, 9), 20, np.random.default_rng(0))
    with pytest.raises(StateBudgetError):
        sample_layouts(view, 20, 1, max_states=10)
    assert HIDDEN in view
