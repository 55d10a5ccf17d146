"""Plays a fixed list of boards with one solver, each board exactly once, and keeps a record per game."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, draw, random_key
from minesweeper.boardfiles import GivenBoard
from minesweeper.games import LOST, PLAYING, WON, Games
from minesweeper.kernels import kernel
from minesweeper.mode import Mode
from minesweeper.posterior import mine_posterior
from minesweeper.solvers.base import Solver

FIRST_CELLS = ("random", "corner", "centre", "solver")
_FIRST_CELL = -1  # the move number of `random_key` for a random first cell; the solver's choices have 1, 2, ...
_FIELDS = [("won", "?"), ("guess_free", "?"), ("guesses", "i4"), ("moves", "i4"), ("seconds", "f8")]
RECORD = np.dtype(_FIELDS)  # of a game
JUDGED_RECORD = np.dtype([*_FIELDS, ("judged_guess_free", "?")])


@dataclass(frozen=True)
class Decisions:
    """A decision of the solver in each of some games, for those who judge it: the truth stands beside the view.

    Attributes:
        solver: who decided.
        views: int8 [N, R, C], what the solver saw.
        num_mines: mines on each board.
        chosen: bool [N, R, C], the hidden cells that it chose to open.
        mines: bool [N, R, C], where they were.
        is_lost: bool [N], whether this decision lost the game.
    """

    solver: Solver
    views: NDArray[np.int8]
    num_mines: int
    chosen: NDArray[np.bool_]
    mines: NDArray[np.bool_]
    is_lost: NDArray[np.bool_]

    @cached_property
    def predicted(self) -> NDArray[np.float64]:
        """The solver's own probabilities, float64 [N, R, C], NaN where revealed; asked for once more."""
        return self.solver.mine_probabilities(self.views, self.num_mines)

    @cached_property
    def posterior(self) -> NDArray[np.float64]:
        """The exact posterior of the views, float64 [N, R, C], counted once; past the state budget a weaker answer."""
        return mine_posterior(self.views, self.num_mines, over_budget="density")


Observer = Callable[[Decisions], object]


def play_games(
    solver: Solver,
    mode: Mode,
    num_games: int,
    seed: int = 0,
    first_cell: str | Sequence[int] = "random",
    batch: int = 1024,
    judge: Solver | None = None,
    progress: Callable[[int], object] | None = None,
    first_index: int = 0,
    observers: Sequence[Observer] = (),
) -> np.recarray:
    """Plays `num_games` games of `seed`; the result does not depend on `batch` for a deterministic solver.

    Args:
        first_cell: where the first move goes: "corner" (0, 0), "centre", "random" (by seed and game index), a
            (row, col), or "solver": its own choice.
        batch: games played side by side.
        judge: a solver that proves; then `judged_guess_free` says whether each move opened only cells that it proves
            safe. Its time is not counted.
        progress: called with the number of games just finished.
        first_index: the game index of the first; the others follow.
        observers: each called with every `Decisions`, but not for a first cell that is given or promised to be safe.

    Returns:
        Record array [num_games]: `won`; `guess_free`, won without one guess; `guesses`, moves that were guesses by the
        solver's own threshold (a first cell that the mode promises to be safe is none); `moves`, cells clicked;
        `seconds`, time the solver took to choose, in a batch shared evenly among the games still going;
        and `judged_guess_free` if there is a judge.

    Raises:
        ValueError: a bad setting, or a solver that chooses no hidden cell.
    """
    if isinstance(num_games, bool) or not isinstance(num_games, (int, np.integer)) or num_games < 1:
        raise ValueError(f"num_games must be an integer of at least 1, got {num_games!r}")
    if isinstance(batch, bool) or not isinstance(batch, (int, np.integer)) or batch < 1:
        raise ValueError(f"batch must be an integer of at least 1, got {batch!r}")
    check_first_cell(first_cell, mode)
    records = _empty_records(num_games, judge)
    for start in range(0, num_games, batch):
        games = Games(mode, min(batch, num_games - start), seed, first_index=first_index + start)
        opening = None if first_cell == "solver" else first_cells(first_cell, games)
        promised = mode.first_click != "any"
        records[start : start + games.num_games] = _play(solver, games, opening, promised, judge, progress, observers)
    return records


