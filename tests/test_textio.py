"""Text of views and boards: both ways, the header rule, and every refusal with its place."""

import re

import numpy as np
import pytest

from minesweeper.board import HIDDEN, MINE
from minesweeper.textio import (
    TextFormatError,
    board_to_text,
    cell_place,
    format_grid,
    text_to_board,
    text_to_view,
    view_to_text,
)

VIEW = np.array([[0, 1, HIDDEN, 8], [7, MINE, 2, HIDDEN]], np.int8)
NAN = np.nan


def refused(function, text, line, col, message):
    with pytest.raises(TextFormatError, match=f"^line {line}, column {col}: {re.escape(message)}") as caught:
        function(text)
    assert (caught.value.line, caught.value.col) == (line, col)


def test_view_to_text():
    assert view_to_text(VIEW) == "01.8\n7*2.\n"
    assert view_to_text(VIEW, num_mines=5) == "4 2 5\n01.8\n7*2.\n"
    assert view_to_text(VIEW, num_mines=0).startswith("4 2 0\n")


@pytest.mark.parametrize(
    "text",
    [
        "01.8\n7*2.\n",
        "01.8\n7*2.",
        "01.8\n7*2F",
        "0 1 . 8\n7 * 2 .\n",
        "01 .8\n7\t*2  .\n",
        "\n\n  01.8  \n\n7*2.\t\n \n\n",
        "01.8\r\n7*2.\r\n",
    ],
)
def test_texts_of_one_view(text):
    view, num_mines = text_to_view(text)
    assert view.dtype == np.int8
    np.testing.assert_array_equal(view, VIEW)
    assert num_mines is None
    with_header, num_mines = text_to_view("4 2 5\n" + text)
    np.testing.assert_array_equal(with_header, VIEW)
    assert num_mines == 5


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (2, 3), (3, 3), (4, 3), (5, 9)])
def test_view_round_trip(shape):
    rng = np.random.default_rng(1)
    for _ in range(50):
        view = rng.integers(HIDDEN, 9, shape, dtype=np.int8)
        num_mines = int(rng.integers(0, view.size + 1))
        for text in (view_to_text(view), view_to_text(view, num_mines)):
            again, total = text_to_view(text)
            np.testing.assert_array_equal(again, view)
            assert total == (num_mines if text != view_to_text(view) else None)


@pytest.mark.parametrize(
    ("text", "view", "num_mines"),
    [
        ("1 2 1\n. . .\n", [[1, 2, 1], [-2, -2, -2]], None),
        ("1 2 .\n1 1 1\n", [[1, 2, -2], [1, 1, 1]], None),
        ("0 0 0\n", [[0, 0, 0]], None),
        ("1 2 1\n", [[1, 2, 1]], None),
        ("2 1 2\n. .\n", [[-2, -2]], 2),
        ("1 2 1\n.\n.\n", [[-2], [-2]], 1),
        ("3 1 2\n. . .\n", [[-2, -2, -2]], 2),
        ("3 2 2\n. . .\n1 2 1\n", [[-2, -2, -2], [1, 2, 1]], 2),
        ("2 3 2\n1 1 1\n1 1 1\n1 1 1\n", [[2, 3, 2], [1, 1, 1], [1, 1, 1], [1, 1, 1]], None),
        ("  3  1\t2 \n...\n", [[-2, -2, -2]], 2),
    ],
)
def test_three_numbers_are_a_header_or_a_row(text, view, num_mines):
    assert text_to_view(text)[0].tolist() == view
    assert text_to_view(text)[1] == num_mines


