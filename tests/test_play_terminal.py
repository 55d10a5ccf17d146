"""python play.py ui=terminal: a game by typed commands, hints, saving, and watching."""

import io
import re
import subprocess
import sys

import numpy as np
import pytest
from playing import mines_of, preset
from tiny_training import ROOT, composed, program

import play
from minesweeper import make_solver, play_games
from web.catalogue import make_catalogue
from web.store import Store
from web.terminal import draw, watch

BEGINNER = preset("beginner")
MINES = mines_of(BEGINNER, 1, (4, 4))
FIRST = "5 5"


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Runs play.py in the terminal with these lines typed; what it printed."""

    def run(*lines, settings=()):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        play.run(composed("play", "ui=terminal", f"data_dir={tmp_path}", *settings))
        return capsys.readouterr().out

    return run


def boards(out):
    """The boards in a text, as rows of characters without their labels."""
    found, rows = [], []
    for line in [*out.splitlines(), ""]:
        row = re.fullmatch(r" ?(\d+) ((?:[.F0-8*X!sm] ?)+)", line)
        if row:
            rows.append(row[2].replace(" ", ""))
        elif rows:
            found.append(rows)
            rows = []
    return found


def typed_cells(mask):
    return [f"{row + 1} {col + 1}" for row, col in np.argwhere(mask).tolist()]


def test_a_game_to_its_win(typed):
    out = typed(FIRST, *typed_cells(~MINES), settings=["seed=1"])
    assert "beginner, 9x9, 10 mines: won in " in out
    assert "seed=1" in out
    assert [[cell == "*" for cell in row] for row in boards(out)[-1]] == MINES.tolist()
    assert "*" not in "".join(map("".join, boards(out)[0]))


def test_a_game_to_its_loss(typed):
    out = typed(FIRST, typed_cells(MINES)[0], "1 1", "h", settings=["seed=1"])
    row, col = np.argwhere(MINES)[0] + 1
    assert re.search(rf"lost in \d+ seconds; seed=1; the mine was at row {row}, column {col}, where the chance", out)
    assert out.count("the game is over; n begins a new one") == 2
    assert boards(out)[-1][row - 1][col - 1] == "X"


def test_quitting_saves_and_the_next_start_goes_on(typed, tmp_path):
    wrong = typed_cells(~MINES)[0]
    first = typed("f 1 1", FIRST, "q", settings=["seed=1"])
    assert "saved" in first
    again = typed("q")
    assert boards(again)[0] == boards(first)[-1]
    assert "9 left" in again
    new = typed("q", settings=["new=true"])
    assert boards(new)[0] == ["." * 9] * 9
    assert wrong
    store = Store(tmp_path / "play.sqlite")
    assert len(store._file.execute("SELECT id FROM games").fetchall()) == 2
    store.close()


def test_the_end_of_the_input_saves_too(typed):
    first = typed(FIRST, settings=["seed=1"])
    assert boards(typed("q"))[0] == boards(first)[-1]


def test_flags_chords_and_a_new_game(typed):
    row, col = np.argwhere(MINES)[0].tolist()
    out = typed(f"f {row + 1} {col + 1}", f"{row + 1} {col + 1}", f"f {row + 1} {col + 1}", "n", settings=["seed=1"])
    assert "this cell has a flag; f takes it away" in out
    shown = [board[row][col] for board in boards(out)]
    assert shown == [".", "F", "F", ".", "."]


def test_a_hint(typed):
    out = typed("h", FIRST, "h", settings=["seed=1", "solver=exact"])
    assert "the rules promise that the first cell is safe" in out
    assert "(s proved safe, m proved a mine)" in out
    for board in boards(out):
        for (row, col), is_mine in np.ndenumerate(MINES):
            assert board[row][col] != ("s" if is_mine else "m")


@pytest.mark.parametrize("line", ["x", "1", "h 1 2", "1 2 3", ""])
def test_what_is_no_command_gets_help(typed, line):
    assert typed(line, settings=["seed=1"]).count("take away a flag") == 2


@pytest.mark.parametrize("line", ["0 1", "10 1", "1 10", "a b", "-1 2", "f 1 99"])
def test_what_is_no_cell(typed, line):
    assert "a cell is a row from 1 to 9 and a column from 1 to 9" in typed(line, settings=["seed=1"])


@pytest.mark.parametrize("first_cell", ["corner", "random", "solver"])
@pytest.mark.parametrize("solver", ["double_set", "exact_ahead", "beginner_cnn"])
def test_watched_games_are_those_of_the_arena(capsys, solver, first_cell):
    entry = make_catalogue()[solver]
    watch(entry, BEGINNER, 4, 5, first_cell, quiet=True)
    quiet = capsys.readouterr().out
    watch(entry, BEGINNER, 4, 5, first_cell, quiet=False)
    told = capsys.readouterr().out
    assert told.splitlines()[-1] == quiet.strip()
    assert re.match(rf"{solver}: \d of 4 games won, ", quiet)
    assert len(re.findall(r"^game \d: (won|lost)$", told, re.MULTILINE)) == 4
    if solver == "double_set":
        records = play_games(make_solver("double_set"), BEGINNER, 4, 5, first_cell)
        assert f"{records.won.sum()} of 4 games won" in quiet
        assert f"{records.guesses.mean():.2f} guesses, {records.moves.mean():.1f} cells clicked" in quiet


def test_every_watched_step_has_its_reason(capsys):
    watch(make_catalogue()["double_set"], BEGINNER, 1, 1, "corner", quiet=False)
    steps = [line for line in capsys.readouterr().out.splitlines() if re.match(r"\d+ \d+[,:]", line)]
    assert len(steps) > 3
    assert steps[0] == "1 1: the first cell"
    assert all("proved by" in step or "a random cell" in step for step in steps[1:])


def test_the_list_of_solvers(typed):
    listed = typed(settings=["watch=list"]).splitlines()
    assert [line.split()[0] for line in listed] == list(make_catalogue())


def test_a_board_is_labelled():
    lines = draw("\n".join(["." * 12] * 2)).splitlines()
    assert lines == [
        "                     1 1 1",
        "   1 2 3 4 5 6 7 8 9 0 1 2",
        " 1 . . . . . . . . . . . .",
        " 2 . . . . . . . . . . . .",
    ]


def test_a_board_without_a_guess(typed):
    out = typed(FIRST, settings=["no_guess=true", "seed=3"])
    assert boards(out)[-1][4][4] == "0"


def test_as_a_command():
    command = [sys.executable, "play.py", "ui=terminal", "watch=double_set", "games=50", "quiet=true", "seed=1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    records = play_games(make_solver("double_set"), BEGINNER, 50, 1, "corner")
    assert done.stdout.startswith(f"double_set: {records.won.sum()} of 50 games won, ")
    assert len(done.stdout.splitlines()) == 1
    with pytest.raises(SystemExit, match=r"^error: no checkpoint at none\.pt"):
        program(*command[1:], "ckpt=none.pt")
