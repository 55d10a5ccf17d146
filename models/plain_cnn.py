"""Convolutions one after the other, as in the thesis "Neural Network Learner for Minesweeper" (arXiv 2212.10446)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.cnn import CellOutput
from models.planes import NUM_PLANES, view_planes
from models.settings import check_choice, check_number

ACTIVATIONS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid}


class PlainCNN(nn.Module):
    """Views int8 [N, R, C] -> logits float32 [N, R, C] of P(mine); no shortcuts, no normalisation.

    Args:
        channels: of each layer.
        kernels: side of each layer's filters, odd.
        activation: "relu" or "sigmoid", after each layer but the 1x1 output.

    Raises:
        ValueError: a value that is not allowed.
    """

    def __init__(
        self,
        channels: Sequence[int] = (64, 64, 64, 64, 64),
        kernels: Sequence[int] = (3, 3, 3, 3, 3),
        activation: str = "relu",
    ) -> None:
        super().__init__()
        check_choice("activation", activation, ACTIVATIONS)
        for name, values in (("channels", channels), ("kernels", kernels)):
            if not isinstance(values, Sequence) or isinstance(values, str) or not values:
                raise ValueError(f"{name} must be a list of integers, one a layer, got {values!r}")
            for value in values:
                check_number(name, value, 1, integer=True)
        if len(channels) != len(kernels):
            raise ValueError(f"channels and kernels must be of one length, got {len(channels)} and {len(kernels)}")
        layers: list[nn.Module] = []
        inputs = NUM_PLANES
        for width, kernel in zip(channels, kernels, strict=True):
            if kernel % 2 == 0:
                raise ValueError(f"kernels must be odd, got {kernel}")
            layers += [nn.Conv2d(inputs, width, kernel, padding="same"), ACTIVATIONS[activation]()]
            inputs = width
        self.body = nn.Sequential(*layers)
        self.output = CellOutput(inputs)
        if activation == "sigmoid":  # torch's smaller weights would leave the signal of the view too weak to learn from
            for module in self.modules():
                if isinstance(module, nn.Conv2d):
                    nn.init.xavier_uniform_(module.weight)
        self.to(memory_format=torch.channels_last)

    def forward(self, views: Tensor, num_mines: Tensor) -> Tensor:  # noqa: ARG002
        return self.output(self.body(view_planes(views)))
