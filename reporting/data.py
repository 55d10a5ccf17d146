"""What the report is made from, as records.

A player is a solver, or a learned model whatever mode it was trained for: `checkpoints/beginner_cnn.pt` on beginner
and `checkpoints/expert_cnn.pt` on expert are both `cnn`.
"""

from dataclasses import dataclass
from pathlib import Path, PurePath

from minesweeper import summary
from minesweeper.mode import MODES

BOARDS = {name: f"{mode.rows}x{mode.cols}/{mode.mines}" for name, mode in MODES.items()}
STARTS = (("safe", "corner"), ("zero", "centre"))  # first_click and first_cell of the rules that are compared


class MissingDataError(Exception):
    """The file that a figure is drawn from is not there, or holds nothing for it."""


@dataclass(frozen=True)
class Result:
    """A player's games on one mode under one rule; rates are shares of all games, times milliseconds a game."""

    label: str
    player: str
    mode: str
    first_click: str
    first_cell: str
    games: int
    win_rate: float
    low: float
    high: float
    guess_free: float
    judged_guess_free: float | None
    moves: float
    ms_alone: float | None
    ms_batched: float
    command: str
    commit: str

    @property
    def is_learned(self) -> bool:
        """Whether the player is a trained model rather than a solver."""
        return is_checkpoint(self.label)


@dataclass(frozen=True)
class Curve:
    """One training run: a value for each held-out evaluation; `command` is empty where none is written down."""

    run: str
    player: str
    mode: str
    minutes: list[float]
    games: list[int]
    win_rate: list[float]
    eval_games: list[int]
    command: str

    def intervals(self) -> tuple[list[float], list[float]]:
        """Lower and upper 95% limits of each win rate."""
        limits = [wilson(rate, count) for rate, count in zip(self.win_rate, self.eval_games, strict=True)]
        return [low for low, _ in limits], [high for _, high in limits]


@dataclass(frozen=True)
class Ablation:
    """One short training run with one lever set differently."""

    mode: str
    lever: str
    setting: str
    seed: int
    minutes: float
    games: int
    win_rate: float
    eval_games: int


@dataclass(frozen=True)
class Bin:
    """Undecided or proved cells whose predicted probability fell into one bin.

    `number` is the bin's, from 0; means over the cells, `kl` in nats.
    """

    mode: str
    solver: str
    start: str
    games: int
    kind: str
    number: int
    cells: int
    predicted: float
    posterior: float
    kl: float


@dataclass(frozen=True)
class Regret:
    """What the decisions of one kind of a model gave away, summed over its games."""

    mode: str
    label: str
    start: str
    games: int
    what: str
    mines_left: str
    component: str
    regret: float


@dataclass(frozen=True)
class Reported:
    """A number of the thesis; `text` is how it was stated ("about 18"), low and high its range."""

    quantity: str
    player: str
    kind: str
    mode: str
    first_click: str
    low: float
    high: float
    text: str
    games: str
    source: str

    @property
    def name(self) -> str:
        """The player, marked as the thesis' own."""
        return f"{self.player} (thesis)"


@dataclass(frozen=True)
class Data:
    """Everything that the report is made from; a missing file gives an empty list."""

    folder: Path
    results: list[Result]
    curves: list[Curve]
    ablations: list[Ablation]
    calibration: list[Bin]
    regrets: list[Regret]
    thesis: list[Reported]

    def at(self, first_click: str, first_cell: str, mode: str | None = None) -> list[Result]:
        """The results under one rule and first cell, on one mode or all."""
        return [
            row
            for row in self.results
            if (row.first_click, row.first_cell) == (first_click, first_cell) and mode in (None, row.mode)
        ]

    def reported(self, quantity: str, mode: str | None = None) -> list[Reported]:
        """The thesis' numbers of one quantity, on one mode or all."""
        return [row for row in self.thesis if row.quantity == quantity and mode in (None, row.mode)]


def is_checkpoint(label: str) -> bool:
    """Whether a solver's label is the path of a checkpoint."""
    return label.endswith(".pt")


def player_name(label: str, mode: str) -> str:
    """A solver's label; of a checkpoint the name of its file (or run folder) without the mode that it plays.

    >>> player_name("checkpoints/beginner_cnn.pt", "beginner"), player_name("checkpoints/beginner_cnn.pt", "expert")
    ('cnn', 'beginner_cnn')
    >>> player_name("checkpoints/runs/mlp_expert/best.pt", "expert"), player_name("exact tie_break=corner", "expert")
    ('mlp', 'exact tie_break=corner')
    """
    if not is_checkpoint(label):
        return label
    path = PurePath(label)
    name = path.parent.name if path.stem in ("best", "last") else path.stem
    return "_".join(word for word in name.split("_") if word != mode) or name


def wilson(rate: float, games: int) -> tuple[float, float]:
    """The 95% Wilson interval of a share of games."""
    return summary.wilson(round(rate * games), games)
