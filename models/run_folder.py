"""The folder of a training run, and a way to stop a run without losing a step."""

import logging
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from models.checkpoint import ROOT

log = logging.getLogger("train")


def open_run(cfg: DictConfig, name: str, config: dict[str, Any], writes: bool = True) -> Path:
    """Makes or reopens the run folder, with config.yaml and train.log in it; unless `writes`, only its name."""
    if cfg.run_dir is not None:
        run_dir = Path(cfg.run_dir)
    elif cfg.resume is not None:
        run_dir = Path(cfg.resume).parent
    else:
        run_dir = ROOT / "checkpoints" / "runs" / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{name}_seed{cfg.seed}"
    if not writes:
        logging.basicConfig(level=logging.ERROR, force=True)
        return run_dir
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
