"""`kernel` compiles a function with Numba and keeps the machine code on disk; the first compile is announced.

Trap for developers: Numba reuses a stored kernel while *its own* file is unchanged. After an edit to a kernel that
kernels of another file call, delete the `__pycache__` folders.
"""

import functools
import os
import sys
from typing import Any

import numba
from numba.core import event

kernel: Any = functools.partial(numba.njit, cache=True, nogil=True, error_model="numpy")


class _Announcement(event.Listener):
    """Says once, on standard error, that the wait is a compiler and not a hang. Kernels on disk cause no event."""

    said = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002 - the signature is Numba's
        if not self.said and not os.environ.get("MINESWEEPER_QUIET"):
            self.said = True
            print("compiling kernels, once (about half a minute)...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcement())
