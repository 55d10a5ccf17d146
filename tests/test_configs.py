"""Configurations: every mode, model and experiment composes, builds and is accepted; every setting is explained."""

import re

import pytest
from omegaconf import OmegaConf
from tiny_training import CONFIGS, composed
from torch import nn

from minesweeper import MODES, Mode
from models.checkpoint import build_model
from models.train_settings import settings_of
from train import check

SETTING = re.compile(r"^(\w+):\s*\S")  # a key at the top level with its value on the same line


def options(group):
    return sorted(path.stem for path in (CONFIGS / group).glob("*.yaml"))


def settings(name):
    """The lines of a file, and for train.py of the default task, that set a value at its top level, by key."""
    files = [CONFIGS / f"{name}.yaml", *([CONFIGS / "task" / "mines.yaml"] if name == "train" else [])]
    lines = [line for file in files for line in file.read_text().splitlines()]
    return {found[1]: line for line in lines if (found := SETTING.match(line))}


def builds(cfg):
    check(cfg)
    assert isinstance(Mode(**cfg.mode), Mode)
    assert isinstance(build_model(cfg.model), nn.Module)


@pytest.mark.parametrize("model", options("model"))
@pytest.mark.parametrize("mode", options("mode"))
def test_every_mode_and_model_builds(mode, model):
    builds(composed("train", f"mode={mode}", f"model={model}"))


@pytest.mark.parametrize("task", options("task"))
def test_every_task_builds_and_explains_its_settings(task):
    cfg = composed("train", f"task={task}")
    builds(cfg)
    assert cfg.task == task
    own = (CONFIGS / "task" / f"{task}.yaml").read_text().splitlines()
    lines = {found[1]: line for line in own if (found := SETTING.match(line))}
    assert settings_of(task) <= set(lines)
    assert [key for key, line in lines.items() if not re.search(r"\s# \S", line)] == []


@pytest.mark.parametrize("experiment", options("experiment"))
def test_every_experiment_builds(experiment):
    """As published: an experiment may fix its mode and model."""
    builds(composed("train", f"experiment={experiment}"))


def test_the_files_of_the_modes_are_the_presets():
    assert options("mode") == sorted(MODES)
    for name, mode in MODES.items():
        assert Mode(**composed("train", f"mode={name}").mode) == mode


@pytest.mark.parametrize("experiment", options("experiment"))
def test_an_experiment_is_global_and_wins_over_train_yaml(experiment):
    lines = (CONFIGS / "experiment" / f"{experiment}.yaml").read_text().splitlines()
    assert lines[0] == "# @package _global_"
    cfg = composed("train", f"experiment={experiment}")
    own = OmegaConf.load(CONFIGS / "experiment" / f"{experiment}.yaml")
    for key in set(own) - {"defaults", "hydra"}:
        assert OmegaConf.merge({key: cfg[key]}, {key: own[key]}) == {key: cfg[key]}, key


@pytest.mark.parametrize("pair", options("mode_model"))
def test_a_mode_model_file_names_a_pair_that_exists(pair):
    assert pair in {f"{mode}_{model}" for mode in options("mode") for model in options("model")}
    mode, _, model = pair.partition("_")
    plain = composed("train")
    cfg = composed("train", f"mode={mode}", f"model={model}")
    own = OmegaConf.load(CONFIGS / "mode_model" / f"{pair}.yaml")
    assert set(own) <= set(plain), "keys that train.yaml does not have"
    for key in own:
        assert OmegaConf.merge({key: cfg[key]}, {key: own[key]}) == {key: cfg[key]}, key


def test_evaluation_takes_its_mode_from_the_checkpoint_unless_it_is_given():
    assert composed("evaluate").get("mode") is None
    assert Mode(**composed("evaluate", "mode=expert").mode) == MODES["expert"]


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("train", ["lr=0.1", "mode.rows=5", "mode=expert", "model=mlp", "model.hidden=[8,4]", "first_cell=[4,29]"]),
        ("evaluate", ["ckpt=[a.pt,b.pt]", "solvers=[exact,{name:exact,tie_break:corner}]", "first_cell=[0,1]"]),
    ],
)
def test_overrides_as_the_comments_write_them(name, overrides):
    cfg = composed(name, *overrides)
    if name == "train":
        assert (cfg.lr, cfg.mode.rows, cfg.mode.cols) == (0.1, 5, 30)
        assert (list(cfg.model.hidden), list(cfg.first_cell)) == ([8, 4], [4, 29])
        check(cfg)
    else:
        assert list(cfg.ckpt) == ["a.pt", "b.pt"]
        assert cfg.solvers == ["exact", {"name": "exact", "tie_break": "corner"}]
        assert cfg.first_cell == [0, 1]


@pytest.mark.parametrize("name", ["train", "evaluate", "play"])
def test_the_lines_of_a_file_are_its_keys(name):
    """So that `settings`, which reads lines, misses none."""
    assert set(settings(name)) == set(composed(name)) - {"mode", "model"}


@pytest.mark.parametrize(
    ("name", "key"),
    [pytest.param(name, key) for name in ("train", "evaluate", "play") for key in settings(name)],
)
def test_every_setting_has_a_comment(name, key):
    assert re.search(r"\s# \S", settings(name)[key]), f"{name}.yaml does not say what {key} is"
