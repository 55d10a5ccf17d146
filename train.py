"""Trains a model online by self-play: python train.py model=cnn mode=beginner

One forward pass a step gives both the next move of every live game and the logits that are trained.
Settings: configs/train.yaml, or `python train.py --help`.
"""

import csv
import logging
import math
import re
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from torch.optim.swa_utils import AveragedModel
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from minesweeper import HIDDEN, PLAYING, WON, Games, mine_posterior, play_games
from minesweeper.arena import choice_keys, first_cells
from minesweeper.calibration import Calibration
from minesweeper.components import frontier_mask
from minesweeper.seeds import training_seed, validation_seed
from minesweeper.solvers.base import choose_lowest
from models.checkpoint import build_model, load_checkpoint, load_weights, save_checkpoint
from models.device import autocast, choose_device, choose_precision, choose_threads
from models.learned_solver import LearnedSolver, with_even_interior
from models.ranks import Ranks
from models.run_folder import StopSignal, open_run
from models.schedule import lr_factor, moving_average, share_done
from models.settings import make_mode, make_modes, merge_resumed
from models.symmetry import num_symmetries, turned, turned_back
from models.train_settings import LOSSES, OPTIMIZERS, check
from models.window import NoWriter, Window
from reporting.reliability import diagram

log = logging.getLogger("train")
STEP_CELLS = 128 * 81  # of a step, unless num_live_games is given
GAMES_OF_A_POOL = 2**40  # so that two boards of a mix that are the same have games of their own
NEW_ON_RESUME = ("games", "minutes", "device", "threads", "run_dir")
CURVE = ("minutes", "games", "positions", "win_rate", "guess_free_win_rate", "moves", "eval_games")


def train(cfg: DictConfig, name: str, overrides: list[str]) -> Path:
    """Runs a whole training, or the rest of one, and returns its run folder."""
    resumed = None
    if cfg.resume is not None:
        resumed = load_checkpoint(str(cfg.resume))
        if "optimizer" not in resumed:
            raise ValueError(f"resume={cfg.resume} holds the weights alone; a run goes on from its last.pt")
        cfg = merge_resumed(resumed["config"], cfg, overrides, NEW_ON_RESUME)
        name = resumed["name"]
    check(cfg)
    with Ranks(cfg.num_live_games, cfg.eval_games) as ranks:
        return run(cfg, name, resumed, ranks)


