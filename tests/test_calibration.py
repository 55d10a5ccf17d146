"""Calibration: drawn boards by hand, known errors of known solvers, a plain loop over cells, one batch or many."""

import math

import numpy as np
import pytest
from observing import observed
from test_posterior import interior_cells, live_views

from minesweeper import MODES, Mode, Solver, make_solver, mine_posterior, play_games
from minesweeper.board import HIDDEN
from minesweeper.calibration import ALL, COLUMNS, KINDS, NUM_BINS, Calibration, calibration_table
from minesweeper.components import frontier_mask

BEGINNER = MODES["beginner"]
# With two mines, one is in the two cells of the frontier and one in the six of the interior.
VIEW = np.array([[[1, HIDDEN, HIDDEN, HIDDEN, HIDDEN], [1, HIDDEN, HIDDEN, HIDDEN, HIDDEN]]], np.int8)
MINES = np.array([[[0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]], bool)


class ShiftedSolver(Solver):
    """The exact probabilities, halfway to 1/2 where undecided."""

    name = "shifted"

    def mine_probabilities(self, views, num_mines):
        posterior = mine_posterior(views, num_mines)
        is_proved = (posterior == 0) | (posterior == 1)
        return np.where(is_proved, posterior, (posterior + 0.5) / 2)


def kl(q, p):
    p = min(max(p, 1e-6), 1 - 1e-6)
    return sum(a * math.log(a / b) for a, b in ((q, p), (1 - q, 1 - p)) if a > 0)


def test_a_drawn_board_by_hand():
    calibration = Calibration()
    predicted = np.array([[[np.nan, 0.7, 0.2, 0.2, 0.2], [np.nan, 0.3, 0.2, 0.2, 1.0]]])
    calibration.add(VIEW, predicted, mine_posterior(VIEW, 2), MINES)
    frontier = calibration.means("frontier")
    assert frontier["cells"] == 2
    assert (frontier["predicted"], frontier["posterior"], frontier["mine_rate"]) == pytest.approx((0.5, 0.5, 0.5))
    # 0.5 log(0.5/0.7) + 0.5 log(0.5/0.3), the same for both cells
    assert (frontier["kl"], frontier["mae"]) == pytest.approx((0.0871766, 0.2), abs=1e-6)
    interior = calibration.means("interior")
    assert interior["cells"] == 6
    assert (interior["predicted"], interior["posterior"], interior["mine_rate"]) == pytest.approx((1 / 3, 1 / 6, 1 / 6))
    # five cells of 1/6 taken for 0.2: 1/6 log(5/6) + 5/6 log(25/24); one for certain: 1/6 log(1/6) + 5/6 log(5/6e-6)
    expected = (5 * 0.0036314 + 11.0623644) / 6
    assert (interior["kl"], interior["mae"]) == pytest.approx((expected, (5 / 30 + 5 / 6) / 6), abs=1e-6)
    assert calibration.means("proved")["cells"] == 0
    assert math.isnan(calibration.means("proved")["kl"])
    assert calibration.means()["cells"] == 8
    assert calibration.means()["kl"] == pytest.approx((2 * 0.0871766 + 6 * expected) / 8, abs=1e-6)
    by_bin = {(row["kind"], row["bin"]): row["cells"] for row in calibration.rows()}
    assert by_bin == {
        ("frontier", ALL): 2, ("frontier", 6): 1, ("frontier", 14): 1,
        ("interior", ALL): 6, ("interior", 4): 5, ("interior", 19): 1,
        (ALL, ALL): 8, (ALL, 4): 5, (ALL, 6): 1, (ALL, 14): 1, (ALL, 19): 1,
    }  # fmt: skip
    assert calibration.metrics() == {
        "kl_frontier": frontier["kl"], "kl_interior": interior["kl"], "error": calibration.means()["mae"],
    }  # fmt: skip


def test_proved_cells_by_hand():
    """With one mine the interior is proved safe, thanks to the total."""
    calibration = Calibration()
    calibration.add(VIEW, np.where(VIEW == HIDDEN, 0.25, np.nan), mine_posterior(VIEW, 1), MINES & (VIEW == 9))
    assert [calibration.means(kind)["cells"] for kind in KINDS] == [6, 2, 0]
    assert calibration.means("proved")["kl"] == pytest.approx(-math.log(0.75))
    assert calibration.means("proved")["mae"] == 0.25
    assert calibration.means("frontier")["mine_rate"] == 0


@pytest.mark.parametrize("name", ["exact", "equalize", "random"])
def test_equals_a_plain_loop(name):
    views = live_views(Mode(6, 8, 9), 40, 6, seed=1)
    posterior = mine_posterior(views, 9)
    predicted = make_solver(name).mine_probabilities(views, 9)
    mines = np.random.default_rng(0).random(views.shape) < 0.3
    expected = {}
    for view, q_view, p_view, mines_view in zip(views, posterior, predicted, mines, strict=True):
        is_interior = interior_cells(view)
        for cell in zip(*np.nonzero(view == HIDDEN), strict=True):
            p, q = p_view[cell], q_view[cell]
            kind = "proved" if q in (0, 1) else "interior" if is_interior[cell] else "frontier"
            for key in {(kind, ALL), (kind, min(int(20 * p), 19)), (ALL, ALL), (ALL, min(int(20 * p), 19))}:
                expected.setdefault(key, []).append((p, q, mines_view[cell], kl(q, p), abs(p - q)))
    calibration = Calibration()
    calibration.add(views, predicted, posterior, mines)
    rows = {(row["kind"], row["bin"]): row for row in calibration.rows()}
    assert rows.keys() == expected.keys()
    for key, cells in expected.items():
        assert rows[key]["cells"] == len(cells)
        means = [rows[key][column] for column in COLUMNS[3:]]
        np.testing.assert_allclose(means, np.mean(cells, axis=0), atol=1e-12, err_msg=key)


def test_batches_add_up():
    views = live_views(BEGINNER, 30, 3)
    arrays = (views, np.full(views.shape, 0.3), mine_posterior(views, 10), np.zeros(views.shape, bool))
    whole, parts = Calibration(), Calibration()
    whole.add(*arrays)
    for part in range(0, len(views), 7):
        parts.add(*(array[part : part + 7] for array in arrays))
    np.testing.assert_allclose(parts.sums, whole.sums)


@pytest.mark.parametrize("mode", [BEGINNER, Mode(5, 8, 7, "any"), Mode(8, 5, 6, "zero")])
def test_the_exact_solver_is_calibrated(mode):
    first_cell = "solver" if mode.first_click != "safe" else "random"
    calibration = observed(Calibration(), make_solver("exact"), mode, 400, seed=2, first_cell=first_cell)
    for kind in KINDS:
        means = calibration.means(kind)
        assert means["cells"] > 1000
        # the clipping costs a proof one millionth of a nat
        assert 0 <= means["kl"] <= 1.001e-6
        assert means["mae"] == 0
        assert means["predicted"] == means["posterior"]
        # positions of one game go together, so this is wider than for independent cells
        assert means["mine_rate"] == pytest.approx(means["posterior"], abs=0.02)
    proved = calibration.means("proved")
    assert proved["mine_rate"] == proved["posterior"]


def test_a_solver_that_is_wrong_in_a_known_way():
    calibration = observed(Calibration(), ShiftedSolver(), BEGINNER, 300, seed=3, first_cell="corner")
    assert calibration.means("proved")["mae"] == 0
    for kind in ("frontier", "interior"):
        means = calibration.means(kind)
        assert means["predicted"] == pytest.approx(means["posterior"] / 2 + 0.25)
        assert calibration.metrics()[f"kl_{kind}"] == means["kl"] > 0.01
    # interior cells are below 1/2 here, but for the end of a few games, so the error is half of what is missing
    interior = calibration.means("interior")
    assert interior["mae"] == pytest.approx(interior["predicted"] - interior["posterior"], rel=0.05)


def test_the_games_are_those_of_the_arena():
    seen = []
    solver = make_solver("exact")
    play_games(solver, BEGINNER, 50, 4, "corner", observers=[seen.append])
    calibration = observed(Calibration(), solver, BEGINNER, 50, 4, "corner", batch=13)
    hidden = sum((decisions.views == HIDDEN).sum() for decisions in seen)
    mines = sum(decisions.mines.sum() for decisions in seen)
    assert calibration.means()["cells"] == hidden
    assert calibration.means()["mine_rate"] == pytest.approx(mines / hidden)


def test_frontier_mask_equals_a_plain_loop():
    for mode in (Mode(6, 9, 8), Mode(9, 6, 8, openings=False)):
        views = live_views(mode, 30, 4)
        expected = np.array([(view == HIDDEN) & ~interior_cells(view) for view in views])
        np.testing.assert_array_equal(frontier_mask(views), expected)


@pytest.mark.parametrize("wrong", [np.nan, -0.1, 1.1])
def test_refused_predictions(wrong):
    predicted = np.full(VIEW.shape, 0.5)
    predicted[0, 1, 3] = wrong
    with pytest.raises(ValueError, match=rf"^predicted must be 0 to 1 on hidden cells, got {wrong}$"):
        Calibration().add(VIEW, predicted, mine_posterior(VIEW, 2), MINES)


def test_the_table_has_a_line_for_each_kind():
    calibration = observed(Calibration(), make_solver("random"), BEGINNER, 30)
    lines = calibration_table([{"solver": "random", **row} for row in calibration.rows()])
    assert [line.split()[:2] for line in lines[1:]] == [["random", kind] for kind in (*KINDS, ALL)]
    assert len({len(line) for line in lines}) == 1
    assert lines[4].split()[2] == str(calibration.means()["cells"])
    assert lines[4].split()[6] == f"{calibration.means()['kl']:.6f}"
    assert NUM_BINS == 20
