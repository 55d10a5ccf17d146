"""Minesweeper laboratory: a vectorised engine, the exact posterior, and solvers that play through one loop."""

from minesweeper.board import HIDDEN, MINE, neighbour_counts
from minesweeper.games import LOST, PLAYING, WON, Games
from minesweeper.mode import MODES, Mode

__all__ = ["HIDDEN", "LOST", "MINE", "MODES", "PLAYING", "WON", "Games", "Mode", "neighbour_counts"]
