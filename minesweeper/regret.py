"""Regret: which decisions of a solver cost games that the exact solver's choice would not have cost.

The risk of a decision is the chance that it opens a mine, bounded by the sum of the exact posteriors of its cells, at
most 1. Its regret is the risk minus the lowest posterior of the position, which is what the exact solver risks there (0
when a cell is proved safe). Summed over a game, regrets come close to the chance to win that was given away; they say
nothing about which of two equally safe cells helps more later.

Decisions are sorted by what the exact solver knew:
    single_point     a cell is proved safe by single numbers;
    local            else a cell is proved safe without the total of mines (`components.proved_safe_locally`);
    total            else a cell is proved safe thanks to the total;
    guess_frontier   no cell is proved safe, and one of the lowest posterior is beside a number;
    guess_interior   no cell is proved safe, and those of the lowest posterior are all beside no number;
by the mines left, those not yet proved; and by the component, the hidden cells of the frontier component that the
riskiest cell opened belongs to (see `components.py`; 0: it is beside no number).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minesweeper.arena import Decisions
from minesweeper.components import component_cells, frontier_mask, proved_safe_locally
from minesweeper.frontier import SAFE
from minesweeper.posterior import proved_by_single_point
from minesweeper.solvers.base import TIE_TOLERANCE
from minesweeper.tables import aligned

CLASSES = ("single_point", "local", "total", "guess_frontier", "guess_interior")
MINES_LEFT = ("0-2", "3-5", "6-10", "11+")
COMPONENTS = ("0", "1-8", "9-16", "17-32", "33+")
NOTABLE_REGRET = 0.001  # a move that loses the game with more than this is a `regret_loss`
_FROM_MINES_LEFT = np.array([3, 6, 11])  # where the later bins begin
_FROM_COMPONENTS = np.array([1, 9, 17, 33])
_QUANTITIES = ("decisions", "risk", "regret", "losses", "regret_losses")
COLUMNS = ("class", "mines_left", "component", *_QUANTITIES)  # of `Regrets.rows`


class Regrets:
    """Sums over decisions, by class, mines left and component; filled batch by batch.

    Attributes:
        sums: float64 [classes, mines left, components, 5]: decisions, sum of their risks, sum of their regrets, games
            that they lost, and games that they lost with a regret above `NOTABLE_REGRET`.
    """

    def __init__(self) -> None:
        self.sums = np.zeros((len(CLASSES), len(MINES_LEFT), len(COMPONENTS), len(_QUANTITIES)))

    def observe(self, decisions: Decisions) -> None:
        """Adds a decision in each of some games."""
        posterior, chosen, is_lost = decisions.posterior, decisions.chosen, decisions.is_lost
        risk = np.where(chosen, posterior, 0.0).sum(axis=(1, 2)).clip(max=1.0)
        regret = (risk - np.nanmin(posterior, axis=(1, 2))).clip(min=0.0)
        riskiest = np.where(chosen, posterior, -1.0).reshape(len(posterior), -1).argmax(axis=1)
        component = component_cells(decisions.views).reshape(len(posterior), -1)[np.arange(len(posterior)), riskiest]
        mines_left = decisions.num_mines - (posterior == 1.0).sum(axis=(1, 2))
        place = (
            classify(decisions.views, decisions.num_mines, posterior),
            np.searchsorted(_FROM_MINES_LEFT, mines_left, side="right"),
            np.searchsorted(_FROM_COMPONENTS, component, side="right"),
        )
        for i, values in enumerate((1.0, risk, regret, is_lost, is_lost & (regret > NOTABLE_REGRET))):
            np.add.at(self.sums[..., i], place, values)

    def rows(self) -> list[dict[str, Any]]:
        """Lines with `COLUMNS`, for each class, mines left and component that was met."""
        lines = []
        for index in np.argwhere(self.sums[..., 0]):
            names = (names[i] for names, i in zip((CLASSES, MINES_LEFT, COMPONENTS), index, strict=True))
            decisions, risk, regret, losses, regret_losses = self.sums[tuple(index)].tolist()
            values = (int(decisions), risk, regret, int(losses), int(regret_losses))
            lines.append(dict(zip(COLUMNS, (*names, *values), strict=True)))
        return lines


def classify(views: NDArray[np.int8], num_mines: int, posterior: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class of each position, int64 [N], as an index of `CLASSES`.

    Args:
        views: int8 [N, R, C], each with a hidden cell.
        num_mines: mines on each board.
        posterior: float64 [N, R, C], the exact one.
    """
    lowest = np.nanmin(posterior, axis=(1, 2), keepdims=True)
    is_on_frontier = (frontier_mask(views) & (posterior <= lowest + TIE_TOLERANCE)).any(axis=(1, 2))
    by_single_point = (proved_by_single_point(views, num_mines) == SAFE).any(axis=(1, 2))
    is_proved = lowest[:, 0, 0] == 0.0
    is_local = np.zeros(len(views), np.bool_)
    others = np.flatnonzero(is_proved & ~by_single_point)
    if others.size:
        is_local[others] = proved_safe_locally(views[others]).any(axis=(1, 2))
    return np.select([by_single_point, is_local, is_proved, is_on_frontier], [0, 1, 2, 3], 4)


def regret_table(rows: Sequence[dict[str, Any]], num_games: int) -> list[str]:
    """Aligned text, a line for each solver and class and one for all, of `Regrets.rows` to which `solver` was added.

    Args:
        num_games: what every solver played. Decisions are a game; risk, regret and losses are percent of the games.
    """
    head = ["solver", "class", "decisions", "risk %", "regret %", "lost %", f"lost, regret > {NOTABLE_REGRET} %"]
    body = []
    for solver in dict.fromkeys(row["solver"] for row in rows):
        for name in (*CLASSES, "all"):
            members = [row for row in rows if row["solver"] == solver and name in (row["class"], "all")]
            decisions, *shares = (sum(row[key] for row in members) / num_games for key in _QUANTITIES)
            body.append([solver, name, f"{decisions:.2f}", *(f"{100 * share:.2f}" for share in shares)])
    return aligned(head, body, left=2)
