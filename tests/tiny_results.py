"""Small made-up results, for tests of the report."""

import csv
import shutil
from pathlib import Path

from reporting.data import BOARDS

RESULTS = Path(__file__).resolve().parent.parent / "results"
RESULT_COLUMNS = (RESULTS / "results.csv").read_text().splitlines()[0].split(",")
CURVE = "minutes,games,positions,win_rate,guess_free_win_rate,moves,eval_games\n"
ABLATION = "mode,lever,setting,seed,minutes,games,win_rate,eval_games,commit,command\n"
CALIBRATION = (
    "rows,cols,mines,first_click,openings,solver,"
    "kind,bin,cells,predicted,posterior,mine_rate,kl,mae,boards,first_cell,games\n"
)
REGRETS = (
    "rows,cols,mines,first_click,openings,solver,"
    "class,mines_left,component,decisions,risk,regret,losses,regret_losses,boards,first_cell,games\n"
)
MODEL = "9,9,10,safe,True,checkpoints/beginner_cnn.pt"
PLAYERS = (  # label without mode, win rate, guess-free and judged win rate, moves, ms alone and batched
    ("checkpoints/{}_cnn.pt", 0.8, 0.5, 0.6, 19.5, 4.0, 0.25),
    ("checkpoints/{}_mlp.pt", 0.4, 0.2, 0.3, 15.25, 2.0, 0.5),
    ("exact", 0.9, 0.55, "", 20.0, 0.5, 0.125),
    ("single_point", 0.7, 0.3, "", 16.5, "", 0.0625),
)


def result(mode, label, rate, free, judged, moves, alone, batched, first_click="safe", first_cell="corner", **more):
    board, mines = BOARDS[mode].split("/")
    rows, cols = board.split("x")
    values = {
        "rows": rows, "cols": cols, "mines": mines, "first_click": first_click, "openings": True, "boards": "",
        "solver": label.format(mode), "win_rate": rate, "win_rate_low": rate - 0.02, "win_rate_high": rate + 0.01,
        "guess_free_win_rate": free, "judged_guess_free_win_rate": judged, "guesses": 1, "moves": moves,
        "ms_alone": alone, "ms_batched": batched, "first_cell": first_cell, "games": 2000, "seed": 0,
        "command": f"python evaluate.py mode={mode} first_click={first_click}", "commit": "abc1234",
    }  # fmt: skip
    return values | more


def write_results(folder, rows):
    with (folder / "results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, RESULT_COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def write_all(folder):
    """Fills a new results folder with everything that the report reads."""
    (folder / "curves").mkdir(parents=True)
    shutil.copy(RESULTS / "thesis.csv", folder)
    rows = [result(mode, *player) for mode in ("beginner", "intermediate") for player in PLAYERS]
    rows += [result("beginner", *PLAYERS[2], "zero", "centre", win_rate=0.95, win_rate_low=0.94, win_rate_high=0.96)]
    write_results(folder, rows)
    curve = CURVE + "1,10000,9,0.5,0.1,9,1000\n2,20000,9,0.79,0.1,9,1000\n3,30000,9,0.795,0.1,9,1000\n"
    for name in ("beginner_cnn", "intermediate_cnn", "thesis_mlp_beginner", "ablation_loss_mse_seed1_beginner"):
        (folder / "curves" / f"{name}.csv").write_text(curve)
    (folder / "ablations.csv").write_text(
        ABLATION
        + "".join(f"beginner,loss,bce,{seed},3.01,900,{0.8 + seed / 100},1000,c,x\n" for seed in (1, 2, 3))
        + "".join(f"beginner,loss,mse,{seed},3.01,900,{0.7 + seed / 100},1000,c,x\n" for seed in (1, 2, 3))
        + "beginner,depth,3,1,3.01,800,0.5,1000,c,x\n"
    )
    start, end = "9,9,10,safe,True,checkpoints/beginner_cnn.pt,", ",corner,500\n"
    (folder / "regrets.csv").write_text(
        REGRETS
        + "".join(f"{line},,corner,400\n" for line in (
            f"{MODEL},local,0-2,1-8,9,3.0,9.0,1,1",  # of an earlier run
            f"{MODEL},local,0-2,1-8,9,3.0,1.0,1,1",
            f"{MODEL},guess_interior,11+,0,9,3.0,2.0,1,1",
            "9,9,10,safe,True,exact,local,0-2,1-8,9,3.0,4.0,1,1",
        ))
    )  # fmt: skip
    (folder / "calibration.csv").write_text(
        CALIBRATION
        + f"{start}frontier,all,9,0.9,0.9,0.9,0.9,0.9,{end}{start}frontier,3,9,0.9,0.9,0.9,0.9,0.9,{end}"  # an old run
        + f"{start}frontier,all,400,0.4,0.4,0.4,0.025,0.1,{end}"
        + f"{start}frontier,10,300,0.52,0.5,0.5,0.02,0.1,{end}{start}frontier,1,99,0.07,0.1,0.1,0.04,0.1,{end}"
        + f"{start}frontier,2,1,0.12,1,1,0.04,0.1,{end}{start}proved,19,800,0.99,1,1,0.001,0.1,{end}"
        + f"{start}all,all,1200,0.8,0.8,0.8,0.01,0.1,{end}{start}all,1,99,0.07,0.1,0.1,0.04,0.1,{end}"
        + f"9,9,10,safe,True,exact,frontier,10,300,0.5,0.5,0.5,0,0{end}"
    )
