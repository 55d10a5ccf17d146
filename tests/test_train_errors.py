"""Training refuses what it cannot use: it names the key, the value and what is allowed, and leaves no folder behind."""

import re
import runpy
import shutil
import subprocess
import sys

import pytest
import torch
from tiny_training import ROOT, TINY, TINY_CNN, train_tiny

from models.cnn import CNN

AT_LEAST_0, AT_LEAST_1 = "a number of at least 0", "an integer of at least 1"
SHARE = "a number from 0 to 1"
FIRST_CELLS = "random, corner, centre, solver or [row, col]"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("task=planner", "task=planner needs a model that takes features; CNN takes"),
        ("task=planner candidates=0", "candidates must be an integer from 1 to 100, got 0"),
        ("task=planner margin=2", f"margin must be {SHARE}, got 2"),
        ("task=planner explore=-1", f"explore must be {SHARE}, got -1"),
        (
            "task=planner model=planner_net init_from=checkpoints/beginner_cnn.pt",
            "init_from=checkpoints/beginner_cnn.pt was trained with task=mines, not task=planner",
        ),
        ("task=planner contrast=x", "contrast must be a number from 0 to 1000, got 'x'"),
        ("task=planner replay=0.5", "replay must be an integer from 0 to 100, got 0.5"),
        ("task=planner endgame=0.5", "endgame must be an integer from 0 to 100000, got 0.5"),
        ("task=planner rollout_steps=-1", "rollout_steps must be an integer of at least 0, got -1"),
        ("task=planner random_first=2", f"random_first must be {SHARE}, got 2"),
        ("target=mines", "target must be one of board, posterior, planner, got 'mines'"),
        ("target=null", "target must be one of board, posterior, planner, got None"),
        (
            "target=planner teacher=missing.pt",
            "no planner at 'missing.pt'; train one with `python",
        ),
        (
            f"target=planner teacher={ROOT}/checkpoints/beginner_cnn.pt",
            f"{ROOT}/checkpoints/beginner_cnn.pt is no planner",
        ),
        ("+margin=0.1", "margin is a setting of task=planner, not of task=mines"),
        ("task=planner +loss=mse", "loss is a setting of task=mines, not of task=planner"),
        ("teacher=null", "teacher must be a path, got None"),
        ("loss=l1", "loss must be one of bce, mse, got 'l1'"),
        ("loss_cells=interior", "loss_cells must be one of hidden, frontier, got 'interior'"),
        ("optimizer=lion", "optimizer must be one of adamw, adam, sgd, got 'lion'"),
        ("schedule=step", "schedule must be one of cosine, constant, got 'step'"),
        ("multi_reveal=2", "multi_reveal must be one of True, False, got 2"),
        ("mix=9", "mix must be null or a list of [rows, cols, mines], got 9"),
        ("mix=[[9,9]]", "mix must be null or a list of [rows, cols, mines], got"),
        ("mix=[]", "mix must be null or a list of [rows, cols, mines], got"),
        ("mix=[[5,5,4],[3,3,9]]", "mines must be 0 to 8 on 3x3 with first_click=safe, got 9"),
        ("init_from=missing.pt", "no checkpoint at missing.pt"),
        ("init_from=7", "init_from must be a path or null, got 7"),
        ("symmetries=8", "symmetries must be one of True, False, got 8"),
        ("games=null", "games and minutes must not both be null: the run would never end"),
        ("games=0", f"games must be {AT_LEAST_1}, got 0"),
        ("games=1.5", f"games must be {AT_LEAST_1}, got 1.5"),
        ("games=true", f"games must be {AT_LEAST_1}, got True"),
        ("minutes=-1", f"minutes must be {AT_LEAST_0}, got -1"),
        ("minutes=long", f"minutes must be {AT_LEAST_0}, got 'long'"),
        ("num_live_games=0", "num_live_games must be an integer from 1 to 1000000, got 0"),
        ("num_live_games=2.0", "num_live_games must be an integer from 1 to 1000000, got 2.0"),
        ("lr=-0.1", "lr must be a number from 0 to 10, got -0.1"),
        ("lr=fast", "lr must be a number from 0 to 10, got 'fast'"),
        ("lr=nan", "lr must be a number from 0 to 10, got nan"),
        ("lr=null", "lr must be a number from 0 to 10, got None"),
        ("warmup=1.1", f"warmup must be {SHARE}, got 1.1"),
        ("weight_decay=-1", "weight_decay must be a number from 0 to 10, got -1"),
        ("clip=-1", f"clip must be {AT_LEAST_0}, got -1"),
        ("average=1.5", f"average must be {SHARE}, got 1.5"),
        ("guess_threshold=2", f"guess_threshold must be {SHARE}, got 2"),
        ("eval_minutes=-1", f"eval_minutes must be {AT_LEAST_0}, got -1"),
        ("eval_games=0", "eval_games must be an integer from 1 to 10000000, got 0"),
        ("log_steps=0", f"log_steps must be {AT_LEAST_1}, got 0"),
        ("checkpoint_minutes=often", f"checkpoint_minutes must be {AT_LEAST_0}, got 'often'"),
        ("threads=-1", "threads must be an integer from 0 to 4096, got -1"),
        ("first_cell=middle", f"first_cell must be one of {FIRST_CELLS}, got 'middle'"),
        ("first_cell=solver", "first_cell must be random, corner, centre or [row, col], got 'solver'"),
        ("first_cell=[5,0]", f"first_cell must be one of {FIRST_CELLS} with row 0 to 4 and col 0 to 4, got [5, 0]"),
        ("first_cell=[0]", f"first_cell must be one of {FIRST_CELLS} with row 0 to 4 and col 0 to 4, got [0]"),
        ("first_cell=[0.5,1]", f"first_cell must be one of {FIRST_CELLS} with row 0 to 4 and col 0 to 4, got [0.5, 1]"),
        ("first_cell=null", f"first_cell must be one of {FIRST_CELLS}"),
        ("first_cell=3", f"first_cell must be one of {FIRST_CELLS}"),
        ("mode.rows=0", "rows must be 1 to 1000, got 0"),
        ("mode.cols=5.5", "cols must be an integer, got 5.5"),
        ("mode.mines=25", "mines must be 0 to 24 on 5x5 with first_click=safe, got 25"),
        ("mode.first_click=free", "first_click must be one of any, safe, zero, got 'free'"),
        ("mode.openings=1", "openings must be true or false, got 1"),
        ("model.width=0", "model: width must be an integer of at least 1, got 0"),
        ("model.depth=4", "model: depth must be odd, got 4"),
        ("model._target_=torch.nn.ReLU", "model._target_ must be a class in models, got 'torch.nn.ReLU'"),
        ("device=gpu", "device must be one of auto, cpu, cuda, got 'gpu'"),
        ("precision=fp8", "precision must be one of auto, bf16, float32, got 'fp8'"),
        ("resume=missing.pt", "no checkpoint at missing.pt; train one with `python train.py"),
        ("seed=-1", "seed must be"),
        ("seed=1.5", "seed must be"),
        ("seed=abc", "seed must be"),
        ("seed=null", "seed must be"),
        ("eval_first_cell=middle", "eval_first_cell must be"),
        ("eval_first_cell=[9,9]", "eval_first_cell must be"),
        ("run_dir=2026", "run_dir"),
        (f"run_dir={ROOT}/train.py", "run_dir"),
        ("resume=5", "no checkpoint at 5"),
    ],
)
def test_refused(tmp_path, override, message):
    run_dir = tmp_path / "run"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        train_tiny(run_dir, *override.split())
    assert not run_dir.exists()


