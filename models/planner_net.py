"""The planner's network: how likely a game is won, once a cell was opened and was safe.

It is told what is known, the exact posterior, so what it has to learn is what a number there would be worth.

1. The position, reduced to what still matters: proved mines, the cells that they satisfy and the border of the board
   look the same, nothing; a number shows the mines that it still needs.
2. Half of the blocks look at that; mines and cells left and a mean and a maximum over the open cells then scale and
   shift each channel; the other half of the blocks give a logit for each cell.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from minesweeper.board import HIDDEN, MINE
from models.cnn import CellOutput, ResidualBlock, check_shape

_MOST_NEEDED = 6  # more mines that a number needs count as 6
_NUM_PLANES = 4 + _MOST_NEEDED + 1
_COUNTS = 12  # mines and cells left are told apart one by one below
_NUM_COUNTS = 2 * _COUNTS + 5


class PlannerNet(nn.Module):
    """A residual network; the logits float32 [N, R, C] of P(win | this cell is opened and safe), any board size.

    Args:
        width: channels.
        depth: convolutions of the body, the stem included; odd, since a block has two.
        kernel: side of the convolutions, odd.

    Raises:
        ValueError: a value that is not allowed.
    """

    def __init__(self, width: int = 32, depth: int = 9, kernel: int = 3) -> None:
        super().__init__()
        check_shape(width, depth, kernel, least_depth=5)
        num_blocks = depth // 2
        self.stem = nn.Conv2d(_NUM_PLANES, width, kernel, padding="same")
        self.first_blocks = nn.ModuleList(ResidualBlock(width, kernel) for _ in range((num_blocks + 1) // 2))
        self.mix = nn.Sequential(
            nn.Linear(_NUM_COUNTS + 2 * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, 2 * width)
        )
        self.last_blocks = nn.ModuleList(ResidualBlock(width, kernel) for _ in range(num_blocks // 2))
        self.output = CellOutput(width)
        self.to(memory_format=torch.channels_last)

    def forward(self, views: Tensor, probabilities: Tensor, num_mines: Tensor) -> Tensor:
        """The logits of views int8 [N, R, C] with exact posteriors float32 [N, R, C] and mines int64 [N]."""
        planes, counts = position_planes(views, probabilities, num_mines)
        x = functional.relu(self.stem(planes))
        for block in self.first_blocks:
            x = block(x)
        with torch.autocast(x.device.type, enabled=False):  # counts need float32
            features, is_open = x.float(), planes[:, :1]
            mean = (features * is_open).sum((2, 3)) / is_open.sum((2, 3)).clamp(min=1)
            largest = (features * is_open).amax((2, 3))
            shift, scale = self.mix(torch.cat([counts, mean, largest], 1))[:, :, None, None].chunk(2, 1)
            x = functional.relu(features * (1 + scale) + shift).to(x.dtype)
        for block in self.last_blocks:
            x = block(x)
        return self.output(x)


def position_planes(views: Tensor, probabilities: Tensor, num_mines: Tensor) -> tuple[Tensor, Tensor]:
    """What still matters of a position.

    Args:
        views: int8 [N, R, C]; a `MINE` is a known mine.
        probabilities: float32 [N, R, C], the exact posterior, NaN where revealed.
        num_mines: int64 [N].

    Returns:
        float32 [N, F=11, R, C]: cells that may be safe; proved safe; beside no number; P(mine); numbers that still
        have such cells, by the mines that they need, 0 to 6. And float32 [N, 29]: mines and cells left.
    """
    p = probabilities.nan_to_num(0.0)
    is_hidden = views == HIDDEN
    is_open = is_hidden & (p != 1)
    is_mine = (is_hidden & ~is_open) | (views == MINE)
    is_safe = is_hidden & (p == 0)
    around = 9 * functional.avg_pool2d(torch.stack([is_mine, is_open], 1).float(), 3, stride=1, padding=1)
    is_clue = (views >= 0) & (around[:, 1] > 0.5)
    need = (views - around[:, 0]).round().clamp(0, _MOST_NEEDED).long()
    is_beside = functional.max_pool2d(is_clue[:, None].float(), 3, stride=1, padding=1)[:, 0] > 0
    is_interior = is_open & ~is_beside
    needs = functional.one_hot(need, _MOST_NEEDED + 1) * is_clue[..., None]
    cells = torch.stack([is_open, is_safe, is_interior, p.where(is_open, 0.0)], -1)
    planes = torch.cat([cells, needs], -1).permute(0, 3, 1, 2)  # [N, R, C, F] -> [N, F, R, C]

    mines_left = num_mines - is_mine.sum((1, 2))
    cells_left = is_open.sum((1, 2))
    shares = [
        mines_left / cells_left.clamp(min=1),
        is_interior.sum((1, 2)) / cells_left.clamp(min=1),
        torch.log1p(mines_left.clamp(min=0)) / 4,
        torch.log1p(cells_left) / 4,
        cells_left / (views.shape[1] * views.shape[2]),
    ]
    each = [functional.one_hot(left.clamp(0, _COUNTS - 1), _COUNTS) for left in (mines_left, cells_left)]
    return planes.float(), torch.cat([*each, torch.stack(shares, 1)], 1).float()