def play_boards(
    solver: Solver,
    boards: Sequence[GivenBoard],
    seed: int = 0,
    first_cell: str | Sequence[int] = "random",
    batch: int = 1024,
    first_click: str = "any",
    judge: Solver | None = None,
    progress: Callable[[int], object] | None = None,
    openings: bool = True,
    observers: Sequence[Observer] = (),
) -> np.recarray:
    """Plays given boards, which may differ in size, each once; see `play_games` for what is not said here.

    A board's own first cell, if it has one, is opened and counts as promised safe. On the others `first_cell` is
    opened.

    Args:
        seed: of the random choices alone.
        first_click: "any": `first_cell` may be a mine, so it is a guess. "safe": it is promised to be safe, as on
            boards that were written with this first cell.
        openings: whether a revealed zero opens its neighbours.

    Returns:
        Record array [number of boards], in their order.

    Raises:
        ValueError: another `first_click`, or "safe" and a first cell that is a mine.
    """
    check_given_first_click(first_click)
    records = _empty_records(len(boards), judge)
    groups: dict[tuple, list[int]] = {}
    for index, (mines, tile) in enumerate(boards):
        groups.setdefault((mines.shape, int(mines.sum()), tile is not None), []).append(index)
    for (_, _, has_tile), members in groups.items():
        for start in range(0, len(members), batch):
            part = np.array(members[start : start + batch])
            games = Games.on_boards(np.stack([boards[i].mines for i in part]), openings, seed, part)
            opening = None
            if has_tile:
                tiles = np.array([boards[i].first_cell for i in part])
                opening = (tiles[:, 0], tiles[:, 1])
            else:
                check_first_cell(first_cell, games.mode)
                if first_cell != "solver":
                    opening = first_cells(first_cell, games)
            if opening and first_click == "safe":
                mined = games.mines[np.arange(part.size), opening[0], opening[1]]
                if mined.any():
                    raise ValueError(f"first_click=safe, but the first cell of board {part[mined.argmax()]} is a mine")
            promised = has_tile or (first_click == "safe" and opening is not None)
            records[part] = _play(solver, games, opening, promised, judge, progress, observers)
    return records


def check_given_first_click(first_click: str) -> None:
    """ValueError unless given boards can be played by this rule."""
    if first_click not in ("any", "safe"):
        raise ValueError(f"first_click of given boards must be one of any, safe, got {first_click!r}")


def _empty_records(num_games: int, judge: Solver | None) -> np.recarray:
    return np.recarray(num_games, dtype=JUDGED_RECORD if judge else RECORD)


def check_first_cell(first_cell: str | Sequence[int], mode: Mode, key: str = "first_cell") -> None:
    """ValueError, naming `key`, unless `first_cell` is one of the names or a cell of the mode."""
    if isinstance(first_cell, str):
        if first_cell not in FIRST_CELLS:
            raise ValueError(f"{key} must be one of {', '.join(FIRST_CELLS)} or [row, col], got {first_cell!r}")
        return
    cell: list = list(first_cell) if isinstance(first_cell, (Sequence, np.ndarray)) else [first_cell]
    are_integers = all(isinstance(x, (int, np.integer)) and not isinstance(x, bool) for x in cell)
    if not (len(cell) == 2 and are_integers and 0 <= cell[0] < mode.rows and 0 <= cell[1] < mode.cols):
        raise ValueError(
            f"{key} must be one of {', '.join(FIRST_CELLS)} or [row, col] with row 0 to {mode.rows - 1} and "
            f"col 0 to {mode.cols - 1}, got {first_cell!r}"
        )


