"""Tables: aligned text for people, CSV files that rows are added to for programs."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def aligned(head: Sequence[str], body: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of equal length: the first `left` columns flush left, the others flush right.

    >>> aligned(["solver", "wins %"], [["exact", "89.59"]])
    ['solver  wins %', 'exact    89.59']
    """
    lines = [head, *body]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]


def check_csv(key: str, path: Path, columns: Iterable[str]) -> None:
    """ValueError, naming the setting `key`, unless rows of these columns can be added to `path`, which may be new."""
    if not path.is_file() or not path.stat().st_size:
        return
    header = ",".join(columns)
    lines = path.read_text(errors="replace").splitlines(keepends=True)
    if lines[0].rstrip() != header or not lines[-1].endswith("\n"):
        raise ValueError(f"{key}={path} is another table; its first line must be {header}")


def append_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Adds rows, with a header if the file is new; floats get six decimals, what a row lacks stays empty."""
    is_new = not path.exists() or not path.stat().st_size
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        if is_new:
            writer.writeheader()
        for row in rows:
            writer.writerow({key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()})
