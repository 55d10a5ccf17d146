"""Solvers that play by a trained network, from checkpoints and from settings."""

import hashlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from minesweeper import SOLVERS, Solver, make_solver, play_games
from minesweeper.recordfile import code_digest
from models.checkpoint import BUNDLED, CheckpointError, load_model
from models.learned_solver import LearnedSolver
from models.planner import PlannerSolver

PLANNER_CHECKPOINT = BUNDLED / "universal_planner.pt"
NAMES = (*SOLVERS, PlannerSolver.name)


def trained_solver(
    model: nn.Module,
    config: Mapping[str, Any],
    precision: str,
    guess_threshold: float | None = None,
    tie_break: str = "random",
) -> Solver:
    """How a model plays whose training had this `config`; `guess_threshold` and `tie_break` are for mine networks."""
    if config.get("task") == PlannerSolver.name:
        return PlannerSolver.trained(model, config)
    return LearnedSolver.trained(model, config, precision, guess_threshold, tie_break)


def make_player(settings: Mapping[str, Any], device: torch.device) -> Solver:
    """The solver of settings as {name: ..., setting: ...}: one of `minesweeper.SOLVERS`, or the "planner".

    Raises:
        ValueError: no such solver, or a setting that it does not have or does not allow.
    """
    name, own = settings["name"], {key: value for key, value in settings.items() if key != "name"}
    if name not in NAMES:
        raise ValueError(f"solver must be one of {', '.join(NAMES)}, got {name!r}")
    return make_planner(own, device) if name == PlannerSolver.name else make_solver(name, **own)


def make_planner(settings: Mapping[str, Any], device: torch.device) -> PlannerSolver:
    """A planner with settings of `PlannerSolver`, from the checkpoint `ckpt`, the bundled one unless given.

    Raises:
        ValueError: no planner there, or a setting that it does not have or does not allow.
    """
    parameters = inspect.signature(PlannerSolver).parameters
    allowed = ["ckpt", *(key for key in parameters if key != "model")]
    for key in settings:
        if key not in allowed:
            raise ValueError(f"solver {PlannerSolver.name} has no setting {key!r}; it has {', '.join(allowed)}")
    own = dict(settings)
    path = own.pop("ckpt", str(PLANNER_CHECKPOINT))
    if not isinstance(path, str) or not Path(path).is_file():
        raise CheckpointError(f"no planner at {path!r}; train one with `python train.py task=planner mode=beginner`")
    model, content = load_model(path)
    if content["config"].get("task") != PlannerSolver.name:
        raise CheckpointError(f"{path} is no planner; train one with `python train.py task=planner mode=beginner`")
    return PlannerSolver.trained(model.to(device), content["config"], **own)


def games_depend_on(solver: Solver, judge: Solver | None) -> dict[str, Any]:
    """What a solver's games depend on beside the board and the settings in its label, for `RecordFile`."""
    own: dict[str, Any] = {"code": code_digest(play_games, solver, getattr(solver, "model", None))}
    if isinstance(model := getattr(solver, "model", None), nn.Module):
        digest = hashlib.sha256()
        for name, values in model.state_dict().items():
            digest.update(name.encode() + values.cpu().numpy().tobytes())
        own |= {"weights": digest.hexdigest(), "device": next(model.parameters()).device.type}
    if isinstance(solver, LearnedSolver):
        own |= {key: getattr(solver, key) for key in ("guess_threshold", "tie_break", "precision")}
        own["judge"] = judge is not None
    return own
