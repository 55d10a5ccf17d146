"""Games, settings and statistics in one SQLite file, which is all the state there is.

Every change is one transaction, written ahead (WAL), so a kill loses nothing that was answered, and several servers can
share the file.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minesweeper import Mode
from minesweeper.textio import counted
from web.game import Game, Move
from web.validation import RefusedError, mode_name

FORMAT = 1
KEPT_DAYS = 90  # a game that nobody has asked for as long is deleted; the statistics stay
KEPT_GAMES = 10_000

_SCHEMA = """
CREATE TABLE games (
    id TEXT PRIMARY KEY, rows INTEGER, cols INTEGER, mine_count INTEGER, first_click TEXT,
    seed INTEGER, is_seed_given INTEGER, no_guess INTEGER,
    status TEXT, view BLOB, flags BLOB, mines BLOB, moves INTEGER, seconds REAL, seen REAL, is_watched INTEGER,
    fatal INTEGER, fatal_probability REAL
) WITHOUT ROWID;
CREATE INDEX games_seen ON games (seen);
CREATE TABLE moves (
    game TEXT, number INTEGER, cells TEXT, probability REAL, is_guess INTEGER, reason TEXT, solver TEXT,
    PRIMARY KEY (game, number)
) WITHOUT ROWID;
CREATE TABLE results (number INTEGER PRIMARY KEY, game TEXT UNIQUE, mode TEXT, won INTEGER, seconds REAL);
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
_COLUMNS = (
    "id", "rows", "cols", "mine_count", "first_click", "seed", "is_seed_given", "no_guess", "status", "view", "flags",
    "mines", "moves", "seconds", "seen", "is_watched", "fatal", "fatal_probability",
)  # fmt: skip
_INSERT = f"INSERT INTO games ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_UPDATE = f"UPDATE games SET {', '.join(f'{column} = ?' for column in _COLUMNS)} WHERE id = ?"


class StoreError(ValueError):
    """The file cannot be used."""


class Store:
    """The SQLite file at `path`, made if it is missing; for any number of threads.

    Raises:
        StoreError: the file cannot be opened, is no such file, or was written by a newer version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the games cannot be kept in {path}: {error}; choose another data_dir=") from error

    def _prepare(self) -> None:
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        with self._transaction() as run:
            version = run("PRAGMA user_version").fetchone()[0]
            if version > FORMAT:
                raise StoreError(
                    f"{self.path} was written by a newer version (format {version}); choose another data_dir="
                )
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    run(statement)
                run(f"PRAGMA user_version = {FORMAT}")
        self.expire()

    def close(self) -> None:
        """Ends the use of the file."""
        with self._lock:
            self._file.close()

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """All or nothing, alone; yields the function that runs a statement."""
        with self._lock:
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield self._file.execute
            except BaseException:
                self._file.execute("ROLLBACK")
                raise
            self._file.execute("COMMIT")

    def expire(self) -> None:
        """Deletes games that are too old or too many."""
        with self._transaction() as run:
            run("DELETE FROM games WHERE seen < ?", (time.time() - KEPT_DAYS * 86_400,))
            run(
                "DELETE FROM games WHERE id IN (SELECT id FROM games ORDER BY seen DESC LIMIT -1 OFFSET ?)",
                (KEPT_GAMES,),
            )
            run("DELETE FROM moves WHERE game NOT IN (SELECT id FROM games)")

    def add(self, game: Game) -> None:
        """Keeps a new game."""
        game.tick(time.time())
        with self._transaction() as run:
            run(_INSERT, _row_of(game))

    def read(self, game_id: str) -> Game:
        """The game of this id, with its clock as it stands.

        Raises:
            RefusedError: there is none.
        """
        with self.changing(game_id) as (game, _):
            return game

    @contextmanager
    def changing(self, game_id: str) -> Iterator[tuple[Game, list[Move]]]:
        """A game to change, and an empty list for the moves that are made; both are kept when the block ends well.

        Raises:
            RefusedError: there is no such game.
        """
        with self._transaction() as run:
            row = run(f"SELECT {', '.join(_COLUMNS)} FROM games WHERE id = ?", (game_id,)).fetchone()
            if row is None:
                raise RefusedError("there is no such game; it may have expired", "id", 404)
            game = _game_of(row)
            game.tick(time.time())
            was_over = game.is_over
            new_moves: list[Move] = []
            yield game, new_moves
            run(_UPDATE, (*_row_of(game), game.id))
            for number, move in enumerate(new_moves, start=game.moves - len(new_moves) + 1):
                values = (
                    game.id,
                    number,
                    json.dumps(move.cells),
                    move.probability,
                    move.is_guess,
                    move.reason,
                    move.solver,
                )
                run("INSERT INTO moves VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            run("DELETE FROM moves WHERE game = ? AND number > ?", (game.id, game.moves))
            if game.is_over and not was_over and not game.is_watched:
                result = (game.id, statistics_name(game), game.status == "won", game.seconds)
                run("INSERT OR IGNORE INTO results (game, mode, won, seconds) VALUES (?, ?, ?, ?)", result)

    def play(self, seen: Game, move: Move) -> Game:
        """Makes a move in a game whose mines are laid; the game after it.

        Args:
            seen: the game as the player saw it.

        Raises:
            RefusedError: it is no longer as the player saw it.
        """
        with self.changing(seen.id) as (game, new_moves):
            _check_same(game, seen)
            game.mines = seen.mines
            game.is_watched |= move.solver is not None
            game.reveal(move.cells)
            new_moves.append(move)
            return game

    def take_back(self, seen: Game, moves: int, view: NDArray[np.int8], status: str) -> Game:
        """Takes a game back to how it was after so many moves; the game then, without flags.

        Raises:
            RefusedError: it is no longer as the player saw it.
        """
        with self.changing(seen.id) as (game, _):
            _check_same(game, seen)
            game.view, game.status, game.moves = view, status, moves
            game.flags = np.zeros_like(game.flags)
            game.fatal = game.fatal_probability = None
            return game

    def keep_fatal_probability(self, lost: Game) -> None:
        """Keeps what was found out about the end of a game."""
        with self.changing(lost.id) as (game, _):
            if game.fatal == lost.fatal:
                game.fatal_probability = lost.fatal_probability

    def current(self) -> Game | None:
        """The game played last by hand that is not over."""
        with self._lock:
            row = self._file.execute(
                f"SELECT {', '.join(_COLUMNS)} FROM games WHERE status IN ('new', 'playing') AND NOT is_watched "
                "ORDER BY seen DESC LIMIT 1"
            ).fetchone()
        return None if row is None else self.read(row[0])

    def moves(self, game_id: str) -> list[Move]:
        """The moves of a game, in order."""
        with self._lock:
            rows = self._file.execute(
                "SELECT cells, probability, is_guess, reason, solver FROM moves WHERE game = ? ORDER BY number",
                (game_id,),
            ).fetchall()
        return [
            Move(
                [(row, col) for row, col in json.loads(cells)],
                probability,
                None if guess is None else bool(guess),
                *more,
            )
            for cells, probability, guess, *more in rows
        ]

    def settings(self) -> dict[str, Any]:
        """What `keep_settings` kept."""
        with self._lock:
            row = self._file.execute("SELECT value FROM settings WHERE key = 'page'").fetchone()
        return json.loads(row[0]) if row else {}

    def keep_settings(self, settings: dict[str, Any]) -> None:
        """Replaces the page's settings."""
        with self._transaction() as run:
            run("INSERT OR REPLACE INTO settings VALUES ('page', ?)", (json.dumps(settings),))

    def statistics(self) -> dict[str, dict[str, Any]]:
        """Games played by hand to their end, by mode: games, wins, streak, best_streak and best_seconds."""
        with self._lock:
            rows = self._file.execute("SELECT mode, won, seconds FROM results ORDER BY number").fetchall()
        modes: dict[str, dict[str, Any]] = {}
        for mode, won, seconds in rows:
            empty = {"games": 0, "wins": 0, "streak": 0, "best_streak": 0, "best_seconds": None}
            entry = modes.setdefault(mode, empty)
            entry["games"] += 1
            entry["wins"] += won
            entry["streak"] = entry["streak"] + 1 if won else 0
            entry["best_streak"] = max(entry["best_streak"], entry["streak"])
            if won and (entry["best_seconds"] is None or seconds < entry["best_seconds"]):
                entry["best_seconds"] = round(seconds, 2)
        return modes

    def forget_statistics(self) -> None:
        """Starts the statistics anew."""
        with self._transaction() as run:
            run("DELETE FROM results")


