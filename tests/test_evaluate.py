"""Evaluation: the JSON, its intervals by hand, the same boards for every solver, where mode and players come from."""

import csv
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from observing import observed
from omegaconf import OmegaConf
from tiny_training import CONFIGS, ROOT, composed, program, save_small

import evaluate
from minesweeper import SOLVERS, make_solver, play_games
from minesweeper.calibration import Calibration
from minesweeper.regret import Regrets
from minesweeper.summary import rate, results_table, summarise
from models import checkpoint

SMALL = {"rows": 4, "cols": 5, "mines": 4, "first_click": "safe", "openings": True}
FEW = ("threads=1", "games=20", "games_alone=2", "device=cpu", "precision=float32")
FIRST_CELLS = "random, corner, centre, solver or [row, col]"
RATES = ("win_rate", "guess_free_win_rate", "judged_guess_free_win_rate")
ROW = [
    "solver",
    *(f"{rate}{end}" for rate in RATES for end in ("", "_low", "_high")),
    "guesses", "moves", "ms_alone", "ms_batched", "minus_exact", "minus_exact_low", "minus_exact_high",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def saved(tmp_path):
    """Writes a checkpoint of a small random network and returns its path."""

    def save(name="small.pt", mode=SMALL, guess_threshold=0.05, seed=0):
        return save_small(tmp_path / name, mode, guess_threshold, seed)

    return save


def evaluated(*overrides):
    return evaluate.evaluate(composed("evaluate", *FEW, *overrides))


def rows_of(result):
    """The rows by solver, without times."""
    return {
        row["solver"]: {key: value for key, value in row.items() if not key.startswith("ms_")} for row in result["rows"]
    }


def records(won, guess_free=None):
    games = np.recarray(len(won), dtype=[("won", "?"), ("guess_free", "?"), ("guesses", "i4"), ("moves", "i4"),
                                         ("seconds", "f8")])  # fmt: skip
    games["won"] = won
    games["guess_free"] = won if guess_free is None else guess_free
    games["guesses"] = np.arange(len(won))
    games["moves"] = 7
    games["seconds"] = 0.002
    return games


def test_the_fields_of_a_result(saved):
    path = saved()
    result = evaluated(f"ckpt={path}", "seed=3", "first_cell=[1,2]")
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert list(result) == ["mode", "boards", "first_cell", "games", "seed", "command", "commit", "rows"]
    assert [result[key] for key in ("mode", "first_cell", "games", "seed")] == [SMALL, [1, 2], 20, 3]
    assert result["command"] == " ".join(["python", *sys.argv])
    learned, exact, random = result["rows"]
    assert [row["solver"] for row in result["rows"]] == [str(path), "exact", "random"]
    judged = [key for key in ROW if key.startswith("judged")]
    difference = [key for key in ROW if key.startswith("minus")]
    assert list(learned) == ROW
    assert list(exact) == [key for key in ROW if key not in judged + difference]
    assert list(random) == [key for key in ROW if key not in judged]
    for row in result["rows"]:
        assert row["ms_alone"] > 0 < row["ms_batched"]
        assert 0 <= row["win_rate_low"] <= row["win_rate"] <= row["win_rate_high"] <= 1
    assert learned["minus_exact"] == pytest.approx(learned["win_rate"] - exact["win_rate"])
    assert (exact["guesses"], random["moves"]) > (0, 1)


def test_wilson_interval():
    """8 of 10: centre (0.8 + z2/20) / (1 + z2/10) and the half width, with z = 1.959964."""
    low, high = 0.4901625, 0.9433178
    expected = {"win_rate": 0.8, "win_rate_low": low, "win_rate_high": high}
    assert rate("win_rate", np.array([True] * 8 + [False] * 2)) == pytest.approx(expected, abs=1e-6)
    assert rate("x", np.zeros(5, bool)) == pytest.approx({"x": 0, "x_low": 0, "x_high": 0.4344825}, abs=1e-6)


def test_a_row_by_hand():
    exact = records([True, False, True, True])
    games = records([True, True, True, True], guess_free=[False, False, True, False])
    row = summarise("a", games, records([True, False]), exact)
    assert (row["solver"], row["win_rate"], row["guess_free_win_rate"]) == ("a", 1.0, 0.25)
    assert (row["guesses"], row["moves"]) == (1.5, 7.0)
    assert (row["ms_alone"], row["ms_batched"]) == pytest.approx((2.0, 2.0))
    # differences 0, 1, 0, 0: mean 1/4, standard deviation 1/2, standard error 1/4
    assert row["minus_exact"] == 0.25
    assert row["minus_exact_low"] == pytest.approx(0.25 - 1.959964 / 4, abs=1e-6)
    assert row["minus_exact_high"] == pytest.approx(0.25 + 1.959964 / 4, abs=1e-6)
    assert "minus_exact" not in summarise("exact", exact, None, exact)
    assert summarise("exact", exact, None, exact)["ms_alone"] is None
    assert "minus_exact" not in summarise("a", games, None, None)


def test_one_game_is_json(saved):
    json.dumps(evaluated(f"ckpt={saved()}", "games=1"), allow_nan=False)


def test_every_solver_meets_the_same_boards(saved):
    path = saved()
    together = rows_of(evaluated(f"ckpt={path}", "solvers=[exact,random,{name:exact,max_states:4000000}]"))
    again = together.pop("exact max_states=4000000")
    assert [again.pop(f"minus_exact{end}") for end in ("", "_low", "_high")] == [0, 0, 0]
    assert again == together["exact"] | {"solver": "exact max_states=4000000"}
    assert rows_of(evaluated(f"ckpt={path}", "solvers=[random,exact]", "batch=3", "games_alone=0")) == together
    own = play_games(make_solver("exact"), evaluate.Mode(**SMALL), 20, 0, "corner")
    assert together["exact"]["win_rate"] == own.won.mean()
    assert rows_of(evaluated(f"ckpt={path}", "seed=1"))["exact"] != together["exact"]


def test_settings_of_solvers(saved):
    solvers = "solvers=[{name:exact,tie_break:corner},random]"
    rows = rows_of(evaluated(f"ckpt={saved()}", solvers, "games=60"))
    assert list(rows)[1:] == ["exact tie_break=corner", "random"]
    own = play_games(make_solver("exact", tie_break="corner"), evaluate.Mode(**SMALL), 60, 0, "corner")
    other = play_games(make_solver("exact"), evaluate.Mode(**SMALL), 60, 0, "corner")
    assert rows["exact tie_break=corner"]["win_rate"] == own.won.mean()
    assert own.won.tolist() != other.won.tolist()
    assert list(rows_of(evaluated(f"ckpt={saved()}", "solvers=random")))[1:] == ["random"]
    assert len(evaluated(f"ckpt={saved()}", "solvers=[]", "judge=false")["rows"]) == 1


def test_the_threshold_comes_from_the_checkpoint_unless_it_is_given(saved):
    path = saved(guess_threshold=0.9)
    mode, players = evaluate.make_players(composed("evaluate", *FEW, f"ckpt={path}", "tie_break=corner"), None)
    solver = players[str(path)]
    assert (mode, solver.guess_threshold, solver.tie_break) == (evaluate.Mode(**SMALL), 0.9, "corner")
    _, players = evaluate.make_players(composed("evaluate", *FEW, f"ckpt={path}", "guess_threshold=0"), None)
    assert players[str(path)].guess_threshold == 0


def test_checkpoints_of_two_modes_need_a_mode(saved):
    small, wide = saved(), saved("wide.pt", SMALL | {"cols": 6})
    with pytest.raises(ValueError, match=r"^the checkpoints are of different modes, Mode\(rows=4, cols=5.* mode=$"):
        evaluated(f"ckpt=[{small},{wide}]")
    result = evaluated(f"ckpt=[{small},{wide}]", "mode=beginner", "solvers=[]", "games=2")
    assert (result["mode"]["cols"], len(result["rows"])) == (9, 2)
    result = evaluated(f"ckpt=[{small},{saved('again.pt')}]", "solvers=[]")
    assert (result["mode"], len(result["rows"])) == (SMALL, 2)


def test_without_a_checkpoint_the_bundled_ones_of_the_mode_play(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "BUNDLED", tmp_path / "bundled")
    result = evaluated("solvers=[exact]", "games=2")
    assert [row["solver"] for row in result["rows"]] == ["exact"]
    assert (result["mode"]["rows"], result["mode"]["mines"]) == (9, 10)
    for name in ("beginner", "expert"):
        saved(f"bundled/{name}_cnn.pt", dict(composed("train", f"mode={name}").mode))
    for name, rows in (("beginner", 9), ("expert", 16)):
        result = evaluated("solvers=[random]", f"mode={name}", "games=2", "games_alone=0")
        labels = [row["solver"] for row in result["rows"]]
        assert labels == [str(tmp_path / "bundled" / f"{name}_cnn.pt"), "random"]
        assert result["mode"]["rows"] == rows


def test_exported_boards_are_the_ones_that_were_played(saved, tmp_path):
    ckpt, file = f"ckpt={saved()}", tmp_path / "boards.txt"
    rows = rows_of(evaluated(ckpt, f"export_boards={file}", "first_click=any", "seed=4"))
    result = evaluated(ckpt, f"boards={file}", "seed=4", "games=1")
    assert rows_of(result) == rows
    assert (result["boards"], result["games"], result["mode"]) == (str(file), 20, SMALL | {"first_click": "any"})
    lines = file.read_text().split("\n\n")
    assert len(lines) == len(set(lines)) == 20
    with pytest.raises(ValueError, match=r"^boards= and mode= exclude each other"):
        evaluated(f"boards={file}", "mode=expert")
    with pytest.raises(ValueError, match=r"^export_boards= needs random boards"):
        evaluated(f"boards={file}", f"export_boards={file}")


def test_csv_rows_are_added(saved, tmp_path):
    result = evaluated(f"ckpt={saved()}")
    for _ in range(2):
        evaluate.add_to_csv(tmp_path / "a.csv", "csv", result)
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["solver"] for row in rows] == 2 * [row["solver"] for row in result["rows"]]
    assert rows[:3] == rows[3:]
    for row, expected in zip(rows, result["rows"], strict=False):
        assert [row[key] for key in ("rows", "cols", "mines", "seed", "games")] == ["4", "5", "4", "0", "20"]
        assert (row["command"], row["commit"]) == (result["command"], result["commit"])
        for key in ("win_rate", "win_rate_low", "minus_exact", "moves"):
            assert row[key] == ("" if key not in expected else str(round(expected[key], 6))), key


