"""All players side by side: win rates, wins without a guess, moves and time a game; a line for each player."""

from collections.abc import Callable
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from minesweeper.mode import MODES
from reporting.curves import shared_legend
from reporting.data import BOARDS, STARTS, Data, MissingDataError, Reported, Result
from reporting.style import COLOURS, MODE_STYLES, THESIS, Style, new_figure

START_STYLES: tuple[Style, ...] = (
    {"color": COLOURS[0], "marker": "o"},
    {"color": COLOURS[1], "marker": "s", "markerfacecolor": "white"},
)
GAP = 0.8  # lines between learned players and solvers


def places(data: Data, results: list[Result], quantity: str = "") -> dict[str, float]:
    """The height of each player's line: learned ones above solvers, the better ones on top, the thesis' among them.

    Raises:
        MissingDataError: there are no results.
    """
    if not results:
        raise MissingDataError(str(data.folder / "results.csv"))
    modes = list(MODES)
    learned: list[tuple[int, float, str]] = []
    solvers: list[tuple[int, float, str]] = []
    for player in {row.player: None for row in results}:
        rows = [row for row in results if row.player == player]
        first = min(rows, key=lambda row: modes.index(row.mode))
        (learned if first.is_learned else solvers).append((modes.index(first.mode), -first.win_rate, player))
    for number in {row.name: row for row in reversed(data.reported(quantity))}.values():
        wins = next((row.high for row in data.reported("win_rate", number.mode) if row.name == number.name), 0.0)
        (solvers if number.kind == "csp" else learned).append((modes.index(number.mode), -wins / 100, number.name))
    order = [[player for *_, player in sorted(group)] for group in (learned, solvers)]
    heights = {player: -float(line) for line, player in enumerate(order[0])}
    top = -len(order[0]) - (GAP if order[0] else 0)
    return heights | {player: top - line for line, player in enumerate(order[1])}


def panels_by_mode(heights: dict[str, float]) -> tuple[Figure, dict[str, Axes]]:
    """A figure with a panel for each mode and a line for each player."""
    figure = new_figure(1.3 + 0.2 * len(heights))
    panels = figure.subplots(1, len(MODES), sharex=True, sharey=True)
    by_mode = dict(zip(MODES, panels, strict=True))
    for mode, axes in by_mode.items():
        axes.set_title(f"{mode} ({BOARDS[mode]})")
    player_axis(panels[0], heights)
    return figure, by_mode


def player_axis(axes: Axes, heights: dict[str, float]) -> None:
    """Names the lines."""
    names = [fill(short(player), 29) for player in heights]
    axes.set_yticks(list(heights.values()), names, linespacing=0.9)
    axes.set_ylim(min(heights.values()) - 0.7, max(heights.values()) + 0.7)


def short(player: str) -> str:
    """A player's name without the words that its settings share.

    >>> short("exact tie_break=progress tie_margin=0.03 endgame=1000")
    'exact, progress, margin 0.03, endgame 1000'
    """
    name, *settings = player.replace("tie_break=", "").replace("tie_", "").split(" ")
    return ", ".join([name, *(setting.replace("=", " ") for setting in settings)]) if "=" in player else player


def win_rates(data: Data) -> Figure:
    """Figure c: win rates under first_click=safe and zero, with their 95% intervals and the thesis' values."""
    results = [row for start in STARTS for row in data.at(*start)]
    heights = places(data, results, "win_rate")
    figure, panels = panels_by_mode(heights)
    for mode, axes in panels.items():
        for (first_click, first_cell), style in zip(STARTS, START_STYLES, strict=True):
            rows = data.at(first_click, first_cell, mode)
            rates = [100 * row.win_rate for row in rows]
            limits = [
                [100 * (row.win_rate - row.low) for row in rows],
                [100 * (row.high - row.win_rate) for row in rows],
            ]
            label = f"first_click={first_click}, first cell in the {first_cell}"
            lines = [heights[row.player] for row in rows]
            axes.errorbar(rates, lines, xerr=limits, linestyle="none", capsize=1.5, label=label, **style)
        draw_reported(axes, data.reported("win_rate", mode), heights)
        axes.set_xlim(-3, 103)
        axes.set_xticks(range(0, 101, 25))
        axes.set_xlabel("games won, %")
    shared_legend(figure, list(panels.values()))
    return figure


