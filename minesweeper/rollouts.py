"""What cells are worth, by playing on: the rest of the game on random layouts, without the luck of its guesses.

A rollout opens a cell in a layout where it is safe, and plays on. At each guess its exact chance to be survived is
multiplied in; if the layout has a mine there, another takes its place, drawn from those that fit all that is seen and
have none there. So no rollout ends at a mine, and the mean of the products is the chance to win as that player plays,
with a standard deviation of some 0.2 where that of won and lost games is 0.5. With few layouts left the move tree is
played out exactly. All cells of a position meet the same layouts, but for those that mine them, so most of the luck is
shared, and less noise is left in the differences.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from minesweeper.games import PLAYING, Games
from minesweeper.posterior import Posterior, StateBudgetError
from minesweeper.proving import open_proved
from minesweeper.sampling import sample_layouts
from minesweeper.solvers.base import choose_lowest
from minesweeper.solvers.exact import ExactSolver

_AT_ONCE = 8192  # games side by side
_MOST_STATES = 100_000  # of a position; past it a rollout would take too long
_ENDGAME = 60  # layouts


def rollout_values(
    views: NDArray[np.int8],
    num_mines: NDArray[np.int64],
    posterior: Posterior,
    cells: NDArray[np.int64],
    count: int,
    number: int = 0,
) -> NDArray[np.float64]:
    """The chance to win by opening each cell now and then playing on by `exact tie_break=corner`, a mean of rollouts.

    What a position's cells are worth does not depend on what other positions are asked for.

    Args:
        views: int8 [N, R, C], N at least 1, nothing proved safe in them.
        num_mines: int64 [N].
        posterior: theirs, [N], exact.
        cells: int64 [N, K], K at least 1, flat, not proved mines; -1: none.
        count: rollouts of each cell, at least 1.
        number: with another one, other rollouts are drawn.

    Returns:
        float64 [N, K], NaN where there is no cell, or counting the position takes too long (artificial boards only).
    """
    totals = np.zeros(cells.shape)
    most = max(1, _AT_ONCE // cells.shape[1])
    for done in range(0, count, most):
        each = min(most, count - done)
        positions = max(1, _AT_ONCE // (each * cells.shape[1]))
        for mines in np.unique(num_mines):
            same = np.flatnonzero(num_mines == mines)
            for start in range(0, same.size, positions):
                part = same[start : start + positions]
                found = _same_mines(views[part], int(mines), cells[part], each, (number << 32) + done)
                totals[part] += each * found
    risks = np.take_along_axis(posterior.probabilities.reshape(len(views), -1), cells.clip(0), 1)
    return totals / count * (1 - risks)


def _same_mines(
    views: NDArray[np.int8], num_mines: int, cells: NDArray[np.int64], count: int, number: int
) -> NDArray[np.float64]:
    """The mean chance to win once each cell is opened and safe, [N, K], where all boards have as many mines."""
    values = np.full(cells.shape, np.nan)
    if (cells < 0).all():
        return values
    seeds = np.array([_seed(view, number) for view in views], np.uint64)
    try:
        layouts = sample_layouts(views, num_mines, count, seeds, max_states=_MOST_STATES)  # [N, count, R, C]
    except StateBudgetError:
        if len(views) > 1:
            each = np.arange(len(views))[:, None]
            values[:] = np.concatenate([_same_mines(views[i], num_mines, cells[i], count, number) for i in each])
        return values
    position, place = np.nonzero(cells >= 0)
    of = np.repeat(position, count)
    opened = np.repeat(cells[position, place], count)
    index = (seeds[of] >> np.uint64(2)) + (opened * count + np.tile(np.arange(count), position.size)).astype(np.uint64)
    boards = layouts[position].reshape(-1, *views.shape[1:])
    games = Games.on_boards(boards, index=index.astype(np.int64), views=views[of])
    mined = np.flatnonzero(games.mines.reshape(of.size, -1)[np.arange(of.size), opened])
    _redraw(games, mined, opened[mined])
    values[position, place] = _play_on(games, opened).reshape(-1, count).mean(axis=1)
    return values


def _play_on(games: Games, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Opens a safe cell in each game and plays on: the chance to survive all guesses, [N]; changes `games`.

    NaN where a position on the way is past the state budget.
    """
    player = ExactSolver(tie_break="corner", endgame=_ENDGAME)
    survival = np.ones(games.num_games)
    slots = np.arange(games.num_games)
    while slots.size:
        mask = np.zeros(games.views.shape, np.bool_)
        mask.reshape(games.num_games, -1)[slots, cells] = True
        games.reveal_mask(mask)
        posterior = open_proved(games, slots)
        slots = slots[games.status[slots] == PLAYING]
        posterior = posterior.of(slots)
        survival[slots[~posterior.exact]] = np.nan
        mines = np.full(slots.size, games.mode.mines, np.int64)
        chances = player.endgame_chances(games.views[slots], mines, posterior, finds_all=False)
        is_over = ~np.isnan(chances).all(axis=(1, 2))
        survival[slots[is_over]] *= np.nanmax(chances[is_over], axis=(1, 2))
        is_open = posterior.exact & ~is_over
        slots, posterior = slots[is_open], posterior.of(is_open)
        if not slots.size:
            break
        keys = games.index[slots].astype(np.uint64)
        guesses, _ = choose_lowest(posterior.probabilities, games.views[slots], keys, tie_break="corner")
        cells = guesses.reshape(slots.size, -1).argmax(axis=1)
        each = np.arange(slots.size)
        survival[slots] *= 1 - posterior.probabilities.reshape(slots.size, -1)[each, cells]
        is_mined = games.mines.reshape(games.num_games, -1)[slots, cells]
        _redraw(games, slots[is_mined], cells[is_mined])
    return survival


def _redraw(games: Games, slots: NDArray[np.int64], cells: NDArray[np.int64]) -> None:
    """Gives the games of `slots` another layout that fits what is seen, in which a cell is safe."""
    if slots.size:
        views = games.views[slots]
        index = games.index[slots]
        seeds = np.array([_seed(view, number) for view, number in zip(views, index, strict=True)], np.uint64)
        layouts = sample_layouts(views, games.mode.mines, 1, seeds, safe=cells)[:, 0]
        games.adopt(slots, Games.on_boards(layouts, index=index, views=views), np.arange(slots.size))


def _seed(view: NDArray[np.int8], number: int) -> int:
    """A seed that depends on the view and a number alone."""
    return int.from_bytes(hashlib.blake2b(view.tobytes(), digest_size=8, salt=int(number).to_bytes(8)).digest())
