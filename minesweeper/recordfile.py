"""The records of games in a file: an evaluation that was stopped goes on from it, and others can count anew."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from minesweeper.arena import JUDGED_RECORD, RECORD
from minesweeper.wholefile import replacing

_SECONDS_BETWEEN = 10.0
_ABOUT, _SOLVERS = "about", "solvers"
_NO_LABELS = (_ABOUT, "file", "allow_pickle")  # the last two are arguments of np.savez


class RecordFile:
    """An .npz file with the records of each solver's games, from the first on, as `play_games` returns them.

    `np.load(path)` reads it: a structured array [games] for each solver under the label of its row, and `about`, JSON.

    Args:
        path: the file; it is read if it exists, and written now and then as games end.
        about: what all of its games depend on, as JSON has it: the board, the seed and the like.

    Raises:
        ValueError: another file, or games that differ in what they depend on.
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path.resolve()  # a link stays one
        self.about = dict(about)
        self._solvers: dict[str, Any] = {}
        self._pieces: dict[str, list[np.ndarray]] = {}
        self._stamp: tuple[int, ...] | None = None
        if self.path.exists() and not self.path.is_file():
            raise ValueError(f"{path} is no file for records")
        if self.path.exists() and self.path.stat().st_size:
            self._read()
        self._write()
        self._written = time.monotonic()

    def _read(self) -> None:
        self._stamp = self._stamp_now()
        try:
            with self.path.open("rb") as opened, np.load(opened) as file:
                content = {name: file[name] for name in file.files}
            about = json.loads(str(content.pop(_ABOUT)))
            self._solvers = dict(about.pop(_SOLVERS))
            if set(about) != set(self.about) or set(self._solvers) != set(content):
                raise ValueError("it says other things about its games")
            for records in content.values():
                if records.ndim != 1 or records.dtype not in (RECORD, JUDGED_RECORD):
                    raise ValueError("its arrays are of another kind")
        except Exception as error:  # a broken file can fail in every way that a zip file can
            raise ValueError(f"{self.path} exists and holds no records of games; it is not overwritten") from error
        self._must_be("", about, self.about)
        self._pieces = {name: [records] for name, records in content.items()}

    def _must_be(self, of: str, known: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        for key, value in given.items():
            if known.get(key) != value:
                raise ValueError(
                    f"{self.path} has games{of} with {key}={known.get(key)}, these have {key}={value}; "
                    "give another file"
                )

    def of(self, label: str, about: Mapping[str, Any]) -> np.ndarray:
        """The records of a solver's games so far.

        Args:
            about: what the games of this solver depend on, as JSON has it.

        Raises:
            ValueError: games that differ in that, or a label that cannot be kept.
        """
        if label in _NO_LABELS or label.endswith(".npy"):
            raise ValueError(f"records cannot be kept under the label {label!r}; give that file another name")
        self._must_be(f" of {label}", self._solvers.setdefault(label, dict(about)), about)
        pieces = self._pieces.setdefault(label, [])
        return np.concatenate(pieces) if pieces else np.empty(0, RECORD)

    def add(self, label: str, records: np.ndarray) -> None:
        """Takes the next records of a solver, and writes the file if the last time is a while ago."""
        self._pieces[label].append(records)
        if time.monotonic() - self._written >= _SECONDS_BETWEEN:
            self.write()

    def write(self) -> None:
        """Writes the file; where that fails, the games go on and it is said."""
        try:
            self._write()
        except OSError as error:
            print(f"error: records are not kept: {error}", file=sys.stderr)
        self._written = time.monotonic()

    def _write(self) -> None:
        if self._stamp != self._stamp_now():
            raise OSError(f"something else has written to {self.path}")
        content = {label: np.concatenate(pieces) for label, pieces in self._pieces.items() if pieces}
        about = self.about | {_SOLVERS: {label: self._solvers[label] for label in content}}
        with replacing(self.path, f".{os.getpid()}.partial") as file:
            np.savez(file, allow_pickle=False, **{_ABOUT: json.dumps(about)}, **content)
        self._stamp = self._stamp_now()

    def _stamp_now(self) -> tuple[int, ...] | None:
        """What tells one state of the file from another; None: there is none."""
        if not self.path.exists():
            return None
        found = self.path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns


def play_on(
    known: np.ndarray, num_games: int, piece: int, play: Callable[[int, int], np.recarray],
    keep: Callable[[np.ndarray], object] | None = None,
) -> np.recarray:  # fmt: skip
    """The records of a solver's first `num_games` games, of which those `known` already are not played again.

    Args:
        known: the records of the first games.
        piece: so many games are played at a time, and their records given to `keep`, if there is one.
        play: (number of games, index of the first) -> their records.
    """
    done = min(len(known), num_games)
    pieces = [known[:done]] if done else []
    while done < num_games:
        pieces.append(np.asarray(play(min(piece, num_games - done), done)))
        if keep:
            keep(pieces[-1])
        done += len(pieces[-1])
    return np.concatenate(pieces).view(np.recarray)


def code_digest(*objects: object) -> str:
    """SHA-256 of all files of the project that some functions, and the classes of some objects, are made of.

    From their modules it follows what stands in these to the modules that this comes from, as far as they lie in the
    folder of this package or beside it; so another solver's file is none of them.
    """
    root = Path(__file__).resolve().parent.parent
    kinds = [kind for thing in objects for kind in (thing, *type(thing).__mro__)]
    names = [getattr(kind, "__module__", None) or "" for kind in kinds]
    files: dict[str, bytes] = {}
    while names:
        module = sys.modules.get(names.pop())
        path = Path(getattr(module, "__file__", None) or "/")
        if path.suffix != ".py" or not path.resolve().is_relative_to(root) or str(path) in files:
            continue
        files[str(path)] = path.read_bytes()
        names.extend(
            value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
            for value in vars(module).values()
        )
    return hashlib.sha256(b"".join(content for _, content in sorted(files.items()))).hexdigest()
