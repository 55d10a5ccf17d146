"""Mode: the presets, what is accepted, and the text of every refusal."""

import dataclasses
import re

import numpy as np
import pytest

from minesweeper.mode import MODES, Mode, preset_name


@pytest.mark.parametrize(
    ("name", "rows", "cols", "mines"), [("beginner", 9, 9, 10), ("intermediate", 16, 16, 40), ("expert", 16, 30, 99)]
)
def test_preset(name, rows, cols, mines):
    mode = MODES[name]
    assert (mode.rows, mode.cols, mode.mines) == (rows, cols, mines)
    assert (mode.first_click, mode.openings, mode.cells) == ("safe", True, rows * cols)


def test_there_are_three_presets():
    assert list(MODES) == ["beginner", "intermediate", "expert"]


def test_numpy_integers_become_plain_ones():
    mode = Mode(np.int64(3), np.uint8(4), np.int32(5))
    assert mode == Mode(3, 4, 5)
    assert [type(value) for value in (mode.rows, mode.cols, mode.mines)] == [int, int, int]


def test_a_mode_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        MODES["beginner"].mines = 11


@pytest.mark.parametrize(
    ("first_click", "rows", "cols", "cell", "limit"),
    [
        ("any", 4, 5, (1, 1), 19),
        ("safe", 4, 5, (1, 1), 19),
        ("zero", 4, 5, (0, 0), 16),
        ("zero", 4, 5, (3, 4), 16),
        ("zero", 4, 5, (0, 2), 14),
        ("zero", 4, 5, (2, 0), 14),
        ("zero", 4, 5, (1, 1), 11),
        ("zero", 1, 6, (0, 0), 4),
        ("zero", 1, 6, (0, 3), 3),
        ("zero", 6, 1, (3, 0), 3),
        ("zero", 2, 2, (1, 1), 0),
        ("zero", 1, 1, (0, 0), 0),
    ],
)
def test_max_mines(first_click, rows, cols, cell, limit):
    assert Mode(rows, cols, 0, first_click).max_mines(*cell) == limit


@pytest.mark.parametrize(
    ("rows", "cols", "first_click", "limit"),
    [
        (1, 1, "any", 0),
        (1, 1, "safe", 0),
        (1, 1, "zero", 0),
        (2, 2, "any", 3),
        (2, 2, "zero", 0),
        (1, 7, "zero", 5),
        (7, 1, "safe", 6),
        (4, 5, "zero", 16),
        (1000, 1000, "any", 999_999),
    ],
)
def test_most_mines(rows, cols, first_click, limit):
    assert Mode(rows, cols, limit, first_click).mines == limit
    message = f"mines must be 0 to {limit} on {rows}x{cols} with first_click={first_click}, got {limit + 1}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Mode(rows, cols, limit + 1, first_click)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rows": 0}, "rows must be 1 to 1000, got 0"),
        ({"rows": 1001}, "rows must be 1 to 1000, got 1001"),
        ({"cols": -3}, "cols must be 1 to 1000, got -3"),
        ({"cols": 1001}, "cols must be 1 to 1000, got 1001"),
        ({"mines": -1}, "mines must be 0 to 80 on 9x9 with first_click=safe, got -1"),
        ({"rows": 9.0}, "rows must be an integer, got 9.0"),
        ({"cols": "9"}, "cols must be an integer, got '9'"),
        ({"mines": True}, "mines must be an integer, got True"),
        ({"mines": None}, "mines must be an integer, got None"),
        ({"first_click": "free"}, "first_click must be one of any, safe, zero, got 'free'"),
        ({"first_click": None}, "first_click must be one of any, safe, zero, got None"),
        ({"openings": "no"}, "openings must be true or false, got 'no'"),
        ({"openings": 1}, "openings must be true or false, got 1"),
    ],
)
def test_refused(values, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Mode(**({"rows": 9, "cols": 9, "mines": 10} | values))


def test_every_preset_is_known_by_its_board():
    for name, mode in MODES.items():
        assert preset_name(mode.rows, mode.cols, mode.mines) == name
    assert preset_name(30, 16, 99) is None
    assert preset_name(9, 9, 11) is None
