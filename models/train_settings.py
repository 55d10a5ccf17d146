"""What the settings of train.py may be, and the losses and optimizers that they name."""

import math

import torch
from omegaconf import DictConfig
from torch.nn import functional

from minesweeper.arena import check_first_cell
from minesweeper.seeds import checked_seed
from models.learned_solver import LOSS_CELLS
from models.settings import check_choice, check_number, check_path, make_mode, make_modes

LOSSES = {
    "bce": functional.binary_cross_entropy_with_logits,
    "mse": lambda logits, labels: functional.mse_loss(torch.sigmoid(logits), labels),
}
OPTIMIZERS = {
    "adamw": lambda weights, cfg: torch.optim.AdamW(weights, lr=cfg.lr, weight_decay=cfg.weight_decay),
    "adam": lambda weights, cfg: torch.optim.Adam(weights, lr=cfg.lr, weight_decay=cfg.weight_decay),
    "sgd": lambda weights, cfg: torch.optim.SGD(weights, lr=cfg.lr, weight_decay=cfg.weight_decay),
}

_CHOICES: dict[str, dict] = {
    "mines": {
        "target": ("board", "posterior", "planner"), "loss": LOSSES, "loss_cells": LOSS_CELLS,
        "multi_reveal": (True, False),
    },
    "planner": {},
}  # fmt: skip
_NUMBERS: dict[str, list[tuple[str, float, float, bool]]] = {
    "mines": [("guess_threshold", 0, 1, False)],
    "planner": [
        ("candidates", 1, 100, True), ("margin", 0, 1, False), ("explore", 0, 1, False), ("contrast", 0, 1000, False),
        ("replay", 0, 100, True), ("endgame", 0, 100_000, True),
        ("rollout_steps", 0, math.inf, True), ("horizon", 0, math.inf, True), ("random_first", 0, 1, False),
    ],
}  # fmt: skip


def settings_of(task: str) -> set[str]:
    """The settings that the task has for itself."""
    return {*_CHOICES[task], *(key for key, *_ in _NUMBERS[task]), *(["teacher"] if task == "mines" else [])}


def check(cfg: DictConfig) -> None:
    """ValueError, naming the key, for a value that training cannot use."""
    for task in _CHOICES:
        for key in settings_of(task) - settings_of(cfg.task):
            if key in cfg:
                raise ValueError(f"{key} is a setting of task={task}, not of task={cfg.task}")
    checked_seed(cfg.seed)
    check_path("run_dir", cfg.run_dir)
    check_path("init_from", cfg.init_from)
    if cfg.task == "mines" and not isinstance(cfg.teacher, str):
        raise ValueError(f"teacher must be a path, got {cfg.teacher!r}")
    choices = {"optimizer": OPTIMIZERS, "schedule": ("cosine", "constant"), "symmetries": (True, False)}
    for key, allowed in (choices | _CHOICES[cfg.task]).items():
        check_choice(key, cfg[key], allowed)
    if cfg.games is None and cfg.minutes is None:
        raise ValueError("games and minutes must not both be null: the run would never end")
    for key, low, high, integer in (
        ("games", 1, math.inf, True), ("minutes", 0, math.inf, False), ("num_live_games", 1, 10**6, True),
        ("lr", 0, 10, False), ("warmup", 0, 1, False), ("weight_decay", 0, 10, False), ("clip", 0, math.inf, False),
        ("average", 0, 1, False), ("eval_minutes", 0, math.inf, False), ("eval_games", 1, 10**7, True),
        ("log_steps", 1, math.inf, True), ("checkpoint_minutes", 0, math.inf, False), ("threads", 0, 4096, True),
        *_NUMBERS[cfg.task],
    ):  # fmt: skip
        if not (key in ("games", "minutes", "num_live_games") and cfg[key] is None):
            check_number(key, cfg[key], low, high, integer=integer)
    mode = make_mode(cfg.mode)
    check_first_cell(cfg.eval_first_cell, mode, "eval_first_cell")
    for own in make_modes(cfg.mix, mode):
        check_first_cell(cfg.first_cell, own)
    if cfg.first_cell == "solver":
        raise ValueError("first_cell must be random, corner, centre or [row, col], got 'solver'")
