"""The task of learning where the mines are, from games that the network plays by the very logits that are learned.

One forward pass a step gives both the next move of every live game and the logits that are trained.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from torch import nn

from minesweeper import HIDDEN, PLAYING, Games, Solver, solve_posterior
from minesweeper.arena import choice_keys
from minesweeper.components import frontier_mask
from minesweeper.posterior import Posterior
from minesweeper.solvers.base import choose_lowest
from models.device import autocast
from models.learned_solver import LearnedSolver, check_logits, with_even_interior
from models.planner import PlannerSolver
from models.players import make_planner
from models.ranks import Ranks
from models.symmetry import num_symmetries, turned, turned_back
from models.task import Batch, Task
from models.train_settings import LOSSES

_ENDGAME = 200  # of the teacher; a larger one is slow for many positions


class MineTask(Task):
    """P(mine) of every hidden cell, learned from the revealed boards or from the exact posterior; or a planner's risk.

    Raises:
        CheckpointError: `target=planner` and no planner at `teacher`.
    """

    predicts_mines = True
    inputs = ("views", "num_mines")

    def __init__(self, cfg: DictConfig, ranks: Ranks, device: torch.device, precision: str) -> None:
        super().__init__(cfg, ranks, device, precision)
        self.teacher = None
        if cfg.target == "planner":
            self.teacher = make_planner({"ckpt": cfg.teacher, "endgame": _ENDGAME}, device)

    def check_model(self, model: nn.Module) -> None:
        """See `Task`; the logits of one empty board, as training shows it, must have its shape too."""
        super().check_model(model)
        mode, was_training = self.pools[0].mode, model.training
        views = torch.full((1, mode.rows, mode.cols), HIDDEN, dtype=torch.int8)
        with torch.no_grad():
            check_logits(model, model.eval()(views, torch.tensor([mode.mines])), views.shape)
        model.train(was_training)

    def batch(self, model: nn.Module, averaged: nn.Module, step: int) -> Batch:  # noqa: ARG002
        """See `Task`."""
        cfg = self.cfg
        games, turn = self.turn(step)
        num_over, num_won = self.begin_games(games)

        # All positions, shown in this step's symmetry.
        rows, cols = games.mode.rows, games.mode.cols
        symmetry = turn % num_symmetries(rows, cols) if cfg.symmetries else 0
        views = torch.from_numpy(games.views)
        num_mines = torch.full((games.num_games,), games.mode.mines, device=self.device)
        with autocast(self.device, self.precision):
            logits = turned_back(model(turned(views, symmetry).to(self.device), num_mines).float(), symmetry)

        # The loss covers the hidden (or the frontier) cells of the games that go on.
        is_asked = frontier_mask(games.views) if cfg.loss_cells == "frontier" else games.views == HIDDEN
        is_asked = (is_asked & (games.status == PLAYING)[:, None, None]).nonzero()
        labels = torch.from_numpy(self.labels(games)[is_asked]).float().to(self.device)
        asked = logits[is_asked]
        loss = LOSSES[cfg.loss](asked, labels) if labels.numel() else logits.sum() * 0
        return Batch(games, asked, labels, loss, labels.numel(), num_over, num_won, logits.detach())

    def labels(self, games: Games) -> NDArray:
        """What the model is to say of each cell, [N, R, C]; of hidden cells of games that go on."""
        if self.cfg.target == "board":
            return games.mines
        posterior = solve_posterior(games.views, games.mode.mines, over_budget="density")
        if self.teacher is None:
            return posterior.probabilities
        return planned_risks(self.teacher, games, posterior)

    def act(self, batch: Batch, step: int) -> None:
        """See `Task`: a move by the probabilities that were learned from."""
        games, cfg = batch.games, self.cfg
        probabilities = torch.sigmoid(batch.more).cpu().numpy()
        if cfg.loss_cells == "frontier":
            probabilities = with_even_interior(
                probabilities, games.views, np.full(games.num_games, games.mode.mines, np.int64)
            )
        keys = choice_keys(games, step + 1)
        chosen, _ = choose_lowest(probabilities, games.views, keys, cfg.guess_threshold if cfg.multi_reveal else -1)
        games.reveal_mask(chosen)

    def solver(self, model: nn.Module) -> Solver:
        """See `Task`."""
        return LearnedSolver.trained(model, self.cfg, self.precision)


def planned_risks(teacher: PlannerSolver, games: Games, posterior: Posterior) -> NDArray[np.float64]:
    """The posterior, but such at guesses that the lowest risk is the planner's choice, [N, R, C].

    That choice keeps its probability p; another candidate's risk is 1 - (1 - p) u / (u of the choice).
    """
    risks = posterior.probabilities.copy()
    is_guess = (games.status == PLAYING) & posterior.exact & ~(risks == 0).any(axis=(1, 2))
    guesses = np.flatnonzero(is_guess)
    if guesses.size:
        views, p = games.views[guesses], risks[guesses]
        best, scores = teacher.values(views, np.full(guesses.size, games.mode.mines, np.int64), posterior.of(guesses))
        flat = np.nan_to_num(scores.reshape(guesses.size, -1), nan=-1.0).argmax(axis=1)
        safe = 1 - p.reshape(guesses.size, -1)[np.arange(guesses.size), flat]  # of the choice
        chance = (best / safe)[:, None, None]  # its u
        risks[guesses] = np.where(np.isnan(scores), p, (1 - scores / chance).clip(0, 1))
    return risks
