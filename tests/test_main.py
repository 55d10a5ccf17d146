"""`python -m minesweeper`: the grid and the JSON of drawn positions, and one line on standard error otherwise."""

import io
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import minesweeper.__main__ as program
from minesweeper.posterior import Posterior, StateBudgetError
from minesweeper.solvers import SOLVERS

# Columns 2 and 3: one of the two mines is in column 2, so the other is in column 3; two layouts each.
TWO_PAIRS = "01..\n01..\n"
# The 1 in the middle of column 1 sees three cells, the others two of them: the mine is the middle one.
PROVED = "01...\n01.F.\n01...\n"


@pytest.fixture
def ask(tmp_path, capsys):
    """Runs the program on a text; (status, standard output, standard error)."""

    def run(text, *arguments):
        position = tmp_path / "position.txt"
        position.write_bytes(text if isinstance(text, bytes) else text.encode())
        status = program.main([str(position), *arguments])
        return status, *capsys.readouterr()

    return run


def test_grid(ask):
    status, out, err = ask(PROVED, "--mines", "4")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "3 rows x 5 columns, 4 mines, solver: exact",
        "Mine probability in percent; safe and mine are proved. Rows go down, columns across, both from 1.",
        "",
        "      1     2     3     4     5",
        "1     0     1  safe  50.0  50.0",
        "2     0     1  mine  50.0  50.0",
        "3     0     1  safe  50.0  50.0",
        "",
        "Interior (hidden cells beside no number): 50% each",
        "Layouts of the mines that fit: 20",
        "Safest (row, column): (1, 3), (3, 3): proved safe",
    ]


def test_json(ask):
    status, out, err = ask(TWO_PAIRS, "--mines", "2", "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert list(answer) == [
        "rows", "cols", "mines", "solver", "probabilities", "interior", "log_layouts", "safest", "safest_probability",
    ]  # fmt: skip
    assert answer["probabilities"] == [[None, None, 0.5, 0.5]] * 2
    assert [answer[key] for key in ("rows", "cols", "mines", "solver")] == [2, 4, 2, "exact"]
    assert (answer["interior"], answer["safest_probability"]) == (0.5, 0.5)
    assert answer["log_layouts"] == pytest.approx(math.log(4), abs=1e-12)
    assert answer["safest"] == [[0, 2], [0, 3], [1, 2], [1, 3]]


def test_the_mine_total_is_used(ask):
    _, out, _ = ask(TWO_PAIRS, "--mines", "1", "--json")
    answer = json.loads(out)
    assert answer["probabilities"] == [[None, None, 0.5, 0.0]] * 2
    assert (answer["interior"], answer["safest"], answer["safest_probability"]) == (0.0, [[0, 3], [1, 3]], 0.0)
    _, out, _ = ask(TWO_PAIRS, "--mines", "3")
    assert "1     0     1  50.0  mine" in out
    assert "Interior (hidden cells beside no number): proved a mine" in out


def test_without_an_interior(ask):
    _, out, _ = ask("1.\n..\n", "--mines", "1", "--json")
    answer = json.loads(out)
    assert answer["interior"] is None
    third = pytest.approx(1 / 3, abs=1e-15)
    assert answer["probabilities"] == [[None, third], [third, third]]
    _, out, _ = ask("1.\n..\n", "--mines", "1")
    assert "Interior (hidden cells beside no number): none" in out
    assert "Safest (row, column): (1, 2), (2, 1), (2, 2): 33.33%" in out


def test_a_known_mine_counts(ask):
    _, out, _ = ask("1*.\n...\n", "--mines", "2", "--json")
    half = pytest.approx(0.5, abs=1e-15)
    assert json.loads(out)["probabilities"] == [[None, None, half], [0.0, 0.0, half]]


def test_the_first_move(ask):
    _, out, _ = ask(("." * 30 + "\n") * 16, "--mines", "99")
    assert "Interior (hidden cells beside no number): 20.62% each" in out  # 99 / 480
    digits = str(math.comb(480, 99))
    assert f"Layouts of the mines that fit: about {digits[0]}.{digits[1]}e+{len(digits) - 1}" in out
    assert "(1, 10) and 470 more: 20.62%" in out


