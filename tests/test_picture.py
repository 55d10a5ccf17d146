"""The heat map of a position: what is written and marked on the cells, and its colours."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from minesweeper.board import HIDDEN, MINE
from minesweeper.picture import draw_picture

VIEW = np.array([[0, 1, HIDDEN, HIDDEN], [MINE, 8, HIDDEN, HIDDEN]], np.int8)
PROBABILITIES = np.array([[np.nan, np.nan, 0.0, 0.25], [np.nan, np.nan, 1.0, 0.9999]])


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """Draws a picture; its bytes and the axes of the board."""

    def draw(view, probabilities):
        figures = []
        save = Figure.savefig

        def saved(figure, path, **settings):
            figures.append(figure)
            save(figure, path, **settings)

        monkeypatch.setattr(Figure, "savefig", saved)
        path = tmp_path / "out.png"
        draw_picture(path, view, probabilities, "a title")
        board: Axes = figures[0].axes[0]
        return path, board

    return draw


def texts(axes):
    return {tuple(int(x) for x in reversed(text.get_position())): text.get_text() for text in axes.texts}


def test_words_and_numbers(drawn):
    path, axes = drawn(VIEW, PROBABILITIES)
    assert texts(axes) == {
        (0, 1): "1", (1, 0): "*", (1, 1): "8", (0, 2): "safe", (0, 3): "25.0", (1, 2): "mine", (1, 3): ">99.9",
    }  # fmt: skip
    assert axes.get_title() == "a title"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["proved safe", "proved a mine", "revealed"]
    pixels = mpl.image.imread(path)
    assert min(pixels.shape[:2]) > 150


def test_proofs_have_frames(drawn):
    _, axes = drawn(VIEW, PROBABILITIES)
    frames = {
        (round(patch.get_y() + 0.44), round(patch.get_x() + 0.44)): mpl.colors.to_hex(patch.get_edgecolor())
        for patch in axes.patches
        if isinstance(patch, Rectangle)
    }
    assert frames == {(0, 2): "#ffffff", (1, 2): "#d55e00"}


def test_colours_grow_brighter_with_the_probability(drawn):
    chances = np.linspace(0.01, 0.99, 30)[None]
    _, axes = drawn(np.full((1, 30), HIDDEN, np.int8), chances)
    colours = np.asarray(axes.images[0].get_array())[0, :, :3]
    luminance = colours @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance) > 0).all()


def test_a_large_board_is_still_a_small_file(drawn):
    view = np.full((40, 40), HIDDEN, np.int8)
    path, axes = drawn(view, np.full(view.shape, 0.2))
    assert path.stat().st_size < 2_000_000
    assert len(texts(axes)) == 1600


def test_without_it_matplotlib_is_not_loaded():
    program = "import sys, minesweeper, minesweeper.__main__; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
