"""What the page can ask for, without HTTP: each request a method from checked inputs to the answer of API.md."""

import asyncio
import contextlib
import json
from collections import deque
from dataclasses import asdict
from itertools import pairwise
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from minesweeper import MODES, Mode
from minesweeper.mode import FIRST_CLICKS
from minesweeper.textio import view_to_text
from web import validation
from web.catalogue import DEFAULT_SOLVER, Entry
from web.game import Game, Move, opened
from web.no_guess import NO_GUESS_SECONDS
from web.pool import Load, Pool
from web.store import Store
from web.validation import LIMITS, Cell, RefusedError, check_keys

_MOST_SETTINGS = 4096  # bytes
_MOST_DISAGREEMENTS = 10
_QUICK_SECONDS = 0.5  # of a search for a board; one that goes on is a long task

Inputs = dict[str, Any]


class Service:
    """The page's requests.

    Args:
        store: where games, settings and statistics are.
        pool: who solves.
        catalogue: the solvers, by id.
        start_mode: the mode that the page begins with; None: the one played last.
    """

    def __init__(self, store: Store, pool: Pool, catalogue: dict[str, Entry], start_mode: Mode | None = None) -> None:
        self.store, self.pool, self.catalogue, self.start_mode = store, pool, catalogue, start_mode
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def config(self) -> Inputs:
        """What there is to choose from."""
        start = self.start_mode
        return {
            "modes": {name: _board(mode) for name, mode in MODES.items()},
            "first_clicks": list(FIRST_CLICKS),
            "solvers": [entry.public() for entry in self.catalogue.values()],
            "limits": LIMITS,
            "default_solver": DEFAULT_SOLVER,
            "start": None if start is None else {"mode": _board(start), "first_click": start.first_click},
        }

    async def new_game(self, inputs: Inputs) -> Inputs:
        """A game before its first reveal."""
        check_keys(inputs, ("mode", "first_click", "seed", "no_guess"))
        mode = validation.checked_mode(inputs.get("mode", "beginner"), inputs.get("first_click", "safe"))
        seed = validation.checked_choice_of_seed(inputs.get("seed"))
        game = Game.new(mode, seed, validation.checked_flag("no_guess", inputs.get("no_guess", False)))
        await run_sync(self.store.add, game)
        return game.public()

    async def game(self, game_id: str) -> Inputs:
        """A game as it stands."""
        return (await run_sync(self.store.read, game_id)).public()

    async def current(self) -> Inputs:
        """The game to go on with, if there is one."""
        game = await run_sync(self.store.current)
        return {"game": None} if game is None else game.public()

    async def reveal(self, game_id: str, inputs: Inputs) -> Inputs:
        """Opens one cell; a flagged or revealed one stays as it is."""
        async with self._turn(game_id):
            game, cell = await self._game_and_cell(game_id, inputs)
            if game.is_over or game.flags[cell] or game.view[cell] >= 0:
                return game.public()
            return (await self._play(game, Move([cell]))).public()

    async def chord(self, game_id: str, inputs: Inputs) -> Inputs:
        """Opens the neighbours of a number that has its flags; nothing happens elsewhere."""
        async with self._turn(game_id):
            game, cell = await self._game_and_cell(game_id, inputs)
            cells = [] if game.is_over else game.chord_cells(cell)
            return (await self._play(game, Move(cells)) if cells else game).public()

    async def flag(self, game_id: str, inputs: Inputs) -> Inputs:
        """Sets or takes away a flag."""
        _, cell = await self._game_and_cell(game_id, inputs)

        def change() -> Game:
            with self.store.changing(game_id) as (game, _):
                game.flag(cell)
                return game

        return (await run_sync(change)).public()

    async def hint(self, game_id: str, inputs: Inputs) -> Inputs:
        """What a solver says of the game's position."""
        check_keys(inputs, ("solver",))
        entry = self._entry(inputs.get("solver", DEFAULT_SOLVER))
        return await self._solve_game(entry, await run_sync(self.store.read, game_id))

    async def step(self, game_id: str, inputs: Inputs) -> Inputs:
        """One move of a solver in a game, which is then a watched one."""
        check_keys(inputs, ("solver",))
        entry = self._entry(inputs.get("solver", DEFAULT_SOLVER))
        async with self._turn(game_id):
            game = await run_sync(self.store.read, game_id)
            found = (await self._solve_game(entry, game))["move"]
            cells = [(row, col) for row, col in found["cells"]]
            if not cells:
                raise RefusedError("there is no cell left to open", None, 409)
            move = Move(cells, found["probability"], found["is_guess"], found["reason"], entry.id)
            after = await self._play(game, move)
        return after.public() | {"move": _told(after.moves, move, game.view, after.view, after.status, after.fatal)}

    async def moves(self, game_id: str) -> Inputs:
        """All moves of a game, with what each opened."""

        def read() -> Inputs:
            game = self.store.read(game_id)
            moves = self.store.moves(game_id)[: game.moves]
            numbered = enumerate(zip(moves, pairwise(game.replayed(moves)), strict=True), start=1)
            return {
                "moves": [
                    _told(number, move, before, after, status, game.fatal)
                    for number, (move, ((before, _), (after, status))) in numbered
                ]
            }

        return await run_sync(read)

    async def go_to(self, game_id: str, inputs: Inputs) -> Inputs:
        """Takes a watched game back to after one of its moves."""
        check_keys(inputs, ("move",))

        def change() -> Game:
            game = self.store.read(game_id)
            if not game.is_watched:
                raise RefusedError("only a watched game can be taken back", None, 409)
            number = validation.checked_number("move", inputs.get("move"), 0, game.moves)
            if number == game.moves:
                return game
            states = game.replayed(self.store.moves(game_id)[:number])
            view, status = deque(states, maxlen=1).pop()
            return self.store.take_back(game, number, view, status)

        async with self._turn(game_id):
            return (await run_sync(change)).public()

    async def solve(self, inputs: Inputs) -> Inputs:
        """What a solver says of a position that a player entered."""
        check_keys(inputs, ("view", "mines", "solver"))
        view, mines = validation.checked_position(inputs.get("view"), inputs.get("mines"))
        return await self._solve(self._entry(inputs.get("solver", DEFAULT_SOLVER)), view, mines)

    async def compare(self, inputs: Inputs) -> Inputs:
        """What two solvers say of one position, and where they differ."""
        check_keys(inputs, ("view", "mines", "game", "solvers"))
        names = inputs.get("solvers")
        if not isinstance(names, list) or len(names) != 2:
            raise RefusedError("solvers must be two solvers of the list", "solvers")
        entries = [self._entry(name, "solvers") for name in names]
        if "game" in inputs:
            game = await run_sync(self.store.read, str(inputs["game"]))
            solutions = [await self._solve_game(entry, game) for entry in entries]
        else:
            view, mines = validation.checked_position(inputs.get("view"), inputs.get("mines"))
            solutions = [await self._solve(entry, view, mines) for entry in entries]
        return {"solutions": solutions} | _difference(*(solution["probabilities"] for solution in solutions))

    async def settings(self) -> Inputs:
        """The page's settings."""
        return await run_sync(self.store.settings)

    async def keep_settings(self, inputs: Inputs) -> Inputs:
        """Replaces the page's settings."""
        if len(json.dumps(inputs).encode()) > _MOST_SETTINGS:
            raise RefusedError(f"settings can have at most {_MOST_SETTINGS} bytes")
        await run_sync(self.store.keep_settings, inputs)
        return inputs

    async def statistics(self) -> Inputs:
        """Games played by hand."""
        return {"modes": await run_sync(self.store.statistics)}

    async def forget_statistics(self) -> Inputs:
        """Starts the statistics anew."""
        await run_sync(self.store.forget_statistics)
        return {"modes": {}}

    def _turn(self, game_id: str) -> asyncio.Lock:
        """What is held during a move: clicks that are faster than answers are made one after the other."""
        return self._turns.setdefault(game_id, asyncio.Lock())

    def _entry(self, name: Any, key: str = "solver") -> Entry:
        if not isinstance(name, str) or name not in self.catalogue:
            raise RefusedError(f"{key} must be of the list: {', '.join(self.catalogue)}", key)
        return self.catalogue[name]

    async def _game_and_cell(self, game_id: str, inputs: Inputs) -> tuple[Game, Cell]:
        check_keys(inputs, ("cell",))
        game = await run_sync(self.store.read, game_id)
        return game, validation.checked_cell(inputs.get("cell"), game.mode.rows, game.mode.cols)

    async def _play(self, seen: Game, move: Move) -> Game:
        """Makes a move in a game that was `seen` as it is; the game after it."""
        if seen.mines is None:
            await self._lay(seen, move.cells[0])
        game = await run_sync(self.store.play, seen, move)
        if game.fatal:
            position = {"view": view_to_text(seen.view), "mines": seen.mode.mines, "cell": game.fatal}
            with contextlib.suppress(RefusedError):  # it took too long; the game is lost all the same
                game.fatal_probability = await self.pool.ask("probability", position)
                await run_sync(self.store.keep_fatal_probability, game)
        return game

    async def _lay(self, game: Game, cell: Cell) -> None:
        """Lays the mines for a first reveal at `cell`."""
        if game.no_guess:
            await run_sync(game.lay, cell, *await self._no_guess_board(game, cell))
        else:
            await run_sync(game.lay, cell)

    async def _no_guess_board(self, game: Game, cell: Cell) -> tuple[int, str]:
        """See `need_no_guess`; most are found in a moment, and only the others are long tasks."""
        inputs = {"mode": asdict(game.mode), "seed": game.seed, "cell": cell}
        load: Load = ("no guess", "load_no_guess", {})
        try:
            return await self.pool.ask("no_guess_board", inputs | {"seconds": _QUICK_SECONDS}, load)
        except RefusedError as error:
            if error.status != 409:
                raise
        return await self.pool.ask("no_guess_board", inputs | {"seconds": NO_GUESS_SECONDS}, load, is_long=True)

    async def _solve_game(self, entry: Entry, game: Game) -> Inputs:
        if game.is_over:
            raise RefusedError("the game is over", None, 409)
        return await self._solve(entry, game.view, game.mode.mines, game.choice_key, game.is_promised)

    async def _solve(
        self, entry: Entry, view: NDArray[np.int8], mines: int, key: int = 0, is_promised: bool = False
    ) -> Inputs:
        plain = asdict(entry)
        position = {"view": view_to_text(view), "mines": mines}
        inputs = position | {"entry": plain, "key": key, "is_promised": is_promised}
        is_long = await self.pool.ask("is_long", position)
        return await self.pool.ask("solve_position", inputs, (entry.id, "load", {"entry": plain}), is_long)


def _board(mode: Mode) -> dict[str, int]:
    return {"rows": mode.rows, "cols": mode.cols, "mines": mode.mines}


def _told(
    number: int, move: Move, before: NDArray[np.int8], after: NDArray[np.int8], status: str, fatal: Cell | None
) -> Inputs:
    """A *move* of API.md, from the views before and after it."""
    return {"number": number, **asdict(move), "opened": opened(before, after, fatal), "status": status}


def _difference(first: list[list[float | None]], second: list[list[float | None]]) -> Inputs:
    a, b = np.array(first, float), np.array(second, float)  # None becomes NaN
    difference = a - b
    gaps = np.nan_to_num(np.abs(difference))
    most = [divmod(int(flat), a.shape[1]) for flat in np.argsort(-gaps, axis=None, kind="stable")[:_MOST_DISAGREEMENTS]]
    return {
        "difference": [[None if value != value else value for value in row] for row in difference.tolist()],
        "most": [{"cell": [*cell], "a": a[cell], "b": b[cell]} for cell in most if gaps[cell] > 0],
    }
