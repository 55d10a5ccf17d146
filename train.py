"""Trains a model online by self-play: python train.py model=cnn mode=beginner

One forward pass a step gives both the next move of every live game and the logits that are trained.
Settings: configs/train.yaml, or `python train.py --help`.
"""

import logging
import math
import shutil
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import torch
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from torch import Tensor
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from minesweeper import HIDDEN, PLAYING, WON, Games, mine_posterior, play_games
from minesweeper.arena import check_first_cell, choice_keys, first_cells
from minesweeper.seeds import checked_seed, training_seed, validation_seed
from minesweeper.solvers.base import choose_lowest
from models.checkpoint import ROOT, build_model, load_checkpoint, save_checkpoint
from models.device import autocast, choose_device, choose_precision, choose_threads
from models.learned_solver import LearnedSolver
from models.planes import view_planes
from models.settings import check_choice, check_number, check_path, make_mode, merge_resumed
from models.symmetry import num_symmetries, turned, turned_back

log = logging.getLogger("train")
LOSSES = {
    "bce": functional.binary_cross_entropy_with_logits,
    "mse": lambda logits, labels: functional.mse_loss(torch.sigmoid(logits), labels),
}
CALIBRATION_BINS = 20
NEW_ON_RESUME = ("games", "minutes", "device", "threads", "run_dir")


def check(cfg: DictConfig) -> None:
    """ValueError, naming the key, for a value that training cannot use."""
    checked_seed(cfg.seed)
    check_path("run_dir", cfg.run_dir)
    check_choice("target", cfg.target, ("board", "posterior"))
    check_choice("loss", cfg.loss, LOSSES)
    check_choice("symmetries", cfg.symmetries, (True, False))
    if cfg.games is None and cfg.minutes is None:
        raise ValueError("games and minutes must not both be null: the run would never end")
    for key, low, high, integer in (
        ("games", 1, math.inf, True), ("minutes", 0, math.inf, False), ("num_live_games", 1, 10**6, True),
        ("lr", 0, 10, False), ("warmup", 0, 1, False), ("weight_decay", 0, 10, False), ("clip", 0, math.inf, False),
        ("average", 0, 1, False), ("guess_threshold", 0, 1, False), ("eval_minutes", 0, math.inf, False),
        ("eval_games", 1, 10**7, True), ("log_steps", 1, math.inf, True), ("checkpoint_minutes", 0, math.inf, False),
        ("threads", 0, 4096, True),
    ):  # fmt: skip
        if not (key in ("games", "minutes") and cfg[key] is None):
            check_number(key, cfg[key], low, high, integer=integer)
    mode = make_mode(cfg.mode)
    for key in ("first_cell", "eval_first_cell"):
        check_first_cell(cfg[key], mode, key)
    if cfg.first_cell == "solver":
        raise ValueError("first_cell must be random, corner, centre or [row, col], got 'solver'")


