"""The fully convolutional network: residual convolutions over the whole board, any board size."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.planes import NUM_PLANES, view_planes
from models.settings import check_number


class CNN(nn.Module):
    """Views int8 [N, R, C] -> logits float32 [N, R, C] of P(mine); apply a sigmoid for probabilities.

    A stem, then blocks of two convolutions, each added to its input, then a 1x1 output. A cell sees
    `depth * (kernel // 2)` cells in each direction; the number of mines is not seen.

    Args:
        width: channels.
        depth: convolutions of the body, the stem included; odd, since a block has two.
        kernel: side of the convolutions, odd.

    Raises:
        ValueError: a value that is not allowed.
    """

    def __init__(self, width: int = 16, depth: int = 17, kernel: int = 3) -> None:
        super().__init__()
        check_shape(width, depth, kernel)
        self.stem = nn.Conv2d(NUM_PLANES, width, kernel, padding="same")
        self.blocks = nn.ModuleList(ResidualBlock(width, kernel) for _ in range(depth // 2))
        self.output = CellOutput(width)
        self.to(memory_format=torch.channels_last)

    def forward(self, views: Tensor, num_mines: Tensor) -> Tensor:  # noqa: ARG002
        x = functional.relu(self.stem(view_planes(views)))
        for block in self.blocks:
            x = block(x)
        return self.output(x)


def check_shape(width: int, depth: int, kernel: int, least_depth: int = 1) -> None:
    """ValueError unless a residual network can have this width, depth (an odd one) and kernel (an odd one)."""
    for name, value, low in (("width", width, 1), ("depth", depth, least_depth), ("kernel", kernel, 1)):
        check_number(name, value, low, integer=True)
    for name, value in (("depth", depth), ("kernel", kernel)):
        if value % 2 == 0:
            raise ValueError(f"{name} must be odd, got {value}")


class ResidualBlock(nn.Module):
    """x + conv(relu(conv(x))), then relu; starts as the identity, so that depth costs nothing at first."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, kernel, padding="same")
        self.second = nn.Conv2d(width, width, kernel, padding="same")
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.second(functional.relu(self.first(x))))


class CellOutput(nn.Linear):
    """Features [N, F, R, C] -> one logit a cell, float32 [N, R, C], the same weights for all cells."""

    def __init__(self, width: int) -> None:
        super().__init__(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = x.permute(0, 2, 3, 1)  # [N, F, R, C] -> [N, R, C, F]
        with torch.autocast(x.device.type, enabled=False):  # bfloat16 logits would be full of ties
            return super().forward(x.float()).squeeze(-1)
