"""Solver: the protocol of everything that plays, and the default move."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, draw
from minesweeper.kernels import kernel

TIE_TOLERANCE = 1e-9  # probabilities closer than this are equal: rounding must not break ties
TIE_BREAKS = ("random", "corner")


def check_share(key: str, value: object) -> None:
    """ValueError unless `value` is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(f"{key} must be 0 to 1, got {value!r}")


class Solver:
    """Gives a mine probability for each hidden cell, and plays by it.

    A subclass sets `name` and overrides `mine_probabilities`; one that plans further overrides `choose` too.

    Args:
        tie_break: among cells of equal lowest probability, "random", or "corner": those with the fewest hidden
            neighbours first, random among the rest.

    Raises:
        ValueError: `tie_break` is none of these.
    """

    name: ClassVar[str]
    guess_threshold: float = 0.0
    """Cells at or below this probability are taken as safe: they are opened all at once, and are no guesses."""

    def __init__(self, tie_break: str = "random") -> None:
        if tie_break not in TIE_BREAKS:
            raise ValueError(f"tie_break must be one of {', '.join(TIE_BREAKS)}, got {tie_break!r}")
        self.tie_break = tie_break

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """P(mine) of every hidden cell.

        Args:
            views: int8 [N, R, C], `HIDDEN` (-2) or 0..8; not modified.
            num_mines: mines on each board, one integer or integers [N].

        Returns:
            float64 [N, R, C], NaN where revealed; exactly 0.0 and 1.0 only where proved.
        """
        raise NotImplementedError(f"{type(self).__name__} must define mine_probabilities")

    def choose(
        self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The next move of each game: all cells taken as safe, otherwise one cell of the lowest probability.

        Args:
            views, num_mines: as for `mine_probabilities`; every view has a hidden cell.
            keys: uint64 [N], the random choices depend on these alone.

        Returns:
            The cells to reveal, bool [N, R, C], and whether the move is a guess, bool [N].
        """
        probabilities = self.mine_probabilities(views, num_mines)
        if np.shape(probabilities) != views.shape:
            raise ValueError(
                f"solver {self.name}: mine_probabilities must have the shape of the views, {list(views.shape)}, "
                f"got {list(np.shape(probabilities))}"
            )
        return choose_lowest(probabilities, views, keys, self.guess_threshold, self.tie_break)


def choose_lowest(
    probabilities: NDArray[np.floating],
    views: NDArray[np.int8],
    keys: NDArray[np.uint64],
    guess_threshold: float = 0.0,
    tie_break: str = "random",
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The default move, for probabilities [N, R, C] already known; see `Solver.choose` and `Solver`."""
    mask = np.zeros(views.shape, np.bool_)
    is_guess = np.zeros(len(views), np.bool_)
    _choose_lowest(probabilities, views, keys, guess_threshold, tie_break == "corner", mask, is_guess)
    return mask, is_guess


def choose_highest(
    scores: NDArray[np.floating], views: NDArray[np.int8], keys: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """The hidden cell of the highest score of each game, a random one of equals: bool [N, R, C]. NaN: no candidate."""
    mask, _ = choose_lowest(np.where(np.isnan(scores), np.inf, -scores), views, keys, guess_threshold=-np.inf)
    return mask


@kernel
def _choose_lowest(probabilities, views, keys, guess_threshold, prefer_corners, mask, is_guess):
    num_games, rows, cols = views.shape
    for game in range(num_games):
        lowest = np.inf
        for row in range(rows):
            for col in range(cols):
                if views[game, row, col] == HIDDEN:
                    probability = probabilities[game, row, col]
                    lowest = min(lowest, probability)
                    mask[game, row, col] = probability <= guess_threshold
        if lowest <= guess_threshold or lowest == np.inf:
            continue
        is_guess[game] = True
        fewest = 9
        ties = 0
        pick = -1
        # Two passes: count the best cells, then take the drawn one of them.
        for take in range(2):
            if take == 1:
                _, pick = draw(keys[game], ties)
                ties = 0
            for row in range(rows):
                for col in range(cols):
                    if views[game, row, col] != HIDDEN or probabilities[game, row, col] > lowest + TIE_TOLERANCE:
                        continue
                    if prefer_corners:
                        hidden = -1
                        for r in range(max(row - 1, 0), min(row + 2, rows)):
                            for c in range(max(col - 1, 0), min(col + 2, cols)):
                                hidden += views[game, r, c] == HIDDEN
                        if hidden > fewest:
                            continue
                        if hidden < fewest:
                            fewest = hidden
                            ties = 0
                    mask[game, row, col] = take == 1 and ties == pick
                    ties += 1
