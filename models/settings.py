"""Checks of configuration values: errors that name the key, the value and what is allowed."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from omegaconf import DictConfig, OmegaConf

from minesweeper.mode import Mode


def check_choice(key: str, value: object, allowed: Collection) -> None:
    """ValueError unless `value` is one of `allowed`."""
    if value not in allowed:
        raise ValueError(f"{key} must be one of {', '.join(map(str, allowed))}, got {value!r}")


def check_number(key: str, value: Any, low: float, high: float = math.inf, *, integer: bool = False) -> None:
    """ValueError unless `value` is a number, or an integer, from `low` to `high`."""
    kinds = int if integer else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "an integer" if integer else "a number"
        bound = f"of at least {low}" if high == math.inf else f"from {low} to {high}"
        raise ValueError(f"{key} must be {kind} {bound}, got {value!r}")


def check_path(key: str, value: object) -> None:
    """ValueError unless `value` is text or None."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} must be a path or null, got {value!r}")


def check_mode_is_named(arguments: Iterable[str]) -> None:
    """ValueError for command-line arguments that change a mode (`mode.rows=20`) without naming one (`mode=beginner`).

    Hydra's own message would tell to write `+mode.rows=20`, which leaves the other numbers out.
    """
    names = [argument.lstrip("+~").split("=")[0] for argument in arguments]
    changed = next((name for name in names if name.startswith("mode.")), None)
    if changed and "mode" not in names:
        raise ValueError(f"{changed}= changes a mode that mode= must name, as in: mode=beginner {changed}=...")


def make_mode(config: Mapping[str, Any]) -> Mode:
    """The mode of a `mode` configuration; ValueError for a key that is missing, unknown or out of range."""
    try:
        return Mode(**config)
    except TypeError as error:
        raise ValueError(f"mode: {str(error).removeprefix('Mode.__init__() ')}") from error


def make_modes(mix: Any, mode: Mode) -> list[Mode]:
    """The modes of a `mix` setting, with the rules of `mode`; `mode` alone if it is null.

    Raises:
        ValueError: not a list of [rows, cols, mines], or one of them out of range.
    """
    if mix is None:
        return [mode]
    entries = OmegaConf.to_container(mix) if OmegaConf.is_list(mix) else [mix]
    if not entries or not all(isinstance(entry, list) and len(entry) == 3 for entry in entries):
        raise ValueError(f"mix must be null or a list of [rows, cols, mines], got {mix!r}")
    return [replace(mode, rows=rows, cols=cols, mines=mines) for rows, cols, mines in entries]


def merge_resumed(
    config: dict[str, Any], resume: str, overrides: Iterable[str], allowed: Collection[str], known: Iterable[str]
) -> DictConfig:
    """The configuration of the run that wrote a checkpoint, with the `overrides` (key=value) that a resume may change.

    Args:
        resume: the checkpoint.
        allowed: what may be given anew.
        known: the settings that a run of its task has.

    Raises:
        ValueError: an override of another key, or a checkpoint from before a setting was known.
    """
    changes = [override for override in overrides if override.split("=")[0] != "resume"]
    for override in changes:
        if override.split("=")[0] not in allowed:
            raise ValueError(f"with resume, only {', '.join(allowed)} may be given anew, got {override}")
    missing = [key for key in known if key not in config]
    if missing:
        raise ValueError(
            f"resume={resume} was written by an earlier version, without {', '.join(missing)}; "
            "go on with that version, or start a new run with init_from="
        )
    return OmegaConf.merge(OmegaConf.create(config), OmegaConf.from_dotlist(changes), {"resume": resume})
