"""Training: what a run writes, that its labels and settings are what they say, and every refusal."""

import math

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_training import CONFIGS, program, scalars, train_tiny
from torch import nn
from torch.nn import functional

import train
from minesweeper import HIDDEN, MINE, mine_posterior
from minesweeper.seeds import training_seed, validation_seed
from models import mine_task, task
from models.checkpoint import load_checkpoint, load_model

METRICS = [
    "calibration/error", "calibration/kl_frontier", "calibration/kl_interior", "calibration/kl_proved",
    "eval/guess_free_win_rate", "eval/moves", "eval/win_rate", "eval/win_rate_by_minutes",
    "speed/games_per_s", "speed/positions_per_s",
    "train/calibration_error", "train/loss", "train/lr", "train/win_rate",
]  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """Trains by the tiny settings and these overrides; returns the run folder."""
    return lambda *overrides, folder="run": train_tiny(tmp_path / folder, *overrides)


class ExactModel(nn.Module):
    """Logits of the exact posterior."""

    def __init__(self):
        super().__init__()
        self.zero = nn.Parameter(torch.zeros(()))

    def forward(self, views, num_mines):
        probabilities = np.nan_to_num(
            mine_posterior(np.ascontiguousarray(views.numpy()), num_mines.numpy()), nan=0.5
        ).clip(1e-9, 1 - 1e-9)
        return torch.logit(torch.from_numpy(probabilities)).float() + self.zero


def spy_on(monkeypatch, note):
    """Lets an `ExactModel` be trained that notes what it is asked: `note(views, num_mines)` at each pass."""

    class Spy(ExactModel):
        def forward(self, views, num_mines):
            note(views, num_mines)
            return super().forward(views, num_mines)

    monkeypatch.setattr(train, "build_model", lambda _: Spy())


def spy_on_bce(monkeypatch, note):
    """Calls `note(logits, labels)` at each loss."""

    def spied(logits, labels):
        note(logits, labels)
        return functional.binary_cross_entropy_with_logits(logits, labels)

    monkeypatch.setitem(mine_task.LOSSES, "bce", spied)


def test_what_a_run_writes(run):
    run_dir = run()
    events = [file.name for file in run_dir.iterdir() if "tfevents" in file.name]
    assert len(events) == 1
    assert {file.name for file in run_dir.iterdir()} == {
        "best.pt",
        "last.pt",
        "config.yaml",
        "curve.csv",
        "train.log",
        *events,
    }
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
    monkeypatch.setattr(train, "build_model", lambda _: ExactModel())
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

        def forward(self, views, num_mines):  # noqa: ARG002
            return torch.where(views == HIDDEN, self.weight, 100.0)

    monkeypatch.setattr(train, "build_model", lambda _: Clueless())
    for loss, expected in (("bce", math.log(2)), ("mse", 0.25)):
        for size in ("mode.rows=5", "mode.rows=7"):
            points = scalars(run("lr=0", f"loss={loss}", size, folder=f"{loss}_{size[-1]}"))
            for _, value in points["train/loss"]:
                assert value == pytest.approx(expected, abs=1e-6)


def test_the_loss_covers_the_hidden_cells_of_the_games_that_go_on(run, monkeypatch):
    asked, lost = [], []
    spy_on(monkeypatch, lambda views, _: asked.append(views.clone()))
    spy_on_bce(monkeypatch, lambda logits, labels: lost.append((logits.numel(), labels.numel(), int(labels.sum()))))
    run("mode.first_click=any", "first_cell=centre", "num_live_games=32", "lr=0")
    asked = [views for views in asked if len(views) == 32]  # those of 10 games are of the evaluation
    has_ended = 0
    for views, counts in zip(asked, lost, strict=True):
        goes_on = (views != MINE).all(2).all(1)  # a game that is over shows its mines
        hidden = int((views[goes_on] == HIDDEN).sum())
        assert counts == (hidden, hidden, 4 * int(goes_on.sum()))
        has_ended += int((~goes_on).sum())
    assert has_ended > 0


@pytest.mark.parametrize(
    "setting",
    [
        "target=posterior", "loss=mse", "loss_cells=frontier", "symmetries=false", "first_cell=corner", "lr=0.01",
        "optimizer=adam", "optimizer=sgd", "schedule=constant", "mix=[[5,4,3],[4,4,2]]",
    ],
)  # fmt: skip
def test_a_setting_changes_what_is_learned(run, setting):
    default, changed = run("mode.cols=4", folder="default"), run("mode.cols=4", setting, folder="changed")
    weights = [load_checkpoint(folder / "last.pt")["averaged"]["stem.weight"] for folder in (default, changed)]
    assert torch.isfinite(weights[1]).all()
    assert not torch.equal(*weights)


def test_a_loss_on_the_frontier_alone(run, monkeypatch):
    """It covers the hidden cells beside a number; the interior is then played by what the frontier leaves."""
    asked, lost = [], []
    spy_on(monkeypatch, lambda views, _: asked.append(views.clone()))
    spy_on_bce(monkeypatch, lambda _, labels: lost.append(labels.numel()))
    run("loss_cells=frontier", "lr=0", "symmetries=false", "mode.rows=6", "num_live_games=32")
    asked = [views for views in asked if len(views) == 32]
    for views, count in zip(asked, lost, strict=True):
        shown = functional.pad((views >= 0).float(), (1, 1, 1, 1))
        beside = sum(shown[:, r : r + 6, c : c + 5] for r in range(3) for c in range(3)) > 0
        goes_on = (views != MINE).all(2).all(1)
        assert count == int(((views == HIDDEN) & beside & goes_on[:, None, None]).sum())
    assert sum(lost) < sum(int((views == HIDDEN).sum()) for views in asked)


