"""Markdown tables: those of README.md, and the ones behind each figure of results/REPORT.md."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import mean

from minesweeper.mode import MODES
from minesweeper.regret import CLASSES, COMPONENTS, MINES_LEFT
from reporting.curves import released
from reporting.data import BOARDS, STARTS, Curve, Data, Regret, Reported, Result, player_name, wilson
from reporting.levers import grouped
from reporting.reliability import KINDS, by_panel, divergence

REGRETS_BY = (("what", CLASSES), ("mines_left", MINES_LEFT), ("component", COMPONENTS))
BEST_ZERO = {"beginner": "[2, 2]", "intermediate": "[2, 2]", "expert": "[3, 3]"}  # good first cells
NEAR = 0.01  # a run is near its best win rate from the first evaluation that is this close to it


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return (
        "\n".join("| " + " | ".join(row) + " |" for row in rows).replace("| --- |", "|---|").replace(" --- |", "---|")
    )


def share(result: Result) -> str:
    """A win rate with half the width of its interval and its games, as `89.59 ±0.19 (100k)`."""
    games = f"{result.games // 1000}k" if result.games >= 1000 else str(result.games)
    return f"{100 * result.win_rate:.2f} ±{50 * (result.high - result.low):.2f} ({games})"


def strategies_table(data: Data, first_click: str, first_cells: Mapping[str, str]) -> str:
    """README: a line for each solver, win rate with its interval and games on each mode, and the time a game.

    Args:
        first_cells: the first cell of each mode.
    """
    results = {
        (row.label, row.mode): row
        for mode, first_cell in first_cells.items()
        for row in data.at(first_click, first_cell, mode)
    }

    def rank(label: str) -> tuple[float, float]:
        rates = [results[label, mode].win_rate if (label, mode) in results else -1.0 for mode in ("expert", "beginner")]
        return -rates[0], -rates[1]

    lines = []
    for label in sorted({label: None for label, _ in results}, key=rank):
        rows = [results.get((label, mode)) for mode in MODES]
        expert = results.get((label, "expert"))
        time = "-" if expert is None or expert.ms_alone is None else f"{expert.ms_alone:.2f} / {expert.ms_batched:.2f}"
        lines.append([f"`{label}`", *("-" if row is None else share(row) for row in rows), time])
    return markdown(
        ["solver", *(f"{board} wins %" for board in BOARDS.values()), "expert, ms a game alone / batched"], lines
    )


def fill_readme(text: str, data: Data) -> str:
    """The README with its tables, each between `<!-- table NAME -->` and `<!-- end -->`, made anew."""
    tables = {
        "strategies": strategies_table(data, "safe", dict.fromkeys(MODES, "corner")),
        "strategies-zero-best": strategies_table(data, "zero", BEST_ZERO),
        "strategies-zero": strategies_table(data, "zero", dict.fromkeys(MODES, "centre")),
        "strategies-any": strategies_table(data, "any", dict.fromkeys(MODES, "corner")),
    }
    for name, table in tables.items():
        pattern = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = pattern.sub(partial(filled, table=table), text)
    return text


def filled(match: re.Match[str], table: str) -> str:
    """The marks of a table with new content."""
    return f"{match[1]}{table}\n{match[2]}"


def commands(data: Data) -> dict[tuple[str, str], int]:
    """The number of each (command, commit) behind the results under the rules that are compared, from 1."""
    pairs = [(row.command, row.commit) for start in STARTS for row in data.at(*start)]
    return {pair: number for number, pair in enumerate(dict.fromkeys(pairs), start=1)}


def commands_list(data: Data) -> str:
    """The commands as a numbered list."""
    return "\n".join(f"{number}. `{command}` (commit {commit})" for (command, commit), number in commands(data).items())


def headline_table(data: Data) -> str:
    """The thesis' best numbers beside the best of the same kind here, first_click=safe, first cell in the corner."""
    lines = []
    for number in data.reported("win_rate"):
        best = best_of(data, number)
        ours = ["-", "-"] if best is None else [share(best), f"`{best.player}`"]
        reported = f"{number.text} ({int(number.games):,})" if number.games else number.text
        lines.append([number.mode, "games won, %", number.player, reported, *ours])
    for number in data.reported("moves"):
        best = best_of(data, number)
        ours = ["-", "-"] if best is None else [f"{best.moves:.1f}", f"`{best.player}`"]
        lines.append([number.mode, "moves a game", number.player, number.text, *ours])
    return markdown(["mode", "", "in the thesis", "thesis (games)", "here (games)", "best here"], lines)


