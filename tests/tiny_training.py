"""Tiny training runs for the tests of train.py and evaluate.py, and what they wrote."""

import logging
import runpy
import sys
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import train
from models.checkpoint import build_model, save_checkpoint

ROOT = Path(__file__).parent.parent
CONFIGS = ROOT / "configs"
TINY = (
    "mode.rows=5", "mode.cols=5", "mode.mines=4", "games=40", "minutes=null", "num_live_games=8", "eval_games=10",
    "log_steps=2", "threads=1", "precision=float32", "device=cpu",
)  # fmt: skip
TINY_CNN = ("model=cnn", "model.width=4", "model.depth=3")  # 665 parameters
SMALL_MODEL = {"_target_": "models.cnn.CNN", "width": 4, "depth": 3, "kernel": 3}
TINY_MLP = ("model=mlp", "model.hidden=[8]")


def composed(name: str, *overrides: str) -> DictConfig:
    """The configuration of train.py or evaluate.py with these overrides."""
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return compose(name, list(overrides))


def train_tiny(run_dir: Path, *overrides: str, model: tuple[str, ...] = TINY_CNN) -> Path:
    """Trains by the tiny settings and these overrides in `run_dir`."""
    return trained(composed("train", *TINY, *model, f"run_dir={run_dir}", *overrides))


def resume_tiny(file: Path, *overrides: str) -> Path:
    """Goes on with a run, as `python train.py resume=<file> ...` does."""
    return trained(composed("train", f"resume={file}", *overrides), [f"resume={file}", *overrides])


def trained(cfg: DictConfig, overrides: list[str] | None = None) -> Path:
    """`train.train`, but for what it leaves behind in this process: log handlers and torch's threads."""
    root, threads = logging.root, torch.get_num_threads()
    level, handlers = root.level, list(root.handlers)
    root.handlers = []
    try:
        return train.train(cfg, "beginner_tiny", overrides or [])
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers = handlers
        root.setLevel(level)
        torch.set_num_threads(threads)


def save_small(path: Path, mode: dict[str, Any], guess_threshold: float = 0.05, seed: int = 0) -> Path:
    """Writes the checkpoint of a small random network that would have been trained for a mode; returns its path."""
    torch.manual_seed(seed)
    config = {"mode": mode, "model": SMALL_MODEL, "guess_threshold": guess_threshold}
    path.parent.mkdir(exist_ok=True)
    save_checkpoint(path, {"config": config, "averaged": build_model(SMALL_MODEL).state_dict()})
    return path


def program(name: str, *arguments: str) -> None:
    """Runs `python <name> <arguments>` in this process, which saves the seconds in which it would import torch."""
    before = sys.argv
    sys.argv = [str(ROOT / name), *arguments]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        sys.argv = before


def scalars(run_dir: Path) -> dict[str, list[tuple[int, float]]]:
    """The points (games, value) of each metric of a run."""
    events = EventAccumulator(str(run_dir)).Reload()
    return {tag: [(point.step, point.value) for point in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
