"""One game as its player plays it: the engine's board with flags, a clock and the list of moves."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minesweeper import HIDDEN, LOST, PLAYING, WON, Games, Mode
from minesweeper.board import random_key
from minesweeper.textio import counted
from web.validation import Cell, RefusedError, mode_name

LONGEST_LOOK = 60.0  # seconds that the clock counts at most between two requests of a page
_STATUS = {PLAYING: "playing", WON: "won", LOST: "lost"}
_TEXT = np.frombuffer(b".*012345678", np.uint8)  # of a cell's value, from HIDDEN on


@dataclass
class Move:
    """Cells revealed at once.

    Attributes:
        cells: (row, col) of each.
        probability: highest P(mine) of the cells, as the solver saw it; None for a player's move.
        is_guess: whether a solver guessed; None for a player's move.
        reason: the solver's, or "".
        solver: its id, or None for a player's move.
    """

    cells: list[Cell]
    probability: float | None = None
    is_guess: bool | None = None
    reason: str = ""
    solver: str | None = None


@dataclass
class Game:
    """A game and all that is known of it, the mines too: `public` is what may leave this program.

    Attributes:
        mode: rows, cols, mines and the rule of the first click.
        seed: of the board; known to the player before the end only if `is_seed_given`.
        no_guess: whether the board must be winnable by proof alone.
        mines: bool [R, C], or None before the first reveal.
        view: int8 [R, C]; mines show once the game is over.
        flags: bool [R, C], on hidden cells only.
        moves: number of moves.
        seconds: on the clock; it runs while `status` is "playing".
        seen: the time in seconds (`time.time`) when the clock was last read.
        is_watched: whether a solver made a move.
        fatal: the mine that was opened, or None.
        fatal_probability: exact P(mine) that it had; None if not known.
    """

    mode: Mode
    seed: int
    is_seed_given: bool
    no_guess: bool
    view: NDArray[np.int8]
    flags: NDArray[np.bool_]
    mines: NDArray[np.bool_] | None = None
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    status: str = "new"
    moves: int = 0
    seconds: float = 0.0
    seen: float = 0.0
    is_watched: bool = False
    fatal: Cell | None = None
    fatal_probability: float | None = None

    @classmethod
    def new(cls, mode: Mode, seed: int | None = None, no_guess: bool = False) -> "Game":
        """A game before its first reveal, on a random board if `seed` is None."""
        shape = (mode.rows, mode.cols)
        hidden, flags = np.full(shape, HIDDEN, np.int8), np.zeros(shape, np.bool_)
        return cls(mode, secrets.randbelow(2**32) if seed is None else seed, seed is not None, no_guess, hidden, flags)

    @property
    def is_over(self) -> bool:
        """Whether it is won or lost."""
        return self.status in ("won", "lost")

    @property
    def is_promised(self) -> bool:
        """Whether the rules promise that the next cell is safe; no longer so once the mines lie (a game taken back)."""
        return self.mines is None and (self.no_guess or self.mode.first_click != "any")

    @property
    def choice_key(self) -> int:
        """What a solver's random choices in its next move depend on: nothing that the player must not know."""
        seed = self.seed if self.is_seed_given else int.from_bytes(blake2b(self.id.encode(), digest_size=8).digest())
        return int(random_key(np.uint64(seed), 0, self.moves + 1))

    def tick(self, now: float) -> None:
        """Brings the clock to `now`; a long time without a look at the game does not count."""
        if self.status == "playing":
            self.seconds += min(max(now - self.seen, 0.0), LONGEST_LOOK)
        self.seen = now

    def lay(self, cell: Cell, index: int = 0, rule: str | None = None) -> None:
        """Lays the mines for a first reveal at `cell`.

        Args:
            index: the game index of the board.
            rule: of the first click; None: the mode's own.

        Raises:
            RefusedError: `first_click` leaves too little room for the mines there.
        """
        mode = Mode(self.mode.rows, self.mode.cols, self.mode.mines, rule or self.mode.first_click)
        games = Games(mode, 1, self.seed, first_index=index)
        try:
            games.reveal(*cell)
        except ValueError as error:
            most = mode.max_mines(*cell)
            message = f"there is no room for {counted(mode.mines, 'mine')} beside a first cell here, only for {most}"
            raise RefusedError(message, "cell") from error
        self.mines = games.mines[0]

    def reveal(self, cells: Sequence[Cell]) -> None:
        """One move: reveals the cells in row order, until the game is over; the mines must be laid."""
        assert self.mines is not None
        games = self._engine()
        mask = self._mask(cells) & (self.view == HIDDEN)
        games.reveal_mask(mask[None])
        self.view = games.views[0]
        self.status = _STATUS[int(games.status[0])]
        self.moves += 1
        self.flags &= self.view < 0
        if self.status == "lost":
            self.fatal = first_of(mask & self.mines)

    def flag(self, cell: Cell) -> None:
        """Sets or takes away the flag of a hidden cell; does nothing elsewhere or once the game is over."""
        if not self.is_over and self.view[cell] == HIDDEN:
            self.flags[cell] ^= True

    def chord_cells(self, cell: Cell) -> list[Cell]:
        """What a click on a number opens: its unflagged hidden neighbours if it has as many flags as it says."""
        rows, cols = around(cell)
        if self.view[cell] < 1 or self.flags[rows, cols].sum() != self.view[cell]:
            return []
        is_hidden = np.zeros(self.view.shape, np.bool_)
        is_hidden[rows, cols] = True
        is_hidden &= (self.view == HIDDEN) & ~self.flags
        return [(int(row), int(col)) for row, col in np.argwhere(is_hidden)]

    def replayed(self, moves: Iterable[Move]) -> Iterator[tuple[NDArray[np.int8], str]]:
        """The view int8 [R, C], without flags, and the status before the first and after each of `moves`.

        Args:
            moves: the first ones that were made in this game.
        """
        yield np.full_like(self.view, HIDDEN), "new"
        if self.mines is None:
            return
        games = Games.on_boards(self.mines[None])
        for move in moves:
            games.reveal_mask(self._mask(move.cells)[None])
            yield games.views[0].copy(), _STATUS[int(games.status[0])]

    def text(self) -> str:
        """What the player sees: rows joined by line breaks (see API.md for the characters)."""
        cells = _TEXT[self.view - HIDDEN]
        cells[self.flags] = ord("F")
        if self.is_over and self.mines is not None:
            cells[self.flags & ~self.mines] = ord("!")
        if self.fatal is not None:
            cells[self.fatal] = ord("X")
        return "\n".join(row.tobytes().decode("ascii") for row in cells)

    def public(self) -> dict[str, Any]:
        """What may be told: a *game* of API.md."""
        num_flags = int(self.flags.sum())
        fatal = {"cell": list(self.fatal), "probability": self.fatal_probability} if self.fatal else None
        return {
            "id": self.id,
            "mode": mode_name(self.mode),
            "rows": self.mode.rows,
            "cols": self.mode.cols,
            "mines": self.mode.mines,
            "first_click": self.mode.first_click,
            "seed": self.seed if self.is_seed_given or self.is_over else None,
            "no_guess": self.no_guess,
            "status": self.status,
            "view": self.text(),
            "flags": num_flags,
            "mines_left": self.mode.mines - num_flags,
            "moves": self.moves,
            "seconds": round(self.seconds, 2),
            "is_watched": self.is_watched,
            "fatal": fatal,
        }

    def _mask(self, cells: Sequence[Cell]) -> NDArray[np.bool_]:
        mask = np.zeros(self.view.shape, np.bool_)
        mask[tuple(np.array(cells).T)] = True
        return mask

    def _engine(self) -> Games:
        """The engine's game with this view: what is revealed is all that it depends on."""
        games = Games.on_boards(self.mines[None])  # type: ignore[index]
        if (self.view != HIDDEN).any():
            games.reveal_mask((self.view >= 0)[None])
        return games


def around(cell: Cell) -> tuple[slice, slice]:
    """The rows and columns of a cell and its neighbours."""
    row, col = cell
    return slice(max(row - 1, 0), row + 2), slice(max(col - 1, 0), col + 2)


def opened(before: NDArray[np.int8], after: NDArray[np.int8], fatal: Cell | None) -> list[tuple[int, int, str]]:
    """Row, column and character (see API.md) of each cell that a move opened, the mines too if it ended the game."""
    cells = [(int(row), int(col)) for row, col in np.argwhere(before != after)]
    return [(*cell, "X" if cell == fatal else chr(_TEXT[after[cell] - HIDDEN])) for cell in cells]


def first_of(mask: NDArray[np.bool_]) -> Cell:
    """The first marked cell of a mask [R, C] in reading order."""
    row, col = divmod(int(mask.argmax()), mask.shape[1])
    return row, col


def warm_up() -> None:
    """Makes the engine ready, which may compile it the first time ever."""
    game = Game.new(Mode(4, 4, 1), seed=0)
    game.lay((0, 0))
    game.reveal([(0, 0)])
    assert game.choice_key
