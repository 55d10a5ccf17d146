"""The task of learning what a guess leads to: several cells are tried at each guess, in copies of the game.

At each guess of the live games, some candidates are opened in forks, and all that is then proved too. A fork that is
won has the value 1; one that comes to its next guess has the value that the averaged network, or the end of the move
tree, gives the best cell there; in the first steps, `rollout_steps`, its game is played out by the exact solver
instead. These values are the labels of the cells; mined ones have none, as u is asked for safe cells alone. A live
game goes on in the fork of its best cell, or of any candidate, to explore.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from minesweeper import HIDDEN, LOST, PLAYING, WON, Games, Solver, make_solver
from minesweeper.arena import choice_keys
from minesweeper.components import frontier_mask
from minesweeper.posterior import Posterior, solve_posterior
from minesweeper.proving import open_proved
from models.device import autocast
from models.labelled import Labelled
from models.planner import PlannerSolver
from models.ranks import Ranks
from models.symmetry import turned, turned_back
from models.task import Batch, Task

_MOST_BEGINNINGS = 4  # tries to get games that come to a guess at all
_SCALE = 0.03  # of the probability above the lowest, for the random candidates
_TURNS = 64  # of a pool, whose positions are remembered
_BEST = 2  # of the candidates of a position: those that the network likes best; the others are random
_START, _TRY, _EXPLORE, _AFTER, _SAFE, _REPLAY = range(6)  # what a step's random numbers are for


@dataclass
class Tried:
    """What `act` needs: forks, and for each game the place of the fork that it goes on in, -1: it opens a mine."""

    forks: Games | None
    goes_on_in: NDArray[np.int64]


class PlannerTask(Task):
    """P(win | the cell is opened and safe) of the candidates at guesses."""

    predicts_mines = False
    inputs = ("views", "probabilities", "num_mines")

    def __init__(self, cfg: DictConfig, ranks: Ranks, device: torch.device, precision: str) -> None:
        super().__init__(cfg, ranks, device, precision)
        self.remembered = [  # of each slot in its last turns: a guess, and a position after one of its candidates
            Labelled.empty((pool.num_games, _TURNS, 2), pool.views.shape[1:], self.num_candidates(pool))
            for pool in self.pools
        ]

    def batch(self, model: nn.Module, averaged: nn.Module, step: int) -> Batch:
        """See `Task`."""
        games, turn = self.turn(step)
        num_over, num_won, posterior = self.come_to_guesses(games, step)

        # 1. Candidates, tried in forks.
        planner = self.solver(averaged)
        scores = np.full(games.views.shape, np.nan)
        at_guess = np.flatnonzero(posterior.exact)
        if at_guess.size:
            mines = np.full(at_guess.size, games.mode.mines, np.int64)
            _, scores[at_guess] = planner.values(games.views[at_guess], mines, posterior.of(at_guess))
        candidates = self.candidates(games, posterior, scores, step)
        is_mine = np.take_along_axis(games.mines.reshape(games.num_games, -1), candidates.clip(0), 1)
        game, place = np.nonzero((candidates >= 0) & posterior.exact[:, None] & ~is_mine)
        number = np.full(candidates.shape, -1)  # of the fork of each candidate
        number[game, place] = np.arange(game.size)
        goes_on_in = number[np.arange(games.num_games), self.explored(games, candidates, step)]
        forks = None
        if game.size:
            forks = games.fork(game)
            forks.reveal(*np.divmod(candidates[game, place], games.mode.cols))

        # 2. Their labels; this turn's positions take the place of the oldest.
        new = Labelled.empty((games.num_games, 2), games.views.shape[1:], candidates.shape[1])
        if forks:
            values = self.values(forks, planner, step)
            new.views[:, 0], new.posterior[:, 0] = games.views, np.nan_to_num(posterior.probabilities)
            is_known = ~np.isnan(values)
            known = (game[is_known], 0, place[is_known])
            new.cells[known], new.values[known] = candidates[game, place][is_known], values[is_known]
            new.weights[known] = 1
            self.label_afterwards(new, games, candidates, forks, number, values, step)
        remembered = self.remembered[step % len(self.pools)]
        for name, array in remembered.arrays().items():
            array[:, turn % _TURNS] = new.arrays()[name]

        # 3. They are shown with earlier ones, in this step's symmetry.
        turns = self.random(games, self.cfg.replay, _REPLAY, step) * min(turn + 1, _TURNS)
        turns = np.concatenate([np.full((games.num_games, 1), turn % _TURNS), turns.astype(np.int64)], 1)
        shown = remembered.at((np.arange(games.num_games)[:, None], turns))  # [N, 1 + replay, 2]
        shown = shown.at((shown.weights > 0).any(axis=-1))
        asked, known, weight = self.asked(model, shown, games, turn)
        total = float(weight.sum())
        loss = binary_cross_entropy_with_logits(asked, known, weight, reduction="sum") / max(total, 1e-9)
        return Batch(games, asked, known, loss, total, num_over, num_won, Tried(forks, goes_on_in))

    def asked(self, model: nn.Module, shown: Labelled, games: Games, turn: int) -> tuple[Tensor, Tensor, Tensor]:
        """The model's logits of all labelled cells, their labels and weights, each float32 [L]."""
        views, posterior = shown.views, shown.posterior
        if not len(views):  # so that there is a graph
            views, posterior = games.views[:1], np.zeros((1, *games.views.shape[1:]), np.float32)
        symmetry = self.symmetry(games, turn)
        boards = (turned(torch.from_numpy(array), symmetry).to(self.device) for array in (views, posterior))
        num_mines = torch.full((len(views),), games.mode.mines, device=self.device)
        with autocast(self.device, self.precision):
            logits = turned_back(model(*boards, num_mines).float(), symmetry).flatten(1)
        position, label = np.nonzero(shown.cells >= 0)
        cell, value, weight = (array[position, label] for array in (shown.cells, shown.values, shown.weights))
        asked = logits[torch.from_numpy(position), torch.from_numpy(cell.astype(np.int64))]
        return asked, torch.from_numpy(value).to(self.device), torch.from_numpy(weight).to(self.device)

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
            posterior.put(slots, open_proved(games, slots).of(slots))
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

    def label_afterwards(
        self, new: Labelled, games: Games, candidates: NDArray[np.int64], forks: Games, number: NDArray[np.int64],
        values: NDArray[np.float32], step: int,
    ) -> None:  # fmt: skip
        """Labels `new` [:, 1]: positions just after one candidate, in the share `afterwards`, where more is proved.

        What is proved safe there, all or some, gets the value that the fork came to.

        Args:
            number: int64 [N, K], the fork of each candidate, -1: none.
            values: float32 [F], of the forks; NaN: not known.
        """
        first, second = self.random(games, 2, _AFTER, step).T
        place = (second * number.shape[1]).astype(np.int64)
        fork = number[np.arange(games.num_games), place]
        game = np.flatnonzero((first < self.cfg.afterwards) & (fork >= 0))
        game = game[~np.isnan(values[fork[game]])]
        if not game.size:
            return
        fork, cell = fork[game], candidates[game, place[game]]
        rows, cols = np.divmod(cell, games.mode.cols)
        views = games.views[game]
        views[np.arange(game.size), rows, cols] = forks.views[fork, rows, cols]
        posterior = solve_posterior(views, games.mode.mines, over_budget="density")
        is_safe = ((posterior.probabilities == 0) & posterior.exact[:, None, None]).reshape(game.size, -1)
        order = np.argsort(self.random(games, games.mode.cells, _SAFE, step)[game] - is_safe, axis=1, kind="stable")
        some = order[:, : number.shape[1]]
        is_labelled = np.take_along_axis(is_safe, some, 1)
        new.views[game, 1], new.posterior[game, 1] = views, np.nan_to_num(posterior.probabilities)
        new.cells[game, 1] = np.where(is_labelled, some, -1)
        new.values[game, 1] = values[fork, None]
        new.weights[game, 1] = is_labelled / is_labelled.sum(axis=1, keepdims=True).clip(1)

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
        count = self.num_candidates(games)
        for best in np.argsort(-liked, axis=1, kind="stable")[:, : min(_BEST, count)].T[::-1]:
            slots = np.arange(games.num_games)
            is_liked = liked[slots, best] >= 0
            order[slots, best] = np.where(is_liked, 1e6 + liked[slots, best], order[slots, best])
        chosen = np.argsort(-order, axis=1, kind="stable")[:, :count]
        return np.where(np.isfinite(np.take_along_axis(order, chosen, 1)), chosen, -1)

    def num_candidates(self, games: Games) -> int:
        """How many cells are tried at a guess."""
        return min(self.cfg.candidates, games.mode.cells)

    def slot_state(self, number: int) -> dict[str, NDArray]:
        """See `Task`."""
        remembered = {f"remembered_{name}": array for name, array in self.remembered[number].arrays().items()}
        return super().slot_state(number) | remembered

    def load_slot_state(self, number: int, state: Mapping[str, NDArray]) -> None:
        """See `Task`."""
        super().load_slot_state(number, state)
        for name, array in self.remembered[number].arrays().items():
            array[:] = state[f"remembered_{name}"]

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