@pytest.mark.parametrize("function", [text_to_view, text_to_board])
@pytest.mark.parametrize(
    ("text", "line", "col", "message"),
    [
        ("", 1, 1, "the text is empty"),
        (" \n\t\n\r\n", 1, 1, "the text is empty"),
        ("..\n.x\n", 2, 2, "'x' is no cell; cells are"),
        (". .\n. 9\n", 2, 3, "'9' is no cell"),
        ("..\n\n.\xa0\n", 3, 2, "'\\xa0' is no cell"),
        ("\ufeff..\n", 1, 1, "'\\ufeff' is no cell"),
        ("\0\0\n", 1, 1, "'\\x00' is no cell"),
        ("2 2 1\n..\n.-\n", 3, 2, "'-' is no cell"),
        ("...\n..\n...\n", 2, 2, "the row has 2 cells, the first row has 3"),
        (". . .\n. . . .\n", 2, 7, "the row has 4 cells, the first row has 3"),
        ("3 2 1\n...\n..\n", 3, 2, "the row has 2 cells, the header says 3"),
        ("3 2 1\n....\n...\n", 2, 4, "the row has 4 cells, the header says 3"),
        ("9 9 10\n...\n", 1, 3, "the header says 9 rows, the text has 1"),
        ("9 9 10\n", 1, 3, "the header says 9 rows, the text has 0"),
        ("30 16 99\n" + 17 * (30 * "." + "\n"), 1, 4, "the header says 16 rows, the text has 17"),
        ("16 1 9\n...............\n", 2, 15, "the row has 15 cells, the header says 16"),
        ("3 1 2\n. . .\n. . .\n", 1, 3, "the header says 1 row, the text has 2"),
        ("4 2 1\n...\n...\n", 2, 3, "the row has 3 cells, the header says 4"),
        ("1 2 1\n. . . .\n.\n", 2, 3, "the row has 4 cells, the header says 1"),
        ("1 2 1\n. . .\n. .\n", 3, 3, "the row has 2 cells, the first row has 3"),
        ("3 1 2\n", 1, 3, "the header says 1 row, the text has 0"),
        ("3 2 7\n...\n...\n", 1, 5, "mines in the header must be 0 to 6, got 7"),
        ("3 2 -1\n...\n...\n", 1, 5, "mines in the header must be 0 to 6, got -1"),
        ("0 2 1\n..\n..\n", 1, 1, "width in the header must be 1 to 1000, got 0"),
        ("1001 1 1\n..\n", 1, 1, "width in the header must be 1 to 1000, got 1001"),
        ("\n 2  2000 1\n..\n", 2, 5, "height in the header must be 1 to 1000, got 2000"),
        ("." * 1001, 1, 1001, "more than 1000 columns"),
        (". " * 1001, 1, 2001, "more than 1000 columns"),
        (".\n" * 1001, 1001, 1, "more than 1000 rows"),
    ],
)
def test_refused_by_line_and_column(function, text, line, col, message):
    refused(function, text, line, col, message)


def test_the_largest_text_is_read():
    assert text_to_view(("." * 1000 + "\n") * 1000)[0].shape == (1000, 1000)


def test_a_format_error_is_a_value_error():
    assert issubclass(TextFormatError, ValueError)


@pytest.mark.parametrize("text", ["*21\n12*\n", "3 2 2\n*..\n..*", "* 2 .\n. 2 *", "\n3 2 2\n*2.\n..*\n\n"])
def test_texts_of_one_board(text):
    mines = text_to_board(text)
    assert mines.dtype == np.bool_
    assert mines.tolist() == [[True, False, False], [False, False, True]]


def test_board_round_trip():
    rng = np.random.default_rng(2)
    for shape in [(1, 1), (1, 3), (3, 1), (2, 3), (6, 4)]:
        for share in (0, 0.3, 1):
            mines = rng.random(shape) < share
            for header in (True, False):
                np.testing.assert_array_equal(text_to_board(board_to_text(mines, header=header)), mines)
    assert board_to_text(np.array([[True, False, False]])) == "3 1 1\n*..\n"
    assert board_to_text(np.array([[True, False, False]]), header=False) == "*..\n"


