"""Mode: the facts of a game of Minesweeper, and the three standard ones."""

from dataclasses import dataclass

import numpy as np

FIRST_CLICKS = ("any", "safe", "zero")
MAX_SIDE = 1000


@dataclass(frozen=True)
class Mode:
    """Board size, number of mines and what is promised about the first cell.

    Attributes:
        rows, cols: 1 to 1000 each.
        mines: 0 to cells - 1; with `first_click="zero"` at most cells - (neighbourhood of a corner).
        first_click: what the first revealed cell may be. "any": a mine like every other cell. "safe": never a mine.
            "zero": neither it nor its neighbours are mines.
        openings: whether a revealed zero opens its neighbours too (some course worlds play without).

    Raises:
        ValueError: a value of the wrong type or outside its range.
    """

    rows: int
    cols: int
    mines: int
    first_click: str = "safe"
    openings: bool = True

    def __post_init__(self) -> None:
        for name in ("rows", "cols", "mines"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
                raise ValueError(f"{name} must be an integer, got {value!r}")
            object.__setattr__(self, name, int(value))
        for name in ("rows", "cols"):
            if not 1 <= getattr(self, name) <= MAX_SIDE:
                raise ValueError(f"{name} must be 1 to {MAX_SIDE}, got {getattr(self, name)}")
        if self.first_click not in FIRST_CLICKS:
            raise ValueError(f"first_click must be one of {', '.join(FIRST_CLICKS)}, got {self.first_click!r}")
        if not isinstance(self.openings, bool):
            raise ValueError(f"openings must be true or false, got {self.openings!r}")
        limit = self.max_mines(0, 0)
        if not 0 <= self.mines <= limit:
            raise ValueError(
                f"mines must be 0 to {limit} on {self.rows}x{self.cols} with first_click={self.first_click}, "
                f"got {self.mines}"
            )

    @property
    def cells(self) -> int:
        """Number of cells of the board."""
        return self.rows * self.cols

    def max_mines(self, row: int, col: int) -> int:
        """Most mines that leave room for a first reveal at (row, col) and keep one cell to reveal."""
        if self.first_click != "zero":
            return self.cells - 1
        height = min(row + 2, self.rows) - max(row - 1, 0)
        width = min(col + 2, self.cols) - max(col - 1, 0)
        return self.cells - height * width


MODES = {
    "beginner": Mode(9, 9, 10),
    "intermediate": Mode(16, 16, 40),
    "expert": Mode(16, 30, 99),
}


def preset_name(rows: int, cols: int, mines: int) -> str | None:
    """The name of the standard mode with this board, whatever its first click; None for another board.

    >>> preset_name(16, 30, 99)
    'expert'
    """
    presets = {(mode.rows, mode.cols, mode.mines): name for name, mode in MODES.items()}
    return presets.get((rows, cols, mines))
