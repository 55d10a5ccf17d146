"""Writes the tables of README.md from results/results.csv: python report.py

A table stands between `<!-- table NAME -->` and `<!-- end -->`; of rows for the same solver, board, rule and first
cell the last one counts.
"""

import csv
import re
from pathlib import Path

ROOT = Path(__file__).parent
MODES = {("9", "9", "10"): "9x9/10", ("16", "16", "40"): "16x16/40", ("16", "30", "99"): "16x30/99"}


def read_results(path: Path) -> dict[tuple[str, str, str, str], dict[str, str]]:
    """The rows on random boards of the standard modes, by (solver, mode, first_click, first_cell)."""
    with path.open(newline="") as file:
        return {
            (row["solver"], MODES[board], row["first_click"], row["first_cell"]): row
            for row in csv.DictReader(file)
            if (board := (row["rows"], row["cols"], row["mines"])) in MODES and not row["boards"]
        }


def strategies_table(results: dict, first_click: str = "safe", first_cell: str = "corner") -> str:
    """Markdown: a line for each solver, win rate with its interval and games on each mode, and the time a game."""
    solvers = {key[0]: None for key in results if key[2:] == (first_click, first_cell)}

    def win_rate(solver: str, mode: str) -> float:
        row = results.get((solver, mode, first_click, first_cell))
        return float(row["win_rate"]) if row else -1.0

    lines = [
        "| solver | "
        + " | ".join(f"{mode} wins %" for mode in MODES.values())
        + " | expert, ms a game alone / batched |",
        "|---|" + "---|" * (len(MODES) + 1),
    ]
    for solver in sorted(solvers, key=lambda name: (-win_rate(name, "16x30/99"), -win_rate(name, "9x9/10"))):
        cells = [f"`{solver}`"]
        for mode in MODES.values():
            row = results.get((solver, mode, first_click, first_cell))
            if row is None:
                cells.append("-")
                continue
            low, high = float(row["win_rate_low"]), float(row["win_rate_high"])
            rate = f"{100 * float(row['win_rate']):.2f} ±{50 * (high - low):.2f}"
            cells.append(f"{rate} ({int(row['games']) // 1000}k)")
        row = results.get((solver, "16x30/99", first_click, first_cell))
        has_time = row is not None and row["ms_alone"]
        cells.append(f"{float(row['ms_alone']):.2f} / {float(row['ms_batched']):.2f}" if has_time else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    results = read_results(ROOT / "results" / "results.csv")
    readme = ROOT / "README.md"
    text = readme.read_text()
    tables = {
        "strategies": strategies_table(results),
        "strategies-zero": strategies_table(results, "zero", "centre"),
        "strategies-any": strategies_table(results, "any", "corner"),
    }
    for name, table in tables.items():
        pattern = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = pattern.sub(lambda match, table=table: f"{match[1]}{table}\n{match[2]}", text)
    readme.write_text(text)


if __name__ == "__main__":
    main()
