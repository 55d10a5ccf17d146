"""CPU time of the exact posterior and of ms_toollib on the same positions, one at a time on one core.

    python benchmarks/posterior.py

1. Positions in which single-point rules find no safe cell, drawn from games that the exact solver plays to the end.
2. Coupled clue grids, 16x30 with 99 mines: every second cell of every second row is revealed, 1 to 8 rows of 15 clues.
   With 8 rows every hidden cell is beside a number, and all of them form one component. ms_toollib has a time limit.

Each side starts from the form it wants (an int8 array; a list of lists). Their answers are compared cell by cell.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable

from machine import describe, pin_to_one_core, version_of

CORE = pin_to_one_core()  # before the imports below start threads

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from minesweeper.arena import choice_keys, first_cells  # noqa: E402
from minesweeper.board import HIDDEN, neighbour_counts  # noqa: E402
from minesweeper.frontier import SAFE  # noqa: E402
from minesweeper.games import PLAYING, Games  # noqa: E402
from minesweeper.mode import MODES, Mode  # noqa: E402
from minesweeper.posterior import StateBudgetError, mine_posterior, proved_by_single_point  # noqa: E402
from minesweeper.solvers import make_solver  # noqa: E402

TOLERANCE = 1e-9  # probabilities farther apart than this differ
TOOLLIB_HIDDEN = 10
NUM_GAMES = 1000  # games that the stuck positions are drawn from

# Runs in a process of its own: board and mines come as JSON, CPU seconds and probabilities go back as JSON.
TOOLLIB_CHILD = """
import json, sys, time, ms_toollib
board, mines = json.load(sys.stdin)
start = time.process_time()
rows, _ = ms_toollib.cal_probability_onboard(board, float(mines))
print(json.dumps([time.process_time() - start, rows]))
"""


def stuck_positions(mode: Mode, num_positions: int, seed: int) -> NDArray[np.int8]:
    """Views [N, R, C] without a safe cell by single-point rules: a sample of all that `NUM_GAMES` games meet."""
    solver = make_solver("exact")
    games = Games(mode, NUM_GAMES, seed)
    games.reveal(*first_cells("random", games))
    stuck = []
    decision = 0
    while (games.status == PLAYING).any():
        decision += 1
        live = np.flatnonzero(games.status == PLAYING)
        views = games.views[live]
        has_safe = (proved_by_single_point(views, mode.mines) == SAFE).any(axis=(1, 2))
        stuck.append(views[~has_safe])
        mask = np.zeros(games.views.shape, bool)
        mask[live], _ = solver.choose(views, mode.mines, choice_keys(games, decision)[live])
        games.reveal_mask(mask)
    stuck = np.concatenate(stuck)
    return np.random.default_rng(seed).choice(stuck, num_positions, replace=False)


def clue_grid(num_clue_rows: int, seed: int) -> NDArray[np.int8]:
    """A view [R, C] of a random board that shows every second cell of `num_clue_rows` rows and nothing else."""
    mode = MODES["expert"]
    is_clue = np.zeros((mode.rows, mode.cols), bool)
    is_clue[1 : 2 * num_clue_rows : 2, 1::2] = True
    mines = np.zeros_like(is_clue)
    rng = np.random.default_rng([seed, num_clue_rows])
    mines.flat[rng.choice(np.flatnonzero(~is_clue), mode.mines, replace=False)] = True
    return np.where(is_clue, neighbour_counts(mines), np.int8(HIDDEN))


def toollib_board(view: NDArray[np.int8]) -> list[list[int]]:
    """The view in the encoding of ms_toollib."""
    return np.where(view == HIDDEN, TOOLLIB_HIDDEN, view).tolist()


def cpu_seconds(solve: Callable, boards: list) -> tuple[list[float], list]:
    """CPU seconds of `solve` on each board, and the answers."""
    seconds, answers = [], []
    for board in boards:
        start = time.process_time()
        answer = solve(board)
        seconds.append(time.process_time() - start)
        answers.append(answer)
    return seconds, answers


def misfit(view: NDArray[np.int8], probabilities: NDArray[np.float64], num_mines: int) -> float:
    """How far the expected mines around each clue and on the board are from the true ones; NaN if not finite."""
    expected = np.where(view == HIDDEN, probabilities, 0.0)
    rows, cols = view.shape
    padded = np.pad(expected, 1)
    around = sum(padded[r : r + rows, c : c + cols] for r in range(3) for c in range(3)) - expected
    return np.max(np.abs([*(around - view)[view != HIDDEN], expected.sum() - num_mines]))


def toollib_in_time(view: NDArray[np.int8], num_mines: int, limit: float) -> tuple[str, NDArray[np.float64] | None]:
    """CPU milliseconds as text and the probabilities, or why there is none, from a process that is ended in time."""
    command = [sys.executable, "-c", TOOLLIB_CHILD]
    try:
        done = subprocess.run(
            command, input=json.dumps([toollib_board(view), num_mines]), capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return f"over {limit:g} s", None
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:40], None
    seconds, rows = json.loads(done.stdout)
    return f"{seconds * 1e3:.2f}", np.array(rows)


def compare_stuck(name: str, args: argparse.Namespace, has_toollib: bool) -> None:
    mode = MODES[name]
    views = list(stuck_positions(mode, args.positions, args.seed))
    sides = {"ours": (lambda view: mine_posterior(view, mode.mines), views)}
    if has_toollib:
        import ms_toollib

        boards = [toollib_board(view) for view in views]
        sides["ms_toollib"] = (lambda board: ms_toollib.cal_probability_onboard(board, float(mode.mines))[0], boards)

    seconds = {side: [] for side in sides}
    answers = {}
    for _ in range(args.repeats):
        for side, (solve, boards) in sides.items():
            solve(boards[0])  # warm-up
            times, answers[side] = cpu_seconds(solve, boards)
            seconds[side].append(times)
    medians = {side: 1e3 * np.median(times, axis=0) for side, times in seconds.items()}

    print(f"\n{len(views)} stuck {name} positions: CPU milliseconds of a call, each the median of {args.repeats}")
    print(f"  {'side':12}{'mean':>9}{'median':>9}{'p99':>9}{'max':>9}")
    for side, times in medians.items():
        figures = (times.mean(), np.median(times), np.quantile(times, 0.99), times.max())
        print(f"  {side:12}" + "".join(f"{figure:9.4f}" for figure in figures))
    worst = np.max([misfit(view, answer, mode.mines) for view, answer in zip(views, answers["ours"], strict=True)])
    print(f"  ours meets the clues and the total of mines to {worst:.1e}")
    if has_toollib:
        by_position = medians["ms_toollib"] / medians["ours"]
        print(
            f"  ratio of the means {medians['ms_toollib'].mean() / medians['ours'].mean():.1f}; "
            f"by position {by_position.min():.1f} to {by_position.max():.1f}, median {np.median(by_position):.1f}"
        )
        gaps = np.array(
            [np.nanmax(np.abs(ours - np.array(theirs))) for ours, theirs in zip(*answers.values(), strict=True)]
        )
        print(f"  largest difference {gaps.max():.1e}; more than {TOLERANCE} in {(gaps > TOLERANCE).sum()} positions")


def compare_grids(args: argparse.Namespace, has_toollib: bool) -> None:
    mines = MODES["expert"].mines
    print(f"\ncoupled clue grids: CPU milliseconds, ours the median of {args.repeats} calls")
    print(f"  {'clues':>5}{'beside them':>13}{'ours':>11}{'met to':>10}{'ms_toollib':>14}{'difference':>12}")
    for num_clue_rows in range(1, 9):
        view = clue_grid(num_clue_rows, args.seed)
        num_clues = np.count_nonzero(view != HIDDEN)
        num_frontier = min(2 * num_clue_rows + 1, view.shape[0]) * view.shape[1] - num_clues
        row = f"  {num_clues:5}{num_frontier:13}"
        try:
            seconds, answers = cpu_seconds(lambda view: mine_posterior(view, mines), [view] * args.repeats)
        except StateBudgetError as error:
            print(row, f"ours: {error}")
            continue
        row += f"{np.median(seconds) * 1e3:11.3f}{misfit(view, answers[0], mines):10.1e}"
        if has_toollib:
            text, theirs = toollib_in_time(view, mines, args.limit)
            row += f"{text:>14}"
            row += "" if theirs is None else f"{np.nanmax(np.abs(answers[0] - theirs)):12.1e}"
        print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=500, help="stuck positions of each mode")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=["beginner", "expert"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=float, default=40.0, help="seconds that ms_toollib has for one clue grid")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    has_toollib = version_of("ms-toollib") is not None
    print(describe(CORE, ("ms-toollib",)))
    print(f"settings: seed {args.seed}, ms_toollib.cal_probability_onboard, {args.limit:g} s for a clue grid at most")
    if not has_toollib:
        print("ms_toollib is not installed, so ours runs alone; to compare: pip install ms-toollib==1.5.20")
    for name in args.modes:
        compare_stuck(name, args, has_toollib)
    compare_grids(args, has_toollib)


if __name__ == "__main__":
    main()
