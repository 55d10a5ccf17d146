"""How figures look: told apart in grey too, by markers, line styles and hatches; and files that a rerun repeats."""

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

Style = dict[str, Any]  # keyword arguments of a drawing call
WIDTH = 7.2  # inches
RC: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.88",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "legend.handlelength": 3.2,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.6,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "minesweeper",
    "svg.fonttype": "path",
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#7A3E8E", "#000000", "#B8860B", "#56B4E9", "#8C2D04")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1)), (0, (1, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
THESIS: Style = {"color": "black", "marker": "D", "markerfacecolor": "white"}
MODE_STYLES: dict[str, Style] = {
    "beginner": {"color": COLOURS[0], "linestyle": "-", "marker": "o"},
    "intermediate": {"color": COLOURS[1], "linestyle": "--", "marker": "s"},
    "expert": {"color": COLOURS[2], "linestyle": "-.", "marker": "^"},
}


def line_style(number: int) -> Style:
    """Colour, line and marker of the line with this number."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINES[number % len(LINES)],
        "marker": MARKERS[number % len(MARKERS)],
    }


def new_figure(height: float) -> Figure:
    """An empty figure of the report's width, without pyplot's global state."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, folder: Path, name: str) -> None:
    """Writes NAME.png and NAME.svg without dates or versions, so that a rerun gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(RC):
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
