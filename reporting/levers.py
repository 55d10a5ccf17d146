"""Ablations: win rate after equal training time for each setting of each lever, seeds as dots and their mean."""

from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minesweeper.mode import MODES
from reporting.curves import shared_legend
from reporting.data import BOARDS, Ablation, Data, MissingDataError
from reporting.style import COLOURS, Style, new_figure

GAP = 0.6  # lines between levers


def ablations(data: Data) -> Figure:
    """Figure h: a panel for each mode, a line for each lever's setting."""
    if not data.ablations:
        raise MissingDataError(str(data.folder / "ablations.csv"))
    modes = [mode for mode in MODES if any(run.mode == mode for run in data.ablations)]
    heights = places(data.ablations)
    figure = new_figure(1.2 + 0.23 * -min(heights.values()))
    panels = figure.subplots(1, len(modes), sharey=True, squeeze=False)[0]
    for axes, mode in zip(panels, modes, strict=True):
        runs = [run for run in data.ablations if run.mode == mode]
        draw(axes, runs, heights)
        axes.set_title(f"{mode} ({BOARDS[mode]}), {minutes(runs)} of training")
        axes.set_xlabel("held-out games won, %")
    panels[0].set_yticks(list(heights.values()), [f"{lever} = {setting}" for lever, setting in heights])
    panels[0].set_ylim(min(heights.values()) - 0.7, max(heights.values()) + 1.0)
    shared_legend(figure, list(panels))
    return figure


def places(runs: list[Ablation]) -> dict[tuple[str, str], float]:
    """The height of each (lever, setting), in the order of the file, with a gap between levers."""
    levers = {run.lever: {other.setting: None for other in runs if other.lever == run.lever} for run in runs}
    heights, height = {}, 0.0
    for lever, settings in levers.items():
        for setting in settings:
            heights[lever, setting] = height
            height -= 1
        height -= GAP
    return heights


def grouped(runs: list[Ablation]) -> dict[tuple[str, str], list[Ablation]]:
    """The runs of each (lever, setting)."""
    groups: dict[tuple[str, str], list[Ablation]] = {}
    for run in runs:
        groups.setdefault((run.lever, run.setting), []).append(run)
    return groups


def draw(axes: Axes, runs: list[Ablation], heights: dict[tuple[str, str], float]) -> None:
    """Hollow dots for seeds, a bar and a number for their mean."""
    dots = [(100 * run.win_rate, heights[run.lever, run.setting]) for run in runs]
    means = [(100 * mean(run.win_rate for run in group), heights[key]) for key, group in grouped(runs).items()]
    style: Style = {"markerfacecolor": "none", "linestyle": "none"}
    axes.plot(*zip(*dots, strict=True), marker="o", color=COLOURS[0], label="one seed", **style)
    bar: Style = {"marker": "|", "markersize": 13, "markeredgewidth": 2.2, "linestyle": "none"}
    axes.plot(*zip(*means, strict=True), color="black", label="mean of the seeds", **bar)
    for value, height in means:
        axes.annotate(
            f"{value:.1f}",
            (value, height),
            (0, 6.5),
            textcoords="offset points",
            ha="center",
            fontsize=6.5,
            color="0.25",
        )


def minutes(runs: list[Ablation]) -> str:
    """The training time of runs, as one number when it is equal.

    >>> run = Ablation("beginner", "loss", "bce", 1, 3.02, 100, 0.5, 1000)
    >>> minutes([run])
    '3 minutes'
    """
    low, high = (f"{bound(run.minutes for run in runs):.0f}" for bound in (min, max))
    return f"{low} minutes" if low == high else f"{low} to {high} minutes"
