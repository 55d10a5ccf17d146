"""One move ahead, exactly: whether opening a cell leads on."""

import numpy as np

from minesweeper.board import HIDDEN
from minesweeper.counting import COUNTED
from minesweeper.kernels import kernel
from minesweeper.posterior import solve_each


@kernel
def progress_chances(views, num_mines, probabilities, log_now, margin, max_states, chances):
    """The chance that opening a cell leads on: it is safe, and then a cell is proved safe or the game is won.

    For each number that the cell may show, the layouts are counted anew. Cells with no number within two steps are
    alike if they have as many neighbours, so one of each kind is counted.

    Args:
        views: int8 [N, R, C] of games that go on.
        num_mines: int64 [N].
        probabilities: float64 [N, R, C], their exact posterior.
        log_now: float64 [N], the logarithm of the number of their layouts.
        margin: asked for are the hidden cells whose probability is at most this above the lowest.
        max_states: budget of each count; past it a cell counts as not leading on.
        chances: float64 [N, R, C], out; NaN where not asked.
    """
    num_games, rows, cols = views.shape
    trial = np.empty((1, rows, cols), np.int8)
    trial_probabilities = np.empty((1, rows, cols))
    interior = np.empty(1)
    log_layouts = np.empty(1)
    faults = np.empty((1, 4), np.int64)
    of_kind = np.empty(9)  # chance of an undisturbed cell by its number of neighbours
    for game in range(num_games):
        chances[game] = np.nan
        trial[0] = views[game]
        mines = num_mines[game : game + 1]
        lowest = np.nanmin(probabilities[game])
        of_kind[:] = -1.0
        for row in range(rows):
            for col in range(cols):
                if views[game, row, col] != HIDDEN or probabilities[game, row, col] > lowest + margin:
                    continue
                kind = undisturbed_kind(views[game], row, col)
                if kind >= 0 and of_kind[kind] >= 0.0:
                    chances[game, row, col] = of_kind[kind]
                    continue
                chance = 0.0
                for number in range(9):
                    trial[0, row, col] = number
                    solve_each(trial, mines, max_states, trial_probabilities, interior, log_layouts, faults)
                    if faults[0, 0] == COUNTED and _leads_on(trial_probabilities[0]):
                        chance += np.exp(log_layouts[0] - log_now[game])
                trial[0, row, col] = HIDDEN
                chances[game, row, col] = chance
                if kind >= 0:
                    of_kind[kind] = chance


@kernel
def undisturbed_kind(view, row, col):
    """How many neighbours the cell has, or -1 if a revealed cell is within two steps of it."""
    rows, cols = view.shape
    neighbours = -1
    for r in range(max(row - 2, 0), min(row + 3, rows)):
        for c in range(max(col - 2, 0), min(col + 3, cols)):
            if view[r, c] != HIDDEN:
                return -1
            neighbours += abs(r - row) <= 1 and abs(c - col) <= 1
    return neighbours


@kernel
def _leads_on(probabilities):
    """Whether a cell is proved safe, or all hidden ones are proved mines, which wins."""
    is_won = True
    for probability in probabilities.flat:
        if probability == 0.0:
            return True
        is_won &= not probability < 1.0
    return is_won
