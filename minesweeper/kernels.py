"""`kernel` compiles a function with Numba and keeps the machine code on disk; the first compile is announced.

Numba looks only at the file of a kernel to tell whether its stored code is still right, and not at the kernels that it
calls. So the code is stored under a digest of all files with kernels: after an edit everything is compiled anew.
"""

import functools
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import numba
from numba.core import event

_PACKAGE = Path(__file__).parent


def _digest() -> str:
    sources = [path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py"))]
    return hashlib.sha256(b"".join(source for source in sources if b"@kernel" in source)).hexdigest()[:16]


# Where this folder cannot be written to, Numba falls back to the user's own cache.
_config: Any = numba.config
_config.CACHE_DIR = str(Path(_config.CACHE_DIR or _PACKAGE / "__pycache__") / f"kernels-{_digest()}")

kernel: Any = functools.partial(numba.njit, cache=True, nogil=True, error_model="numpy")


class _Announcement(event.Listener):
    """Says once, on standard error, that the wait is a compiler and not a hang. Kernels on disk cause no event."""

    said = False
    compiled = 0

    def on_start(self, event: Any) -> None:  # noqa: ARG002 - the signature is Numba's
        self.compiled += 1
        if not self.said and not os.environ.get("MINESWEEPER_QUIET"):
            self.said = True
            print(
                "compiling kernels for the first time (half a minute to two)...",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        pass


_announcement = _Announcement()
event.register("numba:compile", _announcement)


def num_compiled() -> int:
    """How many kernels this process has compiled so far, for clocks that leave such waits out."""
    return _announcement.compiled
