"""Views and full boards as text, and back; and the aligned grid of probabilities that people read.

One row a line, one character a cell; spaces and tabs between cells, blank lines and trailing whitespace don't matter.

    view:   . or F hidden (F is a flag, which proves nothing)   0-8 a count   * a known mine
    board:  * a mine   . or 0-8 not a mine (digits must be the true counts)

A first line `W H M` (width, height, mines: columns first, as most programs write it) may stand above the rows.

Three digits can also be a row: `1 2 1` above `. . .`. So three integers on the first line are a header, except three
single digits, the first of them 0 to 2, that stand alone or above a row of three cells: those are a row. This misreads
nothing: as a header they would be wrong anyway (W is not 3), and no row of a possible view begins with `3 1 1`, since a
corner beside an open cell has at most two hidden neighbours.
"""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE, neighbour_counts
from minesweeper.mode import MAX_SIDE

_VIEW_CELLS = {".": HIDDEN, "F": HIDDEN, "*": MINE} | {str(count): count for count in range(9)}
_BOARD_CELLS = {"*": MINE, ".": HIDDEN} | {str(count): count for count in range(9)}
_CELL = re.compile(r"[^ \t]")
_THREE_CELLS = re.compile(r"[ \t]*[0-2][ \t]+[0-8][ \t]+[0-8]")
_HEADER = re.compile(r"[ \t]*([+-]?[0-9]{1,9})[ \t]+([+-]?[0-9]{1,9})[ \t]+([+-]?[0-9]{1,9})")

_Row = tuple[int, str]  # line number from 1, text of the line


class TextFormatError(ValueError):
    """Text that is no view or board; `line` and `col`, both from 1, are the place in the text that its message names.

    `col` counts characters, spaces too.
    """

    def __init__(self, message: str, line: int, col: int) -> None:
        super().__init__(f"line {line}, column {col}: {message}")
        self.line = line
        self.col = col


class _Header(NamedTuple):
    line: int
    starts: list[int]  # column, from 1, of each of the three integers
    width: int
    height: int
    mines: int


def view_to_text(view: NDArray[np.int8], num_mines: int | None = None) -> str:
    """Text of one view; ends with a line break.

    Args:
        view: integers [R, C]: `HIDDEN`, `MINE` or 0..8.
        num_mines: if given, a header `W H M` stands first.

    Raises:
        ValueError: another shape or value, or `num_mines` outside 0..cells.

    >>> print(view_to_text(np.array([[0, 1, -2], [0, 1, -2]]), num_mines=1), end="")
    3 2 1
    01.
    01.
    """
    view = np.asarray(view)
    _check_shape("view", view, "iu")
    outside = (view < HIDDEN) | (view > 8)
    if outside.any():
        raise ValueError(f"view must hold {HIDDEN} (hidden), {MINE} (mine) or 0 to 8, got {view[outside][0]}")
    rows = "".join("".join(".*012345678"[value - HIDDEN] for value in row) + "\n" for row in view.tolist())
    if num_mines is None:
        return rows
    if not 0 <= num_mines <= view.size:
        raise ValueError(f"num_mines must be 0 to {view.size}, got {num_mines}")
    return f"{view.shape[1]} {view.shape[0]} {num_mines}\n{rows}"


def text_to_view(text: str) -> tuple[NDArray[np.int8], int | None]:
    """View [R, C] int8 that the text shows, and the number of mines (None without a header).

    Raises:
        TextFormatError: a character that is no cell, rows of different width, a header that does not fit, no rows,
            more than 1000 rows or columns.

    >>> text_to_view('''
    ... 3 2 1
    ... 0 1 .
    ... 0 1 F
    ... ''')
    (array([[ 0,  1, -2],
           [ 0,  1, -2]], dtype=int8), 1)
    """
    header, rows = _split(text)
    view = _cells(header, rows, _VIEW_CELLS)
    return view, None if header is None else header.mines


def board_to_text(mines: NDArray[np.bool_], header: bool = True) -> str:
    """Text of one full board, `*` for a mine and `.` for another cell; ends with a line break.

    Args:
        mines: bool [R, C].
        header: whether to begin with the line `W H M`.

    Raises:
        ValueError: not bool, or another shape.

    >>> print(board_to_text(np.array([[True, False, False], [False, False, True]])), end="")
    3 2 2
    *..
    ..*
    """
    mines = np.asarray(mines)
    _check_shape("mines", mines, "b")
    view = np.where(mines, MINE, HIDDEN).astype(np.int8)
    return view_to_text(view, int(mines.sum()) if header else None)


def text_to_board(text: str) -> NDArray[np.bool_]:
    """Mines [R, C] bool of the full board that the text shows.

    Raises:
        TextFormatError: as `text_to_view`; a digit that is not the number of mines beside its cell, or another number
            of mines than the header says.

    >>> text_to_board('''
    ... *21
    ... 12*
    ... ''')
    array([[ True, False, False],
           [False, False,  True]])
    """
    header, rows = _split(text)
    cells = _cells(header, rows, _BOARD_CELLS)
    mines = cells == MINE
    counts = neighbour_counts(mines)
    wrong = (cells >= 0) & (cells != counts)
    if wrong.any():
        row, col = (int(place) for place in np.argwhere(wrong)[0])
        message = f"the count is {cells[row, col]}, but this cell has {counted(counts[row, col], 'mine')} beside it"
        raise TextFormatError(message, *_place(rows, row, col))
    if header is not None and header.mines != mines.sum():
        message = f"the header says {counted(header.mines, 'mine')}, the board has {mines.sum()}"
        raise TextFormatError(message, header.line, header.starts[2])
    return mines


