"""LearnedSolver: any model that maps planes to logits, as a solver."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from minesweeper.board import HIDDEN
from minesweeper.solvers.base import Solver
from models.device import autocast
from models.planes import view_planes

_LEAST = 1e-12  # a network proves nothing, so its probabilities stay inside (0, 1)


class LearnedSolver(Solver):
    """Plays by a model's probabilities.

    Args:
        model: planes [N, F, R, C] -> logits [N, R, C]; used in eval mode, on the device it is on.
        guess_threshold: cells at or below this probability are taken as safe (see `Solver`); 0 to 1.
        precision: "bf16" or "float32".
        label: the name in tables.

    Raises:
        ValueError: a threshold outside 0..1.
    """

    name = "learned"

    def __init__(
        self,
        model: nn.Module,
        guess_threshold: float = 0.01,
        precision: str = "float32",
        tie_break: str = "random",
        label: str = "learned",
    ) -> None:
        super().__init__(tie_break)
        if not 0 <= guess_threshold <= 1:
            raise ValueError(f"guess_threshold must be 0 to 1, got {guess_threshold!r}")
        self.model = model.eval()
        self.guess_threshold = guess_threshold
        self.precision = precision
        self.label = label
        self.device = next(model.parameters()).device

    @torch.inference_mode()
    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:  # noqa: ARG002
        """See `Solver`; the model sees the view alone, not `num_mines`."""
        with autocast(self.device, self.precision):
            logits = self.model(view_planes(torch.from_numpy(views).to(self.device)))
        probabilities = torch.sigmoid(logits.double()).cpu().numpy().clip(_LEAST, 1 - _LEAST)
        return np.where(views == HIDDEN, probabilities, np.nan)
