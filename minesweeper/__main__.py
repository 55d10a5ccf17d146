"""`python -m minesweeper position.txt --mines 10`: the mine probability of every hidden cell of one position.

The position is a text as in `textio`. Exit status 0, or 2 with a line on standard error if there is no answer.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.posterior import InconsistentViewError, StateBudgetError, solve_posterior
from minesweeper.solvers import SOLVERS, make_solver
from minesweeper.solvers.base import TIE_TOLERANCE
from minesweeper.textio import cell_place, counted, format_grid, text_to_view

_MOST_LISTED = 10
_TOO_LARGE = "this position has too many possibilities to be counted exactly; try --solver tiered, which estimates then"


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the answer for one position; returns the exit status, 0 or 2.

    Args:
        argv: the arguments after the program's name; None: those of the process.

    Raises:
        SystemExit: with status 2 for arguments of a wrong form, with 0 after `--help`.
    """
    args = _parser().parse_args(argv)
    try:
        if args.solver not in SOLVERS:
            raise ValueError(f"--solver must be one of {', '.join(SOLVERS)}, got {args.solver!r}")
        text = _read(args.position)
        view, header_mines = text_to_view(text)
        if not (view == HIDDEN).any():
            raise ValueError("no cell is hidden: this game is over")
        num_mines = _num_mines(view, header_mines, args.mines)
        answer = _answer(view, num_mines, args.solver)
        if args.png is not None:
            _draw(args.png, view, answer)
    except InconsistentViewError as error:
        print(f"error: {_no_layout(error, view, text)}", file=sys.stderr)
        return 2
    except StateBudgetError:
        print(f"error: {_TOO_LARGE}", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        print(json.dumps(answer, allow_nan=False) if args.json else _report(answer, view), flush=True)
    except BrokenPipeError:  # whoever read this has seen enough; nor may Python try once more when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m minesweeper",
        usage="%(prog)s position [--mines N] [--solver NAME] [--json] [--png FILE]",
        description="The mine probability of every hidden cell of one position.",
        epilog="In the position . (or F) is a hidden cell, 0 to 8 a revealed one and * a known mine, one row a line; "
        "a first line 'width height mines' may stand above. Rows and columns count from 1, in JSON from 0.",
    )
    parser.add_argument("position", help="text file; - reads standard input")
    parser.add_argument(
        "--mines", type=int, metavar="N", help="mines on the whole board; may be left out if the first line says it"
    )
    parser.add_argument(
        "--solver", metavar="NAME", default="exact", help=f"one of {', '.join(SOLVERS)} (default: exact)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON; cells are [row, col] from 0")
    parser.add_argument("--png", metavar="FILE", help="also draw the heat map into this PNG file")
    return parser


