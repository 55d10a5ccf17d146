"""All solvers by name. A new one is one file here and one line in `_CLASSES`."""

import inspect
from typing import Any

from minesweeper.solvers.base import Solver
from minesweeper.solvers.csp import CspSolver
from minesweeper.solvers.double_set import DoubleSetSolver
from minesweeper.solvers.equalize import EqualizeSolver
from minesweeper.solvers.exact import ExactSolver
from minesweeper.solvers.knowledge import KnowledgeSolver
from minesweeper.solvers.random_cell import RandomCellSolver
from minesweeper.solvers.single_point import SinglePointSolver
from minesweeper.solvers.tiered import TieredSolver

_CLASSES: tuple[type[Solver], ...] = (
    ExactSolver,
    RandomCellSolver,
    SinglePointSolver,
    DoubleSetSolver,
    TieredSolver,
    KnowledgeSolver,
    EqualizeSolver,
    CspSolver,
)
SOLVERS: dict[str, type[Solver]] = {cls.name: cls for cls in _CLASSES}


def make_solver(name: str, **settings: Any) -> Solver:
    """The solver of this name with these settings.

    Raises:
        ValueError: no such solver, or a setting that it does not have or does not allow.
    """
    if name not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {name!r}")
    allowed = list(inspect.signature(SOLVERS[name]).parameters)
    for key in settings:
        if key not in allowed:
            raise ValueError(f"solver {name} has no setting {key!r}; it has {', '.join(allowed)}")
    return SOLVERS[name](**settings)


__all__ = ["SOLVERS", "Solver", "make_solver"]
