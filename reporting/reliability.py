"""Reliability diagrams: learned probabilities against the exact posterior, by kind of cell."""

from math import nan

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minesweeper.calibration import ALL, Calibration
from minesweeper.mode import MODES
from reporting.data import BOARDS, Bin, Data, MissingDataError, player_name
from reporting.style import COLOURS, RC, Style, new_figure

LEAST_CELLS = 30  # of a bin that is drawn
KINDS: dict[str, Style] = {
    "frontier": {"color": COLOURS[0], "linestyle": "-", "marker": "o"},
    "interior": {"color": COLOURS[1], "linestyle": "--", "marker": "s", "markerfacecolor": "white"},
    "proved": {"color": COLOURS[2], "linestyle": ":", "marker": "^"},
}


def reliability(data: Data) -> Figure:
    """Figure g: a panel for each model and mode; a perfect model lies on the diagonal."""
    panels = by_panel(data)
    of_modes = [[key for key in panels if key[0] == mode] for mode in MODES]
    num_cols = min(3, max(len(keys) for keys in of_modes))
    rows = [keys[i : i + num_cols] for keys in of_modes for i in range(0, len(keys), num_cols)]
    figure = new_figure(0.2 + (7.8 / num_cols if num_cols > 1 else 4.0) * len(rows))
    grid = figure.subplots(len(rows), num_cols, squeeze=False)
    for line, keys in zip(grid, rows, strict=True):
        for axes, key in zip(line, keys, strict=False):
            mode, player, start = key
            draw(axes, panels[key])
            title = f"{player}, {mode} ({BOARDS[mode]})\nfirst_click={start}, {panels[key][0].games:,} games"
            axes.set_title(title, fontsize=8)
            axes.set_xlabel("predicted P(mine)")
        line[0].set_ylabel("mean exact posterior")
        for axes in line[len(keys) :]:
            axes.remove()
    return figure


def diagram(calibration: Calibration) -> Figure:
    """One panel, of a calibration just measured."""
    bins = [
        Bin("", "", "", 0, row["kind"], row["bin"], row["cells"], row["predicted"], row["posterior"], row["kl"])
        for row in calibration.rows()
        if ALL not in (row["kind"], row["bin"])
    ]
    with rc_context(RC):
        figure = new_figure(4.0)
        axes = figure.subplots()
        draw(axes, bins)
        axes.set_xlabel("predicted P(mine)")
        axes.set_ylabel("mean exact posterior")
    return figure


def by_panel(data: Data) -> dict[tuple[str, str, str], list[Bin]]:
    """The bins of each (mode, player, first click and cell), modes in their order.

    Raises:
        MissingDataError: there are none.
    """
    if not data.calibration:
        raise MissingDataError(str(data.folder / "calibration.csv"))
    panels: dict[tuple[str, str, str], list[Bin]] = {}
    for entry in sorted(data.calibration, key=lambda entry: list(MODES).index(entry.mode)):
        panels.setdefault((entry.mode, player_name(entry.solver, entry.mode), entry.start), []).append(entry)
    return panels


def draw(axes: Axes, bins: list[Bin]) -> None:
    """A line for each kind of cell through its bins of enough cells; the mean divergence of all in the legend."""
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, zorder=1)
    for kind, style in KINDS.items():
        own = [entry for entry in bins if entry.kind == kind]
        if own:
            label = f"{kind}, KL {divergence(own):.4f}"
            drawn = {entry.number: (entry.predicted, entry.posterior) for entry in own if entry.cells >= LEAST_CELLS}
            points = [drawn.get(number, (nan, nan)) for number in range(max(drawn, default=0) + 1)]  # gaps stay gaps
            axes.plot([x for x, _ in points], [y for _, y in points], label=label, **style)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_aspect("equal")
    if bins:
        axes.legend(loc="lower right", fontsize=6.5)


def divergence(bins: list[Bin]) -> float:
    """KL(posterior || predicted) in nats, the mean over the cells of the bins."""
    return sum(entry.cells * entry.kl for entry in bins) / sum(entry.cells for entry in bins)
