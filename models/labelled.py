"""What the planner's training shows and remembers: cells that were tried at guesses, and what came of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minesweeper.prospects import NUM_FEATURES


@dataclass
class Labelled:
    """Guesses with the cells that were tried; leading axes [...], K cells each.

    Attributes:
        features: float32 [..., K, F], `minesweeper.prospects` of the number that the cell showed.
        values: float32 [..., K], what the game was worth then, in 0..1; NaN: no label.
    """

    features: NDArray[np.float32]
    values: NDArray[np.float32]

    @classmethod
    def empty(cls, shape: tuple[int, ...], labels: int) -> "Labelled":
        """Guesses without a label."""
        return cls(np.zeros((*shape, labels, NUM_FEATURES), np.float32), np.full((*shape, labels), np.nan, np.float32))

    def arrays(self) -> dict[str, NDArray]:
        """The arrays by name."""
        return vars(self)

    def at(self, index: Any) -> "Labelled":
        """Some of the guesses."""
        return Labelled(**{name: array[index] for name, array in self.arrays().items()})