@pytest.mark.parametrize("text", ["4 2 2\n01..\n01..\n", "\n4 2 2\n\n0 1 . F\n0 1 F .\n\n"])
def test_the_header_gives_the_mines(ask, text):
    _, expected, _ = ask(TWO_PAIRS, "--mines", "2")
    assert ask(text) == (0, expected, "")
    assert ask(text, "--mines", "2") == (0, expected, "")


def test_a_byte_order_mark_and_windows_line_ends(ask):
    _, expected, _ = ask(TWO_PAIRS, "--mines", "2")
    assert ask(b"\xef\xbb\xbf4 2 2\r\n01..\r\n01..\r\n") == (0, expected, "")


def test_standard_input(ask, monkeypatch, capsys):
    _, expected, _ = ask(TWO_PAIRS, "--mines", "2")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TWO_PAIRS.encode())))
    assert program.main(["-", "--mines", "2"]) == 0
    assert capsys.readouterr() == (expected, "")


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "exact"])
def test_another_solver(ask, solver):
    status, out, _ = ask(TWO_PAIRS, "--mines", "2", "--json", "--solver", solver)
    answer = json.loads(out)
    assert (status, answer["solver"], answer["log_layouts"]) == (0, solver, None)
    hidden = [row[2:] for row in answer["probabilities"]]
    assert [row[:2] for row in answer["probabilities"]] == [[None, None]] * 2
    assert all(0 <= probability <= 1 for row in hidden for probability in row)
    assert answer["interior"] == pytest.approx((hidden[0][1] + hidden[1][1]) / 2, abs=1e-15)
    assert answer["safest_probability"] == min(map(min, hidden))
    _, out, _ = ask(TWO_PAIRS, "--mines", "2", "--solver", solver)
    assert f"2 mines, solver: {solver}" in out
    assert "Layouts" not in out


def test_random_gives_every_cell_the_share_of_mines(ask):
    _, out, _ = ask("01..\n01..\n", "--mines", "3", "--solver", "random", "--json")
    assert json.loads(out)["probabilities"] == [[None, None, 0.75, 0.75]] * 2


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("01x.\n", ["--mines", "1"], "line 1, column 3: 'x' is no cell; cells are . F * 0 1 2 3 4 5 6 7 8"),
        ("0 1 .\n0 1\n", ["--mines", "1"], "line 2, column 3: the row has 2 cells, the first row has 3"),
        ("", ["--mines", "1"], "line 1, column 1: the text is empty: no rows"),
        ("4 3 2\n01..\n01..\n", [], "line 1, column 3: the header says 3 rows, the text has 2"),
        ("4 2 9\n01..\n01..\n", [], "line 1, column 5: mines in the header must be 0 to 8, got 9"),
        ("4 2 2\n01..\n01..\n", ["--mines", "3"], "--mines is 3, but the first line of the position says 2"),
        (TWO_PAIRS, [], "the number of mines is missing: give --mines, or a first line 'width height mines'"),
        (TWO_PAIRS, ["--mines", "-1"], "mines must be 0 to 4 with 0 shown and 4 cells hidden, got -1"),
        (TWO_PAIRS, ["--mines", "5"], "mines must be 0 to 4 with 0 shown and 4 cells hidden, got 5"),
        ("1*..\n", ["--mines", "0"], "mines must be 1 to 3 with 1 shown and 2 cells hidden, got 0"),
        ("01\n01\n", ["--mines", "0"], "no cell is hidden: this game is over"),
        ("1*\n11\n", ["--mines", "1"], "no cell is hidden: this game is over"),
        (
            "3 3 4\n. . .\n. 8 .\n. . .\n",
            [],
            "no layout of the mines fits this position: 4 mines are not possible on this 3x3 view: "
            "it needs between 8 and 8",
        ),
        (
            "4 3 4\n\n. . . .\n. . 3 1\n. . 1 8\n",
            [],
            "line 5, column 7: no layout of the mines fits the number 8 here and its neighbours",
        ),
        (
            TWO_PAIRS,
            ["--mines", "2", "--solver", "Exact"],
            f"--solver must be one of {', '.join(SOLVERS)}, got 'Exact'",
        ),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_refused(ask, text, arguments, message, form):
    assert ask(text, *arguments, *form) == (2, "", f"error: {message}\n")