def lines_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_analyses_are_added_to_their_files(saved, tmp_path):
    """Of the first games alone, as the functions for one solver count them."""
    files = [f"calibration={tmp_path / 'c.csv'}", f"regrets={tmp_path / 'r.csv'}"]
    plain = evaluated(f"ckpt={saved()}")
    result = evaluated(f"ckpt={saved()}", *files, "games_analysed=15")
    assert rows_of(result) == rows_of(plain)
    assert list(result) == [*plain, "games_analysed", "calibration", "regrets"]
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    for key, analysis in (("calibration", Calibration), ("regrets", Regrets)):
        own = observed(analysis(), make_solver("exact"), evaluate.Mode(**SMALL), 15, 0, "corner").rows()
        assert [row for row in result[key] if row["solver"] == "exact"] == [{"solver": "exact", **row} for row in own]
        assert list(dict.fromkeys(row["solver"] for row in result[key])) == [row["solver"] for row in plain["rows"]]
        path = tmp_path / f"{key[0]}.csv"
        for _ in range(2):
            evaluate.add_to_csv(path, key, result)
        lines = lines_of(path)
        assert tuple(lines[0]) == evaluate.CSV_COLUMNS[key]
        assert lines[: len(result[key])] == lines[len(result[key]) :]
        for line, row in zip(lines, result[key], strict=False):
            assert [line[name] for name in ("rows", "cols", "mines", "games", "first_cell")] == [
                "4",
                "5",
                "4",
                "15",
                "corner",
            ]
            assert line["command"] == result["command"]
            for name, value in row.items():
                assert line[name] == str(round(value, 6) if isinstance(value, float) else value), name
    text = results_table(result).split("\n\n")
    assert [part.splitlines()[0] for part in text[1:]] == ["calibration, 15 games", "regrets, 15 games"]
    assert text[0] == results_table({key: result[key] for key in plain})