def test_cuda_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    message = "device=cuda, but torch finds no CUDA device here; use device=cpu or device=auto"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        train_tiny(tmp_path / "run", "device=cuda")
    assert not (tmp_path / "run").exists()
    train_tiny(tmp_path / "run", "device=auto", "games=1")
    assert "device cpu" in (tmp_path / "run" / "train.log").read_text()


def test_a_first_cell_without_room_is_refused(tmp_path):
    settings = ("mode.rows=3", "mode.cols=3", "mode.mines=5", "mode.first_click=zero", "games=5")
    train_tiny(tmp_path / "corner", *settings, "first_cell=corner")
    with pytest.raises(ValueError, match=r"mines must be at most 0 for a first reveal at \(1, 1\)"):
        train_tiny(tmp_path / "centre", *settings, "first_cell=centre")


def test_a_sweep_has_a_folder_a_run(tmp_path):
    """Folders under checkpoints/runs are named after what is swept; a run that is refused does not end the sweep."""
    swept = ("model.width=2,0,3", "model._target_=models.cnn.CNN", "seed=1,2", "games=1")
    command = [str(ROOT / "train.py"), "-m", *TINY, *TINY_CNN, *swept]
    pattern = "*_beginner_cnn_model.width-*"
    runs = ROOT / "checkpoints" / "runs"
    before = set(runs.glob(pattern))
    try:
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
        made = sorted(path.name.split("_", 2)[2] for path in set(runs.glob(pattern)) - before)
    finally:
        for path in set(runs.glob(pattern)) - before:
            shutil.rmtree(path)
    assert done.returncode == 1  # for the width of 0; the others were trained
    assert "error: model: width must be an integer of at least 1, got 0" in done.stderr
    assert made == [f"beginner_cnn_model.width-{width}_seed{seed}" for width in (2, 3) for seed in (1, 2)]


def test_the_program_trains_and_then_refuses_the_folder(tmp_path, monkeypatch):
    command = [str(ROOT / "train.py"), *TINY, *TINY_CNN, "games=3", f"run_dir={tmp_path / 'run'}"]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "beginner_cnn: 665 parameters" in done.stderr
    assert "Traceback" not in done.stderr
    assert {"best.pt", "last.pt"} <= {file.name for file in (tmp_path / "run").iterdir()}
    assert [file.name for file in tmp_path.iterdir()] == ["run"]

    for override, message in (("games=4", "run_dir="), ("lr=-1", "lr must be"), ("resume=no.pt", "no checkpoint at")):
        monkeypatch.setattr(sys, "argv", [*command, override])
        with pytest.raises(SystemExit) as caught:
            runpy.run_path(command[0], run_name="__main__")
        assert caught.value.code.startswith(f"error: {message}")
        assert "\n" not in caught.value.code


def test_a_model_with_logits_of_another_shape_is_refused_before_there_is_a_folder(tmp_path, monkeypatch):
    forward = CNN.forward
    monkeypatch.setattr(CNN, "forward", lambda self, views, num_mines: forward(self, views, num_mines)[:, None])
    message = "CNN must give logits of the shape of its views, [1, 5, 5], got [1, 1, 5, 5]"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        train_tiny(tmp_path / "run")
    assert not (tmp_path / "run").exists()
