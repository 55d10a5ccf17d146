"""Compares solvers and checkpoints on the same boards: python evaluate.py ckpt=... solvers=[exact,random]

Settings: configs/evaluate.yaml, or `python evaluate.py --help`.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf
from tqdm import tqdm

from minesweeper import MODES, SOLVERS, Games, Mode, Solver, make_solver, play_games
from minesweeper.arena import check_first_cell, check_given_first_click, first_cells, play_boards
from minesweeper.boardfiles import GivenBoard, boards_digest, read_boards, write_boards
from minesweeper.calibration import COLUMNS as CALIBRATION_ROW
from minesweeper.calibration import Calibration
from minesweeper.mode import preset_name
from minesweeper.recordfile import RecordFile, play_on
from minesweeper.regret import COLUMNS as REGRETS_ROW
from minesweeper.regret import Regrets
from minesweeper.seeds import checked_seed
from minesweeper.solvers.base import TIE_BREAKS
from minesweeper.summary import results_table, summarise
from minesweeper.tables import append_csv, check_csv
from models.checkpoint import bundled_checkpoints, git_commit, load_model
from models.device import choose_device, choose_precision
from models.learned_solver import LearnedSolver
from models.players import games_depend_on, make_player, trained_solver
from models.settings import check_choice, check_mode_is_named, check_number, check_path, make_mode

CSV_MODE = ("rows", "cols", "mines", "first_click", "openings")
CSV_COMMON = ("boards", "first_cell", "games", "seed", "command", "commit")
CSV_ROW = (
    "solver", "win_rate", "win_rate_low", "win_rate_high", "guess_free_win_rate", "judged_guess_free_win_rate",
    "guesses", "moves", "ms_alone", "ms_batched", "minus_exact", "minus_exact_low", "minus_exact_high",
)  # fmt: skip
ANALYSES = {"calibration": Calibration, "regrets": Regrets}
CSV_COLUMNS = {  # of the files that rows are added to, by their setting
    "csv": (*CSV_MODE, *CSV_ROW, *CSV_COMMON),
    "calibration": (*CSV_MODE, "solver", *CALIBRATION_ROW, *CSV_COMMON),
    "regrets": (*CSV_MODE, "solver", *REGRETS_ROW, *CSV_COMMON),
}


def check_settings(cfg: DictConfig) -> None:
    """ValueError for a value that is wrong by itself, or a file that must not be written to."""
    for key, low in (("games", 1), ("batch", 1), ("games_alone", 0), ("games_analysed", 1), ("threads", 1)):
        check_number(key, cfg[key], low, 10**9, integer=True)
    checked_seed(cfg.seed)
    for key in ("judge", "openings"):
        check_choice(key, cfg[key], (True, False))
    check_choice("tie_break", cfg.tie_break, TIE_BREAKS)
    if cfg.guess_threshold is not None:
        check_number("guess_threshold", cfg.guess_threshold, 0, 1)
    outputs: dict[Path, str] = {}
    for key in ("out", *CSV_COLUMNS, "records", "export_boards"):
        check_path(key, cfg[key])
        if cfg[key] is None:
            continue
        path = Path(cfg[key])
        if not path.absolute().parent.is_dir():
            raise ValueError(f"{key}={path}: its folder does not exist")
        if path.is_dir():
            raise ValueError(f"{key}={path} is a folder")
        if other := outputs.get(path.absolute()):
            raise ValueError(f"{key}={path} is the file of {other}= too; give each its own")
        outputs[path.absolute()] = key
        if key in CSV_COLUMNS:
            check_csv(key, path, CSV_COLUMNS[key])
    if cfg.out is not None and Path(cfg.out).is_file() and not is_json(Path(cfg.out)):
        raise ValueError(f"out={cfg.out} exists and holds no JSON; it is not overwritten")


def evaluate(cfg: DictConfig) -> dict[str, Any]:
    """Plays every solver on the same boards; returns the content of the JSON file."""
    check_settings(cfg)
    torch.set_num_threads(cfg.threads)
    boards = None if cfg.boards is None else read_boards(cfg.boards, cfg.bottom_row)
    if boards and cfg.get("mode") is not None:
        raise ValueError("boards= and mode= exclude each other: given boards have their own size and mines")
    if boards and cfg.first_click is not None:
        check_given_first_click(cfg.first_click)
    mode, solvers = make_players(cfg, given_mode(boards, cfg.openings) if boards else None)
    if mode and cfg.first_click is not None:
        mode = replace(mode, first_click=cfg.first_click)
    num_games = len(boards) if boards else cfg.games
    if mode:
        check_first_cell(cfg.first_cell, mode)
    if cfg.export_boards is not None:
        if mode is None or boards or cfg.first_cell == "solver":
            raise ValueError("export_boards= needs random boards of one mode and a first_cell that is not the solver's")
        write_boards(cfg.export_boards, random_boards(mode, num_games, cfg.seed, cfg.first_cell))

    rule = cfg.first_click or "any"

    def play(solver: Solver, count: int, first_index: int = 0, *, batch: int, **more: Any) -> np.recarray:
        if boards:
            chosen = boards[:count]
            return play_boards(solver, chosen, cfg.seed, cfg.first_cell, batch, rule, openings=cfg.openings, **more)
        return play_games(solver, mode, count, cfg.seed, cfg.first_cell, batch, first_index=first_index, **more)

    result: dict[str, Any] = {
        "mode": mode and {key: getattr(mode, key) for key in CSV_MODE},
        "boards": cfg.boards,
        "first_cell": cfg.first_cell if isinstance(cfg.first_cell, str) else list(cfg.first_cell),
        "games": num_games,
        "seed": cfg.seed,
        "command": " ".join(["python", *sys.argv]),
        "commit": git_commit(),
    }
    file = None
    if cfg.records is not None:
        common = {key: result[key] for key in ("mode", "first_cell", "seed")}
        common["boards"] = [boards_digest(boards), rule, cfg.openings] if boards else None
        try:
            file = RecordFile(Path(cfg.records), common)
        except OSError as error:
            raise ValueError(f"records={cfg.records} cannot be written: {error}") from error
    records, alone, analyses = play_all(cfg, solvers, play, num_games, file)
    exact = records.get("exact")
    rows = [summarise(label, records[label], alone.get(label), exact) for label in solvers]
    return result | {"rows": rows} | analyses


def play_all(
    cfg: DictConfig,
    solvers: dict[str, Solver],
    play: Callable[..., np.recarray],
    num_games: int,
    file: RecordFile | None,
) -> tuple[dict[str, np.recarray], dict[str, np.recarray], dict[str, Any]]:
    """The records of each solver's games in batches and one at a time, and the lines of the analyses that are wanted.

    Args:
        play: (solver, number of games, index of the first, more arguments of `play_games`) -> records.
        file: where the records of the games in batches are kept, and what has been played already is found.
    """
    num_alone = min(cfg.games_alone, num_games)
    wanted = [key for key in ANALYSES if cfg[key] is not None]
    num_analysed = min(cfg.games_analysed, num_games) if wanted else 0
    records, alone = {}, {}
    analyses: dict[str, Any] = {"games_analysed": num_analysed} if wanted else {}
    total = (num_games + num_alone + num_analysed) * len(solvers)
    judges = {
        label: make_solver("exact") if cfg.judge and isinstance(solver, LearnedSolver) else None
        for label, solver in solvers.items()
    }
    known = {  # all of them first: what is refused must not be found after hours
        label: file.of(label, games_depend_on(solver, judges[label])) if file else np.empty(0)
        for label, solver in solvers.items()
    }
    with tqdm(total=total, unit="game", leave=False, disable=None) as bar:
        for label, solver in solvers.items():
            bar.set_description(label)
            if len(known[label]) < num_games:
                play(solver, min(num_games, 100), batch=cfg.batch)  # compiles and allocates before the clock runs
            bar.update(min(len(known[label]), num_games))
            pieces = partial(play, solver, batch=cfg.batch, judge=judges[label], progress=bar.update)
            keep = partial(file.add, label) if file else None
            try:
                records[label] = play_on(known[label], num_games, num_games if cfg.boards else cfg.batch, pieces, keep)
            finally:
                if file:
                    file.write()
            if num_alone:
                alone[label] = play(solver, num_alone, batch=1, progress=bar.update)
            if wanted:
                found = {key: ANALYSES[key]() for key in wanted}
                observers = [analysis.observe for analysis in found.values()]
                play(solver, num_analysed, batch=cfg.batch, progress=bar.update, observers=observers)
                for key, analysis in found.items():
                    analyses.setdefault(key, []).extend({"solver": label, **row} for row in analysis.rows())
    return records, alone, analyses


def listed(setting: Any) -> list:
    """A setting that is a list, or one value instead."""
    return OmegaConf.to_container(setting) if OmegaConf.is_list(setting) else [setting]


def is_json(path: Path) -> bool:
    """Whether a file holds JSON, or nothing."""
    try:
        text = path.read_text()
        json.loads(text or "{}")
    except ValueError:
        return False
    return True


def given_mode(boards: Sequence[GivenBoard], openings: bool) -> Mode | None:
    """The mode of given boards that are all of one size and number of mines, or None."""
    kinds = {(*given.mines.shape, int(given.mines.sum())) for given in boards}
    return Mode(*kinds.pop(), first_click="any", openings=openings) if len(kinds) == 1 else None


def random_boards(mode: Mode, num_games: int, seed: int, first_cell: str | Sequence[int]) -> np.ndarray:
    """The mines, bool [N, R, C], of the boards that a run with these settings plays."""
    games = Games(mode, num_games, seed)
    games.reveal(*first_cells(first_cell, games))
    return games.mines


def make_players(cfg: DictConfig, given: Mode | None) -> tuple[Mode | None, dict[str, Solver]]:
    """The mode, and every solver by the label of its row.

    Args:
        given: the mode of given boards, if they have one in common.

    Raises:
        ValueError: no mode of its own for checkpoints of several modes, a broken checkpoint, an unknown solver.
    """
    device = choose_device(cfg.device)
    precision = choose_precision(cfg.precision, device)
    mode = make_mode(cfg.mode) if cfg.get("mode") is not None else given
    if cfg.ckpt is None:
        mode = mode or (None if cfg.boards else MODES["beginner"])
        name = mode and preset_name(mode.rows, mode.cols, mode.mines)
        paths = [str(path) for path in bundled_checkpoints(name)] if name else []
    else:
        paths = [str(path) for path in listed(cfg.ckpt)]
    players: dict[str, Solver] = {}
    for path in paths:
        model, content = load_model(path)
        own = make_mode(content["config"]["mode"])
        if cfg.get("mode") is None and not cfg.boards and mode not in (None, own) and cfg.ckpt is not None:
            raise ValueError(f"the checkpoints are of different modes, {mode} and {own}; choose one with mode=")
        mode = mode or (None if cfg.boards else own)
        players[relative(path)] = trained_solver(
            model.to(device), content["config"], precision, cfg.guess_threshold, cfg.tie_break
        )
    for entry in chain.from_iterable(SOLVERS if entry == "all" else [entry] for entry in listed(cfg.solvers)):
        settings = entry if isinstance(entry, dict) else {"name": entry}
        if not isinstance(settings.get("name"), str):
            raise ValueError(f"solvers: an entry must be a name, or {{name: ..., setting: ...}}, got {entry!r}")
        label = " ".join([settings["name"], *(f"{key}={value}" for key, value in settings.items() if key != "name")])
        players[label] = make_player(settings, device)
    if mode is None and not cfg.boards:
        mode = MODES["beginner"]
    if not players:
        raise ValueError("nothing to evaluate: give solvers= or ckpt=")
    return mode, players


def relative(path: str) -> str:
    """The path as seen from the current folder, when it lies below it."""
    shorter = os.path.relpath(path)
    return path if shorter.startswith("..") else shorter


def add_to_csv(path: Path, key: str, result: dict[str, Any]) -> None:
    """Adds the rows of one of `CSV_COLUMNS` to a CSV file, with everything that a number needs beside it."""
    common = {column: result[column] for column in CSV_COMMON} | (result["mode"] or {})
    if key in ANALYSES:
        common["games"] = result["games_analysed"]
    rows = result["rows" if key == "csv" else key]
    append_csv(path, CSV_COLUMNS[key], [common | row for row in rows])


@hydra.main(version_base="1.3", config_path="configs", config_name="evaluate")
def main(cfg: DictConfig) -> None:
    try:
        result = evaluate(cfg)
    except ValueError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        kept = f"; the same command goes on after the batches that are in {cfg.records}" if cfg.records else ""
        print(f"stopped{kept}", file=sys.stderr)
        sys.exit(130)
    try:  # first the files, which must not hang on whether the table is read
        if cfg.out is not None:
            Path(cfg.out).write_text(json.dumps(result, indent=2) + "\n")
        for key in CSV_COLUMNS:
            if cfg[key] is not None:
                add_to_csv(Path(cfg[key]), key, result)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
    print(results_table(result))


if __name__ == "__main__":
    try:
        check_mode_is_named(sys.argv[1:])
    except ValueError as error:
        sys.exit(f"error: {error}")
    main()
