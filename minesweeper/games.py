"""Games: many games of one mode at once, as arrays with a leading game axis N.

One file, since all ways into a game, and all moves in it, keep the same arrays in step.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minesweeper.board import HIDDEN, MINE, count_neighbours, lay_mines, open_cells, random_key
from minesweeper.kernels import kernel
from minesweeper.mode import Mode

PLAYING, WON, LOST = 0, 1, 2
_CLEAR_RADIUS = {"any": -1, "safe": 0, "zero": 1}
_BOARDS = 0  # the move number that `random_key` gets for laying mines; players' choices use 1, 2, ...


class Games:
    """`num_games` games of one mode, each in its own slot.

    The mines of a game are laid at its first reveal. A board depends on (seed, game index, mode, first cell) alone.
    Slot i plays the game `first_index + i`, then, each time it is restarted, the one `stride` further: `num_games`
    unless given, more if others play the games between.

    Attributes (read them, don't write them; N games, R rows, C cols):
        views: int8 [N, R, C], what the players see: `HIDDEN` (-2) or the count 0..8; once a game is over every mine
            shows as `MINE` (-1).
        status: int8 [N]: `PLAYING` (0), `WON` (1) or `LOST` (2).
        moves: int32 [N], reveals made, as a player's clicks (an opening is one).
        mines: bool [N, R, C], the hidden truth; all False before the first reveal.
        index: int64 [N], the game index of each slot.

    Raises:
        ValueError: `num_games`, `seed`, `first_index` or `stride` is not an integer in its range.
    """

    def __init__(
        self, mode: Mode, num_games: int, seed: int = 0, first_index: int = 0, stride: int | None = None
    ) -> None:
        self.mode = mode
        self.num_games = _checked_integer("num_games", num_games, 1, 2**31 - 1)
        self.seed = _checked_integer("seed", seed, 0, 2**64 - 1)
        first_index = _checked_integer("first_index", first_index, 0, 2**62)
        self._stride = self.num_games if stride is None else _checked_integer("stride", stride, 1, 2**31 - 1)
        shape = (self.num_games, mode.rows, mode.cols)
        self.views = np.full(shape, HIDDEN, np.int8)
        self.mines = np.zeros(shape, np.bool_)
        self.status = np.zeros(num_games, np.int8)
        self.moves = np.zeros(num_games, np.int32)
        self.index = first_index + np.arange(num_games, dtype=np.int64)
        self._counts = np.zeros(shape, np.int8)
        self._is_laid = np.zeros(num_games, np.bool_)
        self._safe_left = np.full(num_games, mode.cells - mode.mines, np.int32)
        self._can_restart = True

    @classmethod
    def on_boards(
        cls,
        mines: ArrayLike,
        openings: bool = True,
        seed: int = 0,
        index: ArrayLike | None = None,
        views: ArrayLike | None = None,
    ) -> "Games":
        """Games on given boards; their first cell may be a mine (first_click="any"), and they cannot be restarted.

        Args:
            mines: bool [N, R, C], the same number of mines on each board.
            openings: as in `Mode`.
            seed, index: what random choices of solvers depend on; `index` integers [N], 0..N-1 if not given.
            views: int8 [N, R, C], what is revealed already, at no move; marked mines too. Nothing unless given.

        Raises:
            ValueError: not bool, another shape, boards of different numbers of mines or without a safe cell, views that
                do not fit the boards.
        """
        mines = np.asarray(mines)
        if mines.dtype != np.bool_ or mines.ndim != 3 or 0 in mines.shape:
            raise ValueError(f"mines must be bool [N, R, C], got {mines.dtype} {list(mines.shape)}")
        totals = mines.sum(axis=(1, 2))
        if (totals != totals[0]).any():
            raise ValueError(f"all boards must have the same number of mines, got {totals.min()} to {totals.max()}")
        _, rows, cols = mines.shape
        games = cls(Mode(rows, cols, int(totals[0]), "any", openings), len(mines), seed)
        if index is not None:
            games.index[:] = index
        games.mines[:] = mines
        for board, counts in zip(games.mines, games._counts, strict=True):
            count_neighbours(board, counts)
        games._is_laid[:] = True
        games._can_restart = False
        if views is not None:
            games._show(np.asarray(views))
        return games

    def _show(self, views: NDArray) -> None:
        """Sets what is revealed."""
        if views.dtype != np.int8 or views.shape != self.views.shape:
            raise ValueError(f"views must be int8 {list(self.views.shape)}, got {views.dtype} {list(views.shape)}")
        fits = (views == HIDDEN) | (views == np.where(self.mines, MINE, self._counts))
        if not fits.all():
            game, row, col = (int(x) for x in np.argwhere(~fits)[0])
            raise ValueError(f"game {game}: its board does not have the {views[game, row, col]} seen at ({row}, {col})")
        self.views[:] = views
        self._safe_left[:] = ((views == HIDDEN) & ~self.mines).sum(axis=(1, 2))
        is_won = self._safe_left == 0
        self.status[is_won] = WON
        self.views[is_won] = np.where(self.mines, MINE, self.views)[is_won]

    def reveal(self, rows: ArrayLike, cols: ArrayLike) -> None:
        """Reveals one cell of each game. A revealed cell or a finished game changes nothing and costs no move.

        Args:
            rows, cols: integers [N], or one integer for all games.

        Raises:
            ValueError: not integers, not one per game, outside the board, or (first_click "zero") a first cell whose
                neighbourhood leaves too little room for the mines. Nothing has changed then.
        """
        rows = self._checked_cells("row", rows, self.mode.rows)
        cols = self._checked_cells("col", cols, self.mode.cols)
        self._check_room(rows, cols)
        _reveal_each(*self.arrays(), rows, cols, *self._rules())

    def reveal_mask(self, mask: ArrayLike) -> None:
        """Reveals the marked cells of each game as single moves in row order, until the game is over.

        A cell that an earlier one has opened already costs no move.

        Args:
            mask: bool [N, R, C]; a game may have none.

        Raises:
            ValueError: not bool, another shape, or no room as in `reveal`. Nothing has changed then.
        """
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != self.views.shape:
            raise ValueError(f"mask must be bool {list(self.views.shape)}, got {mask.dtype} {list(mask.shape)}")
        first_cells = mask.reshape(self.num_games, -1).argmax(axis=1)  # without one: the corner, where there is room
        self._check_room(first_cells // self.mode.cols, first_cells % self.mode.cols)
        _reveal_masked(*self.arrays(), np.ascontiguousarray(mask), *self._rules())

    def restart(self, which: ArrayLike) -> None:
        """Starts the next game in the given slots.

        Args:
            which: bool [N] (True: restart) or integers, the slots' numbers.

        Raises:
            ValueError: neither of the two, a slot outside 0..N-1, or games on given boards.
        """
        if not self._can_restart:
            raise ValueError("games on given boards cannot be restarted")
        which = np.asarray(which)
        if which.size == 0:
            which = np.zeros(0, np.int64)
        if which.dtype == np.bool_:
            if which.shape != (self.num_games,):
                raise ValueError(f"a bool `which` must have shape [{self.num_games}], got {list(which.shape)}")
            slots = np.flatnonzero(which)
        else:
            slots = np.unique(integers_below("slots", which, self.num_games))
        _restart(*self.arrays(), slots, self.mode.cells - self.mode.mines, self._stride)

    def state_dict(self) -> dict[str, NDArray]:
        """Copies of the arrays that `load_state_dict` needs to go on exactly from here."""
        return {name: getattr(self, name).copy() for name in self._STATE}

    def load_state_dict(self, state: Mapping[str, NDArray]) -> None:
        """Goes back to a state that `state_dict` of games of the same mode and number returned.

        Raises:
            ValueError: an array is missing or has another shape.
        """
        for name in self._STATE:
            shape = getattr(self, name).shape
            if name not in state or np.shape(state[name]) != shape:
                raise ValueError(f"state of the games: {name} must have shape {list(shape)}")
        for name in self._STATE:
            getattr(self, name)[:] = state[name]

    def fork(self, slots: ArrayLike) -> "Games":
        """Games of their own in the state of those in `slots`, to try a move in; one may be forked several times.

        Args:
            slots: integers [F], 0..N-1, at least one.

        Raises:
            ValueError: a slot outside, or none.
        """
        slots = integers_below("slots", np.asarray(slots), self.num_games)
        forks = Games(self.mode, len(slots), self.seed, stride=self._stride)
        for name in self._STATE:
            getattr(forks, name)[:] = getattr(self, name)[slots]
        forks._can_restart = self._can_restart
        return forks

    def adopt(self, slots: ArrayLike, forks: "Games", from_slots: ArrayLike) -> None:
        """Takes over the state that `forks` of these games have reached, slot by slot.

        Args:
            slots: integers [A], 0..N-1.
            from_slots: integers [A], the slots of the forks.
        """
        for name in self._STATE:
            getattr(self, name)[slots] = getattr(forks, name)[from_slots]

    _STATE = ("views", "mines", "status", "moves", "index", "_counts", "_is_laid", "_safe_left")

    def arrays(self) -> tuple[NDArray, ...]:
        """The arrays themselves, for kernels that play: views, mines, status, moves, index, the numbers of the boards,
        whether they are laid, and how many safe cells each has left."""
        return tuple(getattr(self, name) for name in self._STATE)

    def _rules(self) -> tuple:
        mode = self.mode
        return np.uint64(self.seed), mode.mines, _CLEAR_RADIUS[mode.first_click], mode.openings

    def _checked_cells(self, name: str, cells: ArrayLike, limit: int) -> NDArray[np.int64]:
        cells = integers_below(f"{name}s", np.asarray(cells), limit)
        if cells.shape not in ((), (self.num_games,)):
            raise ValueError(f"{name}s must have shape [{self.num_games}], got {list(cells.shape)}")
        return np.ascontiguousarray(np.broadcast_to(cells, self.num_games))

    def _check_room(self, rows: NDArray, cols: NDArray) -> None:
        mode = self.mode
        if mode.first_click != "zero" or mode.mines <= mode.cells - min(3, mode.rows) * min(3, mode.cols):
            return
        for game in np.flatnonzero(~self._is_laid & (self.status == PLAYING)):
            limit = mode.max_mines(int(rows[game]), int(cols[game]))
            if mode.mines > limit:
                raise ValueError(
                    f"game {game}: mines must be at most {limit} for a first reveal at ({rows[game]}, {cols[game]}) "
                    f"with first_click=zero on {mode.rows}x{mode.cols}, got {mode.mines}"
                )


def _checked_integer(name: str, value: int, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise ValueError(f"{name} must be an integer from {low} to {high}, got {value!r}")
    return int(value)


def integers_below(name: str, values: NDArray, limit: int) -> NDArray[np.int64]:
    """`values` as int64, each checked to be in 0..limit-1."""
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got {values.dtype}")
    outside = (values < 0) | (values >= limit)
    if outside.any():
        raise ValueError(f"{name} must be 0 to {limit - 1}, got {values[outside].flat[0]}")
    return values.astype(np.int64)


@kernel
def _reveal_one(
    views, mines, status, moves, index, counts, is_laid, safe_left,
    game, row, col, seed, num_mines, radius, cascade, stack,
):  # fmt: skip
    """One move in one game; see `Games` for the arrays."""
    view = views[game]
    if not is_laid[game]:
        key = random_key(seed, index[game], _BOARDS)
        lay_mines(mines[game], num_mines, row, col, radius, key, stack)
        count_neighbours(mines[game], counts[game])
        is_laid[game] = True
    moves[game] += 1
    if mines[game, row, col]:
        status[game] = LOST
    else:
        safe_left[game] -= open_cells(view, counts[game], row, col, cascade, stack)
        if safe_left[game] == 0:
            status[game] = WON
    if status[game] != PLAYING:
        show_mines(view, mines[game])


@kernel
def show_mines(view, mines):
    """Shows all mines of one game in its view, as once it is over."""
    for row in range(view.shape[0]):
        for col in range(view.shape[1]):
            view[row, col] = MINE if mines[row, col] else view[row, col]


@kernel
def _restart(views, mines, status, moves, index, counts, is_laid, safe_left, slots, num_safe, stride):  # noqa: ARG001
    for slot in slots:
        views[slot] = HIDDEN
        mines[slot] = False
        status[slot] = PLAYING
        moves[slot] = 0
        index[slot] += stride
        is_laid[slot] = False
        safe_left[slot] = num_safe


@kernel
def _reveal_each(
    views, mines, status, moves, index, counts, is_laid, safe_left, rows, cols, seed, num_mines, radius, cascade
):  # fmt: skip
    stack = np.empty(views.shape[1] * views.shape[2] + 1, np.int32)
    for game in range(views.shape[0]):
        row, col = rows[game], cols[game]
        if status[game] == PLAYING and views[game, row, col] == HIDDEN:
            _reveal_one(
                views, mines, status, moves, index, counts, is_laid, safe_left,
                game, row, col, seed, num_mines, radius, cascade, stack
            )  # fmt: skip


@kernel
def _reveal_masked(
    views, mines, status, moves, index, counts, is_laid, safe_left, mask, seed, num_mines, radius, cascade
):  # fmt: skip
    stack = np.empty(views.shape[1] * views.shape[2] + 1, np.int32)
    for game in range(views.shape[0]):
        for row in range(views.shape[1]):
            for col in range(views.shape[2]):
                if mask[game, row, col] and status[game] == PLAYING and views[game, row, col] == HIDDEN:
                    _reveal_one(
                        views, mines, status, moves, index, counts, is_laid, safe_left,
                        game, row, col, seed, num_mines, radius, cascade, stack
                    )  # fmt: skip
