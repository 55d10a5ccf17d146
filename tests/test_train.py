"""Training: what a run writes, that its labels and settings are what they say, and every refusal."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from tiny_training import CONFIGS, ROOT, scalars, train_tiny
from torch import nn
from torch.nn import functional

import train
from minesweeper import HIDDEN, MINE, mine_posterior
from minesweeper.seeds import training_seed, validation_seed
from models.checkpoint import load_checkpoint, load_model
from models.planes import NUM_PLANES

METRICS = [
    "eval/guess_free_win_rate", "eval/moves", "eval/win_rate", "eval/win_rate_by_minutes",
    "speed/games_per_s", "speed/positions_per_s",
    "train/calibration_error", "train/loss", "train/lr", "train/win_rate",
]  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """Trains by the tiny settings and these overrides; returns the run folder."""
    return lambda *overrides, folder="run": train_tiny(tmp_path / folder, *overrides)


class ExactModel(nn.Module):
    """Logits of the exact posterior, computed from the planes alone."""

    def __init__(self, num_mines):
        super().__init__()
        self.num_mines = num_mines
        self.zero = nn.Parameter(torch.zeros(()))

    def forward(self, planes):
        shown = np.array([HIDDEN, *range(9)], np.int8)
        views = shown[planes.argmax(1).numpy()]
        views[~planes.bool().any(1).numpy()] = MINE
        probabilities = np.nan_to_num(mine_posterior(views, self.num_mines), nan=0.5).clip(1e-9, 1 - 1e-9)
        return torch.logit(torch.from_numpy(probabilities)).float() + self.zero


def test_what_a_run_writes(run):
    run_dir = run()
    events = [file.name for file in run_dir.iterdir() if "tfevents" in file.name]
    assert len(events) == 1
    assert {file.name for file in run_dir.iterdir()} == {"best.pt", "last.pt", "config.yaml", "train.log", *events}
    points = scalars(run_dir)
    assert sorted(points) == METRICS
    for tag, values in points.items():
        assert all(math.isfinite(value) for _, value in values), tag
        assert [games for games, _ in values] == sorted(games for games, _ in values), tag
    log = (run_dir / "train.log").read_text()
    assert f"beginner_tiny: 665 parameters, run folder {run_dir}" in log
    assert "device cpu, precision float32, 1 threads" in log
    assert f"compare: python evaluate.py ckpt={run_dir}/best.pt" in log

    best, last = load_checkpoint(run_dir / "best.pt"), load_checkpoint(run_dir / "last.pt")
    assert set(best) == {"format", "commit", "name", "config", "progress", "averaged"}
    assert set(last) == {*best, "model", "average", "optimizer", "live_games"}
    assert last["name"] == "beginner_tiny"
    assert last["config"] == OmegaConf.to_container(OmegaConf.load(run_dir / "config.yaml"))
    assert last["progress"]["games"] >= 40 > last["progress"]["games"] - 8
    model, _ = load_model(run_dir / "last.pt")
    assert sum(values.numel() for values in model.parameters()) == 665


def test_weights_depend_on_the_seed_alone(run):
    first, again, other = (
        load_checkpoint(run(f"seed={seed}", folder=folder) / "last.pt")["averaged"]
        for seed, folder in ((0, "first"), (0, "again"), (1, "other"))
    )
    for key, values in first.items():
        assert torch.equal(values, again[key]), key
    assert any(not torch.equal(values, other[key]) for key, values in first.items())


@pytest.mark.parametrize("size", [("mode.rows=3", "mode.cols=6"), ("mode.rows=4", "mode.cols=4")])
@pytest.mark.parametrize("symmetries", [True, False])
@pytest.mark.parametrize("loss", ["bce", "mse"])
@pytest.mark.parametrize("target", ["board", "posterior"])
def test_labels_and_losses(run, monkeypatch, size, symmetries, loss, target):
    """A model that answers with the exact posterior meets its labels, however the boards are turned."""
    monkeypatch.setattr(train, "build_model", lambda _: ExactModel(3))
    points = scalars(
        run(*size, f"symmetries={symmetries}", f"loss={loss}", f"target={target}", "lr=0", "games=120", "mode.mines=3")
    )
    losses = [value for _, value in points["train/loss"]]
    calibration = [value for _, value in points["train/calibration_error"]]
    if target == "posterior":
        assert max(calibration) < 1e-6
        assert max(losses) < (1e-10 if loss == "mse" else 0.6)
    else:
        assert np.mean(losses) < (0.15 if loss == "mse" else 0.5)
        assert np.mean(calibration) < 0.1


def test_a_model_without_a_clue(run, monkeypatch):
    """Logits of 0 lose ln 2 and 1/4 exactly; those of revealed cells do not count."""

    class Clueless(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(()))

        def forward(self, planes):
            return torch.where(planes[:, 0] > 0, self.weight, 100.0)

    monkeypatch.setattr(train, "build_model", lambda _: Clueless())
    for loss, expected in (("bce", math.log(2)), ("mse", 0.25)):
        for size in ("mode.rows=5", "mode.rows=7"):
            points = scalars(run("lr=0", f"loss={loss}", size, folder=f"{loss}_{size[-1]}"))
            for _, value in points["train/loss"]:
                assert value == pytest.approx(expected, abs=1e-6)


def test_the_loss_covers_the_hidden_cells_of_the_games_that_go_on(run, monkeypatch):
    asked, lost = [], []

    class Spy(ExactModel):
        def forward(self, planes):
            asked.append(planes.clone())
            return super().forward(planes)

    def spied(logits, labels):
        lost.append((logits.numel(), labels.numel(), int(labels.sum())))
        return functional.binary_cross_entropy_with_logits(logits, labels)

    monkeypatch.setattr(train, "build_model", lambda _: Spy(4))
    monkeypatch.setitem(train.LOSSES, "bce", spied)
    run("mode.first_click=any", "first_cell=centre", "num_live_games=32", "lr=0")
    asked = [planes for planes in asked if len(planes) == 32]  # those of 10 games are of the evaluation
    has_ended = 0
    for planes, counts in zip(asked, lost, strict=True):
        goes_on = planes.sum(1).bool().all((1, 2))  # a game that is over shows its mines, which no plane shows
        hidden = int(planes[goes_on, 0].sum())
        assert counts == (hidden, hidden, 4 * int(goes_on.sum()))
        has_ended += int((~goes_on).sum())
    assert has_ended > 0


@pytest.mark.parametrize(
    "setting", ["target=posterior", "loss=mse", "symmetries=false", "first_cell=corner", "lr=0.01"]
)
def test_a_setting_changes_what_is_learned(run, setting):
    default, changed = run("mode.cols=4", folder="default"), run("mode.cols=4", setting, folder="changed")
    weights = [load_checkpoint(folder / "last.pt")["averaged"]["stem.weight"] for folder in (default, changed)]
    assert torch.isfinite(weights[1]).all()
    assert not torch.equal(*weights)


def test_training_lowers_the_loss(run):
    losses = [value for _, value in scalars(run("games=600", "num_live_games=32", "lr=0.01"))["train/loss"]]
    assert np.mean(losses[-5:]) < 0.75 * losses[0]


def test_the_average_of_the_weights(run):
    last = load_checkpoint(run("average=0", folder="none") / "last.pt")
    for key, values in last["averaged"].items():
        assert torch.equal(values, last["model"][key]), key
    last = load_checkpoint(run("average=0.9", folder="some") / "last.pt")
    assert not torch.equal(last["averaged"]["stem.weight"], last["model"]["stem.weight"])
    assert torch.equal(last["averaged"]["stem.weight"], last["average"]["module.stem.weight"])


def test_the_best_weights_are_kept(run, monkeypatch):
    wins = [2, 1, 3, 3, 2]  # of 4 held-out games, one evaluation after the other; then none

    def played(*_):
        records = np.recarray(4, dtype=[("won", "?"), ("guess_free", "?"), ("moves", "i4")])
        records[:] = False
        records["won"][: wins.pop(0) if wins else 0] = True
        return records

    monkeypatch.setattr(train, "play_games", played)
    run_dir = run("eval_minutes=0", "eval_games=4", "log_steps=1")
    points = scalars(run_dir)
    assert [value for _, value in points["eval/win_rate"]][:6] == [0.5, 0.25, 0.75, 0.75, 0.5, 0]
    best = load_checkpoint(run_dir / "best.pt")["progress"]
    assert (best["best"], best["step"], best["games"]) == (0.75, 4, points["train/lr"][3][0])
    assert load_checkpoint(run_dir / "last.pt")["progress"]["best"] == 0.75


def test_self_play_and_held_out_boards_are_different(run, monkeypatch):
    used = {}

    def spied(name, where):
        real = getattr(train, name)

        def spy(*args):
            used[name] = args[where]
            return real(*args)

        monkeypatch.setattr(train, name, spy)

    spied("Games", 2)
    spied("play_games", 3)
    for seed in (0, 2**32 - 1):
        run(f"seed={seed}", "games=1", folder=str(seed))
        assert 2**32 - 1 < used["play_games"] < used["Games"]  # evaluate.py accepts 0 to 2**32 - 1
    first = validation_seed(0), training_seed(0)
    assert used["play_games"] - first[0] == used["Games"] - first[1] == 2**32 - 1
    assert used["play_games"] < first[1]


def test_the_learning_rate_over_a_run(run):
    expected = {0.0: 0.01, 0.05: 0.5, 0.1: 1.0, 0.55: 0.505, 1.0: 0.01}
    for share, factor in expected.items():
        assert train.lr_factor(share, 0.1) == pytest.approx(factor, abs=1e-12)
    assert [train.lr_factor(share, 0) for share in (0, 1)] == pytest.approx([1, 0.01])
    assert [train.lr_factor(share, 1) for share in (0.5, 1)] == pytest.approx([0.5, 1])
    points = scalars(run("log_steps=1", "lr=0.1", "warmup=0.2"))["train/lr"]
    shares = [0, *(games / 40 for games, _ in points[:-1])]
    assert [rate for _, rate in points] == pytest.approx([0.1 * train.lr_factor(share, 0.2) for share in shares])


@pytest.mark.parametrize(
    ("games", "minutes", "share"), [(40, None, 0.25), (None, 2, 0.5), (40, 2, 0.5), (20, 4, 0.5), (None, 0, 1.0)]
)
def test_share_of_a_run(games, minutes, share):
    cfg = OmegaConf.create({"games": games, "minutes": minutes})
    assert train.share_done({"games": 10, "seconds": 60.0}, cfg) == share


def test_no_minutes_evaluate_and_save_at_once(run):
    progress = load_checkpoint(run("minutes=0") / "last.pt")["progress"]
    assert (progress["step"], progress["games"]) == (0, 0)


def test_a_loss_that_is_not_finite_stops_the_run(run, monkeypatch):
    class Diverged(ExactModel):
        def forward(self, planes):
            return planes[:, 0] * math.nan + self.zero

    monkeypatch.setattr(train, "build_model", lambda _: Diverged(4))
    with pytest.raises(ValueError, match=r"^the loss is nan at step 0; try a lower lr than 0\.002$"):
        run()


def test_the_planes_of_the_model_are_the_views(run, monkeypatch):
    """In the first step a model sees what the first reveal opened, turned by no symmetry."""
    asked = []

    class Spy(ExactModel):
        def forward(self, planes):
            asked.append(planes.clone())
            return super().forward(planes)

    monkeypatch.setattr(train, "build_model", lambda _: Spy(4))
    run("games=1", "first_cell=[2,3]", "eval_games=1")
    assert asked[0].shape == (8, NUM_PLANES, 5, 5)
    assert not asked[0][:, 0, 2, 3].any()
    assert (asked[0].sum(1) == 1).all()


def test_help_shows_every_setting():
    command = [sys.executable, str(ROOT / "train.py"), "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "python train.py [key=value ...]" in shown
    for key in set(OmegaConf.load(CONFIGS / "train.yaml")) - {"defaults", "hydra"}:
        assert any(line.startswith(f"{key}: ") for line in shown), key
    for line in ("mode: beginner, expert, intermediate", "  _target_: models.cnn.CNN", "  rows: 9"):
        assert line in shown
