"""The task of learning what a guess leads to: several cells are tried at each guess, in copies of the game.

At each guess of the live games, some candidates are opened in forks, and all that is then proved too. A fork that is
won has the value 1; one that comes to its next guess has the value that the averaged network, or the end of the move
tree, gives the best cell there; in the first steps, `rollout_steps`, its game is played out by the exact solver
instead. These values are the labels of the cells; mined ones have none, as u is asked for safe cells alone. A live
game goes on in the fork of its best cell, or of any candidate, to explore.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from minesweeper import HIDDEN, LOST, PLAYING, WON, Games, Solver, make_solver
from minesweeper.arena import choice_keys
from minesweeper.components import frontier_mask
from minesweeper.posterior import Posterior, solve_posterior
from minesweeper.proving import open_proved
from models.device import autocast
from models.planner import PlannerSolver
from models.symmetry import num_symmetries, turned, turned_back
from models.task import Batch, Task

_MOST_BEGINNINGS = 20  # tries to get games that come to a guess at all
_SCALE = 0.03  # of the probability above the lowest, for the random candidates
_BEST = 2  # of the candidates of a position: those that the network likes best; the others are random
_START, _TRY, _EXPLORE, _AFTER = range(4)  # what a step's random numbers are for


@dataclass
class Tried:
    """What `act` needs: forks, and for each game the place of the fork that it goes on in, -1: it opens a mine."""

    forks: Games | None
    goes_on_in: NDArray[np.int64]


@dataclass
class Afterwards:
    """Positions [A] just after a cell was opened in a fork.

    Attributes:
        views, posterior: int8 and float64 [A, R, C].
        forks: int64 [A], which fork each belongs to.
        safe: position, flat cell and weight of each cell proved safe; the weights of a position add up to 1.
    """

    views: NDArray[np.int8]
    posterior: NDArray[np.float64]
    forks: NDArray[np.int64]
    safe: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]


class PlannerTask(Task):
    """P(win | the cell is opened and safe) of the candidates at guesses."""

    predicts_mines = False
    inputs = ("views", "probabilities", "num_mines")

    def batch(self, model: nn.Module, averaged: nn.Module, step: int) -> Batch:
        """See `Task`."""
        cfg = self.cfg
        games, turn = self.turn(step)
        mines = np.full(games.num_games, games.mode.mines, np.int64)
        num_over, num_won, posterior = self.come_to_guesses(games, step)
        at_guess = np.flatnonzero(posterior.exact)

        # 1. Candidates, tried in forks.
        planner = self.solver(averaged)
        scores = np.full(games.views.shape, np.nan)
        if at_guess.size:
            of = posterior.of(at_guess)
            _, scores[at_guess] = planner.values(games.views[at_guess], mines[at_guess], of)
        candidates = self.candidates(games, posterior, scores, step)
        game, place = np.nonzero((candidates >= 0) & posterior.exact[:, None])
        cell = candidates[game, place]
        is_safe = ~games.mines.reshape(games.num_games, -1)[game, cell]
        game, place, cell = game[is_safe], place[is_safe], cell[is_safe]
        labels = np.full(candidates.shape, np.nan, np.float32)
        forks, goes_on_in = None, np.full(games.num_games, -1)
        if game.size:
            forks = games.fork(game)
            forks.reveal(cell // games.mode.cols, cell % games.mode.cols)
            labels[game, place] = self.values(forks, planner, step)
            number = np.full(candidates.shape, -1)
            number[game, place] = np.arange(game.size)
            goes_on_in = number[np.arange(games.num_games), self.explored(games, candidates, step)]

        # 2. What is labelled, shown in this step's symmetry: the cells tried, and what is safe after some of them.
        values = labels[game, place]
        views, probabilities = games.views, posterior.probabilities
        weights = np.ones(game.size, np.float32)
        after = self.afterwards(games, forks, game, cell, step)
        if after:
            slot, safe_cell, own_weight = after.safe
            views = np.concatenate([views, after.views])
            probabilities = np.concatenate([probabilities, after.posterior])
            values = np.concatenate([values, values[after.forks[slot]]])
            game, cell = np.concatenate([game, games.num_games + slot]), np.concatenate([cell, safe_cell])
            weights = np.concatenate([weights, own_weight])
        is_known = ~np.isnan(values)
        game, cell, values, weights = game[is_known], cell[is_known], values[is_known], weights[is_known]
        symmetry = turn % num_symmetries(games.mode.rows, games.mode.cols) if cfg.symmetries else 0
        boards = (torch.from_numpy(views), torch.from_numpy(probabilities.astype(np.float32)))
        shown = (turned(board, symmetry).to(self.device) for board in boards)
        num_mines = torch.full((len(views),), games.mode.mines, device=self.device)
        with autocast(self.device, self.precision):
            logits = model(*shown, num_mines).float()
        asked = turned_back(logits, symmetry).flatten(1)[torch.from_numpy(game), torch.from_numpy(cell)]
        known, weight = (torch.from_numpy(array).to(self.device) for array in (values, weights))
        total = float(weights.sum())
        loss = binary_cross_entropy_with_logits(asked, known, weight, reduction="sum") / max(total, 1e-9)
        return Batch(games, asked, known, loss, total, num_over, num_won, Tried(forks, goes_on_in))

    def act(self, batch: Batch, step: int) -> None:  # noqa: ARG002
        """See `Task`."""
        games, tried = batch.games, batch.more
        goes_on = np.flatnonzero(tried.goes_on_in >= 0)
        if tried.forks:
            games.adopt(goes_on, tried.forks, tried.goes_on_in[goes_on])
        games.status[(tried.goes_on_in < 0) & (games.status == PLAYING)] = LOST

    def solver(self, model: nn.Module) -> PlannerSolver:
        """See `Task`."""
        return PlannerSolver.trained(model, self.cfg, self.precision)

    def come_to_guesses(self, games: Games, step: int) -> tuple[int, int, Posterior]:
        """Brings all games to a guess, new ones for those that end before; also how many ended, and how many won.

        In the share `random_first` of the new games nothing is opened: the first cell is their first guess.
        """
        opens = self.random(games, 1, _START, step)[:, 0] >= self.cfg.random_first
        num_over = num_won = 0
        posterior = open_proved(games)
        for _ in range(_MOST_BEGINNINGS):
            is_over = games.status != PLAYING
            if not is_over.any():
                break
            over, won = self.begin_games(games, opens)
            num_over, num_won = num_over + over, num_won + won
            slots = np.flatnonzero(is_over)
            new = open_proved(games, slots)
            for name in ("probabilities", "interior", "log_layouts", "exact"):
                getattr(posterior, name)[slots] = getattr(new, name)[slots]
        return num_over, num_won, posterior

    def values(self, forks: Games, planner: PlannerSolver, step: int) -> NDArray[np.float32]:
        """What each of the forks is worth, in 0..1, after all that is proved was opened in it; changes `forks`.

        NaN where the cell was a mine, or the next position is past the state budget (artificial boards only).
        """
        posterior = open_proved(forks)
        goes_on = np.flatnonzero(posterior.exact)
        values = np.where(forks.status == WON, 1.0, np.nan).astype(np.float32)
        if goes_on.size and step < self.cfg.rollout_steps:
            rest = forks.fork(goes_on)
            play_out(make_solver("exact", tie_break="corner"), rest)
            values[goes_on] = rest.status == WON
        elif goes_on.size:
            mines = np.full(goes_on.size, forks.mode.mines, np.int64)
            values[goes_on], _ = planner.values(forks.views[goes_on], mines, posterior.of(goes_on))
        return values

    def afterwards(
        self, games: Games, forks: Games | None, game: NDArray[np.int64], cell: NDArray[np.int64], step: int
    ) -> "Afterwards | None":
        """Positions just after some of the cells that were tried, if cells are proved safe there.

        Args:
            forks: of `games`, integers `game` [F], after `cell` [F] was opened in them, and perhaps more.
        """
        is_taken = self.random(games, self.cfg.candidates, _AFTER, step)[game, _nth(game)] < self.cfg.afterwards
        chosen = np.flatnonzero(is_taken)
        if forks is None or not chosen.size:
            return None
        rows, cols = np.divmod(cell[chosen], games.mode.cols)
        views = games.views[game[chosen]]
        views[np.arange(chosen.size), rows, cols] = forks.views[chosen, rows, cols]
        posterior = solve_posterior(views, games.mode.mines, over_budget="density")
        is_safe = (posterior.probabilities == 0) & posterior.exact[:, None, None]
        kept = np.flatnonzero(is_safe.any(axis=(1, 2)))
        is_safe = is_safe.reshape(chosen.size, -1)[kept]
        slot, safe_cell = np.nonzero(is_safe)
        weights = (1 / is_safe.sum(axis=1).clip(1)).astype(np.float32)[slot]
        return Afterwards(views[kept], posterior.probabilities[kept], chosen[kept], (slot, safe_cell, weights))

    def candidates(
        self, games: Games, posterior: Posterior, scores: NDArray[np.float64], step: int
    ) -> NDArray[np.int64]:
        """The cells to try, flat, int64 [N, candidates], -1 for none: first the best by `scores`, then random ones.

        The random ones are safe with nearly the lowest risk; all cells of the interior weigh as much as one cell of the
        frontier, and those with the fewest hidden neighbours (corners, mostly) as much again.
        """
        noise = self.random(games, games.mode.cells, _TRY, step)
        views, probabilities = games.views, np.nan_to_num(posterior.probabilities, nan=2.0)
        above = probabilities - probabilities.min(axis=(1, 2), keepdims=True)
        is_candidate = (views == HIDDEN) & (above <= self.cfg.margin)
        is_interior = is_candidate & ~frontier_mask(views)
        hidden = hidden_around(views)
        fewest = np.where(is_interior, hidden, 9).min(axis=(1, 2), keepdims=True)
        is_cornered = is_interior & (hidden == fewest)
        weights = (is_candidate & ~is_interior).astype(np.float64)
        for group in (is_interior, is_cornered):
            weights += group / group.sum(axis=(1, 2), keepdims=True).clip(1)
        weights *= np.exp(-above / _SCALE)
        with np.errstate(divide="ignore"):  # Gumbel noise: the largest are a draw without replacement
            order = np.log(weights.reshape(noise.shape)) - np.log(-np.log(noise))
        liked = np.nan_to_num(scores.reshape(noise.shape), nan=-1.0)
        count = min(self.cfg.candidates, games.mode.cells)
        for best in np.argsort(-liked, axis=1, kind="stable")[:, : min(_BEST, count)].T[::-1]:
            slots = np.arange(games.num_games)
            is_liked = liked[slots, best] >= 0
            order[slots, best] = np.where(is_liked, 1e6 + liked[slots, best], order[slots, best])
        chosen = np.argsort(-order, axis=1, kind="stable")[:, :count]
        return np.where(np.isfinite(np.take_along_axis(order, chosen, 1)), chosen, -1)

    def explored(self, games: Games, candidates: NDArray[np.int64], step: int) -> NDArray[np.int64]:
        """Which of its candidates each game goes on with: the first; any, in the share `explore` and as first cell."""
        first, second = self.random(games, 2, _EXPLORE, step).T
        any_of_them = (second * (candidates >= 0).sum(axis=1)).astype(np.int64)
        return np.where((first < self.cfg.explore) | (games.moves == 0), any_of_them, 0)

    def random(self, games: Games, count: int, purpose: int, step: int) -> NDArray[np.float64]:
        """Uniform numbers in (0, 1), [N, count], the same for a game whatever the number of processes."""
        size = self.ranks.size * games.num_games
        first, number = self.ranks.share(size)
        generator = np.random.default_rng([self.cfg.seed, purpose, step])
        return generator.uniform(1e-12, 1, (size, count))[first : first + number]


def _nth(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the same value come before each one; `groups` is sorted."""
    return np.arange(groups.size) - np.searchsorted(groups, groups)


def hidden_around(views: NDArray[np.int8]) -> NDArray[np.int64]:
    """How many of the up to eight neighbours of each cell are hidden, [N, R, C]."""
    hidden = np.pad(views == HIDDEN, ((0, 0), (1, 1), (1, 1))).astype(np.int64)
    rows = hidden[:, 1:-1] + hidden[:, :-2] + hidden[:, 2:]
    return rows[:, :, 1:-1] + rows[:, :, :-2] + rows[:, :, 2:] - hidden[:, 1:-1, 1:-1]


def play_out(solver: Solver, games: Games) -> None:
    """Lets a solver play the games to their end."""
    step = 0
    while (live := np.flatnonzero(games.status == PLAYING)).size:
        step += 1
        mask = np.zeros(games.views.shape, np.bool_)
        mask[live], _ = solver.choose(games.views[live], games.mode.mines, choice_keys(games, step)[live])
        games.reveal_mask(mask)
