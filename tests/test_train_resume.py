"""Stopping and going on: a resumed run ends in the very weights and live games of one that never stopped."""

import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from tiny_training import ROOT, TINY, TINY_CNN, TINY_MLP, resume_tiny, scalars, train_tiny

import train
from models import mine_task
from models.checkpoint import CheckpointError, load_checkpoint


def assert_same(one, other, where):
    """Equal to the last bit: tensors, and dicts and lists of them."""
    assert type(one) is type(other), where
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype, where
        assert torch.equal(one, other), where
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for i in range(len(one)):
            assert_same(one[i], other[i], f"{where}[{i}]")
    else:
        assert one == other, where


def assert_same_end(run_dir, other_dir):
    """The last.pt of two runs are equal in all that training goes on from."""
    one, other = load_checkpoint(run_dir / "last.pt"), load_checkpoint(other_dir / "last.pt")
    for key in ("model", "average", "averaged", "optimizer", "live_games"):
        assert_same(one[key], other[key], key)
    for key in ("step", "games"):
        assert one["progress"][key] == other["progress"][key], key


def at_step(monkeypatch, step, act):
    """Calls `act` in the middle of the given step of the next run, from 1."""
    real = mine_task.choice_keys

    def choice_keys(games, move):
        if move == step:
            act()
        return real(games, move)

    monkeypatch.setattr(mine_task, "choice_keys", choice_keys)


def stop_at(monkeypatch, step, number=signal.SIGTERM):
    at_step(monkeypatch, step, lambda: signal.raise_signal(number))


@pytest.mark.parametrize(
    ("settings", "model", "stops"),
    [
        ((), TINY_CNN, [6]),
        (("mode.cols=4", "symmetries=false", "loss=mse"), TINY_CNN, [1, 2, 9]),
        (("precision=bf16", "average=0.9"), TINY_CNN, [5]),
        (("target=posterior", "mode.rows=4", "warmup=0.5"), TINY_MLP, [7]),
    ],
    ids=["square", "rectangle", "bf16", "posterior"],
)
def test_a_stopped_run_goes_on_as_if_it_had_never_stopped(tmp_path, monkeypatch, settings, model, stops):
    whole = train_tiny(tmp_path / "whole", *settings, model=model)
    for i, step in enumerate(stops):
        stop_at(monkeypatch, step)
        if i == 0:
            part = train_tiny(tmp_path / "part", *settings, model=model)
        else:
            resume_tiny(part / "last.pt")
        assert load_checkpoint(part / "last.pt")["progress"]["step"] == step
        go_on = f"stopped; go on with: python train.py resume={part}/last.pt"
        assert go_on in (part / "train.log").read_text()
    monkeypatch.undo()
    assert load_checkpoint(whole / "last.pt")["progress"]["step"] > stops[-1] + 2
    assert resume_tiny(part / "last.pt") == part
    assert_same_end(part, whole)


def test_a_run_that_fails_goes_on_from_its_last_checkpoint(tmp_path, monkeypatch):
    whole = train_tiny(tmp_path / "whole")

    def fail():
        raise MemoryError("no memory")

    at_step(monkeypatch, 8, fail)
    with pytest.raises(MemoryError):
        train_tiny(tmp_path / "part", "checkpoint_minutes=0")
    monkeypatch.undo()
    assert load_checkpoint(tmp_path / "part" / "last.pt")["progress"]["step"] == 7
    assert_same_end(resume_tiny(tmp_path / "part" / "last.pt"), whole)


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path):
    """kill -9 in the middle of writing checkpoints, at each step."""
    settings = ("games=1500", "num_live_games=32", "checkpoint_minutes=0", f"run_dir={tmp_path / 'run'}")
    file = tmp_path / "run" / "last.pt"
    command = [sys.executable, str(ROOT / "train.py"), *TINY, *TINY_CNN, *settings]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        try:
            while not file.exists() and process.poll() is None:
                time.sleep(0.01)
            time.sleep(0.2)  # some more steps
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    assert load_checkpoint(file)["progress"]["games"] < 1500
    whole = train_tiny(tmp_path / "whole", "games=1500", "num_live_games=32")
    assert_same_end(resume_tiny(file, "threads=1"), whole)


