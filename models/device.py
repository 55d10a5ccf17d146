"""Where and how precisely torch computes."""

import os
from contextlib import AbstractContextManager

import torch

DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("auto", "bf16", "float32")
_CELLS_FOR_THREADS = 30_000


def choose_device(device: str, number: int = 0) -> torch.device:
    """The torch device for a `device` setting; "auto" takes CUDA when there is one, of several the one of this number.

    Raises:
        ValueError: an unknown name, or CUDA asked for and missing.
    """
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, got {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device=cuda, but torch finds no CUDA device here; use device=cpu or device=auto")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device, number) if device == "cuda" else torch.device(device)


def choose_precision(precision: str, device: torch.device) -> str:
    """ "bf16" or "float32" for a `precision` setting; "auto" takes bf16 where the hardware multiplies it faster.

    Raises:
        ValueError: an unknown name.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    if precision == "auto":
        if device.type == "cuda":
            is_fast = torch.cuda.is_bf16_supported(including_emulation=False)
        else:
            capabilities = torch.cpu.get_capabilities()
            is_fast = any(capabilities.get(name, False) for name in ("amx_bf16", "avx512_bf16"))
        precision = "bf16" if is_fast else "float32"
    return precision


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Context in which a model's forward pass runs in `precision`."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def choose_threads(threads: int, cells: int, processes: int = 1) -> int:
    """CPU threads for a `threads` setting; 0 takes one core when a step has few cells, otherwise all cores.

    Threads that wait for each other at every small operation gain little on idle cores, and on busy ones they are
    many times slower than one thread.

    Args:
        cells: cells of all boards of one step.
        processes: how many there are on this machine.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return threads or (max(1, cores // processes) if cells >= _CELLS_FOR_THREADS else 1)
