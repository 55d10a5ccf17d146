"""Whole games a second of checkpoints beside the exact solver, on the same boards, in a batch.

    python benchmarks/learned.py checkpoints/beginner_cnn.pt --processes 2

Every player plays the same games in so many processes of one thread each, which share the games out; the repeats of the
players alternate. Time is the wall time of `play_games` of the slowest process: the engine, the player and the choice
of moves, after a warm-up.
"""

import argparse
import multiprocessing
import statistics
import time
from dataclasses import replace

import torch
from machine import describe

from minesweeper.arena import FIRST_CELLS, play_games
from minesweeper.mode import FIRST_CLICKS, MODES, Mode
from minesweeper.solvers import Solver, make_solver
from minesweeper.summary import wilson
from models.checkpoint import load_model
from models.device import choose_device, choose_precision
from models.players import trained_solver


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoints", nargs="+", help="checkpoint files, of one mode")
    parser.add_argument("--mode", choices=MODES, help="if not that of the first checkpoint")
    parser.add_argument("--first-click", choices=FIRST_CLICKS, default="safe")
    parser.add_argument("--first-cell", choices=FIRST_CELLS, default="corner")
    parser.add_argument("--games", type=int, default=2000, help="games of each repeat")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--precision", default="auto")
    args = parser.parse_args()

    mode = MODES[args.mode] if args.mode else Mode(**load_model(args.checkpoints[0])[1]["config"]["mode"])
    mode = replace(mode, first_click=args.first_click)
    players = ["exact", *args.checkpoints]
    print(describe(None))
    print(
        f"{mode.rows}x{mode.cols}/{mode.mines}, first_click {args.first_click}, first cell {args.first_cell}, "
        f"{args.games} games a repeat, batch {args.batch}, {args.processes} processes of one thread"
    )
    times: dict[str, list[float]] = {player: [] for player in players}
    won = dict.fromkeys(players, 0)
    share = args.games // args.processes
    with multiprocessing.get_context("spawn").Pool(args.processes, torch.set_num_threads, (1,)) as pool:
        for repeat in range(-1, args.repeats):  # the first compiles and allocates, and does not count
            for player in players:
                jobs = [
                    (player, mode, share, args.first_cell, args.batch, args.precision, (args.processes * repeat + i))
                    for i in range(args.processes)
                ]
                results = pool.starmap(play_share, jobs, chunksize=1)
                if repeat >= 0:
                    times[player].append(max(seconds for seconds, _ in results))
                    won[player] += sum(wins for _, wins in results)
    print(f"{'player':44}{'games/s':>10}{'of exact':>10}{'won':>9}{'interval':>18}")
    exact = statistics.median(times["exact"])
    for player in players:
        median = statistics.median(times[player])
        games = share * args.processes * args.repeats
        low, high = wilson(won[player], games)
        print(
            f"{player:44}{share * args.processes / median:10,.0f}{exact / median:10.3f}"
            f"{won[player] / games:9.2%}{f'{low:.2%} to {high:.2%}':>18}"
        )


def play_share(
    player: str, mode: Mode, games: int, first_cell: str, batch: int, precision: str, part: int
) -> tuple[float, int]:
    """Seconds and games won of one process's share; part -args.processes.. -1 are the warm-up."""
    solver = make_player(player, precision)
    began = time.perf_counter()
    records = play_games(solver, mode, games, 0, first_cell, batch, first_index=(part % 2**20) * games)
    return time.perf_counter() - began, int(records.won.sum())


def make_player(player: str, precision: str) -> Solver:
    """The exact solver, or the one of a checkpoint."""
    if player == "exact":
        return make_solver("exact")
    model, content = load_model(player)
    device = choose_device("cpu")
    return trained_solver(model.to(device), content["config"], choose_precision(precision, device))


if __name__ == "__main__":
    main()
