"""How far a training is, and what follows from it: the learning rate and the decay of the averaged weights."""

import math
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor


def share_done(progress: dict[str, Any], cfg: DictConfig) -> float:
    """How much of the run is done, 0 to 1, by games or minutes, whichever is further."""
    by_games = progress["games"] / cfg.games if cfg.games is not None else 0.0
    if cfg.minutes is None:
        return by_games
    return max(by_games, progress["seconds"] / (60 * cfg.minutes) if cfg.minutes > 0 else 1.0)


def moving_average(decay: float, average: Tensor, value: Tensor, num_averaged: Tensor) -> Tensor:
    """The exponential moving average after one more value; its decay rises to `decay`, so as not to lag at first."""
    rising = min(decay, (1 + int(num_averaged)) / (10 + int(num_averaged)))
    return torch.lerp(average, value, 1 - rising)


def lr_factor(share: float, warmup: float) -> float:
    """Linear warm-up over the first `warmup` of the run, then a cosine down to 1%."""
    if share < warmup:
        return max(share / warmup, 0.01)
    return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (share - warmup) / max(1 - warmup, 1e-9)))
