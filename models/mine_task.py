"""The task of learning where the mines are, from games that the network plays by the very logits that are learned.

One forward pass a step gives both the next move of every live game and the logits that are trained.
"""

import numpy as np
import torch
from torch import nn

from minesweeper import HIDDEN, PLAYING, Solver, mine_posterior
from minesweeper.arena import choice_keys
from minesweeper.components import frontier_mask
from minesweeper.solvers.base import choose_lowest
from models.device import autocast
from models.learned_solver import LearnedSolver, with_even_interior
from models.symmetry import num_symmetries, turned, turned_back
from models.task import Batch, Task
from models.train_settings import LOSSES


class MineTask(Task):
    """P(mine) of every hidden cell, learned from the revealed boards or from the exact posterior."""

    predicts_mines = True
    inputs = ("views", "num_mines")

    def batch(self, model: nn.Module, averaged: nn.Module, step: int) -> Batch:  # noqa: ARG002
        """See `Task`."""
        cfg = self.cfg
        games, turn = self.turn(step)
        num_over, num_won = self.begin_games(games)

        # All positions, shown in this step's symmetry.
        symmetry = turn % num_symmetries(games.mode.rows, games.mode.cols) if cfg.symmetries else 0
        views = torch.from_numpy(games.views)
        num_mines = torch.full((games.num_games,), games.mode.mines, device=self.device)
        with autocast(self.device, self.precision):
            logits = turned_back(model(turned(views, symmetry).to(self.device), num_mines).float(), symmetry)

        # The loss covers the hidden (or the frontier) cells of the games that go on.
        is_asked = frontier_mask(games.views) if cfg.loss_cells == "frontier" else games.views == HIDDEN
        is_asked = (is_asked & (games.status == PLAYING)[:, None, None]).nonzero()
        if cfg.target == "posterior":
            labels = mine_posterior(games.views, games.mode.mines, over_budget="density")[is_asked]
        else:
            labels = games.mines[is_asked]
        labels = torch.from_numpy(labels).float().to(self.device)
        asked = logits[is_asked]
        loss = LOSSES[cfg.loss](asked, labels) if labels.numel() else logits.sum() * 0
        return Batch(games, asked, labels, loss, labels.numel(), num_over, num_won, logits.detach())

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
