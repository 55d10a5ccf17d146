"""Which first cell wins most, by mode, rule and solver: one cell of each class that symmetry makes, by halving.

    python benchmarks/first_cells.py --mode expert --first-click zero --solver planner --games 2000

All cells play the same number of games, then the better half of them twice as many new ones, and so on; the last
ones have played all their games on fresh seeds, so the winner's rate is that of its last round alone, which no choice
was made by.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402

from minesweeper import MODES, Mode, play_games  # noqa: E402
from minesweeper.mode import FIRST_CLICKS  # noqa: E402
from minesweeper.summary import wilson  # noqa: E402
from models.players import make_player  # noqa: E402

_LEFT = 3  # cells that play the last round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=MODES, default="beginner")
    parser.add_argument("--first-click", choices=FIRST_CLICKS, default="safe")
    parser.add_argument("--solver", default="exact", help="a name, or {name: exact, tie_break: corner}")
    parser.add_argument("--games", type=int, default=1000, help="of each cell in the first round")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.set_num_threads(1)
    settings = OmegaConf.to_container(OmegaConf.create(f"solver: {args.solver}"))["solver"]
    settings = settings if isinstance(settings, dict) else {"name": settings}
    device = torch.device("cpu")
    solver = make_player(settings, device)
    mode = replace(MODES[args.mode], first_click=args.first_click)
    cells, games, seed = classes(mode), args.games, args.seed
    print(f"{mode.rows}x{mode.cols}/{mode.mines}, first_click={mode.first_click}, {args.solver}; cells count from 1")
    while True:
        wins = {cell: int(play_games(solver, mode, games, seed, cell).won.sum()) for cell in cells}
        ranked = sorted(cells, key=lambda cell: -wins[cell])
        print(f"\n{games} games each, of seed {seed}")
        for row, col in ranked:
            low, high = wilson(wins[row, col], games)
            print(f"({row + 1}, {col + 1})  {wins[row, col] / games:.2%}  {low:.2%} to {high:.2%}", flush=True)
        if len(cells) <= _LEFT:
            break
        cells, games, seed = ranked[: max(_LEFT, len(cells) // 2)], 2 * games, seed + 1


def classes(mode: Mode) -> list[tuple[int, int]]:
    """One cell (row, col) of each class that turning and mirroring the board onto itself makes."""
    cells = [(row, col) for row in range((mode.rows + 1) // 2) for col in range((mode.cols + 1) // 2)]
    return [(row, col) for row, col in cells if mode.rows != mode.cols or row <= col]


if __name__ == "__main__":
    main()