@pytest.mark.parametrize(
    ("text", "line", "col", "message"),
    [
        ("*1\n.2\n", 2, 2, "the count is 2, but this cell has 1 mine beside it"),
        ("2 2 1\n* 0\n. .\n", 2, 3, "the count is 0, but this cell has 1 mine beside it"),
        ("2 2 2\n*1\n..\n", 1, 5, "the header says 2 mines, the board has 1"),
        ("*F\n..\n", 1, 2, "'F' is no cell"),
    ],
)
def test_boards_that_contradict_themselves(text, line, col, message):
    refused(text_to_board, text, line, col, message)


@pytest.mark.parametrize(
    ("text", "cell", "place"),
    [
        ("01\n..\n", (1, 0), (2, 1)),
        ("2 2 1\n01\n..\n", (1, 1), (3, 2)),
        ("\n 0 1\n\n . F\n", (1, 1), (4, 4)),
        ("1 2 1\n. . .\n", (0, 2), (1, 5)),
    ],
)
def test_cell_place(text, cell, place):
    assert cell_place(text, *cell) == place


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (view_to_text, (np.zeros(3, int),), "view must be integers [1 to 1000, 1 to 1000], got int64 (3,)"),
        (view_to_text, (np.zeros((2, 2)),), "view must be integers [1 to 1000, 1 to 1000], got float64 (2, 2)"),
        (view_to_text, (np.zeros((0, 2), int),), "view must be integers [1 to 1000, 1 to 1000], got int64 (0, 2)"),
        (view_to_text, (np.array([[0, 9]]),), "view must hold -2 (hidden), -1 (mine) or 0 to 8, got 9"),
        (view_to_text, (np.array([[-3, 9]]),), "view must hold -2 (hidden), -1 (mine) or 0 to 8, got -3"),
        (view_to_text, (VIEW, 9), "num_mines must be 0 to 8, got 9"),
        (view_to_text, (VIEW, -1), "num_mines must be 0 to 8, got -1"),
        (board_to_text, (VIEW,), "mines must be bool [1 to 1000, 1 to 1000], got int8 (2, 4)"),
        (format_grid, (np.zeros((4, 2)), VIEW), "probabilities and view must be [R, C], got (4, 2) and (2, 4)"),
        (format_grid, (np.full((2, 4), NAN), VIEW), "the probability of a hidden cell must be 0 to 1, got nan"),
        (format_grid, (np.full((2, 4), 1.5), VIEW), "the probability of a hidden cell must be 0 to 1, got 1.5"),
    ],
)
def test_refused_arrays(function, arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        function(*arguments)


def test_format_grid():
    view = np.array([[0, 1, -2, -2], [3, -2, -1, -2], [-2, -2, -2, -2]], np.int8)
    probabilities = np.array([[NAN, NAN, 0.0, 1.0], [NAN, 0.0004, NAN, 0.9999], [0.5, 0.2041, 1e-300, 1 - 1e-16]])
    assert format_grid(probabilities, view).splitlines() == [
        "      1     2     3     4",
        "1     0     1  safe  mine",
        "2     3  <0.1     * >99.9",
        "3  50.0  20.4  <0.1 >99.9",
    ]


def test_only_proofs_print_as_proofs():
    probabilities = np.concatenate([np.logspace(-300, -0.001, 500), 1 - np.logspace(-15.9, -0.001, 500)])
    assert ((probabilities > 0) & (probabilities < 1)).all()
    grid = format_grid(probabilities[None], np.full((1, 1000), HIDDEN, np.int8))
    cells = grid.splitlines()[1].split()[1:]
    assert len(cells) == 1000
    assert not {"safe", "mine", "0.0", "100.0"} & set(cells)
    assert all("." in cell for cell in cells)


def test_row_numbers_stay_aligned_past_nine():
    grid = format_grid(np.full((11, 12), 0.25), np.full((11, 12), HIDDEN, np.int8)).splitlines()
    assert {len(line) for line in grid} == {2 + 12 * 6}
    assert [line[:2] for line in grid] == ["  ", " 1", " 2", " 3", " 4", " 5", " 6", " 7", " 8", " 9", "10", "11"]
    assert grid[0].split() == [str(col) for col in range(1, 13)]
