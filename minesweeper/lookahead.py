"""One move ahead, exactly: what a cell may show, and whether opening it leads on."""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN
from minesweeper.counting import COUNTED
from minesweeper.kernels import kernel
from minesweeper.posterior import MAX_STATES, solve_each


def outcomes(
    views: NDArray[np.int8], num_mines: NDArray[np.int64], cells: NDArray[np.int64], max_states: int = MAX_STATES
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.float64], NDArray[np.float64]]:
    """The positions that opening one cell of each view may lead to; of an opening, the zero alone is shown.

    Args:
        views: int8 [N, R, C].
        num_mines: int64 [N].
        cells: int64 [N], the cell of each view, flat; hidden, and not a proved mine.
        max_states: budget of one position; a number whose position is past it is left out.

    Returns:
        For M positions: which view each belongs to, int64 [M]; the positions, int8 [M, R, C]; their chances, float64
        [M], which add up for each view to the chance that its cell is safe; their posteriors, float64 [M, R, C].
    """
    trials = np.empty((9 * len(views) + 1, *views.shape[1:]), np.int8)
    chances = np.empty(len(trials))
    probabilities = np.empty(trials.shape)
    of = np.empty(len(trials), np.int64)
    count = _outcomes(views, num_mines, cells, max_states, trials, chances, probabilities, of)
    return of[:count], trials[:count], chances[:count], probabilities[:count]


@kernel
def _outcomes(views, num_mines, cells, max_states, trials, chances, probabilities, of):
    cols = views.shape[2]
    interior = np.empty(1)
    log_layouts = np.empty(1)
    faults = np.empty((1, 4), np.int64)
    count = 0
    for i in range(len(views)):
        mines = num_mines[i : i + 1]
        trials[count] = views[i]
        solve_each(
            trials[count : count + 1],
            mines,
            max_states,
            probabilities[count : count + 1],
            interior,
            log_layouts,
            faults,
        )
        log_now = log_layouts[0]
        for number in range(9):
            trials[count] = views[i]
            trials[count, cells[i] // cols, cells[i] % cols] = number
            solve_each(
                trials[count : count + 1], mines, max_states, probabilities[count : count + 1], interior, log_layouts,
                faults,
            )  # fmt: skip
            if faults[0, 0] == COUNTED:
                chances[count] = np.exp(log_layouts[0] - log_now)
                of[count] = i
                count += 1
    return count


@kernel
def progress_chances(views, num_mines, probabilities, margin, max_states, chances):
    """The chance that opening a cell leads on: it is safe, and then a cell is proved safe or the game is won.

    For each number that the cell may show, the layouts are counted anew. Cells with no number within two steps are
    alike if they have as many neighbours, so one of each kind is counted.

    Args:
        views: int8 [N, R, C] of games that go on.
        num_mines: int64 [N].
        probabilities: float64 [N, R, C], their exact posterior.
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
        solve_each(trial, mines, max_states, trial_probabilities, interior, log_layouts, faults)
        log_now = log_layouts[0]
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
                        chance += np.exp(log_layouts[0] - log_now)
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
