"""`kernel` compiles a function with Numba and keeps the machine code on disk; the first compile is announced.

Numba looks only at the file of a kernel to tell whether its stored code is still right, and not at the kernels that it
calls. So the code is stored under a digest of all files with kernels: after an edit everything is compiled anew.
"""

import functools
import hashlib
import os
import signal
import sys
import threading
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
    """Says once, on standard error, that the wait is a compiler and not a hang. Kernels on disk cause no event.

    A Ctrl-C in the midst of it would be lost in the compiler, or break it; so it waits for the end.
    """

    said = False
    compiled = 0
    depth = 0  # a kernel that calls others compiles them on the way
    is_stopped = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002 - the signature is Numba's
        self.compiled += 1
        self.depth += 1
        is_main = threading.current_thread() is threading.main_thread()
        if self.depth == 1 and is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self.stop)
        if not self.said and not os.environ.get("MINESWEEPER_QUIET"):
            self.said = True
            print("compiling kernels for the first time (half a minute to two)...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        self.depth -= 1
        if self.depth == 0 and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGINT) == self.stop:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            if self.is_stopped:
                self.is_stopped = False
                raise KeyboardInterrupt

    def stop(self, *_: Any) -> None:
        """Notes a Ctrl-C; a second one is not waited with."""
        self.is_stopped = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("stopping when this is compiled; Ctrl-C again stops at once", file=sys.stderr, flush=True)


_announcement = _Announcement()
event.register("numba:compile", _announcement)


def num_compiled() -> int:
    """How many kernels this process has compiled so far, for clocks that leave such waits out."""
    return _announcement.compiled
