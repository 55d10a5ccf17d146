"""The exact solver: opens proved cells, otherwise the cell with the lowest exact mine probability.

`tie_break` and `tie_margin` say which of the safest cells is opened, `endgame` from when on the rest of the game is
played out exactly instead.
"""

import numpy as np
from numpy.typing import NDArray

from minesweeper.endgame import GAVE_UP, endgame_values
from minesweeper.posterior import MAX_STATES, Posterior, check_max_states, solve_posterior
from minesweeper.prospects import Prospects, cell_scores, most_promising
from minesweeper.solvers.base import TIE_BREAKS, check_share, choose_highest, choose_lowest
from minesweeper.solvers.singles_first import SinglesFirst
from minesweeper.unavoidable import candidates

_MOST_SETS = 2_000_000  # in the move tree of one endgame: ten seconds
_MOST_LAYOUTS = 100_000
_MOST_KEPT = 10_000
_LOOKS_AHEAD = ("progress", "safety")
_SECOND_SAFEST = 0.4


class ExactSolver(SinglesFirst):
    """Plays by the exact posterior (`minesweeper.posterior`).

    Args:
        tie_break: among the safest cells, "random" and "corner" as in `Solver`, or one of two that count exactly what a
            cell may bring. "progress": the highest chance that the cell is safe and leaves a cell that is proved safe,
            or wins. "safety": the highest chance to survive this guess and the next, of which the safest cell that
            still tells something makes up 0.6 and the second safest 0.4; of 20 cells in the order of `most_promising`,
            but where a guess cannot be avoided (`minesweeper.unavoidable`), that one.
        tie_margin: with these two, the safest cells are those at most this above the lowest probability.
        endgame: when at most this many layouts are left, the move tree is played out exactly (0: never); a tree too
            large for that is left to `tie_break`.
        max_states: budget of one position. Past it (artificial boards only) the weaker answer of
            `over_budget="density"` is played.

    Raises:
        ValueError: a setting outside its range.
    """

    name = "exact"
    candidates = 20  # that "safety" looks at

    def __init__(
        self, tie_break: str = "random", tie_margin: float = 0.0, endgame: int = 0, max_states: int = MAX_STATES
    ) -> None:
        if tie_break not in (*TIE_BREAKS, *_LOOKS_AHEAD):
            allowed = ", ".join((*TIE_BREAKS, *_LOOKS_AHEAD))
            raise ValueError(f"tie_break must be one of {allowed}, got {tie_break!r}")
        check_share("tie_margin", tie_margin)
        if isinstance(endgame, bool) or not isinstance(endgame, int) or not 0 <= endgame <= _MOST_LAYOUTS:
            raise ValueError(f"endgame must be 0 to {_MOST_LAYOUTS}, got {endgame!r}")
        check_max_states(max_states)
        super().__init__("random" if tie_break in _LOOKS_AHEAD else tie_break)
        self.looks_for = tie_break if tie_break in _LOOKS_AHEAD else None
        self.tie_margin = tie_margin
        self.endgame = endgame
        self._endgames: dict[tuple, NDArray[np.float64] | None] = {}
        self.max_states = max_states

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`."""
        return solve_posterior(views, num_mines, max_states=self.max_states, over_budget="density").probabilities

    def choose_stuck(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """See `SinglesFirst`."""
        posterior = solve_posterior(views, num_mines, max_states=self.max_states, over_budget="density")
        mask, is_guess = choose_lowest(posterior.probabilities, views, keys, 0.0, self.tie_break)
        guesses = np.flatnonzero(is_guess & posterior.exact)
        if guesses.size:
            scores = self.guess_scores(views[guesses], num_mines[guesses], posterior.of(guesses))
            if scores is not None:
                mask[guesses] = choose_highest(scores, views[guesses], keys[guesses])
        if self.endgame:
            for game in np.flatnonzero(is_guess & self.is_endgame(posterior)):
                values = self.endgame_wins(views[game], int(num_mines[game]), finds_all=False)
                if values is not None:
                    mask[game] = choose_highest(values[None], views[game : game + 1], keys[game : game + 1])[0]
        return mask, is_guess

    def guess_scores(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior
    ) -> NDArray[np.float64] | None:
        """How good it is to open each cell where nothing is proved, or None: the lowest probability, by `tie_break`.

        Args:
            views: int8 [N, R, C], N at least 1.
            num_mines: int64 [N].
            posterior: theirs, [N], exact.

        Returns:
            float64 [N, R, C], NaN where the cell is no candidate.
        """
        if not self.looks_for:
            return None

        if self.looks_for == "progress":
            cells = most_promising(views, posterior, self.tie_margin)
            return cell_scores(views, num_mines, posterior, cells, _leads_on, self.max_states)
        cells = candidates(views, posterior, self.tie_margin, self.candidates)
        return cell_scores(views, num_mines, posterior, cells, _next_safety, self.max_states)

    def is_endgame(self, posterior: Posterior) -> NDArray[np.bool_]:
        """Whether at most `endgame` layouts are left, bool [N]."""
        most = np.log(self.endgame) + 1e-9 if self.endgame else -np.inf
        return posterior.exact & (posterior.log_layouts <= most)

    def endgame_chances(
        self, views: NDArray[np.int8], num_mines: NDArray[np.int64], posterior: Posterior, finds_all: bool
    ) -> NDArray[np.float64]:
        """The exact chance to win by each cell where few layouts are left, float64 [N, R, C]; NaN in the other games.

        Args:
            views: int8 [N, R, C].
            num_mines: int64 [N].
            posterior: theirs, [N].
            finds_all: as for `endgame_wins`.
        """
        chances = np.full(views.shape, np.nan)
        for game in np.flatnonzero(self.is_endgame(posterior)):
            wins = self.endgame_wins(views[game], int(num_mines[game]), finds_all)
            if wins is not None:
                chances[game] = wins / np.exp(posterior.log_layouts[game])
        return chances

    def endgame_wins(
        self, view: NDArray[np.int8], num_mines: int, finds_all: bool = True
    ) -> NDArray[np.float64] | None:
        """In how many layouts of a view [R, C] each cell wins, or None past the budget.

        Kept, as small boards meet positions again.

        Args:
            finds_all: of all cells; otherwise of a best one, and the others have less than that.
        """
        position = (view.shape, num_mines, view.tobytes(), finds_all)
        if position not in self._endgames:
            if len(self._endgames) >= _MOST_KEPT:
                self._endgames.clear()
            values = np.empty(view.shape)
            is_solved = endgame_values(view, num_mines, self.endgame, _MOST_SETS, finds_all, values) != GAVE_UP
            self._endgames[position] = values if is_solved else None
        return self._endgames[position]


def _leads_on(found: Prospects, *_: NDArray[np.int64]) -> NDArray[np.bool_]:
    return found.leads_on


def _next_safety(found: Prospects, *_: NDArray[np.int64]) -> NDArray[np.float64]:
    return found.next_safety(_SECOND_SAFEST)
