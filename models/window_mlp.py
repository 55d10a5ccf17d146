"""The window MLP: from the 24 neighbours in a 5x5 window to P(mine) of the cell in the middle."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.planes import NUM_PLANES, view_planes

_WINDOW = 5
_NEIGHBOURS = _WINDOW * _WINDOW - 1


class WindowMLP(nn.Module):
    """Views int8 [N, R, C] -> logits float32 [N, R, C] of P(mine).

    All frontier cells of all boards go through the MLP as one batch. A cell beside no number gets one learned logit,
    the same for all: a window without numbers says nothing.

    Args:
        hidden: units of each hidden layer.

    Raises:
        ValueError: `hidden` is not a list of positive integers.
    """

    def __init__(self, hidden: Sequence[int] = (256, 128)) -> None:
        super().__init__()
        sizes = list(hidden) if isinstance(hidden, Sequence) and not isinstance(hidden, str) else []
        if not sizes or not all(type(size) is int and size > 0 for size in sizes):
            raise ValueError(f"hidden must be a list of positive integers, got {hidden!r}")
        layers: list[nn.Module] = []
        inputs = _NEIGHBOURS * NUM_PLANES
        for size in sizes:
            layers += [nn.Linear(inputs, size), nn.ReLU()]
            inputs = size
        self.body = nn.Sequential(*layers)
        self.output = nn.Linear(inputs, 1)
        self.interior = nn.Parameter(torch.zeros(()))

    def forward(self, views: Tensor, num_mines: Tensor) -> Tensor:  # noqa: ARG002
        reach = _WINDOW // 2
        planes = view_planes(views)
        hidden = planes[:, :1]
        is_revealed = planes[:, 1:].sum(1, keepdim=True)
        is_frontier = (hidden * functional.max_pool2d(is_revealed, 3, stride=1, padding=1)).squeeze(1) > 0  # [N, R, C]
        game, row, col = is_frontier.nonzero(as_tuple=True)

        padded = functional.pad(planes, (reach,) * 4).permute(0, 2, 3, 1)  # [N, F, R, C] -> [N, R + 4, C + 4, F]
        steps = [(r, c) for r in range(_WINDOW) for c in range(_WINDOW) if (r, c) != (reach, reach)]
        row_step, col_step = torch.tensor(steps, device=planes.device).unbind(1)
        windows = padded[game[:, None], row[:, None] + row_step, col[:, None] + col_step]  # [cells, 24, F]
        features = self.body(windows.flatten(1))  # [cells, 24 * F]
        with torch.autocast(planes.device.type, enabled=False):
            values = self.output(features.float()).squeeze(-1)
        logits = self.interior.expand(is_frontier.shape).float()
        return logits.index_put((game, row, col), values)
