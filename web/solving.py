"""What a solver says of one position: probabilities, the move and its reason. Runs in the processes of `pool.py`."""

import time
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minesweeper import HIDDEN, MINE, InconsistentViewError, Solver, StateBudgetError, make_solver, solve_posterior
from minesweeper.posterior import MAX_STATES, Posterior
from minesweeper.solvers.base import TIE_TOLERANCE
from web.catalogue import Entry
from web.reasons import place, why_safe
from web.validation import Cell, RefusedError

_QUICK_STATES = 250_000  # some hundredths of a second to count; with more, a solver can take seconds
_MOST_EXPLAINED = 8  # safe cells of which the one with the shortest reason is explained
_BLIND = ("random", "single_point", "double_set", "csp")  # guess at random


@cache
def _solver_of(name: str | None, settings: tuple, path: str | None) -> Solver:
    if path is None:
        return make_solver(name or "", **dict(settings))
    import torch

    from models.checkpoint import load_model
    from models.device import choose_precision
    from models.players import trained_solver

    torch.set_num_threads(1)
    model, content = load_model(path)
    return trained_solver(model, content["config"], choose_precision("auto", torch.device("cpu")))


def solver_of(entry: Entry) -> Solver:
    """The solver of an entry of the catalogue, made once."""
    return _solver_of(entry.name, tuple(entry.settings.items()), entry.path)


def exact_posterior(view: NDArray[np.int8], num_mines: int, max_states: int = MAX_STATES) -> Posterior:
    """The posterior of a position [R, C]; past the budget a weaker answer, which says so.

    Raises:
        RefusedError: no layout of the mines fits; it names the number that cannot be met.
    """
    try:
        return solve_posterior(view, num_mines, max_states=max_states, over_budget="density")
    except InconsistentViewError as error:
        if error.row is None or error.col is None:
            raise RefusedError(f"this position is impossible: {error}", "mines") from error
        cell = (error.row, error.col)
        message = f"this position is impossible: the {view[cell]} at {place(cell)} cannot be met"
        raise RefusedError(message, "view", cell=cell) from error


def solve(
    entry: Entry, view: NDArray[np.int8], num_mines: int, key: int = 0, is_promised: bool = False
) -> dict[str, Any]:
    """A *solution* of API.md.

    Args:
        view: int8 [R, C] with a hidden cell.
        num_mines: mines on the whole board.
        key: of the solver's random choices.
        is_promised: whether the rules promise that the next cell is safe.

    Raises:
        RefusedError: the position is impossible.
    """
    posterior = exact_posterior(view, num_mines)
    begin = time.perf_counter()
    solver = solver_of(entry)
    # A network has not learned what a marked mine looks like: it sees a hidden cell.
    shown = np.where(view == MINE, HIDDEN, view) if entry.kind == "network" else view
    views, keys = shown[None].astype(np.int8), np.array([key], np.uint64)
    probabilities = posterior.probabilities if entry.kind == "exact" else solver.mine_probabilities(views, num_mines)[0]
    chosen, is_guess = solver.choose(views, num_mines, keys)
    chance = None
    if is_guess[0] and posterior.exact and hasattr(solver, "values"):  # a planner
        values, _ = solver.values(views, np.array([num_mines]), solve_posterior(views, num_mines), finds_all=False)
        chance = float(values[0])
    milliseconds = 1000 * (time.perf_counter() - begin)
    is_hidden = view == HIDDEN
    probabilities = np.where(is_hidden, probabilities, np.nan)
    cells = [(int(row), int(col)) for row, col in np.argwhere(chosen[0] & is_hidden)]
    return {
        "solver": entry.id,
        "probabilities": [[None if p != p else p for p in row] for row in probabilities.tolist()],  # NaN != NaN
        "proved": _proved(probabilities),
        "move": _move(entry, view, num_mines, probabilities, posterior, cells, bool(is_guess[0]), is_promised, chance),
        "milliseconds": round(milliseconds, 3),
        "exact": entry.kind == "exact" and bool(posterior.exact),
    }


