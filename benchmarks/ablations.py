"""What each lever of training is worth: equal time, one change at a time, several seeds, on held-out boards.

    python benchmarks/ablations.py --mode beginner --minutes 2 --seeds 0 1 2

Adds a line a run to results/ablations.csv, with the command that trained it; a run whose line is there is left out, so
that an interrupted sweep goes on. Give each process one idle core: time is what is compared.
"""

import argparse
import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from models.checkpoint import git_commit  # noqa: E402

COLUMNS = ("mode", "lever", "setting", "seed", "minutes", "games", "win_rate", "eval_games", "commit", "command")
PLAIN = "model=plain_cnn model.channels=[{widths}] model.kernels=[{kernels}]"


def levers(width: int, depth: int) -> dict[str, dict[str, str]]:
    """Settings of train.py, by lever and the name of the setting; the empty one is the base that all share."""
    layers = {"widths": ",".join([str(width)] * depth), "kernels": ",".join(["3"] * depth)}
    return {
        "base": {"base": ""},
        "target": {"posterior": "target=posterior"},
        "loss": {"mse": "loss=mse"},
        "cells of the loss": {"frontier": "loss_cells=frontier"},
        "symmetries": {"none": "symmetries=false"},
        "shortcuts": {"plain": PLAIN.format(**layers)},
        "kernel": {"5x5": f"model.kernel=5 model.depth={depth // 4 * 2 + 1}"},
        "opening in self-play": {"one cell a step": "multi_reveal=false"},
        "shape": {
            "16 channels, depth 9": "model.width=16 model.depth=9",
            "64 channels, depth 5": "model.width=64 model.depth=5",
            "48 channels, depth 17": "model.width=48 model.depth=17",
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", default="beginner")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--levers", nargs="+", help="some of them only")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--depth", type=int, default=17)
    parser.add_argument("--eval-games", type=int, default=5000)
    parser.add_argument("--common", default="", help="settings that all runs share, such as num_live_games=20")
    parser.add_argument(
        "--init-from", help="a checkpoint of the base model: adds the lever that begins with its weights"
    )
    parser.add_argument("--csv", type=Path, default=ROOT / "results" / "ablations.csv")
    args = parser.parse_args()

    all_levers = levers(args.width, args.depth)
    if args.init_from:
        all_levers["beginning"] = {"weights of the easier mode": f"init_from={args.init_from}"}
    if unknown := set(args.levers or ()) - set(all_levers):
        parser.error(f"--levers must be among {', '.join(all_levers)}, got {', '.join(sorted(unknown))}")
    for seed in args.seeds:
        for lever, settings in all_levers.items():
            for name, overrides in settings.items():
                if not args.levers or lever in args.levers:
                    run(args, lever, name, overrides, seed)


def run(args: argparse.Namespace, lever: str, name: str, overrides: str, seed: int) -> None:
    """Trains one network, unless its line is there, and adds the line."""
    key = (args.mode, lever, name, str(seed), f"{args.minutes:g}")
    if args.csv.exists():
        with args.csv.open(newline="") as file:
            if key in {tuple(row[column] for column in COLUMNS[:5]) for row in csv.DictReader(file)}:
                return
    model = "" if "model=" in overrides else f"model=cnn model.width={args.width} model.depth={args.depth}"
    settings = (
        f"mode={args.mode} {model} {overrides} {args.common} minutes={args.minutes:g} seed={seed} threads=1 "
        f"eval_minutes=1000 eval_games={args.eval_games}"
    ).split()
    words = re.sub(r"\W+", "_", "_".join(key))
    run_dir = ROOT / "checkpoints" / "runs" / f"ablation_{words}"
    resume = [f"resume={run_dir}/last.pt"] if (run_dir / "last.pt").exists() else [*settings, f"run_dir={run_dir}"]
    subprocess.run([sys.executable, str(ROOT / "train.py"), *resume], check=True)
    with (run_dir / "curve.csv").open(newline="") as file:
        last = list(csv.DictReader(file))[-1]
    line = {
        **dict(zip(COLUMNS, key, strict=False)),
        **{column: last[column] for column in ("games", "win_rate", "eval_games")},
        "commit": git_commit(),
        "command": shlex.join(["python", "train.py", *settings]),
    }
    is_new = not args.csv.exists()
    with args.csv.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerow(line)


if __name__ == "__main__":
    main()
