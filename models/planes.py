"""Views as network input: ten 0/1 planes, one for each thing that a cell can show."""

import torch
from torch import Tensor

from minesweeper.board import HIDDEN

NUM_PLANES = 10
_SHOWN = torch.tensor([HIDDEN, 0, 1, 2, 3, 4, 5, 6, 7, 8], dtype=torch.int8)


def view_planes(views: Tensor) -> Tensor:
    """Planes of the views: hidden, 0, 1, ..., 8. Cells outside the board, which convolutions pad, are all zeros.

    Args:
        views: int8 [N, R, C].

    Returns:
        float32 [N, F=10, R, C], channels-last in memory.
    """
    return (views[..., None] == _SHOWN.to(views.device)).float().permute(0, 3, 1, 2)  # [N, R, C, F] -> [N, F, R, C]
