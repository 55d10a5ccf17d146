"""Minesweeper laboratory: a vectorised engine, the exact posterior, and solvers that play through one loop."""

from minesweeper.arena import play_games
from minesweeper.board import HIDDEN, MINE, neighbour_counts
from minesweeper.games import LOST, PLAYING, WON, Games
from minesweeper.mode import MODES, Mode
from minesweeper.posterior import InconsistentViewError, StateBudgetError, mine_posterior, solve_posterior
from minesweeper.sampling import sample_layouts
from minesweeper.solvers import SOLVERS, Solver, make_solver

__all__ = [
    "HIDDEN",
    "LOST",
    "MINE",
    "MODES",
    "PLAYING",
    "SOLVERS",
    "WON",
    "Games",
    "InconsistentViewError",
    "Mode",
    "Solver",
    "StateBudgetError",
    "make_solver",
    "mine_posterior",
    "neighbour_counts",
    "play_games",
    "sample_layouts",
    "solve_posterior",
]
