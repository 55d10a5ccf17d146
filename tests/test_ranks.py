"""Several processes, as torchrun starts them, learn what one does with the same batch."""

import re
import subprocess
import sys

import pytest
import torch
from tiny_training import ROOT, TINY, TINY_CNN, composed, scalars, trained

from models.checkpoint import load_checkpoint
from models.ranks import Ranks


def train_in(processes, run_dir, *settings):
    """Trains in so many processes; returns what they print."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command = [*launcher, str(ROOT / "train.py"), f"run_dir={run_dir}", *settings]
    done = subprocess.run(command, cwd=run_dir.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "task",
    [(*TINY_CNN, "target=posterior"), ("task=planner", "model.width=4", "model.depth=2", "rollout_steps=2")],
    ids=["mines", "planner"],
)
def test_two_processes_learn_what_one_does(tmp_path, task):
    settings = (*TINY, *task, "optimizer=sgd", "lr=0.5", "eval_games=11")
    trained(composed("train", *settings, f"run_dir={tmp_path / 'one'}"))
    shown = train_in(2, tmp_path / "two", *settings)
    assert shown.count("run folder") == 1
    assert "1 threads in each of 2 processes" in shown
    one, two = (load_checkpoint(tmp_path / name / "last.pt") for name in ("one", "two"))
    for key in ("step", "games", "positions", "best"):
        assert one["progress"][key] == two["progress"][key], key
    for key, values in one["model"].items():
        torch.testing.assert_close(two["model"][key], values, atol=1e-6, rtol=1e-5)
    first = next(iter(one["model"]))
    assert not torch.equal(one["model"][first], one["averaged"][first])
    for key, values in one["live_games"][0].items():
        torch.testing.assert_close(two["live_games"][0][key], values, atol=1e-6, rtol=1e-5, equal_nan=True)
    assert scalars(tmp_path / "two")["eval/win_rate"] == scalars(tmp_path / "one")["eval/win_rate"]

    train_in(2, tmp_path / "three", f"resume={tmp_path / 'one' / 'last.pt'}", "games=60")
    assert load_checkpoint(tmp_path / "three" / "last.pt")["progress"]["games"] >= 60


@pytest.mark.parametrize(("num_live_games", "eval_games"), [(7, 10), (8, 1)])
def test_games_that_cannot_be_shared_out(monkeypatch, num_live_games, eval_games):
    monkeypatch.setenv("WORLD_SIZE", "2")
    message = (
        "2 processes need num_live_games that divide by 2 and at least 2 eval_games, "
        f"got {num_live_games} and {eval_games}"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Ranks(num_live_games, eval_games)


def test_the_shares_of_the_processes_are_all_there_is(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    shares = []
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        shares.append(Ranks(9, 11).share(11))
    assert shares == [(0, 3), (3, 4), (7, 4)]