def cell_place(text: str, row: int, col: int) -> tuple[int, int]:
    """(line, column), both from 1, where cell (row, col) of a view or board stands in its text.

    >>> cell_place("3 2 1\\n0 1 .\\n0 1 .\\n", row=1, col=2)
    (3, 5)
    """
    return _place(_split(text)[1], row, col)


def format_grid(probabilities: NDArray[np.float64], view: NDArray[np.int8]) -> str:
    """Aligned grid with row and column numbers (from 1): counts, and the mine probability of hidden cells in percent.

    Proved cells are words, `safe` and `mine`. A number is never a proof: what would round to 0.0 or 100.0 is printed
    `<0.1` or `>99.9`.

    Args:
        probabilities: float [R, C]; only hidden cells are read.
        view: int8 [R, C]; a `MINE` prints as `*`.

    Raises:
        ValueError: the two shapes differ, or a hidden cell's probability is not 0 to 1.

    >>> print(format_grid(np.array([[np.nan, 0.0, 0.25], [np.nan, 1.0, 0.9999]]), np.array([[1, -2, -2], [1, -2, -2]])))
          1     2     3
    1     1  safe  25.0
    2     1  mine >99.9
    """
    if np.ndim(view) != 2 or np.shape(probabilities) != np.shape(view):
        raise ValueError(f"probabilities and view must be [R, C], got {np.shape(probabilities)} and {np.shape(view)}")
    num_rows, num_cols = np.shape(view)
    left = len(str(num_rows))
    lines = [" " * left + "".join(f" {col + 1:>5}" for col in range(num_cols))]
    for row in range(num_rows):
        cells = zip(np.asarray(probabilities)[row].tolist(), np.asarray(view)[row].tolist(), strict=True)
        lines.append(f"{row + 1:>{left}}" + "".join(f" {_grid_cell(*cell):>5}" for cell in cells))
    return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "mine"), counted(1000, "game")
    ('1 mine', '1000 games')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _grid_cell(probability: float, value: int) -> str:
    if value != HIDDEN:
        return "*" if value == MINE else str(value)
    return probability_text(probability)


def probability_text(probability: float) -> str:
    """A hidden cell in five characters: `safe` or `mine` if proved, otherwise percent, which never look like a proof.

    Raises:
        ValueError: not 0 to 1.
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"the probability of a hidden cell must be 0 to 1, got {probability}")
    if probability in (0, 1):
        return "mine" if probability else "safe"
    percent = f"{100 * probability:.1f}"
    return {"0.0": "<0.1", "100.0": ">99.9"}.get(percent, percent)


def _check_shape(name: str, cells: NDArray, kinds: str) -> None:
    if cells.dtype.kind not in kinds or cells.ndim != 2 or not all(1 <= side <= MAX_SIDE for side in cells.shape):
        kind = "bool" if kinds == "b" else "integers"
        raise ValueError(f"{name} must be {kind} [1 to {MAX_SIDE}, 1 to {MAX_SIDE}], got {cells.dtype} {cells.shape}")


def _split(text: str) -> tuple[_Header | None, list[_Row]]:
    """The header, if the first line is one (see the head of this file), and the rows: lines that are not blank."""
    lines = [(number, line.rstrip(" \t\r")) for number, line in enumerate(text.split("\n"), start=1)]
    lines = [line for line in lines if line[1]]
    if not lines:
        raise TextFormatError("the text is empty: no rows", 1, 1)
    number, first = lines[0]
    rows = lines[1:]
    is_row = _THREE_CELLS.fullmatch(first) and (not rows or len(_CELL.findall(rows[0][1])) == 3)
    match = _HEADER.fullmatch(first)
    if is_row or match is None:
        return None, lines
    width, height, mines = map(int, match.groups())
    header = _Header(number, [match.start(i) + 1 for i in (1, 2, 3)], width, height, mines)
    limits = ("width", width, 1, MAX_SIDE), ("height", height, 1, MAX_SIDE), ("mines", mines, 0, width * height)
    for start, (name, value, low, high) in zip(header.starts, limits, strict=True):
        if not low <= value <= high:
            raise TextFormatError(f"{name} in the header must be {low} to {high}, got {value}", number, start)
    if len(rows) != height:
        message = f"the header says {counted(height, 'row')}, the text has {len(rows)}"
        raise TextFormatError(message, number, header.starts[1])
    return header, rows


def _cells(header: _Header | None, rows: list[_Row], alphabet: dict[str, int]) -> NDArray[np.int8]:
    """Values [R, C] int8 of the rows' characters, checked in reading order."""
    width = header.width if header else len(_CELL.findall(rows[0][1]))
    wanted = f"the header says {width}" if header else f"the first row has {width}"
    if width > MAX_SIDE:
        raise TextFormatError(f"more than {MAX_SIDE} columns", rows[0][0], _place(rows, 0, MAX_SIDE)[1])
    if len(rows) > MAX_SIDE:
        raise TextFormatError(f"more than {MAX_SIDE} rows", rows[MAX_SIDE][0], 1)
    values = []
    for number, line in rows:
        row = _CELL.findall(line)
        for col, character in enumerate(row):
            if character not in alphabet:
                message = f"{character!a} is no cell; cells are {' '.join(alphabet)}"
                raise TextFormatError(message, number, _place([(number, line)], 0, col)[1])
        if len(row) != width:
            message = f"the row has {counted(len(row), 'cell')}, {wanted}"
            raise TextFormatError(message, number, _place([(number, line)], 0, min(len(row) - 1, width))[1])
        values.append([alphabet[character] for character in row])
    return np.array(values, np.int8)


def _place(rows: list[_Row], row: int, col: int) -> tuple[int, int]:
    number, line = rows[row]
    return number, [match.start() + 1 for match in _CELL.finditer(line)][col]
