"""Checkpoints: round trip, atomic writes, and one clear message for everything that is not a usable checkpoint."""

import os
import pickle
import random
import re
import subprocess
from pathlib import Path

import pytest
import torch

from models import checkpoint
from models.checkpoint import (
    FORMAT,
    CheckpointError,
    build_model,
    bundled_checkpoints,
    load_checkpoint,
    load_model,
    save_checkpoint,
)

SMALL = {"_target_": "models.cnn.CNN", "width": 4, "depth": 3, "kernel": 3}
CONFIG = {"model": SMALL, "mode": {"rows": 9, "cols": 9, "mines": 10}, "guess_threshold": 0.01, "seed": 0}


class Forbidden:
    """Would make a folder when a pickle of it is loaded without care."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.pt"


@pytest.fixture
def content():
    torch.manual_seed(0)
    weights = build_model(SMALL).state_dict()
    return {"name": "beginner_cnn", "config": CONFIG, "averaged": weights, "progress": {"step": 3}}


def broken(path, data):
    """Writes `data` and asserts that it is refused as broken, by name."""
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=f"^{re.escape(str(path))} is not a checkpoint or is broken") as caught:
        load_checkpoint(path)
    assert str(caught.value).endswith("; use another file")
    assert "\n" not in str(caught.value)


def test_round_trip(path, content):
    save_checkpoint(path, content)
    loaded = load_checkpoint(str(path))
    assert set(loaded) == {"format", "commit", *content}
    assert loaded["format"] == FORMAT
    assert [loaded[key] for key in ("name", "config", "progress")] == ["beginner_cnn", content["config"], {"step": 3}]
    assert list(loaded["averaged"]) == list(content["averaged"])
    model, again = load_model(path)
    assert again["name"] == "beginner_cnn"
    for key, values in model.state_dict().items():
        assert torch.equal(values, content["averaged"][key]), key
    views = torch.full((2, 3, 5), -2, dtype=torch.int8)
    views[1, 1, 2] = 3
    torch.manual_seed(0)
    assert torch.equal(model(views, torch.tensor([4, 4])), build_model(SMALL)(views, torch.tensor([4, 4])))


def test_the_commit_is_kept(path, content, monkeypatch):
    save_checkpoint(path, content)
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert load_checkpoint(path)["commit"] == (done.stdout.strip() if done.returncode == 0 else "unknown")
    monkeypatch.setenv("PATH", "")
    save_checkpoint(path, content)
    assert load_checkpoint(path)["commit"] == "unknown"


def test_a_write_that_fails_leaves_the_old_file(path, content, monkeypatch):
    save_checkpoint(path, content)
    before = path.read_bytes()
    with pytest.raises(AttributeError, match="pickle"):
        save_checkpoint(path, content | {"late": lambda: 0})
    assert path.read_bytes() == before

    def full(_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(path, content | {"name": "other"})
    assert path.read_bytes() == before
    monkeypatch.undo()
    save_checkpoint(path, content | {"name": "other"})
    assert load_checkpoint(path)["name"] == "other"
    assert [file.name for file in path.parent.iterdir()] == ["a.pt"]


def test_no_such_file(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "ROOT", tmp_path)
    monkeypatch.setattr(checkpoint, "BUNDLED", tmp_path / "checkpoints")
    train = "train one with `python train.py mode=beginner model=cnn`"
    for missing in (tmp_path / "no.pt", tmp_path):
        message = f"no checkpoint at {missing}; {train}, or use a bundled one: none"
        with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
            load_checkpoint(missing)
    (tmp_path / "checkpoints").mkdir()
    for name in ("expert_cnn.pt", "beginner_mlp.pt", "beginner_cnn.pt", "README.md"):
        (tmp_path / "checkpoints" / name).touch()
    listed = "checkpoints/beginner_cnn.pt, checkpoints/beginner_mlp.pt, checkpoints/expert_cnn.pt"
    with pytest.raises(CheckpointError, match=f"{re.escape(listed)}$"):
        load_model("no.pt")
    assert [file.name for file in bundled_checkpoints("beginner")] == ["beginner_cnn.pt", "beginner_mlp.pt"]
    assert bundled_checkpoints("custom") == []


@pytest.mark.parametrize("data", [b"", b"hello world\n", b"PK\x03\x04" + bytes(100), b"\x80\x02}.", b"{}"])
def test_bytes_that_are_no_checkpoint(path, data):
    broken(path, data)


def test_a_cut_file_is_broken_wherever_it_ends(path, content):
    save_checkpoint(path, content)
    data = path.read_bytes()
    for length in range(0, len(data), len(data) // 40):
        broken(path, data[:length])


def test_random_bytes(path):
    rng = random.Random(0)
    for _ in range(200):
        data = rng.randbytes(rng.randrange(1, 300))
        if data[0] != 0x80:  # which may announce another version of pickle: torch warns then
            broken(path, data)


@pytest.mark.parametrize(
    "data", [b".", b"K", b"M", b"q.", b"\x85", b"(K\x01K\x02u."], ids=["empty", "byte", "short", "memo", "tuple", "odd"]
)
def test_a_pickle_that_breaks_off(path, data):
    broken(path, data)


def test_a_pickle_cannot_run_code(path, tmp_path, content):
    folder = tmp_path / "made_by_the_pickle"
    broken(path, pickle.dumps(Forbidden(folder), protocol=2))
    save_checkpoint(path, content | {"extra": Forbidden(folder)})
    broken(path, path.read_bytes())
    torch.save(build_model(SMALL), path)  # a whole module is code too
    broken(path, path.read_bytes())
    assert not folder.exists()


@pytest.mark.parametrize("other", [{"state_dict": {}}, [1, 2], torch.zeros(3), None])
def test_a_torch_file_of_another_project(path, other):
    torch.save(other, path)
    message = f"{path} is a torch file, but not a checkpoint of this project"
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_checkpoint(path)


@pytest.mark.parametrize("number", [0, FORMAT + 1, None, "1"])
def test_another_format(path, content, number):
    torch.save(content | {"format": number, "commit": "abc1234"}, path)
    message = (
        f"{path} has format {number}, this version reads {FORMAT}; "
        "use the commit that wrote it (abc1234) or train again"
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    "change",
    [
        {"config": {"model": SMALL | {"width": 8}}},
        {"config": {"model": SMALL | {"depth": 5}}},
        {"config": {"model": {"_target_": "models.window_mlp.WindowMLP"}}},
        {"config": {}},
        {"averaged": {}},
        {"averaged": 3},
        {"config": 3},
    ],
    ids=["width", "depth", "class", "no model", "no weights", "number for weights", "number"],
)
def test_weights_that_do_not_fit(path, content, change):
    save_checkpoint(path, content | change)
    with pytest.raises(CheckpointError, match=f"^{re.escape(str(path))}: the weights do not fit the model"):
        load_model(path)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"_target_": "torch.nn.Linear"}, "model._target_ must be a class in models, got 'torch.nn.Linear'"),
        ({"_target_": "modelsx.cnn.CNN"}, "model._target_ must be a class in models, got 'modelsx.cnn.CNN'"),
        ({"_target_": None}, "model._target_ must be a class in models, got 'None'"),
        ({}, "model._target_ must be a class in models, got 'None'"),
        ({"_target_": "models.no_such.CNN"}, "model._target_ must be a class in models, got 'models.no_such.CNN'"),
        ({"_target_": "models.cnn.Other"}, "model._target_ must be a class in models, got 'models.cnn.Other'"),
        (SMALL | {"heads": 2}, "model: CNN.__init__() got an unexpected keyword argument 'heads'"),
        (SMALL | {"depth": 4}, "model: depth must be odd, got 4"),
        (
            {"_target_": "models.symmetry.num_symmetries", "rows": 2, "cols": 2},
            "model._target_ must be a class in models, got 'models.symmetry.num_symmetries'",
        ),
    ],
)
def test_a_model_that_cannot_be_built(path, content, config, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        build_model(config)
    save_checkpoint(path, content | {"config": {"model": config}})
    with pytest.raises(ValueError, match=re.escape(message)):
        load_model(path)


@pytest.mark.parametrize("missing", [["mode"], ["guess_threshold"], ["mode", "guess_threshold"]])
def test_a_configuration_that_cannot_be_played_names_what_it_lacks(path, content, missing):
    config = {key: value for key, value in content["config"].items() if key not in missing}
    save_checkpoint(path, content | {"config": config})
    message = f"{path}: its configuration has no {' and no '.join(missing)}; use another file"
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_model(path)


@pytest.mark.parametrize("inner", ["target", "through models"])
def test_a_configuration_cannot_run_code(path, tmp_path, content, inner):
    folder = tmp_path / "made_by_the_configuration"
    if inner == "target":
        config = SMALL | {"width": {"_target_": "os.mkdir", "path": str(folder)}}
    else:
        config = {"_target_": "models.checkpoint.os.mkdir", "path": str(folder)}
    save_checkpoint(path, content | {"config": {"model": config}})
    with pytest.raises(ValueError, match="model"):
        load_model(path)
    assert not folder.exists()


def test_only_modules_of_models_are_built():
    for target in ("models.checkpoint.nn.Identity", "models.cnn.torch.nn.Identity"):
        with pytest.raises(ValueError, match="must be a class in models"):
            build_model({"_target_": target})


def test_a_parameter_of_a_wrong_shape_is_named(path, content):
    weights = dict(content["averaged"])
    weights["output.bias"] = torch.zeros(2)
    save_checkpoint(path, content | {"averaged": weights})
    with pytest.raises(CheckpointError, match=r"output\.bias"):
        load_model(path)
