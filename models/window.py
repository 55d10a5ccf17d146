"""What happened in training since the last point in TensorBoard."""

import time

import torch
from torch import Tensor
from torch.utils.tensorboard import SummaryWriter

CALIBRATION_BINS = 20


class Window:
    """What happened since the last point in TensorBoard."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.won = self.games = self.positions = self.steps = 0
        self.loss = 0.0
        self.calibration = torch.zeros(3, CALIBRATION_BINS, dtype=torch.float64)  # cells, sum of p, sum of labels

    def count_games(self, games: int, won: int) -> None:
        self.games += games
        self.won += won

    def count_positions(self, loss: float, logits: Tensor, labels: Tensor, positions: int) -> None:
        self.steps += 1
        self.positions += positions
        self.loss += loss
        probabilities = torch.sigmoid(logits.float())
        bins = (probabilities * CALIBRATION_BINS).long().clamp(max=CALIBRATION_BINS - 1)
        for row, values in enumerate((torch.ones_like(probabilities), probabilities, labels)):
            self.calibration[row] += torch.bincount(bins, values.double(), CALIBRATION_BINS).cpu()

    def write(self, writer: SummaryWriter, games: int, optimizer: torch.optim.Optimizer) -> None:
        seconds = time.perf_counter() - self.began
        if self.games:
            writer.add_scalar("train/win_rate", self.won / self.games, games)
        if self.steps:
            cells, predicted, true = self.calibration
            writer.add_scalar("train/loss", self.loss / self.steps, games)
            writer.add_scalar("train/calibration_error", float((predicted - true).abs().sum() / cells.sum()), games)
        writer.add_scalar("train/lr", optimizer.param_groups[0]["lr"], games)
        writer.add_scalar("speed/games_per_s", self.games / seconds, games)
        writer.add_scalar("speed/positions_per_s", self.positions / seconds, games)

    def summary(self) -> str:
        win_rate = f"{100 * self.won / self.games:.1f}%" if self.games else "-"
        return f" wins {win_rate}, {self.positions / (time.perf_counter() - self.began):.0f} positions/s"


class NoWriter:
    """In place of a SummaryWriter in the processes that do not write."""

    def __enter__(self) -> "NoWriter":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add_scalar(self, *_: object) -> None:
        pass

    add_figure = add_scalar
