"""Boards that need no guess: from the first cell on, proofs open everything.

A proof may use all numbers and the mine total, as the exact solver does. Boards are drawn one after the other and
played in batches by proofs alone; a board is dropped where nothing more is proved. So among all boards of the mode,
each that needs no guess is equally likely.
"""

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper import PLAYING, WON, Games, Mode, mine_posterior
from minesweeper.frontier import SAFE
from minesweeper.posterior import proved_by_single_point
from web.validation import Cell, RefusedError

NO_GUESS_SECONDS = 5.0
_MAX_STATES = 100_000  # of one position: what needs more is no board for people
_FIRST_BATCH, _LARGEST_BATCH = 16, 256
_CELLS_AT_ONCE = 200_000


class Found(NamedTuple):
    """What a search came to: the game index of the board, or None when the time was up; boards tried; its rule."""

    board: int | None
    tried: int
    rule: str


def find_no_guess(mode: Mode, seed: int, cell: Cell, seconds: float) -> Found:
    """The first board of `seed` that proofs alone win from `cell`; it does not depend on the batches.

    The first cell shows a zero where the board has room for that (other boards almost always need a guess at once), and
    is safe otherwise.

    Args:
        seconds: when to give up.
    """
    has_room = mode.mines <= replace(mode, mines=0, first_click="zero").max_mines(*cell)
    rules = replace(mode, first_click="zero" if has_room else "safe")
    deadline = time.monotonic() + seconds
    tried, batch = 0, _FIRST_BATCH
    while True:
        batch = max(1, min(batch, _LARGEST_BATCH, _CELLS_AT_ONCE // mode.cells))
        games = Games(rules, batch, seed, first_index=tried)
        games.reveal(*cell)
        won = _won_by_proofs(games, deadline)
        if won is None:
            return Found(None, tried, rules.first_click)
        if won.any():
            board = tried + int(won.argmax())
            return Found(board, board + 1, rules.first_click)
        tried += batch
        batch *= 2


def need_no_guess(mode: Mode, seed: int, cell: Cell, seconds: float = NO_GUESS_SECONDS) -> tuple[int, str]:
    """The game index and the rule of the first click of a board from `find_no_guess`.

    Raises:
        RefusedError: none was found in time.
    """
    board, tried, rule = find_no_guess(mode, seed, cell, seconds)
    if board is None:
        message = (
            f"no board that needs no guess was found in {seconds:g} seconds, of {tried} that were tried; "
            "with fewer mines they are less rare"
        )
        raise RefusedError(message, "no_guess", 409)
    return board, rule


def proved_safe(views: NDArray[np.int8], num_mines: int) -> NDArray[np.bool_]:
    """Cells of each view [N, R, C] that are proved safe; where single numbers suffice for one, only these."""
    safe = proved_by_single_point(views, num_mines) == SAFE
    stuck = np.flatnonzero(~safe.any(axis=(1, 2)))
    if stuck.size:
        safe[stuck] = mine_posterior(views[stuck], num_mines, max_states=_MAX_STATES, over_budget="density") == 0.0
    return safe


def _won_by_proofs(games: Games, deadline: float) -> NDArray[np.bool_] | None:
    """Which of the games proofs win, bool [N]; None when the time is up."""
    is_live = games.status == PLAYING
    while is_live.any():
        if time.monotonic() > deadline:
            return None
        live = np.flatnonzero(is_live)
        mask = np.zeros(games.views.shape, np.bool_)
        mask[live] = proved_safe(games.views[live], games.mode.mines)
        games.reveal_mask(mask)
        is_live &= (games.status == PLAYING) & mask.any(axis=(1, 2))
    return games.status == WON
