"""The mine probabilities of one position as a picture; the one module here that needs Matplotlib."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.textio import probability_text

_DARKEST = 0.15  # of viridis: below this, small probabilities look alike
_CELL = 0.5  # inches
_LARGEST = 24.0  # inches of a side; larger boards get smaller cells
_SMALLEST_TEXT = 4.0  # points; smaller text is left out
_REVEALED, _LINES, _INK = "#f4f4f0", "#8a8a8a", "#202020"
_SAFE_EDGE, _MINE_EDGE = "#ffffff", "#d55e00"


def draw_picture(path: str | Path, view: NDArray[np.int8], probabilities: NDArray[np.float64], title: str) -> None:
    """Writes a PNG file with the heat map of one position.

    Colours are viridis, which all kinds of colour vision keep in order: dark is safe, bright is a mine. Proved cells
    are marked by a frame and a word too.

    Args:
        view: int8 [R, C]: `HIDDEN`, `MINE` or 0..8.
        probabilities: float [R, C]; only hidden cells are read.
        title: stands above.

    Raises:
        OSError: the file cannot be written.
    """
    rows, cols = view.shape
    cell = min(_CELL, _LARGEST / max(rows, cols))
    figure = Figure((max(cols * cell, 4) + 2.2, max(rows * cell, 1.5) + 1.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    colours = _colours()
    pixels = np.full((rows, cols, 4), mpl.colors.to_rgba(_REVEALED))
    is_hidden = view == HIDDEN
    pixels[is_hidden] = colours(probabilities[is_hidden])
    axes.imshow(pixels)
    _draw_lines(axes, rows, cols)
    size = 72 * cell  # of a cell, in points
    for row, col in np.ndindex(rows, cols):
        _draw_cell(axes, row, col, int(view[row, col]), float(probabilities[row, col]), colours, size)
    axes.set_title(title, fontsize=10)
    bar = figure.colorbar(ScalarMappable(mpl.colors.Normalize(0, 100), colours), ax=axes, fraction=0.05, aspect=25)
    bar.set_label("chance of a mine, percent")
    axes.legend(handles=_legend(colours), loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3, frameon=False)
    figure.savefig(path, format="png", dpi=120, bbox_inches="tight", pad_inches=0.15)


def _colours() -> Colormap:
    return ListedColormap(mpl.colormaps["viridis"](np.linspace(_DARKEST, 1, 256)))


def _draw_lines(axes: Axes, rows: int, cols: int) -> None:
    axes.set_xticks(np.arange(cols + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=_LINES, linewidth=0.5)
    axes.tick_params(which="both", length=0, labeltop=True, labelbottom=False)
    for ticks, count in ((axes.set_xticks, cols), (axes.set_yticks, rows)):
        step = -(-count // 40)
        ticks(np.arange(0, count, step), np.arange(1, count + 1, step))


def _draw_cell(axes: Axes, row: int, col: int, value: int, probability: float, colours: Colormap, size: float) -> None:
    text, ink, points = "", _INK, 0.45 * size
    if value == MINE:
        text = "*"
    elif value >= 0:
        text = str(value or "")
    else:
        text, points = probability_text(probability), 0.27 * size
        ink = _ink_on(colours(probability))
        if probability in (0.0, 1.0):
            edge = _MINE_EDGE if probability else _SAFE_EDGE
            axes.add_patch(
                Rectangle((col - 0.44, row - 0.44), 0.88, 0.88, fill=False, edgecolor=edge, linewidth=0.05 * size)
            )
    if text and points >= _SMALLEST_TEXT:
        axes.text(col, row, text, ha="center", va="center", color=ink, fontsize=points)


def _ink_on(colour: tuple[float, float, float, float]) -> str:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3])
    return _INK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 else "white"


def _legend(colours: Colormap) -> list[Patch]:
    return [
        Patch(facecolor=colours(0.0), edgecolor="#bbbbbb", linewidth=2, label="proved safe"),
        Patch(facecolor=colours(1.0), edgecolor=_MINE_EDGE, linewidth=2, label="proved a mine"),
        Patch(facecolor=_REVEALED, edgecolor=_LINES, label="revealed"),
    ]