def run(cfg: DictConfig, name: str, resumed: dict[str, Any] | None, ranks: Ranks) -> Path:
    """The training, in each of its processes."""
    mode = make_mode(cfg.mode)
    modes = make_modes(cfg.mix, mode)
    config = OmegaConf.to_container(cfg, resolve=True) | {"run_dir": None, "resume": None}  # of this machine alone
    device = choose_device(cfg.device, ranks.local_rank)
    precision = choose_precision(cfg.precision, device)
    cells = STEP_CELLS if cfg.num_live_games is None else cfg.num_live_games * mode.cells
    torch.set_num_threads(choose_threads(cfg.threads, cells, ranks.local_size))
    torch.manual_seed(cfg.seed)
    model = build_model(config["model"])
    if cfg.init_from is not None and not resumed:
        load_weights(model, cfg.init_from, load_checkpoint(cfg.init_from))
    model = model.to(device)
    run_dir = open_run(cfg, name, config, ranks.is_first)

    # All that changes while training. Every random choice depends on (seed, game, step) alone, so this is all.
    wrapped = ranks.wrapped(model)
    averaged = AveragedModel(model, avg_fn=partial(moving_average, cfg.average))
    optimizer = OPTIMIZERS[cfg.optimizer](model.parameters(), cfg)
    sizes = [ranks.divisible(cells / own.cells) for own in modes]
    pools = []
    for i, (own, size) in enumerate(zip(modes, sizes, strict=True)):
        first, count = ranks.share(size)
        pools.append(Games(own, count, training_seed(cfg.seed), i * GAMES_OF_A_POOL + first, size))
    progress = {"step": 0, "games": 0, "positions": 0, "seconds": 0.0, "best": -1.0, "curve": []}
    if resumed:
        model.load_state_dict(resumed["model"])
        averaged.load_state_dict(resumed["average"])
        optimizer.load_state_dict(resumed["optimizer"])
        for pool, size, state in zip(pools, sizes, resumed["live_games"], strict=True):
            own = slice(ranks.share(size)[0], sum(ranks.share(size)))
            pool.load_state_dict({key: value.numpy()[own] for key, value in state.items()})
        progress = resumed["progress"]
        if share_done(progress, cfg) >= 1:
            log.info("nothing left to do after %d games and %.1f minutes; give more games= or minutes=",
                     progress["games"], progress["seconds"] / 60)  # fmt: skip
            return run_dir

    def save(file: str, **more: Any) -> None:
        weights = {key: value.cpu() for key, value in averaged.module.state_dict().items()}
        content = {"name": name, "config": config, "progress": progress, "averaged": weights}
        if ranks.is_first:
            save_checkpoint(run_dir / file, content | more)

    def save_last() -> None:
        parts = ranks.gathered([pool.state_dict() for pool in pools])  # of each process, of each pool
        live_games = [
            {key: torch.from_numpy(np.concatenate([state[key] for state in states])) for key in states[0]}
            for states in zip(*parts, strict=True)
        ]
        save(
            "last.pt", model=model.state_dict(), average=averaged.state_dict(), optimizer=optimizer.state_dict(),
            live_games=live_games,
        )  # fmt: skip

    def evaluate() -> None:
        solver = LearnedSolver.trained(averaged.module, cfg, precision)
        begin, count = ranks.share(cfg.eval_games)
        calibration = Calibration()
        played = play_games(
            solver, mode, count, validation_seed(cfg.seed), cfg.eval_first_cell,
            first_index=begin, observers=[calibration.observe],
        )  # fmt: skip
        records = np.concatenate(ranks.gathered(played)).view(np.recarray)
        win_rate, minutes = float(records.won.mean()), progress["seconds"] / 60
        guess_free, moves = float(records.guess_free.mean()), float(records.moves.mean())
        writer.add_scalar("eval/win_rate", win_rate, progress["games"])
        writer.add_scalar("eval/win_rate_by_minutes", win_rate, round(minutes))
        writer.add_scalar("eval/guess_free_win_rate", guess_free, progress["games"])
        writer.add_scalar("eval/moves", moves, progress["games"])
        calibration.sums = sum(ranks.gathered(calibration.sums))
        for metric, value in calibration.metrics().items():
            writer.add_scalar(f"calibration/{metric}", value, progress["games"])
        writer.add_figure("calibration/reliability", diagram(calibration), progress["games"])
        message = "%.1f min, %d games: wins %.1f%% of %d held-out games"
        log.info(message, minutes, progress["games"], 100 * win_rate, cfg.eval_games)
        values = (minutes, progress["games"], progress["positions"], win_rate, guess_free, moves, cfg.eval_games)
        progress["curve"].append([round(value, 6) for value in values])
        if ranks.is_first:
            write_curve(run_dir / "curve.csv", progress["curve"])
        if win_rate >= progress["best"] or not (run_dir / "best.pt").exists():
            progress["best"] = win_rate
            save("best.pt")

    num_parameters = sum(p.numel() for p in model.parameters())
    log.info("%s: %d parameters, run folder %s", name, num_parameters, run_dir)
    log.info("device %s, precision %s, %d threads%s", device, precision, torch.get_num_threads(),
             f" in each of {ranks.size} processes" if ranks.size > 1 else "")  # fmt: skip
    purge_step = progress["games"] + 1 if resumed else None
    writer = SummaryWriter(run_dir, purge_step=purge_step) if ranks.is_first else NoWriter()
    bar = tqdm(
        initial=share_done(progress, cfg),
        total=1.0,
        bar_format="{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}",
        disable=None if ranks.is_first else True,
    )
    next_eval = progress["seconds"] + 60 * cfg.eval_minutes
    next_save = progress["seconds"] + 60 * cfg.checkpoint_minutes
    since = Window()
    is_first_step = True
    has_stopped = False
    with StopSignal() as stop, logging_redirect_tqdm(), bar, writer:
        while (share := share_done(progress, cfg)) < 1 and not has_stopped:
            began = time.perf_counter()

            # 1. The next game in every slot whose game is over; each step turns to the next of the modes.
            games = pools[progress["step"] % len(pools)]
            is_over = games.status != PLAYING
            num_won = int((games.status == WON).sum())
            games.restart(is_over)
            is_new = games.moves == 0
            opening = np.zeros(games.views.shape, np.bool_)
            rows, cols = first_cells(cfg.first_cell, games)
            opening[is_new, rows[is_new], cols[is_new]] = True
            games.reveal_mask(opening)

            # 2. One forward pass over all positions, shown in this step's symmetry.
            symmetry = 0
            if cfg.symmetries:
                symmetry = progress["step"] // len(pools) % num_symmetries(games.mode.rows, games.mode.cols)
            views = torch.from_numpy(games.views)
            num_mines = torch.full((games.num_games,), games.mode.mines, device=device)
            model.train()
            with autocast(device, precision):
                logits = turned_back(wrapped(turned(views, symmetry).to(device), num_mines).float(), symmetry)

            # 3. Learn: the loss covers the hidden (or the frontier) cells of the games that go on.
            is_asked = frontier_mask(games.views) if cfg.loss_cells == "frontier" else games.views == HIDDEN
            is_asked = (is_asked & (games.status == PLAYING)[:, None, None]).nonzero()
            if cfg.target == "posterior":
                labels = mine_posterior(games.views, games.mode.mines, over_budget="density")[is_asked]
            else:
                labels = games.mines[is_asked]
            labels = torch.from_numpy(labels).float().to(device)
            asked = logits[is_asked]
            loss = LOSSES[cfg.loss](asked, labels) if labels.numel() else logits.sum() * 0
            num_labels, total_loss, num_over, num_won = ranks.sums(
                [labels.numel(), loss.item() * labels.numel(), int(is_over.sum()), num_won], device
            )
            progress["games"] += int(num_over)
            progress["positions"] += ranks.size * games.num_games
            since.count_games(int(num_over), int(num_won))
            if num_labels:
                if not math.isfinite(total_loss):
                    raise ValueError(
                        f"the loss is {total_loss} at step {progress['step']}; try a lower lr than {cfg.lr}"
                    )
                for group in optimizer.param_groups:
                    group["lr"] = cfg.lr * (lr_factor(share, cfg.warmup) if cfg.schedule == "cosine" else 1)
                optimizer.zero_grad()
                # DDP averages the gradients of the processes; what is wanted is the mean over all their labels.
                (loss * (ranks.size * labels.numel() / num_labels)).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
                optimizer.step()
                averaged.update_parameters(model)
                since.count_positions(total_loss / num_labels, asked.detach(), labels, ranks.size * games.num_games)

            # 4. Act by the same probabilities.
            probabilities = torch.sigmoid(logits.detach()).cpu().numpy()
            if cfg.loss_cells == "frontier":
                probabilities = with_even_interior(probabilities, games.views, num_mines.cpu().numpy())
            keys = choice_keys(games, progress["step"] + 1)
            chosen, _ = choose_lowest(probabilities, games.views, keys, cfg.guess_threshold if cfg.multi_reveal else -1)
            games.reveal_mask(chosen)

            progress["step"] += 1
            seconds = 0.0 if is_first_step else time.perf_counter() - began  # the first also compiles and allocates
            is_first_step = False
            num_stops, seconds = ranks.sums([stop.requested, seconds / ranks.size], device)  # one clock for all
            has_stopped = num_stops > 0
            progress["seconds"] += seconds
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
        is_evaluated = progress["curve"] and progress["curve"][-1][2] == progress["positions"]
        if not is_evaluated and not (has_stopped and progress["best"] >= 0):
            log.info("evaluating on %d held-out games", cfg.eval_games)
            evaluate()
            save_last()
    if has_stopped:
        log.info("stopped; go on with: python train.py resume=%s", run_dir / "last.pt")
    log.info(
        "best held-out win rate %.1f%%; compare: python evaluate.py ckpt=%s",
        100 * progress["best"],
        run_dir / "best.pt",
    )
    return run_dir


