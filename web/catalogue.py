"""The solvers that a player can choose from: every name of `minesweeper.SOLVERS`, good settings, and networks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minesweeper import MODES, SOLVERS

DEFAULT_SOLVER = "exact_ahead"
_CHECKPOINTS = Path(__file__).resolve().parent.parent / "checkpoints"
_AHEAD = {"tie_break": "progress", "tie_margin": 0.03, "endgame": 1000}
_LABELS = {
    "exact": "Exact: lowest probability",
    "random": "Random cells",
    "single_point": "Single numbers",
    "double_set": "Double-set single point",
    "tiered": "Rules, then a search",
    "knowledge": "Sets of cells",
    "equalize": "Shares, equalized",
    "csp": "Proofs only",
}


@dataclass(frozen=True)
class Entry:
    """One solver of the list; plain values, so that it can be sent to a process.

    Attributes:
        id, label: its name for programs and for people.
        kind: "exact" (its probabilities are the posterior: the exact solver or a planner), "rule" or "network".
        mode: what a network was trained for; None for any.
        name: in `SOLVERS`; None for a checkpoint.
        settings: of the solver.
        path: of a checkpoint.
    """

    id: str
    label: str
    kind: str
    mode: str | None = None
    name: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    path: str | None = None

    def public(self) -> dict[str, Any]:
        """As /api/config tells it."""
        return {"id": self.id, "label": self.label, "kind": self.kind, "mode": self.mode}


def make_catalogue(checkpoints: Sequence[tuple[str, str | None, bool]] = ()) -> dict[str, Entry]:
    """Every solver by its id, the best first.

    Args:
        checkpoints: (path, mode that it was trained for, whether it is a planner) of further networks.
    """
    entries = [Entry(DEFAULT_SOLVER, "Exact, looking ahead", "exact", name="exact", settings=_AHEAD)]
    for name in SOLVERS:
        kind = "exact" if name == "exact" else "rule"
        entries.append(Entry(name, _LABELS.get(name, name), kind, name=name))
    # models.checkpoint knows the bundled ones too, but brings torch, which would double the time to the page.
    for path in sorted(_CHECKPOINTS.glob("*_*.pt")):
        mode = path.stem.split("_")[0]
        is_planner = path.stem.endswith("_planner")
        entries.append(_trained(path.stem, str(path), mode if mode in MODES else None, is_planner))
    catalogue = {entry.id: entry for entry in entries}
    for path_text, trained_for, is_planner in checkpoints:
        stem = Path(path_text).stem
        if stem in ("best", "last"):  # the files of a run, which its folder names
            stem = f"{Path(path_text).absolute().parent.name}/{stem}"
        number, name = 1, stem
        while name in catalogue:
            number += 1
            name = f"{stem} ({number})"
        catalogue[name] = _trained(name, path_text, trained_for, is_planner)
    return catalogue


def _trained(name: str, path: str, mode: str | None, is_planner: bool) -> Entry:
    label = f"Planner {name}" if is_planner else f"Network {name}"
    return Entry(name, label, "exact" if is_planner else "network", mode, path=path)