def _read(position: str) -> str:
    try:
        data = sys.stdin.buffer.read() if position == "-" else Path(position).read_bytes()
    except OSError as error:
        raise OSError(f"cannot read {position}: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        name = "standard input" if position == "-" else position
        raise ValueError(f"{name} is not UTF-8 text: byte {error.start + 1} is {data[error.start]:#04x}") from None


def _num_mines(view: NDArray[np.int8], header_mines: int | None, argument: int | None) -> int:
    if argument is not None and header_mines not in (None, argument):
        raise ValueError(f"--mines is {argument}, but the first line of the position says {header_mines}")
    num_mines = header_mines if argument is None else argument
    if num_mines is None:
        raise ValueError("the number of mines is missing: give --mines, or a first line 'width height mines'")
    shown, hidden = int((view == MINE).sum()), int((view == HIDDEN).sum())
    if not shown <= num_mines <= shown + hidden:
        raise ValueError(
            f"mines must be {shown} to {shown + hidden} with {shown} shown and {counted(hidden, 'cell')} hidden, "
            f"got {num_mines}"
        )
    return num_mines


def _no_layout(error: InconsistentViewError, view: NDArray[np.int8], text: str) -> str:
    if error.row is None or error.col is None:
        return f"no layout of the mines fits this position: {error}"
    line, place = cell_place(text, error.row, error.col)
    number = view[error.row, error.col]
    return f"line {line}, column {place}: no layout of the mines fits the number {number} here and its neighbours"


def _answer(view: NDArray[np.int8], num_mines: int, solver: str) -> dict:
    """What `--json` prints: plain values, None for a revealed cell and for what this solver or position has not."""
    log_layouts = None
    if solver == "exact":
        posterior = solve_posterior(view, num_mines)
        probabilities, interior = posterior.probabilities, float(posterior.interior)
        log_layouts = float(posterior.log_layouts)
    else:
        probabilities = make_solver(solver).mine_probabilities(view[None], num_mines)[0]
        cells = _interior(view)
        interior = float(probabilities[cells].mean()) if cells.any() else math.nan
    lowest = float(np.nanmin(probabilities))
    tied = lowest + (TIE_TOLERANCE if lowest > 0 else 0)  # nothing ties with a proof
    return {
        "rows": view.shape[0],
        "cols": view.shape[1],
        "mines": num_mines,
        "solver": solver,
        "probabilities": [[None if math.isnan(p) else p for p in row] for row in probabilities.tolist()],
        "interior": None if math.isnan(interior) else interior,
        "log_layouts": log_layouts,
        "safest": np.argwhere(probabilities <= tied).tolist(),
        "safest_probability": lowest,
    }


def _draw(path: str, view: NDArray[np.int8], answer: dict) -> None:
    from minesweeper.picture import draw_picture  # Matplotlib takes longer to import than everything else here

    probabilities = np.array(answer["probabilities"], float)  # None becomes NaN
    title = f"{answer['rows']}x{answer['cols']}, {counted(answer['mines'], 'mine')}, solver: {answer['solver']}"
    try:
        draw_picture(path, view, probabilities, title)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror}") from None


def _interior(view: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Hidden cells beside no number, bool [R, C]."""
    numbers = np.pad(view >= 0, 1)
    windows = np.lib.stride_tricks.sliding_window_view(numbers, (3, 3))  # [R, C, 3, 3]
    return (view == HIDDEN) & ~windows.any(axis=(2, 3))


def _report(answer: dict, view: NDArray[np.int8]) -> str:
    probabilities = np.array(answer["probabilities"], float)  # None becomes NaN
    exact = answer["log_layouts"] is not None
    interior = "none" if answer["interior"] is None else _percent(answer["interior"])
    lines = [
        f"{counted(answer['rows'], 'row')} x {counted(answer['cols'], 'column')}, {counted(answer['mines'], 'mine')}, "
        f"solver: {answer['solver']}",
        "Mine probability in percent; safe and mine are proved. Rows go down, columns across, both from 1.",
        "",
        format_grid(probabilities, view),
        "",
        "Interior (hidden cells beside no number): " + interior + (" each" if "%" in interior else ""),
    ]
    if exact:
        lines.append(f"Layouts of the mines that fit: {_count(answer['log_layouts'])}")
    safest = answer["safest"]
    listed = ", ".join(f"({row + 1}, {col + 1})" for row, col in safest[:_MOST_LISTED])
    more = f" and {len(safest) - _MOST_LISTED} more" if len(safest) > _MOST_LISTED else ""
    lines.append(f"Safest (row, column): {listed}{more}: {_percent(answer['safest_probability'])}")
    return "\n".join(lines)


def _percent(probability: float) -> str:
    if probability in (0, 1):
        return "proved a mine" if probability else "proved safe"
    percent = f"{100 * probability:.4g}"
    return ">99.99%" if percent == "100" else f"{percent}%"


def _count(log_layouts: float) -> str:
    count = Decimal(log_layouts).exp()  # a float would overflow
    return f"{count:.0f}" if count < 1_000_000 else f"about {count:.1e}"


if __name__ == "__main__":
    sys.exit(main())
