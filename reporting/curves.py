"""Learning curves: win rate against training games, of several models and of one model on several modes."""

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from minesweeper.mode import MODES
from reporting.data import BOARDS, Curve, Data, MissingDataError
from reporting.style import MODE_STYLES, Style, line_style, new_figure

ABLATION = "ablation_"  # runs of this name are drawn as ablations


def released(data: Data) -> list[Curve]:
    """The runs that are no ablations.

    Raises:
        MissingDataError: there is none.
    """
    curves = [curve for curve in data.curves if not curve.run.startswith(ABLATION)]
    if not curves:
        raise MissingDataError(f"{data.folder / 'curves'}/*.csv")
    return curves


def learning_curves(data: Data) -> Figure:
    """Figure a: a panel for each mode, a line for each model; the thesis and the exact solver beside them."""
    curves = released(data)
    modes = [mode for mode in MODES if any(curve.mode == mode for curve in curves)]
    players = sorted({curve.player for curve in curves})
    figure = new_figure(3.4)
    panels = figure.subplots(1, len(modes), sharey=True, squeeze=False)[0]
    for axes, mode in zip(panels, modes, strict=True):
        for curve in curves:
            if curve.mode == mode:
                draw_curve(axes, curve, curve.player, line_style(players.index(curve.player)))
        draw_references(axes, data, mode)
        finish(axes, f"{mode} ({BOARDS[mode]})")
    panels[0].set_ylabel("held-out games won, %")
    shared_legend(figure, panels)
    return figure


def modes_compared(data: Data) -> Figure:
    """Figure b: a panel for each model that was trained on beginner and intermediate, a line for each mode."""
    curves = released(data)
    by_player = {
        curve.player: {other.mode: other for other in curves if other.player == curve.player} for curve in curves
    }
    both = {name: runs for name, runs in by_player.items() if {"beginner", "intermediate"} <= runs.keys()}
    if not both:
        raise MissingDataError(f"{data.folder / 'curves'}/*.csv of one model on both beginner and intermediate")
    num_cols = min(3, len(both))
    num_rows = -(-len(both) // num_cols)
    figure = new_figure(0.6 + 2.6 * num_rows)
    panels = list(figure.subplots(num_rows, num_cols, sharex=True, sharey=True, squeeze=False).flat)
    for axes, (name, runs) in zip(panels, sorted(both.items()), strict=False):
        for mode in MODES:
            if mode in runs:
                draw_curve(axes, runs[mode], f"{mode} ({BOARDS[mode]})", MODE_STYLES[mode])
        finish(axes, name)
    for axes in panels[len(both) :]:
        axes.remove()
    for axes in panels[::num_cols]:
        axes.set_ylabel("held-out games won, %")
    shared_legend(figure, panels[: len(both)])
    return figure


def draw_curve(axes: Axes, curve: Curve, label: str, style: Style) -> None:
    """A line with a marker for each evaluation, and its 95% band."""
    low, high = curve.intervals()
    axes.fill_between(curve.games, percent(low), percent(high), color=style["color"], alpha=0.12, linewidth=0)
    axes.plot(curve.games, percent(curve.win_rate), label=label, markevery=0.12, **style)


def draw_references(axes: Axes, data: Data, mode: str) -> None:
    """Level lines of the exact solver and of the thesis' models; the games after which its best CNN had converged."""
    has_mlp = any(curve.mode == mode and "mlp" in curve.player.split("_") for curve in data.curves)
    for row in data.at("safe", "corner", mode):
        if row.label == "exact":
            axes.axhline(100 * row.win_rate, color="0.45", linewidth=0.9, label="exact solver, random ties")
    for number in data.reported("win_rate", mode):
        if number.kind == "cnn":
            axes.axhline(
                number.high, color="black", linewidth=0.9, linestyle=(0, (1, 1.5)), label=f"{number.name}: win rate"
            )
        if number.kind == "mlp" and has_mlp:
            style: Style = {"facecolor": "none", "edgecolor": "0.7", "hatch": "....", "linewidth": 0.6, "zorder": 0}
            axes.axhspan(number.low, number.high, label=f"{number.name}: win rates", **style)
    for number in data.reported("training_games", mode):
        label = f"{number.name}: games until it converged"
        axes.axvspan(number.low, number.high, facecolor="0.9", edgecolor="0.55", hatch="////", label=label, zorder=0)


def finish(axes: Axes, title: str) -> None:
    """Title, scales and labels of a panel."""
    axes.set_title(title)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(lambda games, _: f"{games / 1000:g}k")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(0, 100)
    axes.set_xlabel("self-play games trained on")


def shared_legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend below all panels, each label once."""
    entries: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(str(label), handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=3)


def percent(shares: Sequence[float]) -> list[float]:
    """Shares as percentages."""
    return [100 * share for share in shares]
