"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, ending: str = ".partial") -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` at the end; if that fails, an older one stays.

    Args:
        ending: of the name that it has until then; different ones for those who may write at the same time.
    """
    partial = path.with_name(path.name + ending)
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
