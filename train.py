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

from minesweeper import play_games
from minesweeper.calibration import Calibration
from minesweeper.kernels import num_compiled
from minesweeper.seeds import validation_seed
from models.checkpoint import build_model, load_checkpoint, load_weights, save_checkpoint
from models.device import choose_device, choose_precision, choose_threads
from models.mine_task import MineTask
from models.planner_task import PlannerTask
from models.ranks import Ranks, leave
from models.run_folder import StopSignal, open_run
from models.schedule import lr_factor, moving_average, share_done
from models.settings import merge_resumed
from models.train_settings import OPTIMIZERS, check, settings_of
from models.window import NoWriter, Window
from reporting.reliability import diagram

log = logging.getLogger("train")
TASKS = {"mines": MineTask, "planner": PlannerTask}
NEW_ON_RESUME = ("games", "minutes", "device", "threads", "run_dir")
CURVE = ("minutes", "games", "positions", "win_rate", "guess_free_win_rate", "moves", "eval_games")


def train(cfg: DictConfig, name: str, overrides: list[str]) -> Path:
    """Runs a whole training, or the rest of one, and returns its run folder."""
    resumed = None
    if cfg.resume is not None:
        resumed = load_checkpoint(str(cfg.resume))
        if "optimizer" not in resumed:
            raise ValueError(f"resume={cfg.resume} holds the weights alone; a run goes on from its last.pt")
        own = settings_of(resumed["config"].get("task", "mines"))
        known = [*(key for key in cfg if key not in settings_of(cfg.task)), *sorted(own)]
        cfg = merge_resumed(resumed["config"], str(cfg.resume), overrides, NEW_ON_RESUME, known)
        name = resumed["name"]
    check(cfg)
    with Ranks(cfg.num_live_games, cfg.eval_games) as ranks:
        return run(cfg, name, resumed, ranks)


def run(cfg: DictConfig, name: str, resumed: dict[str, Any] | None, ranks: Ranks) -> Path:
    """The training, in each of its processes."""
    config = OmegaConf.to_container(cfg, resolve=True) | {"run_dir": None, "resume": None}  # of this machine alone
    device = choose_device(cfg.device, ranks.local_rank)
    precision = choose_precision(cfg.precision, device)
    task = TASKS[cfg.task](cfg, ranks, device, precision)
    torch.set_num_threads(choose_threads(cfg.threads, task.cells, ranks.local_size))
    torch.manual_seed(cfg.seed)
    model = build_model(config["model"])
    task.check_model(model)
    if cfg.init_from is not None and not resumed:
        content = load_checkpoint(cfg.init_from)
        trained_for = content["config"].get("task", "mines")
        if trained_for != cfg.task:
            raise ValueError(f"init_from={cfg.init_from} was trained with task={trained_for}, not task={cfg.task}")
        load_weights(model, cfg.init_from, content)
    model = model.to(device)
    run_dir = open_run(cfg, name, config, ranks.is_first)

    # All that changes while training, but for the live games of the task.
    wrapped = ranks.wrapped(model)
    averaged = AveragedModel(model, avg_fn=partial(moving_average, cfg.average))
    optimizer = OPTIMIZERS[cfg.optimizer](model.parameters(), cfg)
    progress = {"step": 0, "games": 0, "positions": 0, "seconds": 0.0, "best": -1.0, "curve": []}
    if resumed:
        model.load_state_dict(resumed["model"])
        averaged.load_state_dict(resumed["average"])
        optimizer.load_state_dict(resumed["optimizer"])
        task.load_state_dict(resumed["live_games"])
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
        save(
            "last.pt", model=model.state_dict(), average=averaged.state_dict(), optimizer=optimizer.state_dict(),
            live_games=task.state_dict(),
        )  # fmt: skip

    def evaluate() -> None:
        begin, count = ranks.share(cfg.eval_games)
        calibration = Calibration()
        played = play_games(
            task.solver(averaged.module), task.mode, count, validation_seed(cfg.seed), cfg.eval_first_cell,
            first_index=begin, observers=[calibration.observe] if task.predicts_mines else [],
        )  # fmt: skip
        records = np.concatenate(ranks.gathered(played)).view(np.recarray)
        win_rate, minutes = float(records.won.mean()), progress["seconds"] / 60
        guess_free, moves = float(records.guess_free.mean()), float(records.moves.mean())
        writer.add_scalar("eval/win_rate", win_rate, progress["games"])
        writer.add_scalar("eval/win_rate_by_minutes", win_rate, round(minutes))
        writer.add_scalar("eval/guess_free_win_rate", guess_free, progress["games"])
        writer.add_scalar("eval/moves", moves, progress["games"])
        if task.predicts_mines:
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
    is_first_step, is_learning = True, False
    has_stopped = False
    with StopSignal() as stop, logging_redirect_tqdm(), bar, writer:
        while (share := share_done(progress, cfg)) < 1 and not has_stopped:
            began, compiled = time.perf_counter(), num_compiled()

            # 1. Positions, logits and labels.
            model.train()
            batch = task.batch(wrapped, averaged.module, progress["step"])
            weight, total_loss, num_over, num_won = ranks.sums(
                [batch.weight, batch.loss.item() * batch.weight, batch.num_over, batch.num_won], device
            )
            progress["games"] += int(num_over)
            num_positions = ranks.size * batch.games.num_games
            progress["positions"] += num_positions
            since.count_games(int(num_over), int(num_won))

            # 2. Learn.
            if weight:
                is_learning = True
                if not math.isfinite(total_loss):
                    raise ValueError(
                        f"the loss is {total_loss} at step {progress['step']}; try a lower lr than {cfg.lr}"
                    )
                for group in optimizer.param_groups:
                    group["lr"] = cfg.lr * (lr_factor(share, cfg.warmup) if cfg.schedule == "cosine" else 1)
                optimizer.zero_grad()
                # DDP averages the gradients of the processes; what is wanted is the mean over all their labels.
                (batch.loss * (ranks.size * batch.weight / weight)).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
                optimizer.step()
                averaged.update_parameters(model)
                since.count_positions(total_loss / weight, batch.asked.detach(), batch.labels, num_positions)

            # 3. Play on.
            task.act(batch, progress["step"])

            progress["step"] += 1
            is_timed = not is_first_step and num_compiled() == compiled  # the first step also allocates
            seconds = time.perf_counter() - began if is_timed else 0.0
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
    if not is_learning and not is_first_step:
        log.warning("nothing was learned: in no position of these boards was there anything to learn")
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
    leave()
