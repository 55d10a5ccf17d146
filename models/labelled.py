"""Positions of which some cells are labelled: what the planner's training shows and remembers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minesweeper import HIDDEN


@dataclass
class Labelled:
    """Positions with labelled cells; leading axes [...], K labels each.

    Attributes:
        views: int8 [..., R, C].
        posterior: float32 [..., R, C], 0 where revealed.
        cells: int32 [..., K], flat; -1: no label.
        values: float32 [..., K], in 0..1.
        weights: float32 [..., K].
    """

    views: NDArray[np.int8]
    posterior: NDArray[np.float32]
    cells: NDArray[np.int32]
    values: NDArray[np.float32]
    weights: NDArray[np.float32]

    @classmethod
    def empty(cls, shape: tuple[int, ...], board: tuple[int, int], labels: int) -> "Labelled":
        """Positions without a label."""
        views, posterior = np.full((*shape, *board), HIDDEN, np.int8), np.zeros((*shape, *board), np.float32)
        cells = np.full((*shape, labels), -1, np.int32)
        return cls(views, posterior, cells, np.zeros(cells.shape, np.float32), np.zeros(cells.shape, np.float32))

    def arrays(self) -> dict[str, NDArray]:
        """The arrays by name."""
        return vars(self)

    def at(self, index: Any) -> "Labelled":
        """Some of the positions."""
        return Labelled(**{name: array[index] for name, array in self.arrays().items()})