def best_of(data: Data, number: Reported) -> Result | None:
    """The player here with the highest win rate of the kind that a number of the thesis is about."""
    rows = [row for row in data.at(*STARTS[0], number.mode) if kind_of(row) == number.kind]
    return max(rows, key=lambda row: row.win_rate, default=None)


def kind_of(result: Result) -> str:
    """mlp, planner (which proves and learns), cnn (any other model) or csp (any other solver)."""
    words = re.split("[_ ]", result.player)
    if "planner" in words:
        return "planner"
    if not result.is_learned:
        return "csp"
    return "mlp" if "mlp" in words else "cnn"


def curves_table(data: Data) -> str:
    """Figures a and b: where each run began, how soon it was near its best, and its last win rate."""
    lines = [curve_line(curve) for curve in released(data)]
    for number in data.reported("training_games"):
        best = next((row.text for row in data.reported("win_rate", number.mode) if row.player == number.player), "-")
        lines.append([number.mode or "not stated", number.name, "-", "-", number.text, best, "-"])
    head = ["mode", "run", "minutes", "games", f"games until within {100 * NEAR:.0f} point of its best"]
    return markdown([*head, "wins % at the end", "command"], lines)


def curve_line(curve: Curve) -> list[str]:
    """One run."""
    near = next(i for i, rate in enumerate(curve.win_rate) if rate >= max(curve.win_rate) - NEAR)
    low, high = wilson(curve.win_rate[-1], curve.eval_games[-1])
    last = f"{100 * curve.win_rate[-1]:.2f} ±{50 * (high - low):.2f} ({curve.eval_games[-1]:,})"
    numbers = [f"{curve.minutes[-1]:.0f}", f"{curve.games[-1]:,}", f"{curve.games[near]:,}"]
    return [curve.mode, f"`{curve.run}`", *numbers, last, f"`{curve.command}`" if curve.command else "-"]


def win_rates_table(data: Data) -> str:
    """Figure c."""
    lines, numbers = [], commands(data)
    for mode in MODES:
        rows = {(row.player, row.first_click): row for start in STARTS for row in data.at(*start, mode)}
        lines += [
            [mode, number.name, f"{number.text} ({games_text(number)})", "-", "[thesis.csv](thesis.csv)"]
            for number in data.reported("win_rate", mode)
        ]
        for player in sorted(dict.fromkeys(player for player, _ in rows), key=lambda player: rank(rows, player)):
            own = [rows.get((player, first_click)) for first_click, _ in STARTS]
            used = sorted({numbers[row.command, row.commit] for row in own if row})
            shares = [share(row) if row else "-" for row in own]
            lines.append([mode, f"`{player}`", *shares, "command " + ", ".join(map(str, used))])
    return markdown(["mode", "player", *(f"{rule}, {cell}: wins %" for rule, cell in STARTS), "source"], lines)


def rank(rows: dict[tuple[str, str], Result], player: str) -> tuple[bool, float]:
    """Learned players first, then by win rate."""
    own = [row for (name, _), row in rows.items() if name == player]
    return not own[0].is_learned, -own[0].win_rate


def games_text(number: Reported) -> str:
    """The games behind a number of the thesis."""
    return f"{int(number.games):,} games" if number.games else "games not stated"


def guess_free_table(data: Data) -> str:
    """Figure d."""
    lines, numbers = [], commands(data)
    for row in sorted_results(data):
        low, high = wilson(row.guess_free, row.games)
        judged = "-" if row.judged_guess_free is None else f"{100 * row.judged_guess_free:.2f}"
        free = f"{100 * row.guess_free:.2f} ±{50 * (high - low):.2f}"
        lines.append([row.mode, f"`{row.player}`", share(row), free, judged, str(numbers[row.command, row.commit])])
    return markdown(["mode", "player", "wins %", "without a guess %", "judged %", "command"], lines)


