"""The records of a solver's games in a few numbers, with the intervals that they deserve, and these as a table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm

from minesweeper.calibration import calibration_table
from minesweeper.regret import regret_table
from minesweeper.tables import aligned
from minesweeper.textio import counted

CONFIDENCE = 0.95


def summarise(label: str, games: np.recarray, alone: np.recarray | None, exact: np.recarray | None) -> dict[str, Any]:
    """One row of results. Rates are shares of all games, times are milliseconds of the solver's choices a game."""
    row: dict[str, Any] = {"solver": label}
    row |= rate("win_rate", games.won)
    row |= rate("guess_free_win_rate", games.guess_free)
    if "judged_guess_free" in (games.dtype.names or ()):
        row |= rate("judged_guess_free_win_rate", games.judged_guess_free)
    row["guesses"] = float(games.guesses.mean())
    row["moves"] = float(games.moves.mean())
    row["ms_alone"] = float(1000 * alone.seconds.mean()) if alone is not None else None
    row["ms_batched"] = float(1000 * games.seconds.mean())
    if exact is not None and exact is not games and len(games) > 1:
        difference = games.won.astype(float) - exact.won
        margin = margin_of_mean(difference)
        row["minus_exact"] = float(difference.mean())
        row["minus_exact_low"] = float(difference.mean() - margin)
        row["minus_exact_high"] = float(difference.mean() + margin)
    return row


def margin_of_mean(values: NDArray[np.float64]) -> float:
    """Half of the 95% interval of a mean, by the normal distribution; NaN for one value."""
    if values.size < 2:
        return float("nan")
    return float(norm.ppf(0.5 + CONFIDENCE / 2) * values.std(ddof=1) / values.size**0.5)


def wilson(happened: int, games: int) -> tuple[float, float]:
    """The 95% Wilson interval of a share of games."""
    interval = binomtest(happened, games).proportion_ci(CONFIDENCE, method="wilson")
    return interval.low, interval.high


def rate(name: str, happened: NDArray[np.bool_]) -> dict[str, float]:
    """A share with its 95% Wilson interval."""
    low, high = wilson(int(happened.sum()), happened.size)
    return {name: float(happened.mean()), f"{name}_low": low, f"{name}_high": high}


def results_table(result: dict[str, Any]) -> str:
    """What `evaluate.py` found, the content of its JSON file, as aligned text."""
    mode = result["mode"]
    rule = ""
    if mode:
        rule = f"{mode['rows']}x{mode['cols']}, {counted(mode['mines'], 'mine')}, first_click={mode['first_click']}"
    games, analysed = counted(result["games"], "game"), counted(result.get("games_analysed", 0), "game")
    lines = [
        ", ".join(filter(None, [result["boards"] or "", rule]))
        + f", first cell {result['first_cell']}, {games}, seed {result['seed']}; 95% intervals"
    ]
    head = ["solver", "wins %", "", "minus exact", "guess-free %", "judged %", "guesses", "moves", "ms alone"]
    head += ["ms batched"]
    body = []
    for row in result["rows"]:
        has_difference = "minus_exact" in row
        judged = row.get("judged_guess_free_win_rate")
        body.append([
            row["solver"],
            f"{100 * row['win_rate']:.2f}",
            f"{100 * row['win_rate_low']:.2f} to {100 * row['win_rate_high']:.2f}",
            f"{100 * row['minus_exact']:+.2f} ±{100 * (row['minus_exact_high'] - row['minus_exact']):.2f}"
            if has_difference else "-",
            f"{100 * row['guess_free_win_rate']:.2f}",
            "-" if judged is None else f"{100 * judged:.2f}",
            f"{row['guesses']:.2f}",
            f"{row['moves']:.1f}",
            "-" if row["ms_alone"] is None else f"{row['ms_alone']:.3f}",
            f"{row['ms_batched']:.3f}",
        ])  # fmt: skip
    lines += aligned(head, body)
    if "calibration" in result:
        lines += ["", f"calibration, {analysed}", *calibration_table(result["calibration"])]
    if "regrets" in result:
        lines += ["", f"regrets, {analysed}"]
        lines += regret_table(result["regrets"], result["games_analysed"])
    return "\n".join(lines)