def train(cfg: DictConfig, name: str, overrides: list[str]) -> Path:
    """Runs a whole training, or the rest of one, and returns its run folder."""
    resumed = None
    if cfg.resume is not None:
        resumed = load_checkpoint(str(cfg.resume))
        if "optimizer" not in resumed:
            raise ValueError(f"resume={cfg.resume} holds the weights alone; a run goes on from its last.pt")
        cfg = merge_resumed(resumed["config"], cfg.resume, overrides, NEW_ON_RESUME)
        name = resumed["name"]
    check(cfg)
    mode = make_mode(cfg.mode)
    config = OmegaConf.to_container(cfg, resolve=True) | {"run_dir": None, "resume": None}  # of this machine alone
    device = choose_device(cfg.device)
    precision = choose_precision(cfg.precision, device)
    torch.set_num_threads(choose_threads(cfg.threads, cfg.num_live_games * mode.cells))
    torch.manual_seed(cfg.seed)
    model = build_model(config["model"]).to(device)
    run_dir = open_run(cfg, name, config)

    # All that changes while training. Every random choice depends on (seed, game, step) alone, so this is all.
    averaged = AveragedModel(model, avg_fn=partial(moving_average, cfg.average))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    games = Games(mode, cfg.num_live_games, training_seed(cfg.seed))
    progress = {"step": 0, "games": 0, "seconds": 0.0, "best": -1.0}
    if resumed:
        model.load_state_dict(resumed["model"])
        averaged.load_state_dict(resumed["average"])
        optimizer.load_state_dict(resumed["optimizer"])
        games.load_state_dict({key: value.numpy() for key, value in resumed["live_games"].items()})
        progress = dict(resumed["progress"])
        if share_done(progress, cfg) >= 1:
            log.info("nothing left to do after %d games and %.1f minutes; give more games= or minutes=",
                     progress["games"], progress["seconds"] / 60)  # fmt: skip
            return run_dir

    def save(file: str, **more: Any) -> None:
        weights = {key: value.cpu() for key, value in averaged.module.state_dict().items()}
        content = {"name": name, "config": config, "progress": progress, "averaged": weights}
        save_checkpoint(run_dir / file, content | more)

    def save_last() -> None:
        save(
            "last.pt", model=model.state_dict(), average=averaged.state_dict(), optimizer=optimizer.state_dict(),
            live_games={key: torch.from_numpy(value) for key, value in games.state_dict().items()},
        )  # fmt: skip

    def evaluate() -> None:
        solver = LearnedSolver(averaged.module, cfg.guess_threshold, precision)
        records = play_games(solver, mode, cfg.eval_games, validation_seed(cfg.seed), cfg.eval_first_cell)
        win_rate, minutes = float(records.won.mean()), progress["seconds"] / 60
        writer.add_scalar("eval/win_rate", win_rate, progress["games"])
        writer.add_scalar("eval/win_rate_by_minutes", win_rate, round(minutes))
        writer.add_scalar("eval/guess_free_win_rate", float(records.guess_free.mean()), progress["games"])
        writer.add_scalar("eval/moves", float(records.moves.mean()), progress["games"])
        message = "%.1f min, %d games: wins %.1f%% of %d held-out games"
        log.info(message, minutes, progress["games"], 100 * win_rate, cfg.eval_games)
        if win_rate >= progress["best"] or not (run_dir / "best.pt").exists():
            progress["best"] = win_rate
            save("best.pt")

    num_parameters = sum(p.numel() for p in model.parameters())
    log.info("%s: %d parameters, run folder %s", name, num_parameters, run_dir)
    log.info("device %s, precision %s, %d threads", device, precision, torch.get_num_threads())
    writer = SummaryWriter(run_dir, purge_step=progress["games"] + 1 if resumed else None)
    bar = tqdm(
        initial=share_done(progress, cfg),
        total=1.0,
        bar_format="{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}",
        disable=None,
    )
    next_eval = progress["seconds"] + 60 * cfg.eval_minutes
    next_save = progress["seconds"] + 60 * cfg.checkpoint_minutes
    since = Window()
    is_first_step = True
    with StopSignal() as stop, logging_redirect_tqdm(), bar, writer:
        while (share := share_done(progress, cfg)) < 1 and not stop.requested:
            began = time.perf_counter()

            # 1. The next game in every slot whose game is over.
            is_over = games.status != PLAYING
            progress["games"] += int(is_over.sum())
            since.count_games(games.status[is_over] == WON)
            games.restart(is_over)
            is_new = games.moves == 0
            opening = np.zeros(games.views.shape, np.bool_)
            rows, cols = first_cells(cfg.first_cell, games)
            opening[is_new, rows[is_new], cols[is_new]] = True
            games.reveal_mask(opening)

            # 2. One forward pass over all positions, shown in this step's symmetry.
            symmetry = progress["step"] % num_symmetries(mode.rows, mode.cols) if cfg.symmetries else 0
            views = torch.from_numpy(games.views)
            model.train()
            with autocast(device, precision):
                logits = turned_back(model(view_planes(turned(views, symmetry).to(device))).float(), symmetry)

            # 3. Learn: the loss covers the hidden cells of the games that go on.
            is_asked = ((games.views == HIDDEN) & (games.status == PLAYING)[:, None, None]).nonzero()
            if cfg.target == "posterior":
                labels = mine_posterior(games.views, mode.mines, over_budget="density")[is_asked]
            else:
                labels = games.mines[is_asked]
            if labels.size:
                labels = torch.from_numpy(labels).float().to(device)
                asked = logits[is_asked]
                loss = LOSSES[cfg.loss](asked, labels)
                if not torch.isfinite(loss):
                    raise ValueError(
                        f"the loss is {loss.item()} at step {progress['step']}; try a lower lr than {cfg.lr}"
                    )
                for group in optimizer.param_groups:
                    group["lr"] = cfg.lr * lr_factor(share, cfg.warmup)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
                optimizer.step()
                averaged.update_parameters(model)
                since.count_positions(loss.detach(), asked.detach(), labels, cfg.num_live_games)

            # 4. Act by the same probabilities.
            probabilities = torch.sigmoid(logits.detach()).cpu().numpy()
            keys = choice_keys(games, progress["step"] + 1)
            chosen, _ = choose_lowest(probabilities, games.views, keys, cfg.guess_threshold)
            games.reveal_mask(chosen)

            progress["step"] += 1
            if not is_first_step:  # which also compiles and allocates
                progress["seconds"] += time.perf_counter() - began
            is_first_step = False
            if progress["step"] % cfg.log_steps == 0:
                since.write(writer, progress["games"], optimizer)
                bar.set_postfix_str(since.summary())
                bar.update(share - bar.n)
                since = Window()
            if progress["seconds"] >= next_eval:
                next_eval += 60 * cfg.eval_minutes
                evaluate()
                since = Window()  # the speed is that of training
            if progress["seconds"] >= next_save:
                next_save += 60 * cfg.checkpoint_minutes
                save_last()
        bar.update(share - bar.n)
        save_last()  # first, so that nothing is lost if the evaluation is interrupted
        log.info("evaluating")
        evaluate()
        save_last()
    if stop.requested:
        log.info("stopped; go on with: python train.py resume=%s", run_dir / "last.pt")
    log.info(
        "best held-out win rate %.1f%%; compare: python evaluate.py ckpt=%s",
        100 * progress["best"],
        run_dir / "best.pt",
    )
    return run_dir