def _check_same(game: Game, seen: Game) -> None:
    if game.moves != seen.moves or not np.array_equal(game.view, seen.view):
        raise RefusedError("the game has moved on in the meantime; look at it again", None, 409)


def statistics_name(game: Game) -> str:
    """Under which name a game counts: its mode, or the size of a custom board; boards without a guess apart."""
    mode = game.mode
    name = mode_name(mode)
    if name == "custom":
        name = f"{mode.rows}x{mode.cols}, {counted(mode.mines, 'mine')}"
    return f"{name}, no guess" if game.no_guess else name


def _row_of(game: Game) -> tuple:
    mode = game.mode
    fatal = None if game.fatal is None else game.fatal[0] * mode.cols + game.fatal[1]
    return (
        game.id, mode.rows, mode.cols, mode.mines, mode.first_click, game.seed, game.is_seed_given, game.no_guess,
        game.status, game.view.tobytes(), _packed(game.flags), None if game.mines is None else _packed(game.mines),
        game.moves, game.seconds, game.seen, game.is_watched, fatal, game.fatal_probability,
    )  # fmt: skip


def _game_of(row: tuple) -> Game:
    game_id, rows, cols, num_mines, first_click, seed, is_seed_given, no_guess, status, view, flags, mines, *rest = row
    moves, seconds, seen, is_watched, fatal, fatal_probability = rest
    shape = (rows, cols)
    return Game(
        Mode(rows, cols, num_mines, first_click), seed, bool(is_seed_given), bool(no_guess),
        np.frombuffer(view, np.int8).reshape(shape).copy(), _unpacked(flags, shape),
        None if mines is None else _unpacked(mines, shape), game_id, status, moves, seconds, seen, bool(is_watched),
        None if fatal is None else divmod(fatal, cols), fatal_probability,
    )  # fmt: skip


def _packed(mask: NDArray[np.bool_]) -> bytes:
    return np.packbits(mask).tobytes()


def _unpacked(data: bytes, shape: tuple[int, int]) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.frombuffer(data, np.uint8), count=shape[0] * shape[1])
    return bits.astype(np.bool_).reshape(shape)
