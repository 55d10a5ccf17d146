"""LearnedSolver: any model that maps views to logits, as a solver."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from minesweeper.board import HIDDEN
from minesweeper.components import frontier_mask
from minesweeper.solvers.base import Solver, check_share
from models.device import autocast

LOSS_CELLS = ("hidden", "frontier")
_LEAST = 1e-12  # a network proves nothing, so its probabilities stay inside (0, 1)


class LearnedSolver(Solver):
    """Plays by a model's probabilities.

    Args:
        model: views [N, R, C], mines [N] -> logits [N, R, C]; used in eval mode, on the device it is on.
        guess_threshold: cells at or below this probability are taken as safe (see `Solver`); 0 to 1.
        precision: "bf16" or "float32".
        cells: which cells the model was trained on. "hidden": all; "frontier": those beside a number, so that the
            others get the mines that are left, shared evenly.
        label: the name in tables.

    Raises:
        ValueError: a threshold outside 0..1, another `cells`.
    """

    name = "learned"

    def __init__(
        self,
        model: nn.Module,
        guess_threshold: float = 0.01,
        precision: str = "float32",
        tie_break: str = "random",
        cells: str = "hidden",
        label: str = "learned",
    ) -> None:
        super().__init__(tie_break)
        check_share("guess_threshold", guess_threshold)
        if cells not in LOSS_CELLS:
            raise ValueError(f"cells must be one of {', '.join(LOSS_CELLS)}, got {cells!r}")
        self.model = model.eval()
        self.guess_threshold = guess_threshold
        self.precision = precision
        self.cells = cells
        self.label = label
        self.device = next(model.parameters()).device

    @classmethod
    def trained(
        cls,
        model: nn.Module,
        config: Mapping[str, Any],
        precision: str,
        guess_threshold: float | None = None,
        tie_break: str = "random",
    ) -> "LearnedSolver":
        """Plays by a model as `config`, that of its training, says; a given `guess_threshold` goes before it."""
        threshold = config["guess_threshold"] if guess_threshold is None else guess_threshold
        return cls(model, threshold, precision, tie_break, config.get("loss_cells", "hidden"))

    @torch.inference_mode()
    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`."""
        mines = np.broadcast_to(np.asarray(num_mines, np.int64), len(views)).copy()
        with autocast(self.device, self.precision):
            logits = self.model(torch.from_numpy(views).to(self.device), torch.from_numpy(mines).to(self.device))
        check_logits(self.model, logits, views.shape)
        probabilities = torch.sigmoid(logits.double()).cpu().numpy()
        if self.cells == "frontier":
            probabilities = with_even_interior(probabilities, views, mines)
        return np.where(views == HIDDEN, probabilities.clip(_LEAST, 1 - _LEAST), np.nan)


def check_logits(model: nn.Module, logits: Tensor, shape: Sequence[int]) -> None:
    """ValueError unless there is a logit for each cell of the views, whose shape is given."""
    if tuple(logits.shape) != tuple(shape):
        name, got = type(model).__name__, list(logits.shape)
        raise ValueError(f"{name} must give logits of the shape of its views, {list(shape)}, got {got}")


def with_even_interior(
    probabilities: NDArray[np.floating], views: NDArray[np.int8], num_mines: NDArray[np.int64]
) -> NDArray[np.floating]:
    """`probabilities` [N, R, C], but in the interior the mines that those of the frontier leave, shared evenly.

    Args:
        views: int8 [N, R, C].
        num_mines: int64 [N].
    """
    is_hidden, is_frontier = views == HIDDEN, frontier_mask(views)
    is_interior = is_hidden & ~is_frontier
    left = num_mines - np.where(is_frontier, probabilities, 0).sum((1, 2))
    density = (left / np.maximum(is_interior.sum((1, 2)), 1)).clip(0, 1)
    return np.where(is_interior, density[:, None, None], probabilities)