def share_done(progress: dict[str, Any], cfg: DictConfig) -> float:
    """How much of the run is done, 0 to 1, by games or minutes, whichever is further."""
    by_games = progress["games"] / cfg.games if cfg.games is not None else 0.0
    if cfg.minutes is None:
        return by_games
    return max(by_games, progress["seconds"] / (60 * cfg.minutes) if cfg.minutes > 0 else 1.0)


def moving_average(decay: float, average: Tensor, value: Tensor, num_averaged: Tensor) -> Tensor:
    """The exponential moving average after one more value; its decay rises to `decay`, so as not to lag at first."""
    rising = min(decay, (1 + int(num_averaged)) / (10 + int(num_averaged)))
    return torch.lerp(average, value, 1 - rising)


def lr_factor(share: float, warmup: float) -> float:
    """Linear warm-up over the first `warmup` of the run, then a cosine down to 1%."""
    if share < warmup:
        return max(share / warmup, 0.01)
    return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (share - warmup) / max(1 - warmup, 1e-9)))


def open_run(cfg: DictConfig, name: str, config: dict[str, Any]) -> Path:
    """Makes or reopens the run folder, with config.yaml and train.log in it."""
    if cfg.run_dir is not None:
        run_dir = Path(cfg.run_dir)
    elif cfg.resume is not None:
        run_dir = Path(cfg.resume).parent
    else:
        run_dir = ROOT / "checkpoints" / "runs" / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{name}_seed{cfg.seed}"
    if run_dir.exists() and not run_dir.is_dir():
        raise ValueError(f"run_dir={run_dir} is a file")
    is_own = cfg.resume is not None and Path(cfg.resume).resolve().parent == run_dir.resolve()
    if not is_own and (run_dir / "last.pt").exists():
        raise ValueError(
            f"run_dir={run_dir} holds a run already; go on with resume={run_dir}/last.pt or choose another"
        )
    run_dir.mkdir(parents=True, exist_ok=True)
    if cfg.resume is not None:
        best = Path(cfg.resume).parent / "best.pt"
        if best.exists() and not (run_dir / "best.pt").exists():
            shutil.copy(best, run_dir)
    OmegaConf.save(OmegaConf.create(config), run_dir / "config.yaml")
    file = logging.FileHandler(run_dir / "train.log")
    file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[logging.StreamHandler(), file], force=True)
    return run_dir


class StopSignal:
    """Turns the first Ctrl-C or SIGTERM into `requested`, so that the step in progress ends and is saved."""

    requested = False

    def __enter__(self) -> "StopSignal":
        self._before = {number: signal.signal(number, self._request) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _request(self, *_: object) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        log.info("stopping after this step; once more to stop at once")


class Window:
    """What happened since the last point in TensorBoard."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.won = self.games = self.positions = self.steps = 0
        self.loss = 0.0
        self.calibration = torch.zeros(3, CALIBRATION_BINS, dtype=torch.float64)  # cells, sum of p, sum of labels

    def count_games(self, won: np.ndarray) -> None:
        self.games += won.size
        self.won += int(won.sum())

    def count_positions(self, loss: Tensor, logits: Tensor, labels: Tensor, positions: int) -> None:
        self.steps += 1
        self.positions += positions
        self.loss += loss.item()
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


@hydra.main(version_base="1.3", config_path="configs", config_name="train")
def main(cfg: DictConfig) -> None:
    runtime = HydraConfig.get()
    choices = runtime.runtime.choices
    try:
        train(cfg, f"{choices.mode}_{choices.model}", list(runtime.overrides.task))
    except ValueError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped at once")


if __name__ == "__main__":
    main()
