"""The symmetries of a board: 8 of a square, 4 of a rectangle, numbered from 0, the identity."""

from torch import Tensor


def num_symmetries(rows: int, cols: int) -> int:
    """How many ways there are to turn and mirror a board of this size onto itself."""
    return 8 if rows == cols else 4


def turned(boards: Tensor, symmetry: int) -> Tensor:
    """`boards` [..., R, C] mirrored up-down (bit 0 of `symmetry`), left-right (bit 1), then transposed (bit 2)."""
    dims = [dim for bit, dim in ((1, -2), (2, -1)) if symmetry & bit]
    boards = boards.flip(dims) if dims else boards
    return boards.transpose(-2, -1) if symmetry & 4 else boards


def turned_back(boards: Tensor, symmetry: int) -> Tensor:
    """Undoes `turned`."""
    boards = boards.transpose(-2, -1) if symmetry & 4 else boards
    return turned(boards, symmetry & 3)