def test_the_rule_of_given_boards_is_said(tmp_path):
    file = tmp_path / "boards.txt"
    file.write_text("*..\n...\n")
    own = ("ckpt=[]", "solvers=[exact]", f"boards={file}", "first_cell=[1,2]")
    for given, rule, guesses in (("null", "any", 2.0), ("any", "any", 2.0), ("safe", "safe", 1.0)):
        result = evaluated(*own, f"first_click={given}")
        assert result["mode"]["first_click"] == rule
        assert f"first_click={rule}" in results_table(result)
        assert result["rows"][0]["guesses"] <= guesses


def test_one_analysis_alone_and_of_given_boards(tmp_path):
    """The corner wins the second game at once; in the first it leaves two cells with one mine."""
    file = tmp_path / "boards.txt"
    file.write_text("...\n..*\n\n....\n....\n...*\n")
    result = evaluated("ckpt=[]", "solvers=[exact]", f"boards={file}", f"regrets={tmp_path / 'r.csv'}")
    assert ("calibration" in result, result["games_analysed"], result["mode"]) == (False, 2, None)
    evaluate.add_to_csv(tmp_path / "r.csv", "regrets", result)
    (line,) = lines_of(tmp_path / "r.csv")
    assert [line[key] for key in ("rows", "boards", "games", "class")] == ["", str(file), "2", "guess_frontier"]
    assert [float(line[key]) for key in ("decisions", "risk", "regret")] == [1, 0.5, 0]