def test_a_binary_file(ask, tmp_path):
    message = f"error: {tmp_path / 'position.txt'} is not UTF-8 text: byte 4 is 0xff\n"
    assert ask(b"01.\xff\x00", "--mines", "1") == (2, "", message)


@pytest.mark.parametrize(("name", "reason"), [("missing.txt", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read(tmp_path, capsys, name, reason):
    path = tmp_path / name
    assert program.main([str(path), "--mines", "1"]) == 2
    assert capsys.readouterr() == ("", f"error: cannot read {path}: {reason}\n")


def test_a_position_past_the_budget(ask, monkeypatch):
    def past_budget(*_):
        raise StateBudgetError("counting needs more than max_states=1 states")

    monkeypatch.setattr(program, "solve_posterior", past_budget)
    message = (
        "this position has too many possibilities to be counted exactly; try --solver tiered, which estimates then"
    )
    assert ask(TWO_PAIRS, "--mines", "2") == (2, "", f"error: {message}\n")


@pytest.mark.parametrize(
    ("probabilities", "safest"),
    [
        ([0.0, 1e-12, 0.0], [[0, 0], [0, 2]]),
        ([0.25, 0.25 + 1e-13, 0.25 + 1e-7], [[0, 0], [0, 1]]),
    ],
)
def test_rounding_breaks_no_tie_and_nothing_ties_with_a_proof(ask, monkeypatch, probabilities, safest):
    posterior = Posterior(np.array([probabilities]), math.nan, 1.0, True)
    monkeypatch.setattr(program, "solve_posterior", lambda *_: posterior)
    _, out, _ = ask("...\n", "--mines", "1", "--json")
    assert json.loads(out)["safest"] == safest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "--mines", "many"], "argument --mines: invalid int value: 'many'"),
        (["-", "--speed"], "unrecognized arguments: --speed"),
        ([], "the following arguments are required: position"),
    ],
)
def test_arguments_of_a_wrong_form(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        program.main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "usage: python -m minesweeper position [--mines N] [--solver NAME] [--json] [--png FILE]",
        f"python -m minesweeper: error: {message}",
    ]


def test_a_number_that_is_no_proof_never_looks_like_one():
    assert [program._percent(p) for p in (0.0, 1.0)] == ["proved safe", "proved a mine"]
    assert [program._percent(p) for p in (1e-12, 0.25, 0.9999, 1 - 1e-12)] == ["1e-10%", "25%", "99.99%", ">99.99%"]


def test_as_a_module():
    command = [sys.executable, "-m", "minesweeper", "-", "--mines"]
    done = subprocess.run([*command, "2"], input=TWO_PAIRS, capture_output=True, text=True, check=True)
    assert "1     0     1  50.0  50.0" in done.stdout
    failed = subprocess.run([*command, "9"], input=TWO_PAIRS, capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.splitlines()[-1] == "error: mines must be 0 to 4 with 0 shown and 4 cells hidden, got 9"
    assert "Traceback" not in failed.stderr


def test_a_reader_that_has_seen_enough():
    """As `python -m minesweeper ... | head -1`, but with nobody at the other end at all."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "minesweeper", "-", "--mines", "2"]
    done = subprocess.run(command, input=TWO_PAIRS, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_picture_and_the_text(ask, tmp_path):
    path = tmp_path / "out.png"
    expected = ask(PROVED, "--mines", "4")
    assert ask(PROVED, "--mines", "4", "--png", str(path)) == expected
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written(ask, tmp_path):
    path = tmp_path / "missing" / "out.png"
    message = f"error: cannot write {path}: No such file or directory\n"
    assert ask(PROVED, "--mines", "4", "--png", str(path)) == (2, "", message)
