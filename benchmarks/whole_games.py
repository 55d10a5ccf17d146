"""Whole games a second of a solver on one core, with the win rates of the games played.

    python benchmarks/whole_games.py

Time is the wall time of `play_games`: the engine, the solver and the choice of moves, after a warm-up. A run that
raises is reported with its error and all its games count as failed: 0 failed means every game was played to its end.
"""

import argparse
import sys
import time
from dataclasses import replace

from machine import describe, pin_to_one_core

CORE = pin_to_one_core()  # before the imports below start threads

from minesweeper.arena import FIRST_CELLS, play_games  # noqa: E402
from minesweeper.mode import FIRST_CLICKS, MODES  # noqa: E402
from minesweeper.solvers import SOLVERS, make_solver  # noqa: E402
from minesweeper.summary import wilson  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solver", choices=SOLVERS, default="exact")
    parser.add_argument("--tie-break", default="random", help="random or corner")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--first-click", choices=FIRST_CLICKS, default="safe")
    parser.add_argument("--first-cells", nargs="+", choices=FIRST_CELLS, default=["corner", "random"])
    parser.add_argument("--games", type=int, default=20_000, help="games of each row")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    print(describe(CORE))
    print(
        f"settings: solver {args.solver}, tie_break {args.tie_break}, first_click {args.first_click}, "
        f"batch {args.batch}, seed {args.seed}; 95% Wilson intervals"
    )
    solver = make_solver(args.solver, tie_break=args.tie_break)
    heads = f"{'first cell':12}{'games':>9}{'failed':>8}{'games/s':>10}{'solver':>8}"
    print(f"{'mode':22}{heads}{'won':>9}{'interval':>18}{'guess-free':>12}")
    has_failed = False
    for name in args.modes:
        mode = replace(MODES[name], first_click=args.first_click)
        label = f"{name} {mode.rows}x{mode.cols}/{mode.mines}"
        for first_cell in args.first_cells:
            row = f"{label:22}{first_cell:12}{args.games:9,}"
            start = time.perf_counter()
            try:
                play_games(solver, mode, min(args.games, 200), args.seed + 1, first_cell, args.batch)  # warm-up
                start = time.perf_counter()
                records = play_games(solver, mode, args.games, args.seed, first_cell, args.batch)
            except Exception as error:  # reported, and the exit status tells
                print(f"{row}{args.games:8,}   {type(error).__name__}: {error}", flush=True)
                has_failed = True
                continue
            elapsed = time.perf_counter() - start
            low, high = wilson(int(records.won.sum()), args.games)
            share = records.seconds.sum() / elapsed
            print(
                f"{row}{0:8}{args.games / elapsed:10,.0f}{share:8.0%}{records.won.mean():9.2%}"
                f"{f'{low:.2%} to {high:.2%}':>18}{records.guess_free.mean():12.2%}",
                flush=True,
            )
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
