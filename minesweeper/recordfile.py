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

_SECONDS_BETWEEN = 10.0
_ABOUT = "about"


class RecordFile:
    """An .npz file with the records of each solver's games, from the first on, as `play_games` returns them.

    `np.load(path)` reads it: a structured array [games] for each solver under the label of its row, and `about`, JSON.

    Args:
        path: the file; it is read if it exists, and written now and then as games end.
        about: what its games depend on, as JSON has it: the board, the seed and the like. The file may say more.

    Raises:
        ValueError: another file, or games that differ in what they depend on.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self.about = dict(about)
        self._records: dict[str, np.ndarray] = {}
        self._written = time.monotonic()
        if path.is_file() and path.stat().st_size:
            self._read()

    def _read(self) -> None:
        try:
            with self.path.open("rb") as opened, np.load(opened) as file:
                content = {name: file[name] for name in file.files}
            about = json.loads(str(content.pop(_ABOUT)))
            fields = {name: records.dtype.names for name, records in content.items()}
        except Exception as error:  # a broken file can fail in every way that a zip file can
            raise ValueError(f"{self.path} exists and holds no records of games; it is not overwritten") from error
        if not all(fields.values()):
            raise ValueError(f"{self.path} exists and holds no records of games; it is not overwritten")
        for key, value in self.about.items():
            if about.setdefault(key, value) != value:
                raise ValueError(
                    f"{self.path} has games with {key}={about[key]}, these have {key}={value}; give another file"
                )
        self.about = about
        self._records = content

    def of(self, label: str) -> np.ndarray | None:
        """The records of a solver's games so far; None: it has none."""
        return self._records.get(label)

    def put(self, label: str, records: np.ndarray) -> None:
        """Takes over the records of a solver's games so far, and writes the file if the last time is a while ago."""
        self._records[label] = records
        if time.monotonic() - self._written >= _SECONDS_BETWEEN:
            self.write()

    def write(self) -> None:
        """Writes the file; an older one stays until it is replaced."""
        partial = self.path.with_name(self.path.name + ".partial")
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **{_ABOUT: json.dumps(self.about)}, **self._records)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path)
        self._written = time.monotonic()


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


def play_on(
    file: RecordFile | None, label: str, num_games: int, piece: int, play: Callable[[int, int], np.recarray]
) -> np.recarray:
    """The records of a solver's first `num_games` games, of which those in the file are not played again.

    Args:
        piece: after so many games they are put into the file.
        play: (number of games, index of the first) -> their records.
    """
    known = file.of(label) if file else None
    pieces = [] if known is None else [known[:num_games]]
    try:
        done = sum(map(len, pieces))
        while done < num_games:
            pieces.append(np.asarray(play(min(piece, num_games - done), done)))
            done += len(pieces[-1])
            if file:
                file.put(label, np.concatenate(pieces))
    finally:
        if file:
            file.write()
    return np.concatenate(pieces).view(np.recarray)
