"""results/REPORT.md: a section for each figure, with the table behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from reporting import curves, levers, players, reliability, tables
from reporting.data import Data, MissingDataError
from reporting.style import RC, save


@dataclass(frozen=True)
class Section:
    """A figure, what it shows, and its table."""

    name: str
    title: str
    text: str
    draw: Callable[[Data], Figure]
    table: Callable[[Data], str]


SAFE = "first_click=safe, first cell in the corner"
SECTIONS = (
    Section(
        "learning_curves",
        "Win rate against training games",
        "Held-out boards of each run ([curves](curves)); bands are 95% intervals. The thesis' CNN had converged "
        "somewhere in the hatched range of games, on intermediate at the line.",
        curves.learning_curves,
        tables.curves_table,
    ),
    Section(
        "modes_compared",
        "Beginner against intermediate",
        "The same model on several modes, drawn as above; the table above has the numbers.",
        curves.modes_compared,
        lambda _: "",
    ),
    Section(
        "win_rates",
        "Win rates under both first-click rules",
        "Random ties unless a name says otherwise; bars are 95% intervals, mostly narrower than their mark. The first "
        "cell matters as much as the rule, so the two are named together.",
        players.win_rates,
        tables.win_rates_table,
    ),
    Section(
        "guess_free",
        "With and without guessing",
        f"Shares of all games; {SAFE}. A guess is a reveal that the solver had not proved safe; of a model, one above "
        "its own `guess_threshold`. *Judged* counts a model's game as free of guesses when the exact posterior says "
        "that every cell it opened was certainly safe.",
        players.guess_free,
        tables.guess_free_table,
    ),
    Section(
        "moves",
        "Moves a game",
        f"Cells clicked, lost games included, so a player that loses early moves less; {SAFE}. Whether the thesis "
        "counts lost games is not known here. Games and commands are those of the table of d.",
        players.moves,
        lambda data: tables.by_mode_table(data, "moves"),
    ),
    Section(
        "times",
        "Time a game",
        f"Milliseconds that choosing took, one game at a time / many games in a batch; {SAFE}. Taken on machines that "
        "were not idle: they say which player is faster, no more. The thesis calls its CNN considerably slower than "
        "its constraint solver; its times are not known here. Commands are those of the table of d.",
        players.times,
        lambda data: tables.by_mode_table(data, "times"),
    ),
    Section(
        "reliability",
        "Learned probabilities against the exact posterior",
        "Each mark is a bin of predicted probabilities; on the diagonal the model says what the exact posterior says. "
        "Kinds of cell: beside a number and undecided (frontier), away from all numbers (interior), certainly safe or "
        "certainly a mine (proved). KL is the mean divergence of the prediction from the posterior; bins of fewer than "
        f"{reliability.LEAST_CELLS} cells count in it but are not drawn. [calibration.csv](calibration.csv) "
        "has the command and commit of each line.",
        reliability.reliability,
        tables.reliability_table,
    ),
    Section(
        "ablations",
        "Ablations",
        "One lever changed at a time, equal training time; the interval of a mean covers the held-out boards only, the "
        "dots show how far seeds differ. [ablations.csv](ablations.csv) has the command and commit of each run.",
        levers.ablations,
        tables.ablations_table,
    ),
)
HEAD = """# Report

The figures and tables of the thesis *Neural Network Learner for Minesweeper* (arXiv 2212.10446), with our numbers.
Written by `python report.py` from the files in this folder; not to be edited. Numbers of the thesis are in
[thesis.csv](thesis.csv) with their source, ours in [results.csv](results.csv) with command and commit.
Intervals are 95%.

## The thesis and the best here

First click safe; in the corner for our players and the thesis' CNN. "Best here" is the highest win rate
among MLPs, other networks, or (beside the thesis' constraint solver) all solvers that don't learn.
"""

REGRETS = """Points of the win rate a game: the risk of each decision beyond that of the exact solver's choice there,
summed over a game ([regrets.csv](regrets.csv); `minesweeper/regret.py` says how). First by what the exact solver knew:
a safe cell by single numbers, by local reasoning, only by the total of mines, or no safe cell with the best guess
beside a number or not; then by the mines left; then by the hidden cells of the frontier component that was played in
(0: away from it).
"""


def write_report(data: Data) -> list[str]:
    """Draws figures/ and writes REPORT.md in the results folder; returns a message for each figure left out."""
    parts, missing = [HEAD, tables.headline_table(data)], []
    for letter, section in zip("abcdefgh", SECTIONS, strict=True):
        parts.append(f"\n## {letter}. {section.title}\n")
        try:
            with rc_context(RC):
                figure = section.draw(data)
            table = section.table(data)
        except MissingDataError as error:
            missing.append(f"figure {letter}, {section.name}, left out: {error} is missing")
            parts.append(f"Not drawn yet: `{relative(str(error), data.folder)}` is missing.")
            continue
        save(figure, data.folder / "figures", section.name)
        parts += [
            f"![{section.title}](figures/{section.name}.png)\n",
            f"{section.text} ([SVG](figures/{section.name}.svg))",
        ]
        parts += ["", table] if table else []
    if data.regrets:
        parts += ["\n## Where the networks give games away\n", REGRETS, tables.regrets_table(data)]
    parts += ["\n## Commands behind c to f\n", tables.commands_list(data)]
    (data.folder / "REPORT.md").write_text("\n".join(parts) + "\n")
    return missing


def relative(path: str, folder: Path) -> str:
    """A file's path as seen from the report."""
    return path.removeprefix(f"{folder}/")
