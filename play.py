"""Play, watch and see the probabilities, on a page or in the terminal: python play.py mode=expert

Settings: configs/play.yaml, or `python play.py --help`.
"""

import contextlib
import os
import sys
import threading
import webbrowser
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

from minesweeper import MODES, Mode
from minesweeper.mode import preset_name
from minesweeper.seeds import checked_seed
from models.settings import check_choice, check_mode_is_named, check_number, check_path, make_mode
from web.catalogue import Entry, make_catalogue
from web.store import Store
from web.validation import MAX_SIDE

INSTALL = "pip install -c constraints.txt -e '.[play]'"


def check_settings(cfg: DictConfig) -> None:
    """ValueError for a value that is wrong by itself."""
    check_choice("ui", cfg.ui, ("page", "terminal"))
    for key in ("open", "no_guess", "new", "quiet"):
        check_choice(key, cfg[key], (True, False))
    check_path("data_dir", cfg.data_dir)
    if not isinstance(cfg.host, str):
        raise ValueError(f"host must be a name or an address, got {cfg.host!r}")
    if cfg.port is not None:
        check_number("port", cfg.port, 1, 65535, integer=True)
    check_number("games", cfg.games, 1, 10**9, integer=True)
    if cfg.seed is not None:
        checked_seed(cfg.seed)
    if cfg.watch is None and (cfg.games != 1 or cfg.quiet):
        raise ValueError("games= and quiet= need watch=<solver>")
    if cfg.ui == "page" and cfg.watch is not None:
        raise ValueError("watch= needs ui=terminal; on the page, choose Watch there")


def make_list(cfg: DictConfig) -> dict[str, Entry]:
    """The solvers to choose from, with the checkpoints of `ckpt=`.

    Raises:
        ValueError: one is missing or broken.
    """
    paths = list(cfg.ckpt) if OmegaConf.is_list(cfg.ckpt) else [cfg.ckpt] if cfg.ckpt is not None else []
    checkpoints = []
    for path in map(str, paths):
        from models.checkpoint import load_model  # brings torch, which the page does without until a network is asked

        config = load_model(path)[1]["config"]
        mode = make_mode(config["mode"])
        is_planner = config.get("task") == "planner"
        checkpoints.append((path, preset_name(mode.rows, mode.cols, mode.mines), is_planner))
    return make_catalogue(checkpoints)


def data_file(cfg: DictConfig) -> Path:
    """The file of games, settings and statistics."""
    if cfg.data_dir is not None:
        return Path(cfg.data_dir) / "play.sqlite"
    import platformdirs

    return Path(platformdirs.user_data_dir("minesweeper-lab", appauthor=False)) / "play.sqlite"


def serve(cfg: DictConfig, catalogue: dict[str, Entry], mode: Mode | None) -> None:
    """Serves the page until Ctrl-C."""
    from web.app import create_app
    from web.guard import is_loopback
    from web.server import listen, run_server

    if mode is not None and max(mode.rows, mode.cols) > MAX_SIDE:
        raise ValueError(f"the page has boards of up to {MAX_SIDE}x{MAX_SIDE}, got mode {mode.rows}x{mode.cols}")
    path = data_file(cfg)
    with listen(cfg.host, cfg.port) as listening:
        app = create_app(Store(path), catalogue, mode, cfg.host)
        name = f"[{cfg.host}]" if ":" in cfg.host else cfg.host
        address = f"http://{name}:{listening.getsockname()[1]}/"
        print(f"Minesweeper is at {address} (Ctrl-C ends it); games are kept in {path}", flush=True)
        if not is_loopback(cfg.host):
            print(
                f"warning: host={cfg.host} lets everybody in the network in; they share games and statistics",
                flush=True,
            )
        if cfg.open:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        run_server(app, listening)


def run(cfg: DictConfig) -> None:
    """Does what the settings say.

    Raises:
        ValueError: a setting that is wrong.
        ModuleNotFoundError: a package of the extra [play] is missing.
    """
    check_settings(cfg)
    catalogue = make_list(cfg)
    mode = make_mode(cfg.mode) if cfg.get("mode") is not None else None
    if mode is not None and not mode.openings and cfg.watch is None:
        raise ValueError("mode.openings=false can be watched (watch=), but not played")
    if cfg.ui == "page":
        serve(cfg, catalogue, mode)
        return
    from web import terminal  # with what it needs for statistics, it takes longer than the page

    if cfg.watch == "list":
        print("\n".join(f"{entry.id:<20} {entry.label}" for entry in catalogue.values()))
    elif cfg.watch is not None:
        first_cell = OmegaConf.to_container(cfg.first_cell) if OmegaConf.is_list(cfg.first_cell) else cfg.first_cell
        check_choice("watch", cfg.watch, catalogue)
        terminal.watch(catalogue[cfg.watch], mode or MODES["beginner"], cfg.games, cfg.seed, first_cell, cfg.quiet)
    else:
        check_choice("solver", cfg.solver, catalogue)
        is_new = cfg.new or mode is not None or cfg.seed is not None or cfg.no_guess
        with contextlib.closing(Store(data_file(cfg))) as store:
            terminal.play(store, catalogue[cfg.solver], mode or MODES["beginner"], cfg.seed, cfg.no_guess, is_new)


@hydra.main(version_base="1.3", config_path="configs", config_name="play")
def main(cfg: DictConfig) -> None:
    try:
        run(cfg)
    except ValueError as error:
        sys.exit(f"error: {error}")
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "platformdirs", "anyio"):
            raise
        sys.exit(f"error: play.py needs {error.name}, which is not installed; run: {INSTALL}")
    except KeyboardInterrupt:
        print()
    except BrokenPipeError:  # whoever read this has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    try:
        check_mode_is_named(sys.argv[1:])
    except ValueError as error:
        sys.exit(f"error: {error}")
    main()