def draw_reported(axes: Axes, numbers: list[Reported], heights: dict[str, float]) -> None:
    """The thesis' values; a range as a bar between its ends."""
    if numbers:
        middle = [(number.low + number.high) / 2 for number in numbers]
        reach = [(number.high - number.low) / 2 for number in numbers]
        lines = [heights[number.name] for number in numbers]
        label = "as the thesis reports (safe)"
        axes.errorbar(middle, lines, xerr=reach, linestyle="none", capsize=1.5, label=label, **THESIS)


def guess_free(data: Data) -> Figure:
    """Figure d: games won without a guess and with guesses, first_click=safe, first cell in the corner."""
    results = data.at(*STARTS[0])
    heights = places(data, results)
    figure, panels = panels_by_mode(heights)
    for mode, axes in panels.items():
        rows = data.at(*STARTS[0], mode)
        lines = [heights[row.player] for row in rows]
        free = [100 * row.guess_free for row in rows]
        rest = [100 * (row.win_rate - row.guess_free) for row in rows]
        limits = [[100 * (row.win_rate - row.low) for row in rows], [100 * (row.high - row.win_rate) for row in rows]]
        axes.barh(
            lines, free, height=0.7, color=COLOURS[0], edgecolor="black", linewidth=0.4, label="won without a guess"
        )
        look: Style = {"color": "white", "edgecolor": "black", "hatch": "/////", "linewidth": 0.4}
        bars: Style = {"xerr": limits, "error_kw": {"elinewidth": 0.9, "capsize": 1.5}}
        axes.barh(lines, rest, left=free, height=0.7, label="won with guesses (up to the win rate)", **look, **bars)
        judged = [(100 * row.judged_guess_free, line) for row, line in zip(rows, lines, strict=True)
                  if row.judged_guess_free is not None]  # fmt: skip
        if judged:
            label = "won without a guess, by the exact posterior"
            axes.plot(*zip(*judged, strict=True), "d", color="black", markerfacecolor="#F0E442", label=label)
        axes.set_xlim(0, 100)
        axes.set_xlabel("games, %")
    shared_legend(figure, list(panels.values()))
    return figure


def moves(data: Data) -> Figure:
    """Figure e: moves a game on each mode, lost games included, first_click=safe, first cell in the corner."""
    heights = places(data, data.at(*STARTS[0]), "moves")
    figure = new_figure(1.2 + 0.2 * len(heights))
    axes = figure.subplots()
    player_axis(axes, heights)
    for mode, style in MODE_STYLES.items():
        rows = data.at(*STARTS[0], mode)
        marks = style | {"linestyle": "none"}
        label = f"{mode} ({BOARDS[mode]})"
        axes.plot([row.moves for row in rows], [heights[row.player] for row in rows], label=label, **marks)
        numbers = data.reported("moves", mode)
        hollow = marks | {"markerfacecolor": "white", "markeredgewidth": 1.3}
        axes.plot([number.high for number in numbers], [heights[number.name] for number in numbers], **hollow)
    axes.set_xlim(left=0)
    axes.set_xlabel("moves a game; hollow: about, as the thesis reports")
    shared_legend(figure, [axes])
    return figure


def times(data: Data) -> Figure:
    """Figure f: milliseconds of choosing a game, one game at a time and in a batch, on a logarithmic axis."""
    results = data.at(*STARTS[0])
    heights = places(data, results)
    figure, panels = panels_by_mode(heights)
    ways: tuple[tuple[str, Callable[[Result], float | None]], ...] = (
        ("one game at a time", lambda row: row.ms_alone),
        ("many games in a batch", lambda row: row.ms_batched),
    )
    for mode, axes in panels.items():
        rows = data.at(*STARTS[0], mode)
        for row in rows:
            if row.ms_alone is not None:
                axes.plot(
                    [row.ms_alone, row.ms_batched], [heights[row.player]] * 2, color="0.6", linewidth=0.9, zorder=1
                )
        for (label, time), style in zip(ways, START_STYLES, strict=True):
            points = [(taken, heights[row.player]) for row in rows if (taken := time(row)) is not None]
            if points:
                axes.plot(*zip(*points, strict=True), linestyle="none", label=label, **style)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(numticks=9))
        axes.set_xlabel("ms a game")
    shared_legend(figure, list(panels.values()))
    return figure
