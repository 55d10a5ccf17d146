"""The planner's network: how likely a game is won once a cell shows a number.

It is shown what counting tells exactly (`minesweeper.prospects`): the position, the cell, and what would be known with
that number. So it has to learn only what such knowledge is worth.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from minesweeper.prospects import NUM_FEATURES


class PlannerNet(nn.Module):
    """A residual perceptron: features float32 [M, F] -> logits float32 [M] of P(win).

    Args:
        width: units of a layer.
        depth: layers before the output.

    Raises:
        ValueError: a value that is not allowed.
    """

    def __init__(self, width: int = 128, depth: int = 3) -> None:
        super().__init__()
        for name, value in (("width", width), ("depth", depth)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
        self.first = nn.Linear(NUM_FEATURES, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth - 1))
        self.output = nn.Linear(width, 1)

    def forward(self, features: Tensor) -> Tensor:
        """See the class."""
        x = functional.relu(self.first(features))
        for block in self.blocks:
            x = x + functional.relu(block(x))
        return self.output(x)[:, 0]


@torch.inference_mode()
def win_chances(model: nn.Module, features: Tensor) -> Tensor:
    """P(win) of each row, float64 [M], on the CPU; `features` are moved to where the model is."""
    return torch.sigmoid(model(features.to(next(model.parameters()).device)).double()).cpu()