def is_long(view: NDArray[np.int8], num_mines: int) -> bool:
    """Whether a solver may take seconds for a position [R, C], as no real game has; found out in a moment.

    Raises:
        RefusedError: the position is impossible.
    """
    return not exact_posterior(view, num_mines, _QUICK_STATES).exact


def exact_probability(view: NDArray[np.int8], num_mines: int, cell: Cell) -> float | None:
    """Exact P(mine) of a cell, or None past the state budget."""
    try:
        return float(solve_posterior(view, num_mines).probabilities[cell])
    except StateBudgetError:
        return None


def _proved(probabilities: NDArray[np.float64]) -> list[str]:
    marks = np.full(probabilities.shape, "?")
    marks[np.isnan(probabilities)] = " "
    marks[probabilities == 0.0] = "s"
    marks[probabilities == 1.0] = "m"
    return ["".join(row) for row in marks.tolist()]


def _move(
    entry: Entry, view: NDArray[np.int8], num_mines: int, probabilities: NDArray[np.float64], posterior: Posterior,
    cells: list[Cell], is_guess: bool, is_promised: bool, chance: float | None,
) -> dict[str, Any]:  # fmt: skip
    if not cells or (probabilities[view == HIDDEN] == 1.0).all():
        return _as_move([], None, False, "every hidden cell is a mine: there is nothing left to open")
    if is_promised:
        return _as_move(cells[:1], 0.0, False, "the rules promise that the first cell is safe")
    chosen = [probabilities[cell] for cell in cells]
    highest = float(max(chosen))
    if highest == 0.0:
        reason = _why_proved(view, num_mines, cells)
    elif entry.kind == "network":
        exact = float(max(posterior.probabilities[cell] for cell in cells)) if posterior.exact else None
        reason = _why_network(highest, exact, len(cells), is_guess)
    elif chance is not None:
        reason = f"the guess that most likely wins the game: {percent(highest)} for a mine, {percent(chance)} to win"
    elif entry.name in _BLIND:
        reason = f"a random cell, as nothing is proved: {percent(highest)} for a mine"
    else:
        lowest = float(np.nanmin(probabilities))
        reason = f"the safest guess: {percent(highest)} for a mine"
        if highest > lowest + TIE_TOLERANCE:
            reason = f"a guess at {percent(highest)} that promises more than the safest one at {percent(lowest)}"
    return _as_move(cells, highest, is_guess, reason)


def _as_move(cells: list[Cell], probability: float | None, is_guess: bool, reason: str) -> dict[str, Any]:
    return {"cells": [list(cell) for cell in cells], "probability": probability, "is_guess": is_guess, "reason": reason}


def _why_proved(view: NDArray[np.int8], num_mines: int, cells: list[Cell]) -> str:
    """The shortest of the reasons of the first few cells."""
    reasons = [(why_safe(view, num_mines, cell), cell) for cell in cells[:_MOST_EXPLAINED]]
    reason, cell = min(reasons, key=lambda found: (not found[0].startswith("proved"), len(found[0])))
    if len(cells) == 1:
        return reason
    return f"{len(cells)} safe cells; {place(cell)}: {reason}"


def _why_network(highest: float, exact: float | None, num_cells: int, is_guess: bool) -> str:
    truth = "" if exact is None else f" (exactly {percent(exact)})"
    if is_guess:
        return f"the network's safest guess: {percent(highest)}{truth}"
    cells = "this cell" if num_cells == 1 else f"{num_cells} cells"
    return f"the network takes {cells} as safe: at most {percent(highest)}{truth}"


def percent(probability: float) -> str:
    """A probability for people; what is no proof never looks like one."""
    if probability in (0, 1):
        return "100%" if probability else "0%"
    if probability < 0.0005:
        return "less than 0.1%"
    if probability > 0.9995:
        return "more than 99.9%"
    return f"{100 * probability:.1f}%"
