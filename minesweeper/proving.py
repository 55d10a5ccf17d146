"""Games brought to their next guess: all that is proved safe is opened, again and again, until nothing more is."""

import numpy as np
from numpy.typing import ArrayLike

from minesweeper.frontier import SAFE
from minesweeper.games import PLAYING, Games
from minesweeper.posterior import Posterior, proved_by_single_point, solve_posterior


def open_proved(games: Games, slots: ArrayLike | None = None) -> Posterior:
    """Opens what is proved safe in the games of `slots` until they are over or nothing is proved; changes `games`.

    Args:
        slots: integers, 0..N-1; None: all.

    Returns:
        The posterior of each game, [N], as it then is; NaN, and not `exact`, for those that are over or not of `slots`.
    """
    mode = games.mode
    found = Posterior(
        np.full(games.views.shape, np.nan), np.full(games.num_games, np.nan), np.full(games.num_games, np.nan),
        np.zeros(games.num_games, np.bool_),
    )  # fmt: skip
    active = np.arange(games.num_games) if slots is None else np.asarray(slots)
    active = active[games.status[active] == PLAYING]
    while active.size:
        views = games.views[active]
        is_safe = proved_by_single_point(views, mode.mines) == SAFE
        is_stuck = np.zeros(active.size, np.bool_)
        by_singles = np.flatnonzero(~is_safe.any(axis=(1, 2)))
        if by_singles.size:
            posterior = solve_posterior(views[by_singles], mode.mines, over_budget="density")
            is_safe[by_singles] = posterior.probabilities == 0.0
            is_stuck[by_singles] = ~is_safe[by_singles].any(axis=(1, 2))
            found.put(active[is_stuck], posterior.of(is_stuck[by_singles]))
        mask = np.zeros(games.views.shape, np.bool_)
        mask[active] = is_safe
        games.reveal_mask(mask)
        active = active[~is_stuck]
        active = active[games.status[active] == PLAYING]
    return found
