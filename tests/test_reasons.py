"""The numbers that prove a cell safe: they do, and none can be left out; and the sentences."""

import itertools

import numpy as np
import pytest

from minesweeper import HIDDEN, Games, Mode, mine_posterior
from minesweeper.textio import text_to_view
from web.catalogue import make_catalogue
from web.reasons import proof, why_safe
from web.solving import percent, solve

EXACT = make_catalogue()["exact"]


def view_of(text):
    return text_to_view(text)[0]


def proves(view, numbers, cell):
    """Whether these numbers leave no way to put a mine into `cell`, by trying all ways."""
    around = {n: [(r, c) for r in range(n[0] - 1, n[0] + 2) for c in range(n[1] - 1, n[1] + 2)] for n in numbers}
    hidden = {n: [c for c in cells if 0 <= c[0] < view.shape[0] and 0 <= c[1] < view.shape[1] and view[c] == HIDDEN]
              for n, cells in around.items()}  # fmt: skip
    involved = sorted(set(itertools.chain.from_iterable(hidden.values())) - {cell})
    for mines in itertools.product((False, True), repeat=len(involved)):
        layout = dict(zip(involved, mines, strict=True)) | {cell: True}
        if all(sum(layout[c] for c in hidden[n]) == view[n] for n in numbers):
            return False
    return True


def test_proofs_on_played_positions():
    """On positions of random games: found for what the numbers prove, right, and with nothing in them to spare."""
    found = 0
    for seed in range(25):
        games = Games(Mode(6, 7, 9, "zero"), 1, seed)
        games.reveal(2, 3)
        view = games.views[0]
        if games.status[0]:
            continue
        for row, col in np.argwhere(mine_posterior(view, 9) == 0.0).tolist():
            numbers = proof(view, (row, col))
            if not numbers:
                assert not why_safe(view, 9, (row, col)).startswith("proved")
                continue
            found += 1
            assert proves(view, numbers, (row, col))
            for left_out in numbers:
                assert not proves(view, [number for number in numbers if number != left_out], (row, col))
    assert found > 30


@pytest.mark.parametrize(
    ("text", "mines", "cell", "reason"),
    [
        # The corner 1 has one hidden cell, which is the mine of the 1 beside it.
        ("1.\n11\n..", 1, (2, 0), "proved by the 1 at row 2, column 1 and the 1 at row 1, column 1"),
        ("0.\n..", 0, (0, 1), "proved by the 0 at row 1, column 1"),
        ("1*.\n...", 1, (1, 0), "proved by the 1 at row 1, column 1"),
        ("01...\n01...\n01...", 4, (0, 2), "proved by the 1 at row 2, column 2 and the 1 at row 3, column 2"),
        ("1..\n1..", 1, (0, 2), "safe because of the mines left: no arrangement of 1 puts one here"),
    ],
)
def test_sentences(text, mines, cell, reason):
    assert why_safe(view_of(text), mines, cell).startswith(reason)


def test_a_proof_by_very_many_numbers_is_not_looked_for_forever():
    """The single mine of a 1 is pushed to and fro along a row of 60 numbers."""
    text = "." * 62 + "\n" + "1" + "1" * 60 + "1"
    view = view_of(text)
    safe = np.argwhere(mine_posterior(view, 21) == 0.0).tolist()
    assert safe
    reasons = {why_safe(view, 21, (row, col)) for row, col in safe}
    assert all(reason.startswith(("proved by", "no arrangement of the mines puts one here")) for reason in reasons)


@pytest.mark.parametrize(
    ("solver", "view", "mines", "reason"),
    [
        ("exact", "1..\n...", 2, "the safest guess: 33.3% for a mine"),
        ("csp", "1..\n...", 2, "a random cell, as nothing is proved: 40.0% for a mine"),
        ("random", "1..\n...", 2, "a random cell, as nothing is proved: 40.0% for a mine"),
        ("exact", "1.", 1, "every hidden cell is a mine: there is nothing left to open"),
    ],
)
def test_reasons_of_guesses(solver, view, mines, reason):
    assert solve(make_catalogue()[solver], view_of(view), mines)["move"]["reason"] == reason


def test_a_network_is_held_against_the_truth():
    move = solve(make_catalogue()["beginner_cnn"], view_of("1..\n1.."), 1)["move"]
    assert "network" in move["reason"]
    assert "(exactly 0%)" in move["reason"] or "(exactly 50.0%)" in move["reason"]


def test_the_first_cell_is_promised():
    move = solve(EXACT, np.full((9, 9), HIDDEN, np.int8), 10, is_promised=True)["move"]
    assert (len(move["cells"]), move["probability"], move["is_guess"]) == (1, 0.0, False)


def test_a_number_that_is_no_proof_never_looks_like_one():
    assert [percent(p) for p in (0.0, 1e-9, 0.125, 0.99999, 1.0)] == [
        "0%", "less than 0.1%", "12.5%", "more than 99.9%", "100%",
    ]  # fmt: skip
