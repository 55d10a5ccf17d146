"""A residual network that also knows how many mines there are: for the end of a game, and for every size and density.

1. Half of the blocks look at the view, as in `models.cnn`, and give a first logit for each cell.
2. A tally of the board by these: mines left when the cells that look like mines are taken off, cells that are still
   open, the density of the interior; with the mean and the largest of the features over the board.
3. The tally, as a shift of each channel, goes into the other half of the blocks, which correct the first logits.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.cnn import CellOutput, ResidualBlock, check_shape
from models.planes import NUM_PLANES, view_planes

_COUNTS = 8  # mines left and cells left are told apart one by one up to here
_TALLIES = 2 * _COUNTS + 6
_SURE, _STEEPNESS = 3.0, 2.0  # a logit of 3, a probability of 95%, counts half as decided


class CNNGlobal(nn.Module):
    """Views int8 [N, R, C] and mines int64 [N] -> logits float32 [N, R, C] of P(mine), any board size.

    Args:
        width: channels.
        depth: convolutions of the body, the stem included; odd, since a block has two.
        kernel: side of the convolutions, odd.

    Raises:
        ValueError: a value that is not allowed.
    """

    def __init__(self, width: int = 64, depth: int = 9, kernel: int = 3) -> None:
        super().__init__()
        check_shape(width, depth, kernel, least_depth=5)
        num_blocks = depth // 2
        self.stem = nn.Conv2d(NUM_PLANES, width, kernel, padding="same")
        self.first_blocks = nn.ModuleList(ResidualBlock(width, kernel) for _ in range((num_blocks + 1) // 2))
        self.first_output = CellOutput(width)
        self.mix = nn.Sequential(nn.Linear(_TALLIES + 2 * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        self.last_blocks = nn.ModuleList(ResidualBlock(width, kernel) for _ in range(num_blocks // 2))
        self.output = CellOutput(width)
        nn.init.zeros_(self.output.weight)  # a correction, none at first
        self.to(memory_format=torch.channels_last)

    def forward(self, views: Tensor, num_mines: Tensor) -> Tensor:
        planes = view_planes(views)
        x = functional.relu(self.stem(planes))
        for block in self.first_blocks:
            x = block(x)
        first = self.first_output(x)
        with torch.autocast(x.device.type, enabled=False):  # counts need float32
            features = x.float()
            pooled = [tally(planes, first, num_mines), features.mean((2, 3)), features.amax((2, 3))]
            shift = self.mix(torch.cat(pooled, 1))
        x = functional.relu(x + shift[:, :, None, None].to(x.dtype))
        for block in self.last_blocks:
            x = block(x)
        return first + self.output(x)


def tally(planes: Tensor, logits: Tensor, num_mines: Tensor) -> Tensor:
    """What is left on each board if the cells with large logits are decided, float32 [N, 22].

    Args:
        planes: float32 [N, F=10, R, C].
        logits: float32 [N, R, C] of P(mine).
        num_mines: int64 [N].
    """
    is_hidden = planes[:, 0]
    is_beside = functional.max_pool2d(planes[:, 1:].sum(1, keepdim=True), 3, stride=1, padding=1)[:, 0]
    is_frontier, is_interior = is_hidden * is_beside, is_hidden * (1 - is_beside)
    sure_mines = (is_hidden * torch.sigmoid(_STEEPNESS * (logits - _SURE))).sum((1, 2))
    sure_safe = (is_hidden * torch.sigmoid(_STEEPNESS * (-logits - _SURE))).sum((1, 2))
    mines_left = num_mines - sure_mines
    cells_left = is_hidden.sum((1, 2)) - sure_mines - sure_safe
    interior = is_interior.sum((1, 2))
    expected = num_mines - (is_frontier * torch.sigmoid(logits)).sum((1, 2))  # mines of the interior
    cells = planes.shape[2] * planes.shape[3]
    counts = torch.arange(_COUNTS, device=planes.device)
    return torch.stack(
        [
            *torch.exp(-2 * (mines_left[:, None] - counts) ** 2).unbind(1),
            *torch.exp(-2 * (cells_left[:, None] - counts) ** 2).unbind(1),
            (mines_left / (cells_left + 0.5)).clamp(-1, 2),
            (expected / (interior + 0.5)).clamp(-1, 2),
            num_mines / cells,
            interior / cells,
            torch.log1p(mines_left.clamp(min=0)) / 4,
            torch.log1p(cells_left.clamp(min=0)) / 4,
        ],
        1,
    )
