"""Calibration: how a solver's mine probabilities differ from the exact posterior, on the positions of its own games.

The hidden cells are sorted by kind (proved: posterior exactly 0 or 1; frontier: undecided, beside a number; interior:
undecided, beside none) and by predicted probability, in bins of equal width. The error of a prediction p where the
posterior is q is measured as KL(q || p) = q log(q/p) + (1-q) log((1-q)/(1-p)), in nats: what a model that is trained on
where the mines were could still gain, whatever the noise of the mines.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from minesweeper.arena import Decisions
from minesweeper.board import HIDDEN
from minesweeper.components import frontier_mask
from minesweeper.tables import aligned

KINDS = ("proved", "frontier", "interior")
NUM_BINS = 20
ALL = "all"  # kinds together, or bins
COLUMNS = ("kind", "bin", "cells", "predicted", "posterior", "mine_rate", "kl", "mae")  # of `Calibration.rows`
_LEAST = 1e-6  # predictions are kept this far from 0 and 1 for the KL, so that one false proof cannot outweigh all
_QUANTITIES = len(COLUMNS) - 2


class Calibration:
    """Sums over cells, by kind and bin; filled batch by batch.

    Attributes:
        sums: float64 [kinds, bins, 6]: cells, then the sums of predicted, posterior, mines, KL in nats, absolute error.
    """

    def __init__(self) -> None:
        self.sums = np.zeros((len(KINDS), NUM_BINS, _QUANTITIES))

    def add(
        self,
        views: NDArray[np.int8],
        predicted: NDArray[np.floating],
        posterior: NDArray[np.float64],
        mines: NDArray[np.bool_],
    ) -> None:
        """Adds the hidden cells of a batch.

        Args:
            views: int8 [N, R, C].
            predicted: float [N, R, C], the solver's P(mine) of the hidden cells; other cells are not looked at.
            posterior: float64 [N, R, C], the exact one.
            mines: bool [N, R, C], where they really were.

        Raises:
            ValueError: a prediction outside 0 to 1, or NaN, on a hidden cell.
        """
        is_hidden = views == HIDDEN
        p, q = predicted[is_hidden].astype(np.float64), posterior[is_hidden]
        is_wrong = ~((p >= 0) & (p <= 1))
        if is_wrong.any():
            raise ValueError(f"predicted must be 0 to 1 on hidden cells, got {p[is_wrong][0]}")
        is_proved = (q == 0) | (q == 1)
        kind = np.where(is_proved, 0, np.where(frontier_mask(views)[is_hidden], 1, 2))
        place = kind * NUM_BINS + np.minimum((p * NUM_BINS).astype(np.int64), NUM_BINS - 1)
        clipped = p.clip(_LEAST, 1 - _LEAST)
        divergence = (rel_entr(q, clipped) + rel_entr(1 - q, 1 - clipped)).clip(min=0)  # rounding could be below
        for i, values in enumerate((np.ones_like(p), p, q, mines[is_hidden], divergence, np.abs(p - q))):
            sums = np.bincount(place, values, len(KINDS) * NUM_BINS)
            self.sums[..., i] += sums.reshape(len(KINDS), NUM_BINS)

    def observe(self, decisions: Decisions) -> None:
        """Adds the positions in which a solver decided."""
        self.add(decisions.views, decisions.predicted, decisions.posterior, decisions.mines)

    def means(self, kind: str = ALL, bin_index: int | None = None) -> dict[str, float]:
        """`cells`, and over these the means of `predicted`, `posterior`, `mine_rate`, `kl` (nats) and `mae`.

        Args:
            kind: one of `KINDS` or `ALL`.
            bin_index: 0 to `NUM_BINS` - 1, or None for all bins.

        Returns:
            By name; the means are NaN where there is no cell.
        """
        sums = self.sums if kind == ALL else self.sums[[KINDS.index(kind)]]
        cells, *totals = (sums if bin_index is None else sums[:, [bin_index]]).sum(axis=(0, 1)).tolist()
        means = (total / cells if cells else float("nan") for total in totals)
        return {"cells": int(cells), **dict(zip(COLUMNS[3:], means, strict=True))}

    def metrics(self) -> dict[str, float]:
        """The KL of each kind of cell that was met, as `kl_proved` and so on, and `error`, the `mae` of all cells."""
        by_kind = {kind: self.means(kind) for kind in KINDS}
        return {f"kl_{kind}": means["kl"] for kind, means in by_kind.items() if means["cells"]} | {
            "error": self.means()["mae"]
        }

    def rows(self) -> list[dict[str, Any]]:
        """Lines with `COLUMNS`, for each kind and all, of its bins together and of each bin that has cells."""
        lines = [
            {"kind": kind, "bin": ALL if bin_index is None else bin_index, **self.means(kind, bin_index)}
            for kind in (*KINDS, ALL)
            for bin_index in (None, *range(NUM_BINS))
        ]
        return [line for line in lines if line["cells"]]


def calibration_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Aligned text, a line for each solver and kind, of `Calibration.rows` to which `solver` was added."""
    head = ["solver", "cells of kind", "cells", "predicted", "posterior", "mine rate", "KL, nats", "mean abs. error"]
    body = [
        [row["solver"], row["kind"], str(row["cells"]), *(f"{row[key]:.4f}" for key in COLUMNS[3:6])]
        + [f"{row[key]:.6f}" for key in COLUMNS[6:]]
        for row in rows
        if row["bin"] == ALL
    ]
    return aligned(head, body, left=2)