def sorted_results(data: Data) -> list[Result]:
    """The results under the first rule: by mode, learned players first, then by win rate."""
    order = list(MODES)
    return sorted(data.at(*STARTS[0]), key=lambda row: (order.index(row.mode), not row.is_learned, -row.win_rate))


def by_mode_table(data: Data, cell: str) -> str:
    """A line for each player and a column for each mode, of `moves` or `times`."""
    results = {(row.player, row.mode): row for row in data.at(*STARTS[0])}
    lines = []
    for player in dict.fromkeys(row.player for row in sorted_results(data)):
        rows = [results.get((player, mode)) for mode in MODES]
        lines.append([f"`{player}`", *("-" if row is None else CELLS[cell](row) for row in rows)])
    for name in dict.fromkeys(number.name for number in data.reported(cell)):
        texts = [
            next((number.text for number in data.reported(cell, mode) if number.name == name), "-") for mode in MODES
        ]
        lines.append([name, *texts])
    return markdown(["player", *BOARDS], lines)


CELLS = {
    "moves": lambda row: f"{row.moves:.1f}",
    "times": lambda row: f"{'-' if row.ms_alone is None else f'{row.ms_alone:.3f}'} / {row.ms_batched:.3f}",
}


def reliability_table(data: Data) -> str:
    """Figure g."""
    lines = []
    for (mode, player, start), bins in by_panel(data).items():
        for kind in KINDS:
            own = [entry for entry in bins if entry.kind == kind]
            if own:
                cells = sum(entry.cells for entry in own)
                lines.append(
                    [mode, f"`{player}`", start, f"{own[0].games:,}", kind, f"{cells:,}", f"{divergence(own):.5f}"]
                )
    return markdown(["mode", "model", "first click, cell", "games", "kind of cell", "cells", "mean KL, nats"], lines)


def regrets_table(data: Data) -> str:
    """What is given away a game, in points of the win rate: in all, then by what was known, mines left, component."""
    groups: dict[tuple[str, str, str, int], list[Regret]] = {}
    for row in data.regrets:
        groups.setdefault((row.mode, player_name(row.label, row.mode), row.start, row.games), []).append(row)

    def points(rows: list[Regret], games: int, column: str, value: str) -> str:
        return f"{100 * sum(row.regret for row in rows if getattr(row, column) == value) / games:.2f}"

    lines = [
        [mode, f"`{player}`", start, f"{games:,}", f"{100 * sum(row.regret for row in rows) / games:.2f}"]
        + [points(rows, games, column, value) for column, values in REGRETS_BY for value in values]
        for (mode, player, start, games), rows in sorted(groups.items(), key=lambda item: list(MODES).index(item[0][0]))
    ]
    head = ["mode", "model", "first click, cell", "games", "in all"]
    names = {"what": "", "mines_left": " mines left", "component": " cells"}
    return markdown(
        head + [value.replace("_", " ") + names[column] for column, values in REGRETS_BY for value in values], lines
    )


def ablations_table(data: Data) -> str:
    """Figure h."""
    lines = []
    for mode in MODES:
        runs = [run for run in data.ablations if run.mode == mode]
        for (lever, setting), group in grouped(runs).items():
            rates = [f"{100 * run.win_rate:.2f}" for run in sorted(group, key=lambda run: run.seed)]
            average = mean(run.win_rate for run in group)
            low, high = wilson(average, sum(run.eval_games for run in group))
            games = f"{min(run.games for run in group):,} to {max(run.games for run in group):,}"
            tested = f"{100 * average:.2f} ±{50 * (high - low):.2f} ({len(group)} x {group[0].eval_games:,})"
            lines.append([mode, lever, setting, f"{group[0].minutes:.0f}", games, ", ".join(rates), tested])
    return markdown(["mode", "lever", "setting", "minutes", "games trained", "wins % by seed", "mean (games)"], lines)