def first_cells(first_cell: str | Sequence[int], games: Games) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns [N] of the first move of each game, for any `first_cell` but "solver"."""
    mode = games.mode
    if first_cell == "random":
        flat = _random_cells(np.uint64(games.seed), games.index, mode.cells)
        return np.divmod(flat, mode.cols)
    if first_cell == "corner":
        row, col = 0, 0
    elif first_cell == "centre":
        row, col = mode.rows // 2, mode.cols // 2
    else:
        row, col = (int(x) for x in first_cell)
    return np.full(games.num_games, row), np.full(games.num_games, col)


def choice_keys(games: Games, move: int) -> NDArray[np.uint64]:
    """uint64 [N] keys for the random choices of the solver's `move`-th decision (from 1) in each game."""
    return _keys(np.uint64(games.seed), games.index, move)


def _play(
    solver: Solver,
    games: Games,
    opening: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
    promised: bool,
    judge: Solver | None,
    progress: Callable[[int], object] | None,
    observers: Sequence[Observer],
) -> np.recarray:
    """Plays the games to their end; `opening` is the first cell of each, which is `promised` to be safe or not."""
    records = _empty_records(games.num_games, judge)
    records["guesses"] = 0
    records["seconds"] = 0.0
    was_judged_safe = np.ones(games.num_games, np.bool_)
    if opening:
        games.reveal(*opening)
        records["guesses"] += not promised
        was_judged_safe &= promised
    finished = 0
    decision = 0
    while True:
        live = np.flatnonzero(games.status == PLAYING)
        if progress and games.num_games - live.size > finished:
            progress(games.num_games - live.size - finished)
        finished = games.num_games - live.size
        if not live.size:
            break
        decision += 1
        views = games.views[live]
        keys = choice_keys(games, decision)[live]
        begin = time.perf_counter()
        chosen, is_guess = solver.choose(views, games.mode.mines, keys)
        records["seconds"][live] += (time.perf_counter() - begin) / live.size
        is_promised = decision == 1 and not opening and promised
        if is_promised:
            is_guess = np.zeros(live.size, np.bool_)
            chosen = _only_first(chosen)
        elif judge:
            proved = judge.mine_probabilities(views, games.mode.mines) == 0.0
            was_judged_safe[live] &= (proved | ~chosen).all(axis=(1, 2))
        _reveal(solver, games, live, chosen)
        records["guesses"][live] += is_guess
        if observers and not is_promised:
            opened, is_lost = chosen & (views == HIDDEN), games.status[live] == LOST
            decisions = Decisions(solver, views, games.mode.mines, opened, games.mines[live], is_lost)
            for observe in observers:
                observe(decisions)
    records["won"] = games.status == WON
    records["guess_free"] = records["won"] & (records["guesses"] == 0)
    records["moves"] = games.moves
    if judge:
        records["judged_guess_free"] = records["won"] & was_judged_safe
    return records


def _reveal(solver: Solver, games: Games, live: NDArray[np.int64], chosen: NDArray[np.bool_]) -> None:
    """Reveals the `chosen` cells [L, R, C] of the `live` games; ValueError where that is no move."""
    moves_before = games.moves[live]
    mask = np.zeros(games.views.shape, np.bool_)
    mask[live] = chosen
    games.reveal_mask(mask)
    stuck = games.moves[live] == moves_before
    if stuck.any():
        raise ValueError(f"solver {solver.name} chose no hidden cell in game {games.index[live[stuck][0]]}")


def _only_first(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The first marked cell of each game alone: the promise of a safe first cell covers one cell."""
    flat = chosen.reshape(len(chosen), -1)
    first = np.zeros_like(flat)
    first[np.arange(len(flat)), flat.argmax(axis=1)] = flat.any(axis=1)
    return first.reshape(chosen.shape)


@kernel
def _keys(seed, index, move):
    keys = np.empty(index.size, np.uint64)
    for i in range(index.size):
        keys[i] = random_key(seed, index[i], move)
    return keys


@kernel
def _random_cells(seed, index, cells):
    flat = np.empty(index.size, np.int64)
    for i in range(index.size):
        _, flat[i] = draw(random_key(seed, index[i], _FIRST_CELL), cells)
    return flat