def test_all_solvers(saved):
    labels = [row["solver"] for row in evaluated(f"ckpt={saved()}", "solvers=all", "games=2", "judge=false")["rows"]]
    assert labels[1:] == list(SOLVERS)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("solvers=[exact,greedy]", f"solver must be one of {', '.join(SOLVERS)}, planner, got 'greedy'"),
        ("solvers=[{name:planner,depth:3}]", "solver planner has no setting 'depth'; it has ckpt, margin, candidates"),
        (
            "solvers=[{name:planner,ckpt:missing.pt}]",
            "no planner at 'missing.pt'; train one with `python",
        ),
        ("solvers=[{name:planner,ckpt:null}]", "no planner at None"),
        ("solvers=[{name:planner,device:cpu}]", "solver planner has no setting 'device'"),
        ("solvers=[{name:exact,device:cpu}]", "solver exact has no setting 'device'"),
        ("solvers=[{name:exact,endgame:many}]", "endgame must be 0 to 100000, got 'many'"),
        ("solvers=[{name:exact,tie_margin:null}]", "tie_margin must be 0 to 1, got None"),
        ("solvers=[{name:exact,depth:3}]", "solver exact has no setting 'depth'; it has tie_break"),
        (
            "solvers=[{tie_break:corner}]",
            "solvers: an entry must be a name, or {name: ..., setting: ...}, got {'tie_break': 'corner'}",
        ),
        ("solvers=[{name:exact,tie_break:left}]", "tie_break must be one of random, corner"),
        ("first_cell=middle", f"first_cell must be one of {FIRST_CELLS}, got 'middle'"),
        ("first_cell=[4,0]", f"first_cell must be one of {FIRST_CELLS} with row 0 to 3 and col 0 to 4, got [4, 0]"),
        ("first_cell=null", f"first_cell must be one of {FIRST_CELLS}"),
        ("solvers=[{name:exact,max_states:a}]", "max_states must be "),
        ("first_click=free", "first_click must be one of any, safe, zero, got 'free'"),
        ("csv=/no/such/folder/a.csv", "csv=/no/such/folder/a.csv: its folder does not exist"),
        ("out=/no/such/folder/a.json", "out=/no/such/folder/a.json: its folder does not exist"),
        ("games=0", "games must be an integer from 1 to 1000000000, got 0"),
        ("batch=2.5", "batch must be an integer from 1 to 1000000000, got 2.5"),
        ("games_analysed=0", "games_analysed must be an integer from 1 to 1000000000, got 0"),
        ("calibration=/no/such/folder/a.csv", "calibration=/no/such/folder/a.csv: its folder does not exist"),
        ("regrets=/tmp", "regrets=/tmp is a folder"),
        ("games_alone=-1", "games_alone must be an integer from 0 to 1000000000, got -1"),
        ("threads=all", "threads must be an integer from 1 to 1000000000, got 'all'"),
        ("seed=-1", "seed must be an integer from 0 to 4294967295, got -1"),
        ("seed=4294967296", "seed must be an integer from 0 to 4294967295, got 4294967296"),
        ("seed=null", "seed must be an integer from 0 to 4294967295, got None"),
        ("judge=exact", "judge must be one of True, False, got 'exact'"),
        ("guess_threshold=1.5", "guess_threshold must be a number from 0 to 1, got 1.5"),
        ("tie_break=left", "tie_break must be one of random, corner"),
        ("device=gpu", "device must be one of auto, cpu, cuda, got 'gpu'"),
        ("precision=fp8", "precision must be one of auto, bf16, float32, got 'fp8'"),
        ("ckpt=missing.pt", "no checkpoint at missing.pt; train one with"),
        ("solvers=null", "solvers"),
        ("solvers=[5]", "solver"),
        ("guess_threshold=low", "guess_threshold must be"),
        ("ckpt=5", "no checkpoint at 5"),
        ("out=5.5", "out"),
        ("out=/tmp", "out=/tmp"),
        ("+mode.rows=3", "mode"),
    ],
)
def test_refused(saved, override, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluated(f"ckpt={saved()}", override)


@pytest.mark.parametrize("override", ["guess_threshold=2", "tie_break=left", "guess_threshold=low"])
def test_refused_without_a_checkpoint(tmp_path, monkeypatch, override):
    monkeypatch.setattr(checkpoint, "BUNDLED", tmp_path)
    with pytest.raises(ValueError, match=override.partition("=")[0]):
        evaluated(override, "games=1")


def test_the_program_writes_json_and_a_table(saved, tmp_path):
    path, out = saved(), tmp_path / "file.json"
    command = [str(ROOT / "evaluate.py"), *FEW, f"ckpt={path}", f"out={out}"]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True)
    result = json.loads(out.read_text())
    assert result["command"] == " ".join(["python", *command])
    assert [row["solver"] for row in result["rows"]] == ["small.pt", "exact", "random"]
    lines = done.stdout.splitlines()
    assert lines[0] == "4x5, 4 mines, first_click=safe, first cell corner, 20 games, seed 0; 95% intervals"
    assert [line.split()[0] for line in lines[1:]] == ["solver", "small.pt", "exact", "random"]
    assert len({len(line) for line in lines[1:]}) == 1
    assert f"{100 * result['rows'][0]['win_rate']:.2f}" in lines[2]
    assert math.isclose(result["rows"][1]["win_rate"], float(lines[3].split()[1]) / 100, abs_tol=1e-4)

    with pytest.raises(SystemExit, match=r"^error: seed must be an integer from 0 to 4294967295, got -1$"):
        program("evaluate.py", *command[1:], "seed=-1")


