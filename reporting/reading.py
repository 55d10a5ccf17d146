"""Reads what results/ holds: results.csv, curves/*.csv, ablations.csv, calibration.csv, regrets.csv and thesis.csv."""

import csv
import re
from pathlib import Path

from minesweeper.mode import MODES, preset_name
from reporting.data import Ablation, Bin, Curve, Data, Regret, Reported, Result, is_checkpoint, player_name

ALL = "all"  # in calibration.csv, kinds or bins together


def read_data(folder: Path) -> Data:
    """Reads a results folder."""
    return Data(
        folder=folder,
        results=read_results(folder / "results.csv"),
        curves=read_curves(folder / "curves"),
        ablations=[
            Ablation(
                row["mode"], row["lever"], row["setting"], int(row["seed"]), float(row["minutes"]),
                int(row["games"]), float(row["win_rate"]), int(row["eval_games"]),
            )
            for row in read_rows(folder / "ablations.csv")
        ],
        calibration=read_calibration(folder / "calibration.csv"),
        regrets=read_regrets(folder / "regrets.csv"),
        thesis=[
            Reported(
                row["quantity"], row["player"], row["kind"], row["mode"], row["first_click"],
                float(row["low"]), float(row["high"]), row["text"], row["games"], row["source"],
            )
            for row in read_rows(folder / "thesis.csv")
        ],
    )  # fmt: skip


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, none if it is missing."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_results(path: Path) -> list[Result]:
    """The rows on random boards of the standard modes; of the same solver, mode, rule and first cell the last."""
    found: dict[tuple[str, ...], Result] = {}
    for row in read_rows(path):
        mode = mode_of(row)
        if mode is None or row["boards"] or row["openings"] != "True":
            continue
        key = (row["solver"], mode, row["first_click"], row["first_cell"])
        found[key] = Result(
            label=row["solver"],
            player=player_name(row["solver"], mode),
            mode=mode,
            first_click=row["first_click"],
            first_cell=row["first_cell"],
            games=int(row["games"]),
            win_rate=float(row["win_rate"]),
            low=float(row["win_rate_low"]),
            high=float(row["win_rate_high"]),
            guess_free=float(row["guess_free_win_rate"]),
            judged_guess_free=optional(row["judged_guess_free_win_rate"]),
            moves=float(row["moves"]),
            ms_alone=optional(row["ms_alone"]),
            ms_batched=float(row["ms_batched"]),
            command=row["command"],
            commit=row["commit"],
        )
    return list(found.values())


def read_curves(folder: Path) -> list[Curve]:
    """The training runs in a folder, by name; those whose file name holds no mode are left out."""
    curves = []
    for path in sorted(folder.glob("*.csv")):
        modes = [mode for mode in MODES if mode in path.stem.split("_")]
        rows = read_rows(path)
        if len(modes) != 1 or not rows:
            print(f"{path}: left out, " + ("it is empty" if modes else f"its name must hold one of {', '.join(MODES)}"))
            continue
        curves.append(
            Curve(
                run=path.stem,
                player=player_name(f"{path.stem}.pt", modes[0]),
                mode=modes[0],
                minutes=[float(row["minutes"]) for row in rows],
                games=[int(float(row["games"])) for row in rows],
                win_rate=[float(row["win_rate"]) for row in rows],
                eval_games=[int(row["eval_games"]) for row in rows],
                command=training_command(path.stem, folder.parent.parent),
            )
        )
    return curves


def training_command(run: str, root: Path) -> str:
    """What repeats a run: the command of the checkpoint's card, or its experiment; empty if there is neither."""
    cards = root / "checkpoints" / "README.md"
    if cards.exists():
        heading = rf"^## (?:\w+/)?{re.escape(run)}\.pt$"
        card = re.search(rf"{heading}(.*?)(?=^## |\Z)", cards.read_text(), re.MULTILINE | re.DOTALL)
        if command := card and re.search(r"^\| command \| (.*) \|$", card[1], re.MULTILINE):
            return command[1].replace("`", "")
    words = run.split("_")
    plain = "_".join(word for word in words if word not in MODES)
    for name, mode in ((run, ""), (plain, "".join(f" mode={word}" for word in words if word in MODES))):
        if (root / "configs" / "experiment" / f"{name}.yaml").exists():
            return f"python train.py experiment={name}{mode}"
    return ""


def read_calibration(path: Path) -> list[Bin]:
    """The single bins of single kinds; its sums over bins or kinds are made anew here."""
    return [
        Bin(
            row["mode"], row["solver"], row["start"], int(row["games"]), row["kind"], int(row["bin"]),
            int(row["cells"]), float(row["predicted"]), float(row["posterior"]), float(row["kl"]),
        )
        for row in last_runs(path, ("kind", "bin"))
        if ALL not in (row["kind"], row["bin"])
    ]  # fmt: skip


def read_regrets(path: Path) -> list[Regret]:
    """What the decisions of models gave away."""
    return [
        Regret(
            row["mode"], row["solver"], row["start"], int(row["games"]), row["class"], row["mines_left"],
            row["component"], float(row["regret"]),
        )
        for row in last_runs(path, ("class", "mines_left", "component"))
    ]  # fmt: skip


def last_runs(path: Path, place: tuple[str, ...]) -> list[dict[str, str]]:
    """The lines of an analysis that `evaluate.py` wrote, of the last run of each model, with its `mode` and `start`.

    Only models on random boards of the standard modes count.

    Args:
        place: the columns that tell the lines of one run apart.
    """
    runs: dict[tuple[str, ...], dict[tuple[str, ...], dict[str, str]]] = {}
    for row in read_rows(path):
        mode = mode_of(row)
        if mode is None or row["boards"] or row["openings"] != "True" or not is_checkpoint(row["solver"]):
            continue
        start = f"{row['first_click']}, {row['first_cell']}"
        run = runs.setdefault((row["solver"], mode, start), {})
        key = tuple(row[column] for column in place)
        if key in run:  # another run begins
            run.clear()
        run[key] = row | {"mode": mode, "start": start}
    return [row for run in runs.values() for row in run.values()]


def mode_of(row: dict[str, str]) -> str | None:
    """The name of the standard mode that a row was played on."""
    board = [row[column] for column in ("rows", "cols", "mines")]
    return preset_name(*map(int, board)) if all(board) else None  # given boards of several sizes have none


def optional(text: str) -> float | None:
    """A number, or None where there is none."""
    return float(text) if text else None
