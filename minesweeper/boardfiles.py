"""Given boards: reading them from files and folders, and writing them.

Two formats, told apart by the first line of a file that is not blank:
    boards        one or more boards as in `textio`, each with or without its line `W H M`, separated by blank lines.
    course world  a first line `rows cols`, a second line `x y` with the first tile (column and row, from 1, the row
                  counted from the bottom), then rows of 0 and 1 (a mine), cells separated by spaces or not. This is the
                  format of the worlds of UC Irvine's course CS 171, where the last line is the bottom row.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper.textio import TextFormatError, board_to_text, counted, text_to_board

BOTTOM_ROWS = ("last", "first")
_TWO_INTEGERS = re.compile(r"\s*(-?\d{1,9})\s+(-?\d{1,9})\s*")


class GivenBoard(NamedTuple):
    """One board from a file: the mines, bool [R, C], and the (row, col) that its file opens first, if it says one."""

    mines: NDArray[np.bool_]
    first_cell: tuple[int, int] | None


def read_boards(path: str | Path, bottom_row: str = "last") -> list[GivenBoard]:
    """All boards of a file, or of every file of a folder by name (hidden files and subfolders are left out).

    Args:
        bottom_row: whether the bottom row of a course world is the "last" of its lines or the "first".

    Raises:
        ValueError: no such path, no board, a file that is not UTF-8 text, or a line that does not fit; the message
            names file and line.
    """
    path = Path(path)
    if bottom_row not in BOTTOM_ROWS:
        raise ValueError(f"bottom_row must be one of {', '.join(BOTTOM_ROWS)}, got {bottom_row!r}")
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    elif path.is_file():
        files = [path]
    else:
        raise ValueError(f"boards={path}: no such file or folder")
    boards = []
    for file in files:
        try:
            boards += _parse(file.read_text("utf-8-sig"), bottom_row)
        except UnicodeDecodeError:
            raise ValueError(f"{file}: not UTF-8 text") from None
        except TextFormatError as error:
            raise ValueError(f"{file}, {error}") from None
    if not boards:
        raise ValueError(f"boards={path}: no board in it")
    return boards


def write_boards(path: str | Path, boards: Iterable[NDArray[np.bool_]]) -> None:
    """Writes boards (bool [R, C] each), separated by blank lines, each below its line `W H M`."""
    Path(path).write_text("\n".join(board_to_text(mines) for mines in boards))


def _parse(text: str, bottom_row: str) -> list[GivenBoard]:
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise TextFormatError("the text is empty: no boards", 1, 1)
    if _TWO_INTEGERS.fullmatch(lines[first]):
        return [_course_world(lines, first, bottom_row)]
    boards = []
    begin = first
    for number in range(first, len(lines) + 1):
        if number == len(lines) or not lines[number].strip():
            if number > begin:
                # Blank lines in front keep the line numbers of the file in errors.
                boards.append(GivenBoard(text_to_board("\n" * begin + "\n".join(lines[begin:number])), None))
            begin = number + 1
    return boards


def _course_world(lines: list[str], first: int, bottom_row: str) -> GivenBoard:
    size = _TWO_INTEGERS.fullmatch(lines[first])
    assert size is not None  # the caller has looked
    rows, cols = int(size[1]), int(size[2])
    if not (1 <= rows <= 1000 and 1 <= cols <= 1000):
        raise TextFormatError(f"rows and cols must be 1 to 1000, got {rows} {cols}", first + 1, 1)
    tile = _TWO_INTEGERS.fullmatch(lines[first + 1]) if first + 1 < len(lines) else None
    if tile is None:
        raise TextFormatError("the second line must be the first tile, `x y`", first + 2, 1)
    x, y = int(tile[1]), int(tile[2])
    if not (1 <= x <= cols and 1 <= y <= rows):
        raise TextFormatError(f"the first tile must be 1 to {cols} and 1 to {rows}, got {x} {y}", first + 2, 1)
    grid = [(number, lines[number]) for number in range(first + 2, len(lines)) if lines[number].strip()]
    if len(grid) != rows:
        raise TextFormatError(f"the first line says {counted(rows, 'row')}, the text has {len(grid)}", first + 1, 1)
    mines = np.zeros((rows, cols), np.bool_)
    for row, (number, line) in enumerate(grid):
        cells = re.sub(r"\s", "", line)
        wrong = re.search(r"[^01\s]", line)
        if wrong:
            raise TextFormatError(f"{wrong[0]!a} is no cell; cells are 0 and 1", number + 1, wrong.start() + 1)
        if len(cells) != cols:
            raise TextFormatError(
                f"the row has {counted(len(cells), 'cell')}, the first line says {cols}", number + 1, 1
            )
        mines[row] = [cell == "1" for cell in cells]
    if bottom_row == "first":
        mines = mines[::-1].copy()
    first_cell = (rows - y, x - 1)
    if mines[first_cell]:
        raise TextFormatError(f"the first tile {x} {y} is a mine", first + 2, 1)
    return GivenBoard(mines, first_cell)


def boards_digest(boards: Sequence[GivenBoard]) -> str:
    """SHA-256 of given boards, in their order."""
    digest = hashlib.sha256()
    for given in boards:
        digest.update(repr((given.mines.shape, given.first_cell)).encode() + given.mines.tobytes())
    return digest.hexdigest()
