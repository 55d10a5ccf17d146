"""Imports point one way, entry points -> web, models -> minesweeper; seeds for different ends never meet."""

import ast
import graphlib
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minesweeper.games import Games
from minesweeper.mode import MODES
from minesweeper.seeds import EVALUATION_SEEDS, checked_seed, training_seed, validation_seed

ROOT = Path(__file__).resolve().parent.parent
ENTRY_POINTS = {"train", "evaluate", "play", "report"} | {path.stem for path in ROOT.glob("*.py")}
FORBIDDEN = {
    "minesweeper": {"torch", "tensorboard", "hydra", "omegaconf", "models", "reporting", "web", *ENTRY_POINTS},
    "models": {"reporting", "web", *ENTRY_POINTS},
    "reporting": {"torch", "tensorboard", "hydra", "omegaconf", "models", "web", *ENTRY_POINTS},
    "web": ENTRY_POINTS,
}


def sources(package):
    return sorted((ROOT / package).rglob("*.py"))


def imported(source, package):
    """Full names of all modules that the source of a module in `package` imports, wherever the statement stands."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: -(node.level - 1) or None] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(path):
    return ".".join(path.relative_to(ROOT).parent.parts)


def test_every_form_of_import_is_seen():
    source = (
        "import torch.nn as nn, os\nfrom models import cnn\nfrom . import board\nfrom .. import games\n"
        "from ..solvers.base import Solver\ndef later():\n    if True:\n        import hydra\n"
    )
    assert imported(source, "minesweeper.solvers") == {
        "torch.nn", "os", "models", "models.cnn", "minesweeper.solvers", "minesweeper.solvers.board", "minesweeper",
        "minesweeper.games", "minesweeper.solvers.base", "minesweeper.solvers.base.Solver", "hydra",
    }  # fmt: skip


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_point_one_way(package):
    found = sources(package)
    assert found
    wrong = [
        (module_of(path), name)
        for path in found
        for name in imported(path.read_text(), package_of(path))
        if name.split(".")[0] in FORBIDDEN[package]
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["minesweeper", "models", "reporting", "web"])
def test_no_circle_of_imports(package):
    modules = {module_of(path): path for path in sources(package)}
    assert len(modules) > 5
    graph = {
        module: {name for name in imported(path.read_text(), package_of(path)) if name in modules and name != package}
        for module, path in modules.items()
    }
    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError
    assert set(modules) == set(order)


def test_minesweeper_runs_without_torch():
    """What is imported behind the statements, too."""
    program = "import sys, minesweeper, minesweeper.__main__; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "numba" in loaded
    assert not loaded & FORBIDDEN["minesweeper"]


def test_seeds_of_different_ends_never_meet():
    """Each function adds a constant, so the first and last seeds bound the whole ranges."""
    last = EVALUATION_SEEDS - 1
    ranges = sorted((seed_of(0), seed_of(last)) for seed_of in (checked_seed, training_seed, validation_seed))
    for low, high in ranges:
        assert high - low == last
    for (_, high), (low, _) in itertools.pairwise(ranges):
        assert high < low
    assert ranges[0][0] == 0
    assert ranges[-1][1] < 2**64
    for seed in (1, 2, 12345, last - 1):
        assert checked_seed(seed) == seed
        assert training_seed(seed) - training_seed(0) == validation_seed(seed) - validation_seed(0) == seed


@pytest.mark.parametrize("seed_of", [checked_seed, training_seed, validation_seed])
@pytest.mark.parametrize("seed", [-1, 2**32, 2**63, 1.0, "1", None, True])
def test_refused_seeds(seed_of, seed):
    with pytest.raises(ValueError, match=rf"^seed must be an integer from 0 to {2**32 - 1}, got {seed!r}$"):
        seed_of(seed)


def test_boards_of_different_ends_differ():
    mode = MODES["expert"]
    boards = []
    for seed in (0, 1, 2**32 - 1):
        for seed_of in (checked_seed, training_seed, validation_seed):
            games = Games(mode, 200, seed_of(seed))
            games.reveal(0, 0)
            boards.append(games.mines)
    boards = np.concatenate(boards).reshape(9 * 200, -1)
    assert len(np.unique(boards, axis=0)) == 9 * 200
