"""Checkpoint files: tensors and plain values only, written whole or not at all, loaded with `weights_only`."""

import importlib
import importlib.util
import pickle
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from minesweeper.wholefile import replacing

FORMAT = 1
ROOT = Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "checkpoints"
_PLAYED_BY = {  # by task, the settings of a training that its model is played by
    "mines": ("mode", "guess_threshold"),
    "planner": ("mode", "margin"),
}


class CheckpointError(ValueError):
    """A checkpoint is missing, broken, or of a format that this version does not read."""


def build_model(config: Mapping[str, Any]) -> nn.Module:
    """The torch module that a `model` configuration describes: `_target_: models.<file>.<Class>` and its arguments.

    Nothing else is ever built or called from a configuration, since it may come from a file of others.

    Raises:
        ValueError: its `_target_` is no module class of `models`, or its constructor refuses an argument.
    """
    target = str(config.get("_target_")) if isinstance(config, Mapping) else repr(config)
    match = re.fullmatch(r"models\.(\w+)\.(\w+)", target)
    cls = None
    if match and importlib.util.find_spec(f"models.{match[1]}") is not None:
        cls = getattr(importlib.import_module(f"models.{match[1]}"), match[2], None)
    if not (isinstance(cls, type) and issubclass(cls, nn.Module) and f"{cls.__module__}.{cls.__name__}" == target):
        raise ValueError(f"model._target_ must be a class in models, got {target!r}")
    try:
        return cls(**{key: value for key, value in config.items() if key != "_target_"})
    except (TypeError, ValueError) as error:
        raise ValueError(f"model: {error}") from error


def save_checkpoint(path: Path, content: Mapping[str, Any]) -> None:
    """Writes `content` (tensors and plain values) with format and commit; an older file stays until it is replaced."""
    with replacing(path) as file:
        torch.save({"format": FORMAT, "commit": git_commit(), **content}, file)


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """The content of a checkpoint file, on the CPU.

    Raises:
        CheckpointError: no such file, not a checkpoint, or another format.
    """
    path = Path(path)
    if not path.is_file():
        bundled = ", ".join(str(p.relative_to(ROOT)) for p in bundled_checkpoints()) or "none"
        raise CheckpointError(
            f"no checkpoint at {path}; train one with `python train.py mode=beginner model=cnn`, "
            f"or use a bundled one: {bundled}"
        )
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a broken file can fail in every way that a pickle can
        is_pickle = isinstance(error, pickle.UnpicklingError)  # torch then advises to load it without care
        reason = "not what torch.save writes of tensors" if is_pickle else str(error).strip().split("\n")[0][:200]
        raise CheckpointError(f"{path} is not a checkpoint or is broken ({reason}); use another file") from error
    if not isinstance(content, dict) or "format" not in content:
        raise CheckpointError(f"{path} is a torch file, but not a checkpoint of this project")
    if content["format"] != FORMAT:
        raise CheckpointError(
            f"{path} has format {content['format']}, this version reads {FORMAT}; "
            f"use the commit that wrote it ({content.get('commit')}) or train again"
        )
    return content


def load_model(path: str | Path) -> tuple[nn.Module, dict[str, Any]]:
    """The model of a checkpoint with its averaged weights, and the checkpoint's content.

    Raises:
        CheckpointError: as `load_checkpoint`, or weights that do not fit the model, or a configuration without a
            setting that playing needs.
    """
    content = load_checkpoint(path)
    try:
        model = build_model(content["config"]["model"])
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: the weights do not fit the model (no configuration of it)") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error
    load_weights(model, path, content)
    config = content["config"]
    if missing := [key for key in _PLAYED_BY.get(config.get("task"), _PLAYED_BY["mines"]) if key not in config]:
        raise CheckpointError(f"{path}: its configuration has no {' and no '.join(missing)}; use another file")
    return model, content


def load_weights(model: nn.Module, path: str | Path, content: Mapping[str, Any]) -> None:
    """Puts the averaged weights of the checkpoint `content`, read from `path`, into `model`.

    Raises:
        CheckpointError: they do not fit.
    """
    try:
        model.load_state_dict(content["averaged"])
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise CheckpointError(f"{path}: the weights do not fit the model ({reason})") from error


def bundled_checkpoints(mode: str | None = None) -> list[Path]:
    """The released checkpoints, `checkpoints/<mode>_<model>.pt`; all, or those of one mode and the universal ones."""
    patterns = ["*_*.pt"] if mode is None else [f"{mode}_*.pt", "universal_*.pt"]
    return sorted(path for pattern in patterns for path in BUNDLED.glob(pattern))


def git_commit() -> str:
    """Short hash of the commit that is checked out, or "unknown"."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