def test_tensorboard_goes_on_without_repeats(tmp_path, monkeypatch):
    """Points that a lost part of the run has written are replaced."""
    run_dir, kept = tmp_path / "run", tmp_path / "kept.pt"
    at_step(monkeypatch, 8, lambda: shutil.copy(run_dir / "last.pt", kept))
    train_tiny(run_dir, "log_steps=1", "checkpoint_minutes=0", "num_live_games=32", "games=160")
    monkeypatch.undo()
    whole = scalars(run_dir)
    assert load_checkpoint(kept)["progress"]["step"] == 7 < len(whole["train/lr"]) - 2
    kept.replace(run_dir / "last.pt")
    resume_tiny(run_dir / "last.pt")
    again = scalars(run_dir)
    assert list(again) == list(whole)
    for tag in ("train/loss", "train/lr", "train/win_rate", "eval/win_rate"):
        assert again[tag] == whole[tag], tag


def test_a_resumed_run_may_get_another_folder_and_length(tmp_path):
    run_dir = train_tiny(tmp_path / "run")
    before = (run_dir / "last.pt").read_bytes()
    done = load_checkpoint(run_dir / "last.pt")["progress"]
    longer = resume_tiny(run_dir / "last.pt", "games=80", f"run_dir={tmp_path / 'longer'}")
    assert longer == tmp_path / "longer"
    assert (run_dir / "last.pt").read_bytes() == before
    last = load_checkpoint(longer / "last.pt")
    assert last["progress"]["step"] > done["step"]
    assert last["progress"]["games"] >= 80
    assert last["name"] == "beginner_tiny"
    assert (last["config"]["games"], last["config"]["model"]["width"]) == (80, 4)


def test_a_resumed_run_in_another_folder_has_a_best_checkpoint(tmp_path):
    run_dir = train_tiny(tmp_path / "run")
    content = load_checkpoint(run_dir / "last.pt")
    content["progress"]["best"] = 1.0
    torch.save(content, run_dir / "last.pt")
    longer = resume_tiny(run_dir / "last.pt", "games=60", f"run_dir={tmp_path / 'longer'}")
    assert (longer / "best.pt").exists()


@pytest.mark.parametrize("override", ["lr=0.1", "seed=1", "mode=expert", "model=mlp", "num_live_games=16", "+x=1"])
def test_other_settings_cannot_change_on_resume(tmp_path, override):
    run_dir = train_tiny(tmp_path / "run", "games=1")
    message = f"with resume, only games, minutes, device, threads, run_dir may be given anew, got {override}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        resume_tiny(run_dir / "last.pt", override)


def test_values_are_checked_on_resume_too(tmp_path):
    run_dir = train_tiny(tmp_path / "run", "games=1")
    with pytest.raises(ValueError, match=r"^games must be an integer of at least 1, got 0$"):
        resume_tiny(run_dir / "last.pt", "games=0")
    with pytest.raises(ValueError, match=r"^games and minutes must not both be null"):
        resume_tiny(run_dir / "last.pt", "games=null")


def test_resume_of_no_file(tmp_path):
    with pytest.raises(CheckpointError, match=f"^no checkpoint at {tmp_path}/last.pt; train one with"):
        resume_tiny(tmp_path / "last.pt")


def test_resume_of_a_checkpoint_without_the_state_of_training(tmp_path):
    run_dir = train_tiny(tmp_path / "run", "games=1")
    with pytest.raises(ValueError, match=r"last\.pt"):
        resume_tiny(run_dir / "best.pt")


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    run_dir = train_tiny(tmp_path / "run", "games=1")
    before = {file.name: file.read_bytes() for file in run_dir.iterdir()}
    message = f"run_dir={run_dir} holds a run already; go on with resume={run_dir}/last.pt or choose another"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        train_tiny(run_dir)
    assert {file.name: file.read_bytes() for file in run_dir.iterdir()} == before
    copy = shutil.copytree(run_dir, tmp_path / "copy")
    (copy / "last.pt").unlink()  # stopped before the first checkpoint
    assert train_tiny(copy) == copy


def test_the_first_signal_asks_and_the_second_stops():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with train.StopSignal() as stop:
        assert not stop.requested
        signal.raise_signal(signal.SIGTERM)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    with train.StopSignal() as stop:
        assert not stop.requested
        signal.raise_signal(signal.SIGINT)
        assert stop.requested


def test_resuming_into_the_folder_of_another_run_is_refused(tmp_path):
    one = train_tiny(tmp_path / "one", "games=1")
    other = train_tiny(tmp_path / "other", "games=1", "seed=1")
    before = (other / "last.pt").read_bytes()
    with pytest.raises(ValueError, match="holds a run already"):
        resume_tiny(one / "last.pt", "games=20", f"run_dir={other}")
    assert (other / "last.pt").read_bytes() == before
