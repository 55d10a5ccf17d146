"""The report: what is read from results/, the values that are drawn, the text of the tables, and files that repeat."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from tiny_results import CURVE, PLAYERS, RESULTS, result, write_all, write_results

from minesweeper import HIDDEN
from minesweeper.calibration import Calibration
from reporting import curves, levers, players, reliability, tables
from reporting.data import BOARDS, MissingDataError, player_name, wilson
from reporting.page import SECTIONS, write_report
from reporting.reading import read_data


@pytest.fixture
def folder(tmp_path):
    """A results folder with everything in it."""
    write_all(tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def data(folder):
    return read_data(folder)


def panels(figure):
    return {axes.get_title(): axes for axes in figure.axes}


def lines(axes):
    """x and y of the lines with a label."""
    return {
        line.get_label(): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
        for line in axes.lines
        if not line.get_label().startswith("_")
    }


def heights(axes):
    """The height of each name on the vertical axis."""
    ticks = zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    return {label.get_text().replace("\n", " "): height for height, label in ticks}


def test_which_results_count(folder):
    player = PLAYERS[2]
    rows = [result("beginner", *player), result("beginner", *player, win_rate=0.91), result("expert", *player)]
    rows += [result("beginner", *player, win_rate=0.1, **other) for other in ({"openings": False}, {"boards": "a"})]
    rows += [result("beginner", *player, rows=8), result("beginner", *player, "any", win_rate=0.7)]
    write_results(folder, rows)
    found = [(row.mode, row.first_click, row.win_rate) for row in read_data(folder).results]
    assert found == [("beginner", "safe", 0.91), ("expert", "safe", 0.9), ("beginner", "any", 0.7)]


def test_thesis_numbers():
    thesis = read_data(RESULTS).thesis
    rates = {(row.player, row.mode): (row.low, row.high) for row in thesis if row.quantity == "win_rate"}
    assert [rates["best CNN", mode] for mode in BOARDS] == [(88.30, 88.30), (68.58, 68.58), (21.57, 21.57)]
    assert [rates["CSP of Becerra", mode] for mode in BOARDS] == [(91.25, 91.25), (75.94, 75.94), (32.90, 32.90)]
    assert [row.high for row in thesis if row.quantity == "moves"] == [18, 69, 110]
    assert all("2212.10446" in row.source for row in thesis)


def test_learning_curves(data):
    axes = panels(curves.learning_curves(data))
    assert list(axes) == ["beginner (9x9/10)", "intermediate (16x16/40)"]
    drawn = lines(axes["beginner (9x9/10)"])
    assert set(drawn) == {"cnn", "thesis_mlp", "exact solver, random ties", "best CNN (thesis): win rate"}
    np.testing.assert_allclose(drawn["cnn"], ([10000, 20000, 30000], [50, 79, 79.5]))
    assert drawn["exact solver, random ties"][1] == pytest.approx([90, 90])
    assert drawn["best CNN (thesis): win rate"][1] == pytest.approx([88.3, 88.3])
    spans = {patch.get_label(): patch.get_bbox() for patch in axes["beginner (9x9/10)"].patches}
    assert spans["best CNN (thesis): games until it converged"].intervalx.tolist() == [60000, 80000]
    assert spans["5x5-window MLPs (thesis): win rates"].intervaly.tolist() == [24, 40]
    band = axes["beginner (9x9/10)"].collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[band[:, 0] == 30000, 1].max()) == pytest.approx(
        (100 * wilson(0.5, 1000)[0], 100 * wilson(0.795, 1000)[1])
    )


def test_lines_differ_in_grey(data):
    """By their markers and dashes, not by colour alone; ablations are not among them."""
    axes = panels(curves.learning_curves(data))["beginner (9x9/10)"]
    looks = {
        (line.get_linestyle(), line.get_marker()) for line in axes.lines if line.get_label() in ("cnn", "thesis_mlp")
    }
    assert len({dashes for dashes, _ in looks}) == len({marker for _, marker in looks}) == 2


def test_modes_compared(data, folder):
    axes = panels(curves.modes_compared(data))
    assert list(axes) == ["cnn"]
    assert set(lines(axes["cnn"])) == {"beginner (9x9/10)", "intermediate (16x16/40)"}
    (folder / "curves" / "intermediate_cnn.csv").unlink()
    with pytest.raises(MissingDataError, match="beginner and intermediate"):
        curves.modes_compared(read_data(folder))


def test_curves_without_a_mode_are_named(folder, capsys):
    (folder / "curves" / "cnn.csv").write_text(CURVE + "1,1,1,0.5,0.1,9,10\n")
    assert "cnn" not in {curve.run for curve in read_data(folder).curves}
    assert "cnn.csv: left out, its name must hold one of beginner, intermediate, expert" in capsys.readouterr().out


def test_win_rates(data):
    figure = players.win_rates(data)
    axes = panels(figure)["beginner (9x9/10)"]
    height = heights(figure.axes[0])
    assert list(height) == [
        *("best CNN (thesis)", "cnn", "5x5-window MLPs (thesis)", "mlp"),
        *("CSP of Becerra (thesis)", "exact", "single_point"),
    ]
    safe, zero, thesis = axes.containers
    assert safe.get_label() == "first_click=safe, first cell in the corner"
    points = dict(zip(safe.lines[0].get_ydata(), safe.lines[0].get_xdata(), strict=True))
    assert points == pytest.approx(
        {height["cnn"]: 80, height["mlp"]: 40, height["exact"]: 90, height["single_point"]: 70}
    )
    assert zero.lines[0].get_xdata() == pytest.approx([95])
    ends = [segment[:, 0].tolist() for segment in safe.lines[2][0].get_segments()]
    assert ends[0] == pytest.approx([78, 81])
    reported = dict(zip(thesis.lines[0].get_ydata(), thesis.lines[0].get_xdata(), strict=True))
    names = ["best CNN (thesis)", "5x5-window MLPs (thesis)", "CSP of Becerra (thesis)"]
    assert [reported[height[name]] for name in names] == [88.30, 32, 91.25]
    assert panels(figure)["expert (16x30/99)"].containers[0].lines[0].get_xdata().size == 0


def test_guess_free(data):
    figure = players.guess_free(data)
    axes = panels(figure)["intermediate (16x16/40)"]
    free, rest = (container.patches for container in axes.containers if hasattr(container, "patches"))
    assert [bar.get_width() for bar in free] == pytest.approx([50, 20, 55, 30])
    assert [bar.get_x() + bar.get_width() for bar in rest] == pytest.approx([80, 40, 90, 70])
    assert not free[0].get_hatch()
    assert rest[0].get_hatch()
    judged = lines(axes)["won without a guess, by the exact posterior"]
    height = heights(figure.axes[0])
    np.testing.assert_allclose(judged, ([60, 30], [height["cnn"], height["mlp"]]))


def test_moves(data):
    axes = players.moves(data).axes[0]
    assert lines(axes)["beginner (9x9/10)"][0].tolist() == [19.5, 15.25, 20.0, 16.5]
    hollow = [line for line in axes.lines if to_hex(line.get_markerfacecolor()) == "#ffffff"]
    assert [line.get_xdata().tolist() if len(line.get_xdata()) else [] for line in hollow] == [[18], [69], [110]]
    assert {line.get_ydata()[0] for line in hollow} == {heights(axes)["best CNN (thesis)"]}


def test_times(data):
    axes = panels(players.times(data))["beginner (9x9/10)"]
    assert axes.get_xscale() == "log"
    assert lines(axes)["one game at a time"][0].tolist() == [4.0, 2.0, 0.5]
    assert lines(axes)["many games in a batch"][0].tolist() == [0.25, 0.5, 0.125, 0.0625]


def test_reliability(data):
    """Sums over bins or kinds and older runs are left out; the mean KL has all bins, also those too small to draw."""
    (axes,) = reliability.reliability(data).axes  # the exact solver is no model
    assert axes.get_title() == "cnn, beginner (9x9/10)\nfirst_click=safe, corner, 500 games"
    drawn = lines(axes)
    assert set(drawn) == {"frontier, KL 0.0250", "proved, KL 0.0010"}
    drawn_bins = {1: (0.07, 0.1), 10: (0.52, 0.5)}  # of the others nothing, not even a line across
    expected = [drawn_bins.get(number, (np.nan, np.nan)) for number in range(11)]
    np.testing.assert_allclose(np.transpose(drawn["frontier, KL 0.0250"]), expected)
    assert {text.get_text() for text in axes.get_legend().get_texts()} == set(drawn)
    assert "| beginner | `cnn` | safe, corner | 500 | frontier | 400 | 0.02500 |" in tables.reliability_table(data)


def test_ablations(data):
    axes = levers.ablations(data).axes[0]
    height = heights(axes)
    assert list(height) == ["loss = bce", "loss = mse", "depth = 3"]
    dots, means = lines(axes)["one seed"], lines(axes)["mean of the seeds"]
    assert dots[0] == pytest.approx([81, 82, 83, 71, 72, 73, 50])
    np.testing.assert_allclose(means, ([82, 72, 50], [height[name] for name in height]))
    assert axes.get_title() == "beginner (9x9/10), 3 minutes of training"
    low, high = wilson(0.82, 3000)
    line = (
        f"| beginner | loss | bce | 3 | 900 to 900 | 81.00, 82.00, 83.00 | 82.00 ±{50 * (high - low):.2f} (3 x 1,000) |"
    )
    assert line in tables.ablations_table(data)


def test_tables(data):
    headline = tables.headline_table(data)
    assert "| beginner | games won, % | best CNN | 88.30 (310,000) | 80.00 ±1.50 (2k) | `cnn` |" in headline
    assert "| beginner | games won, % | CSP of Becerra | 91.25 | 90.00 ±1.50 (2k) | `exact` |" in headline
    assert "| expert | games won, % | 5x5-window MLPs | under 1 | - | - |" in headline
    assert "| beginner | moves a game | best CNN | about 18 | 19.5 | `cnn` |" in headline
    rates = tables.win_rates_table(data)
    assert "| beginner | `exact` | 90.00 ±1.50 (2k) | 95.00 ±1.00 (2k) | command 1, 3 |" in rates
    assert "| beginner | best CNN (thesis) | 88.30 (310,000 games) | - | [thesis.csv](thesis.csv) |" in rates
    assert tables.commands_list(data).splitlines()[2] == (
        "3. `python evaluate.py mode=beginner first_click=zero` (commit abc1234)"
    )
    assert "| `single_point` | - / 0.062 | - / 0.062 | - |" in tables.by_mode_table(data, "times")
    assert "| best CNN (thesis) | about 18 | about 69 | about 110 |" in tables.by_mode_table(data, "moves")


def test_curves_table(folder):
    (folder.parent / "checkpoints").mkdir()
    (folder.parent / "checkpoints" / "README.md").write_text(
        "## a.pt\n\n## beginner_cnn.pt\n\n| command | `go`, then `on` |\n"
    )
    (folder.parent / "configs" / "experiment").mkdir(parents=True)
    (folder.parent / "configs" / "experiment" / "intermediate_cnn.yaml").touch()
    table = tables.curves_table(read_data(folder))
    low, high = wilson(0.795, 1000)
    numbers = f"| 3 | 30,000 | 20,000 | 79.50 ±{50 * (high - low):.2f} (1,000) |"
    assert f"| beginner | `beginner_cnn` {numbers} `go, then on` |" in table
    assert f"| intermediate | `intermediate_cnn` {numbers} `python train.py experiment=intermediate_cnn` |" in table
    assert f"| beginner | `thesis_mlp_beginner` {numbers} - |" in table
    assert "| beginner | best CNN (thesis) | - | - | 60,000 to 80,000 | 88.30 | - |" in table
    assert "ablation" not in table


def test_readme_tables(data):
    old = "a\n<!-- table strategies -->\nold\n<!-- end -->\nb\n<!-- table strategies-zero -->\n<!-- end -->\n"
    text = tables.fill_readme(old, data)
    assert text.startswith("a\n<!-- table strategies -->\n| solver | 9x9/10 wins % |")
    assert "| `exact` | 90.00 ±1.50 (2k) | 90.00 ±1.50 (2k) | - | - |" in text
    assert "| `exact` | 95.00 ±1.00 (2k) | - | - | - |\n<!-- end -->\n" in text
    assert "old" not in text
    assert tables.fill_readme(text, data) == text


def test_a_rerun_gives_the_same_files(folder):
    assert write_report(read_data(folder)) == []
    first = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    names = {f"{section.name}.{kind}" for section in SECTIONS for kind in ("png", "svg")}
    assert {path.name for path in (folder / "figures").iterdir()} == names
    report = (folder / "REPORT.md").read_text()
    for section in SECTIONS:
        assert f"(figures/{section.name}.png)" in report
    assert write_report(read_data(folder)) == []
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == first


def test_missing_data_is_named(folder):
    shutil.rmtree(folder / "curves")
    (folder / "ablations.csv").unlink()
    (folder / "calibration.csv").unlink()
    messages = write_report(read_data(folder))
    assert messages == [
        f"figure {letter}, {name}, left out: {folder / path} is missing"
        for letter, name, path in (
            ("a", "learning_curves", "curves/*.csv"), ("b", "modes_compared", "curves/*.csv"),
            ("g", "reliability", "calibration.csv"), ("h", "ablations", "ablations.csv"),
        )
    ]  # fmt: skip
    assert {path.stem for path in (folder / "figures").iterdir()} == {"win_rates", "guess_free", "moves", "times"}
    report = (folder / "REPORT.md").read_text()
    assert "Not drawn yet: `calibration.csv` is missing." in report
    assert "figures/ablations" not in report
    (folder / "results.csv").unlink()
    assert len(write_report(read_data(folder))) == len(SECTIONS)


def test_what_networks_give_away(data):
    table = tables.regrets_table(data).splitlines()
    assert table[0] == (
        "| mode | model | first click, cell | games | in all | single point | local | total | guess frontier | "
        "guess interior | 0-2 mines left | 3-5 mines left | 6-10 mines left | 11+ mines left | 0 cells | 1-8 cells | "
        "9-16 cells | 17-32 cells | 33+ cells |"
    )
    values = ["0.75", "0.00", "0.25", "0.00", "0.00", "0.50", "0.25", "0.00", "0.00", "0.50", "0.50", "0.25"]
    cells = ["beginner", "`cnn`", "safe, corner", "400", *values, "0.00", "0.00", "0.00"]
    assert table[2:] == ["| " + " | ".join(cells) + " |"]


def test_the_diagram_of_a_calibration_just_measured():
    calibration = Calibration()
    views = np.full((1, 10, 10), HIDDEN, np.int8)
    posterior = np.full(views.shape, 0.25)
    calibration.add(views, np.full(views.shape, 0.525), posterior, posterior > 1)
    (axes,) = reliability.diagram(calibration).axes
    x, y = lines(axes)[f"interior, KL {calibration.means('interior')['kl']:.4f}"]
    assert (x[10], y[10]) == pytest.approx((0.525, 0.25))


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("checkpoints/beginner_cnn.pt", "cnn"),
        ("checkpoints/beginner_mlp.pt", "mlp"),
        ("checkpoints/universal_planner.pt", "planner"),
        ("planner look_ahead=4", "planner"),
        ("exact tie_break=corner", "csp"),
    ],
)
def test_what_a_player_is_compared_with(label, kind):
    """A planner proves and learns: it is neither a network of the thesis' kind nor a constraint solver."""
    row = SimpleNamespace(label=label, player=player_name(label, "beginner"), is_learned=label.endswith(".pt"))
    assert tables.kind_of(row) == kind
