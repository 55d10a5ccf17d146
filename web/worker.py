"""A process that solves: `python -m web.worker` reads tasks from standard input and writes answers, JSON, a line each.

Standard input must be a pipe: when it ends, because the server is gone, this process ends too, whatever it is doing.
"""

import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from minesweeper import HIDDEN, Mode
from minesweeper.textio import text_to_view
from web import solving
from web.catalogue import Entry
from web.no_guess import need_no_guess
from web.validation import RefusedError

_WARM_UP = np.array([[0, 1, HIDDEN, HIDDEN]] * 2, np.int8)
_WARM_UP_MINES = (2, 1)  # a guess even for the best, and a proof by the total: together they use every kernel


def load(entry: dict[str, Any]) -> None:
    """Makes a solver ready: its kernels are loaded, or compiled the first time ever, and its network is read."""
    for num_mines in _WARM_UP_MINES:
        solving.solve(Entry(**entry), _WARM_UP, num_mines)


def load_no_guess() -> tuple[int, str]:
    """Makes the search for boards ready."""
    return need_no_guess(Mode(4, 4, 1), 0, (0, 0), 60.0)


def solve_position(entry: dict[str, Any], view: str, mines: int, key: int, is_promised: bool) -> dict[str, Any]:
    """See `solving.solve`."""
    return solving.solve(Entry(**entry), text_to_view(view)[0], mines, key, is_promised)


def is_long(view: str, mines: int) -> bool:
    """See `solving.is_long`."""
    return solving.is_long(text_to_view(view)[0], mines)


def probability(view: str, mines: int, cell: list[int]) -> float | None:
    """See `solving.exact_probability`."""
    return solving.exact_probability(text_to_view(view)[0], mines, (cell[0], cell[1]))


def no_guess_board(mode: dict[str, Any], seed: int, cell: list[int], seconds: float) -> tuple[int, str]:
    """See `no_guess.need_no_guess`."""
    return need_no_guess(Mode(**mode), seed, (cell[0], cell[1]), seconds)


TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task for task in (load, load_no_guess, solve_position, is_long, probability, no_guess_board)
}


def answer(line: str) -> dict[str, Any]:
    """The answer to a task: {"result"}, or {"error", "key", "cell", "status"}."""
    task = json.loads(line)
    try:
        return {"result": TASKS[task["task"]](**task["inputs"])}
    except RefusedError as error:
        return {"error": str(error), "key": error.key, "cell": error.cell, "status": error.status}
    except Exception as error:  # the process goes on; the server answers without the details
        traceback.print_exc()
        return {"error": f"the solver failed on this position ({type(error).__name__})", "key": None, "status": 500}


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is for the server
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # so that nothing that a library prints is taken for an answer
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            tasks.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        answers.write(json.dumps(answer(tasks.get())) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