def test_one_cell_a_step_or_many(run, monkeypatch):
    """With multi_reveal all cells at or below the threshold are opened at once, without it one a step."""
    steps = {}
    for value in (True, False):
        monkeypatch.setattr(train, "build_model", lambda _: ExactModel())
        last = load_checkpoint(run(f"multi_reveal={value}", "lr=0", folder=str(value)) / "last.pt")
        steps[value] = last["progress"]["step"]
        moves = last["live_games"][0]["moves"]
        assert (moves.max() > 1).item()
    assert steps[False] > 1.5 * steps[True]


def test_a_mix_of_boards_takes_turns(run, monkeypatch):
    asked = []
    spy_on(monkeypatch, lambda views, num_mines: asked.append((*views.shape[1:], int(num_mines[0]))))
    last = load_checkpoint(run("mix=[[5,4,3],[4,4,2],[3,6,1]]", "lr=0") / "last.pt")
    step = last["progress"]["step"]
    assert step > 6
    for i, board in enumerate(asked[1 : step + 1]):  # the first is an empty board, for the shape of the logits
        assert board in ([(5, 4, 3), (4, 5, 3)], [(4, 4, 2)], [(3, 6, 1), (6, 3, 1)])[i % 3]
    assert [tuple(state["views"].shape) for state in last["live_games"]] == [(10, 5, 4), (12, 4, 4), (11, 3, 6)]


@pytest.mark.parametrize(("rows", "cols", "size"), [(9, 9, 128), (16, 16, 40), (16, 30, 22), (150, 150, 1)])
def test_a_step_has_as_many_cells_on_every_board(run, rows, cols, size):
    board = (f"mode.rows={rows}", f"mode.cols={cols}")
    last = load_checkpoint(run(*board, "num_live_games=null", "minutes=0") / "last.pt")
    assert last["live_games"][0]["views"].shape == (size, rows, cols)


def test_weights_go_on_from_another_mode(run, tmp_path):
    first = run("games=200", "lr=0.01", folder="first")
    weights = load_checkpoint(first / "best.pt")["averaged"]
    moved = load_checkpoint(run("mode.rows=6", f"init_from={first}/best.pt", "lr=0", folder="moved") / "last.pt")
    for key, values in weights.items():
        assert torch.equal(moved["averaged"][key], values), key
    with pytest.raises(ValueError, match="the weights do not fit the model"):
        run("model.width=5", f"init_from={first}/best.pt", folder="other")
    assert not (tmp_path / "other").exists()


def test_tensorboard_shows_a_reliability_diagram(run):
    events = EventAccumulator(str(run("eval_games=30"))).Reload()
    assert events.Tags()["images"] == ["calibration/reliability"]
    image = events.Images("calibration/reliability")[-1]
    assert (image.width, image.height) == (720, 400)


def test_the_curve_of_a_run_is_its_evaluations(run):
    run_dir = run("eval_minutes=0", "games=60")
    lines = [line.split(",") for line in (run_dir / "curve.csv").read_text().splitlines()]
    assert lines[0] == ["minutes", "games", "positions", "win_rate", "guess_free_win_rate", "moves", "eval_games"]
    points = scalars(run_dir)
    assert [(int(line[1]), float(line[3])) for line in lines[1:]] == [
        (games, pytest.approx(value, abs=1e-6)) for games, value in points["eval/win_rate"]
    ]
    progress = load_checkpoint(run_dir / "last.pt")["progress"]
    assert [int(line[2]) for line in lines[1:]] == [8 * step for step in range(1, progress["step"] + 1)]
    assert lines[-1][6] == "10"


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

    def played(*_, **__):
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

    def spied(module, name, where):
        real = getattr(module, name)

        def spy(*args, **more):
            used[name] = args[where]
            return real(*args, **more)

        monkeypatch.setattr(module, name, spy)

    spied(task, "Games", 2)
    spied(train, "play_games", 3)
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
        def forward(self, views, num_mines):  # noqa: ARG002
            return views * math.nan + self.zero

    monkeypatch.setattr(train, "build_model", lambda _: Diverged())
    with pytest.raises(ValueError, match=r"^the loss is nan at step 0; try a lower lr than 0\.002$"):
        run()


def test_the_model_sees_the_views_and_the_number_of_mines(run, monkeypatch):
    """In the first step, after an empty board for its shape, a model sees what the first reveal opened, not turned."""
    asked = []
    spy_on(monkeypatch, lambda views, num_mines: asked.append((views.clone(), num_mines)))
    run("games=1", "first_cell=[2,3]", "eval_games=1")
    assert asked[0][0].tolist() == [[[-2] * 5] * 5]
    views, num_mines = asked[1]
    assert (views.shape, views.dtype) == ((8, 5, 5), torch.int8)
    assert (views[:, 2, 3] >= 0).all()
    assert num_mines.tolist() == [4] * 8


def test_help_shows_every_setting(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        program("train.py", "--help")
    shown = capsys.readouterr().out.splitlines()
    assert "python train.py [key=value ...]" in shown
    for key in set(OmegaConf.load(CONFIGS / "train.yaml")) - {"defaults", "hydra"}:
        assert any(line.startswith(f"{key}: ") for line in shown), key
    for line in ("mode: beginner, expert, intermediate", "  _target_: models.cnn.CNN", "  rows: 9"):
        assert line in shown
