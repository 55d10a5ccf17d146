"""What a request may hold: every input checked, and refused with a sentence that names it."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minesweeper import HIDDEN, MINE, MODES, Mode
from minesweeper.mode import FIRST_CLICKS, preset_name
from minesweeper.seeds import checked_seed
from minesweeper.textio import TextFormatError, text_to_view

MAX_SIDE = 100
MAX_TEXT = 32_768  # characters of a position
LIMITS = {"rows": MAX_SIDE, "cols": MAX_SIDE, "cells": MAX_SIDE * MAX_SIDE, "text": MAX_TEXT}

Cell = tuple[int, int]


class RefusedError(ValueError):
    """A request that gets an error as its answer.

    Attributes:
        status: of HTTP, 4xx or 5xx.
        key: the input at fault, or None.
        cell: (row, col) at fault, or None.
        retry_after: seconds after which the same request may well be answered, or None.
    """

    def __init__(
        self,
        message: str,
        key: str | None = None,
        status: int = 400,
        cell: Cell | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.key, self.cell, self.retry_after = status, key, cell, retry_after


def check_keys(values: Mapping[str, Any], allowed: Collection[str]) -> None:
    """RefusedError for a key that the request does not have."""
    for key in values:
        if key not in allowed:
            known = f"it has {', '.join(allowed)}" if allowed else "it has none"
            raise RefusedError(f"this request has no input {key[:40]!r}; {known}", key[:40])


def checked_mode(value: Any, first_click: Any) -> Mode:
    """The mode of a new game: a name, or {rows, cols, mines}."""
    if first_click not in FIRST_CLICKS:
        raise RefusedError(f"first_click must be one of {', '.join(FIRST_CLICKS)}", "first_click")
    if isinstance(value, str):
        if value not in MODES:
            raise RefusedError(f"mode must be one of {', '.join(MODES)}, or rows, cols and mines", "mode")
        preset = MODES[value]
        value = {"rows": preset.rows, "cols": preset.cols, "mines": preset.mines}
    if not isinstance(value, dict) or set(value) != {"rows", "cols", "mines"}:
        raise RefusedError(f"mode must be one of {', '.join(MODES)}, or rows, cols and mines", "mode")
    for key in ("rows", "cols"):
        if not _is_integer(value[key]) or not 1 <= value[key] <= MAX_SIDE:
            raise RefusedError(f"{key} must be a whole number from 1 to {MAX_SIDE}", key)
    if not _is_integer(value["mines"]):
        raise RefusedError("mines must be a whole number", "mines")
    try:
        return Mode(**value, first_click=first_click)
    except ValueError as error:
        raise RefusedError(str(error), "mines") from error


def mode_name(mode: Mode) -> str:
    """The preset's name of this board, or "custom"."""
    return preset_name(mode.rows, mode.cols, mode.mines) or "custom"


def checked_choice_of_seed(value: Any) -> int | None:
    """A seed that the player gave, or None."""
    if value is None:
        return None
    try:
        return checked_seed(value)
    except ValueError:
        raise RefusedError(f"seed must be a whole number from 0 to {2**32 - 1}, or none", "seed") from None


def checked_flag(key: str, value: Any) -> bool:
    """A value that must be true or false."""
    if not isinstance(value, bool):
        raise RefusedError(f"{key} must be true or false", key)
    return value


def checked_number(key: str, value: Any, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    if not _is_integer(value) or not low <= value <= high:
        raise RefusedError(f"{key} must be a whole number from {low} to {high}", key)
    return value


def checked_cell(value: Any, rows: int, cols: int) -> Cell:
    """A cell of a board of this size."""
    if not (isinstance(value, list) and len(value) == 2 and all(map(_is_integer, value))):
        raise RefusedError("cell must be [row, col]", "cell")
    row, col = value
    if not (0 <= row < rows and 0 <= col < cols):
        raise RefusedError(f"cell must have a row from 0 to {rows - 1} and a column from 0 to {cols - 1}", "cell")
    return row, col


def checked_position(text: Any, mines: Any) -> tuple[NDArray[np.int8], int]:
    """The view int8 [R, C] and the number of mines of a position that a player typed.

    Args:
        text: as in `minesweeper.textio`.
        mines: mines on the whole board; None if the text's first line says it.
    """
    if not isinstance(text, str):
        raise RefusedError("view must be a text", "view")
    if len(text) > MAX_TEXT:
        raise RefusedError(f"view must have at most {MAX_TEXT} characters, got {len(text)}", "view")
    try:
        view, header_mines = text_to_view(text)
    except TextFormatError as error:
        raise RefusedError(str(error), "view") from error
    if max(view.shape) > MAX_SIDE:
        raise RefusedError(f"a position can have at most {MAX_SIDE} rows and {MAX_SIDE} columns", "view")
    if mines is None:
        mines = header_mines
    if mines is None:
        raise RefusedError("the number of mines is missing", "mines")
    shown, hidden = int((view == MINE).sum()), int((view == HIDDEN).sum())
    if not hidden:
        raise RefusedError("no cell is hidden: this game is over", "view")
    checked_number("mines", mines, shown, shown + hidden)
    if header_mines not in (None, mines):
        raise RefusedError(f"mines is {mines}, but the first line of the position says {header_mines}", "mines")
    return view, mines


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
