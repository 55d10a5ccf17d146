"""Given boards: reading, writing, playing them."""

import re

import numpy as np
import pytest

from minesweeper import HIDDEN, LOST, WON, Games, Mode, make_solver, play_games
from minesweeper.arena import first_cells, play_boards
from minesweeper.boardfiles import GivenBoard, read_boards, write_boards

WORLD = "3 4\n2 1\n0001\n1000\n0000\n"  # the first tile: column 2 of the bottom row


def test_one_file_with_several_boards(tmp_path):
    file = tmp_path / "boards.txt"
    file.write_text("\n3 2 1\n*..\n...\n\n\n.*\n*.\n")
    first, second = read_boards(file)
    np.testing.assert_array_equal(first.mines, [[True, False, False], [False, False, False]])
    np.testing.assert_array_equal(second.mines, [[False, True], [True, False]])
    assert first.first_cell is None


def test_a_course_world(tmp_path):
    file = tmp_path / "world.txt"
    file.write_text(WORLD)
    (board,) = read_boards(file)
    np.testing.assert_array_equal(board.mines.astype(int), [[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]])
    assert board.first_cell == (2, 1)
    (turned,) = read_boards(file, bottom_row="first")
    np.testing.assert_array_equal(turned.mines, board.mines[::-1])
    assert turned.first_cell == (2, 1)


def test_cells_of_a_course_world_may_be_separated(tmp_path):
    file = tmp_path / "world.txt"
    file.write_text("2 2\n1 1\n0 1\n0 0\n")
    np.testing.assert_array_equal(read_boards(file)[0].mines, [[False, True], [False, False]])


def test_a_folder_by_name(tmp_path):
    (tmp_path / "b.txt").write_text(".*\n")
    (tmp_path / "a.txt").write_text(WORLD)
    (tmp_path / ".hidden").write_text("not a board")
    assert [board.mines.shape for board in read_boards(tmp_path)] == [(3, 4), (1, 2)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "b.txt, line 1, column 1: the text is empty: no boards"),
        ("..\n.*\n\n..\n.x\n", "b.txt, line 5, column 2: 'x' is no cell"),
        ("..\n.*\n\n..\n.\n", "b.txt, line 5, column 1: the row has 1 cell"),
        ("2 2\n1 1\n00\n", "b.txt, line 1, column 1: the first line says 2 rows, the text has 1"),
        ("2 2\n1 1\n00\n02\n", "b.txt, line 4, column 2: '2' is no cell; cells are 0 and 1"),
        ("2 2\n1 1\n00\n001\n", "b.txt, line 4, column 1: the row has 3 cells, the first line says 2"),
        ("2 2\n00\n00\n", "b.txt, line 2, column 1: the second line must be the first tile"),
        ("2 2\n3 1\n00\n00\n", "b.txt, line 2, column 1: the first tile must be 1 to 2 and 1 to 2, got 3 1"),
        ("2 2\n1 1\n00\n10\n", "b.txt, line 2, column 1: the first tile 1 1 is a mine"),
        ("0 2\n1 1\n", "b.txt, line 1, column 1: rows and cols must be 1 to 1000, got 0 2"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "a.txt").write_text(".*\n")
    (tmp_path / "b.txt").write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)):
        read_boards(tmp_path)


def test_other_refusals(tmp_path):
    with pytest.raises(ValueError, match="no such file or folder"):
        read_boards(tmp_path / "missing")
    with pytest.raises(ValueError, match="no board in it"):
        read_boards(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="binary: not UTF-8 text"):
        read_boards(tmp_path)
    with pytest.raises(ValueError, match="bottom_row must be one of last, first, got 'top'"):
        read_boards(tmp_path, "top")


def test_written_boards_come_back(tmp_path):
    games = Games(Mode(5, 7, 6), 20, seed=3)
    games.reveal(0, 0)
    write_boards(tmp_path / "set.txt", games.mines)
    back = read_boards(tmp_path / "set.txt")
    np.testing.assert_array_equal(np.stack([board.mines for board in back]), games.mines)


def test_given_boards_play_like_the_random_ones_they_are():
    mode = Mode(6, 5, 6, "any")
    games = Games(mode, 100, seed=5)
    games.reveal(0, 0)
    solver = make_solver("exact")
    random = play_games(solver, mode, 100, seed=5, first_cell="corner")
    boards = [GivenBoard(mines, None) for mines in games.mines]
    given = play_boards(solver, boards, seed=5, first_cell="corner", batch=7)
    for name in ("won", "guess_free", "guesses", "moves"):
        np.testing.assert_array_equal(given[name], random[name], err_msg=name)
    assert 0 < given.won.sum() < 100


def test_boards_written_with_a_safe_first_cell_play_as_before():
    mode = Mode(6, 5, 6, "safe")
    solver = make_solver("exact")
    games = Games(mode, 100, seed=5)
    games.reveal(*first_cells("random", games))
    before = play_games(solver, mode, 100, seed=5)
    boards = [GivenBoard(mines, None) for mines in games.mines]
    again = play_boards(solver, boards, seed=5, first_click="safe")
    for name in ("won", "guess_free", "guesses", "moves"):
        np.testing.assert_array_equal(again[name], before[name], err_msg=name)
    with pytest.raises(ValueError, match=r"first_click=safe, but the first cell of board \d+ is a mine"):
        play_boards(solver, boards, seed=6, first_click="safe")
    with pytest.raises(ValueError, match="must be one of any, safe, got 'zero'"):
        play_boards(solver, boards, first_click="zero")


def test_boards_of_different_sizes_keep_their_order(tmp_path):
    (tmp_path / "world.txt").write_text("3 4\n1 1\n0001\n0000\n0000\n")
    (world,) = read_boards(tmp_path)
    empty = GivenBoard(np.zeros((2, 3), bool), None)
    trap = GivenBoard(np.array([[True, False]]), None)
    records = play_boards(make_solver("exact"), [empty, trap, world, empty], first_cell="corner")
    np.testing.assert_array_equal(records.won[[0, 1, 3]], [True, False, True])
    np.testing.assert_array_equal(records.guesses[[0, 1]], [1, 1])
    assert records.guesses[2] == 0  # its first tile is promised to be safe
    assert records.won[2]


def test_games_on_boards():
    mines = np.array([[[True, False, False]], [[False, False, True]]])
    games = Games.on_boards(mines)
    games.reveal(0, 0)
    np.testing.assert_array_equal(games.status, [LOST, WON])  # the zero opens its neighbour
    np.testing.assert_array_equal(Games.on_boards(mines, openings=False).views, np.full((2, 1, 3), HIDDEN))
    with pytest.raises(ValueError, match="cannot be restarted"):
        games.restart([0])
    with pytest.raises(ValueError, match="same number of mines, got 0 to 1"):
        Games.on_boards(np.array([[[True, False]], [[False, False]]]))
    with pytest.raises(ValueError, match="mines must be bool"):
        Games.on_boards(np.zeros((1, 2, 2)))
