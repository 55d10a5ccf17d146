"""Several processes that train one model, as torchrun starts them; alone, without it, all of this does nothing.

Every process plays its share of the live games, all hold the same weights. Process 0 speaks and writes.
"""

import gc
import logging
import os
import sys
from typing import Any

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel


class Ranks:
    """The processes of a training.

    Attributes:
        rank: the number of this process, 0 to size - 1.
        size: how many there are.
        local_rank, local_size: the same on its machine; `local_rank` is the number of its CUDA device.

    Raises:
        ValueError: the processes can't share out `num_live_games` or `eval_games`.
    """

    def __init__(self, num_live_games: int | None, eval_games: int) -> None:
        self.rank, self.local_rank = (int(os.environ.get(name, 0)) for name in ("RANK", "LOCAL_RANK"))
        self.size, self.local_size = (int(os.environ.get(name, 1)) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
        if (num_live_games or 0) % self.size or eval_games < self.size:
            raise ValueError(
                f"{self.size} processes need num_live_games that divide by {self.size} and at least {self.size} "
                f"eval_games, got {num_live_games} and {eval_games}"
            )

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def __enter__(self) -> "Ranks":
        if self.size > 1:
            distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self.size > 1:
            if error is None:
                distributed.barrier()  # one that leaves while another still talks would take it down
            gc.collect()  # a wrapped model left in a cycle would keep the group's threads until the interpreter ends
            distributed.destroy_process_group()

    def divisible(self, number: float) -> int:
        """The integer nearest to `number` that the processes can share out evenly, at least one each."""
        return max(1, round(number / self.size)) * self.size

    def share(self, total: int) -> tuple[int, int]:
        """First and number of the things 0..total-1 that this process does."""
        first, end = total * self.rank // self.size, total * (self.rank + 1) // self.size
        return first, end - first

    def wrapped(self, model: nn.Module) -> nn.Module:
        """`model`, with gradients that are averaged over the processes."""
        return DistributedDataParallel(model) if self.size > 1 else model

    def sums(self, values: list[float], device: torch.device) -> list[float]:
        """Each value summed over the processes, the same everywhere."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=device)
        distributed.all_reduce(tensor)
        return tensor.tolist()

    def gathered(self, value: Any) -> list:
        """The values of all processes, by rank, the same everywhere."""
        if self.size == 1:
            return [value]
        values: list = [None] * self.size
        distributed.all_gather_object(values, value)
        return values


def leave() -> None:
    """Ends a process that is one of several at once: while Python shuts down, threads that torch still has for the
    group now and then abort a process whose work is done, and torchrun calls the training failed."""
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