def test_help_shows_every_setting(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        program("evaluate.py", "--help")
    shown = capsys.readouterr().out.splitlines()
    assert "python evaluate.py [key=value ...]" in shown
    assert "mode: beginner, expert, intermediate" in shown
    for key in set(OmegaConf.load(CONFIGS / "evaluate.yaml")) - {"defaults", "hydra", "solvers"}:
        assert any(line.startswith(f"{key}: ") for line in shown), key


def test_no_file_of_another_kind_is_overwritten(saved, tmp_path):
    path = saved()
    before = Path(path).read_bytes()
    with pytest.raises(ValueError, match="holds no JSON; it is not overwritten"):
        evaluated(f"ckpt={path}", f"out={path}")
    assert Path(path).read_bytes() == before
    table = tmp_path / "other.csv"
    table.write_text("a,b,c\n1,2,3")
    with pytest.raises(ValueError, match="is another table; its first line must be rows,cols,mines"):
        evaluated(f"ckpt={path}", f"csv={table}")
    for key in ("calibration", "regrets"):
        with pytest.raises(ValueError, match=f"{key}=.* is another table; its first line must be rows,cols,mines"):
            evaluated(f"ckpt={path}", f"{key}={table}")
    assert table.read_text() == "a,b,c\n1,2,3"
    with pytest.raises(ValueError, match=r"^regrets=.*new.csv is the file of csv= too; give each its own$"):
        evaluated(f"ckpt={path}", f"csv={tmp_path / 'new.csv'}", f"regrets={tmp_path / 'new.csv'}")