def write_curve(path: Path, rows: list[list[float]]) -> None:
    """Writes all evaluations of a run as a CSV file."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([CURVE, *rows])


def name_of(runtime: Any) -> str:
    """Mode, model and, in a sweep, the values of what is swept: what the run folder is called."""
    words = [runtime.runtime.choices.mode, runtime.runtime.choices.model]
    if runtime.mode == RunMode.MULTIRUN:
        given = OverridesParser.create().parse_overrides([word for word in sys.argv[1:] if "=" in word])
        swept = {override.key_or_group for override in given if override.is_sweep_override()}
        swept -= {"seed", "mode", "model"}  # stand in the name already
        words += [word for word in runtime.overrides.task if word.split("=")[0] in swept]
    return re.sub(r"[^\w.-]+", "-", "_".join(words))


@hydra.main(version_base="1.3", config_path="configs", config_name="train")
def main(cfg: DictConfig) -> None:
    runtime = HydraConfig.get()
    try:
        train(cfg, name_of(runtime), list(runtime.overrides.task))
    except ValueError as error:
        if runtime.mode == RunMode.MULTIRUN:  # the other runs of a sweep go on; Hydra fails at its end
            print(f"error: {error}", file=sys.stderr)
            raise
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped at once")


if __name__ == "__main__":
    main()
