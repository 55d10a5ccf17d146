"""Records of games in a file: kept as games end, gone on from, and never mixed with those of other games."""

import importlib
import json
import sys

import numpy as np
import pytest
from tiny_training import composed

import evaluate
from minesweeper import MODES, make_solver, play_games, recordfile
from minesweeper.recordfile import RecordFile, code_digest, play_on

SETTINGS = ("ckpt=[]", "mode=beginner", "games_alone=0", "batch=10", "threads=1")


def evaluated(path, *overrides):
    return evaluate.evaluate(composed("evaluate", *SETTINGS, f"records={path}", *overrides))


def without_times(rows):
    return [{key: value for key, value in row.items() if not key.startswith("ms_")} for row in rows]


@pytest.fixture
def stops(monkeypatch):
    """Lets the program be stopped before the n-th piece of games."""

    def at(number):
        count = 0

        def play(*args, **more):
            nonlocal count
            count += 1
            if count == number:
                raise KeyboardInterrupt
            return play_games(*args, **more)

        monkeypatch.setattr(evaluate, "play_games", play)

    return at


def test_the_file_holds_what_was_played(tmp_path):
    path = tmp_path / "games.npz"
    evaluated(path, "games=25", "solvers=[exact,random]", "seed=4")
    with np.load(path) as file:
        assert file.files == ["about", "exact", "random"]
        about = json.loads(str(file["about"]))
        assert about["mode"] == {"rows": 9, "cols": 9, "mines": 10, "first_click": "safe", "openings": True}
        assert (about["seed"], about["first_cell"]) == (4, "corner")
        expected = play_games(make_solver("exact"), MODES["beginner"], 25, 4, "corner")
        for name in ("won", "guess_free", "guesses", "moves"):
            np.testing.assert_array_equal(file["exact"][name], expected[name])


def test_a_stopped_evaluation_goes_on_and_ends_as_if_it_had_never_stopped(tmp_path, stops):
    path, settings = tmp_path / "games.npz", ("games=45", "solvers=[exact,random]")
    expected = evaluate.evaluate(composed("evaluate", *SETTINGS, *settings))
    stops(9)  # a warm-up and five pieces of the first, a warm-up and one piece of the second
    with pytest.raises(KeyboardInterrupt):
        evaluated(path, *settings)
    with np.load(path) as file:
        assert [len(file["exact"]), len(file["random"])] == [45, 10]
    stops(6)  # a warm-up and the four pieces that are left: more would be refused
    assert without_times(evaluated(path, *settings)["rows"]) == without_times(expected["rows"])
    stops(1)
    assert without_times(evaluated(path, *settings)["rows"]) == without_times(expected["rows"])


def test_more_games_and_more_solvers_are_added_and_fewer_are_the_first(tmp_path):
    path = tmp_path / "games.npz"
    evaluated(path, "games=12", "solvers=[exact]")
    more = evaluated(path, "games=30", "solvers=[random,exact]")
    assert [row["solver"] for row in more["rows"]] == ["random", "exact"]
    fewer = evaluated(path, "games=12", "solvers=[exact]")
    with np.load(path) as file:
        assert [len(file["exact"]), len(file["random"])] == [30, 30]
        assert fewer["rows"][0]["win_rate"] == file["exact"]["won"][:12].mean()
        assert more["rows"][1]["win_rate"] == file["exact"]["won"].mean()


def test_given_boards_are_kept_a_solver_at_a_time(tmp_path):
    boards, path = tmp_path / "boards.txt", tmp_path / "games.npz"
    boards.write_text("*..\n...\n\n.*\n..\n")
    own = ("ckpt=[]", "games_alone=0", "threads=1", "solvers=[exact]", f"records={path}")
    first = evaluate.evaluate(composed("evaluate", *own, f"boards={boards}"))
    again = evaluate.evaluate(composed("evaluate", *own, f"boards={boards}"))
    assert first["rows"] == again["rows"]  # the times too: nothing was played
    boards.write_text("*..\n...\n\n..\n.*\n")
    with pytest.raises(ValueError, match=r"^.*games.npz has games with boards_sha256="):
        evaluate.evaluate(composed("evaluate", *own, f"boards={boards}"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=1", r"games.npz has games with seed=0, these have seed=1; give another file$"),
        ("first_cell=centre", "first_cell=corner, these have first_cell=centre"),
        ("mode=expert", "these have mode="),
        ("judge=false", "judge=True"),
    ],
)
def test_other_games_are_refused_and_the_file_stays(tmp_path, override, message):
    path = tmp_path / "games.npz"
    evaluated(path, "games=3", "solvers=[exact]")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        evaluated(path, "games=3", "solvers=[exact]", override)
    assert path.read_bytes() == before


def test_another_checkpoint_under_the_same_name_is_refused(tmp_path):
    settings = {"name": "planner", "ckpt": str(tmp_path / "planner.pt")}
    for content in (b"one", b"two"):
        (tmp_path / "planner.pt").write_bytes(content)
        cfg = composed("evaluate", *SETTINGS)
        cfg.solvers = [settings]
        about = evaluate.games_depend_on(cfg, {}, None)
        if content == b"one":
            RecordFile(tmp_path / "games.npz", about).write()
    with pytest.raises(ValueError, match=r"has games with sha256 of .*planner.pt="):
        RecordFile(tmp_path / "games.npz", about)


@pytest.mark.parametrize("content", [b"no archive", b"PK\x03\x04 half of one"])
def test_a_file_of_another_kind_is_not_overwritten(tmp_path, content):
    path = tmp_path / "games.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="holds no records of games; it is not overwritten"):
        evaluated(path, "games=3", "solvers=[exact]")
    np.savez(path, about=json.dumps({}), other=np.zeros(3))
    with pytest.raises(ValueError, match="holds no records of games; it is not overwritten"):
        evaluated(path, "games=3", "solvers=[exact]")


def test_where_it_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match=r"records=.*: its folder does not exist"):
        evaluated(tmp_path / "none" / "games.npz", "games=3")
    with pytest.raises(ValueError, match="is the file of out= too"):
        evaluated(tmp_path / "games.npz", "games=3", f"out={tmp_path / 'games.npz'}")


def test_a_while_passes_between_two_writes(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(recordfile.time, "monotonic", lambda: now[0])
    file = RecordFile(tmp_path / "games.npz", {})
    seen = []

    def play(count, first):
        now[0] += 6
        seen.append(file.path.exists() and len(np.load(file.path)["it"]))
        return play_games(make_solver("exact"), MODES["beginner"], count, first_index=first)

    play_on(file, "it", 40, 10, play)
    assert seen == [False, False, 20, 20]
    assert len(np.load(file.path)["it"]) == 40


SOLVER = """
import numpy as np
from minesweeper.solvers.base import Solver

class Own(Solver):
    name = "own"

    def mine_probabilities(self, views, num_mines):
        return np.where(views == -2, 0.5, np.nan)
"""


def test_only_the_code_of_a_solver_counts(tmp_path, monkeypatch):
    """Its file, and those of what it uses; not those of other solvers."""
    package = tmp_path / "minesweeper"
    package.mkdir()
    monkeypatch.setattr(recordfile, "__file__", str(package / "recordfile.py"))
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for text in (SOLVER, SOLVER, SOLVER.replace("0.5", "0.4")):
        (tmp_path / "own_solver.py").write_text(text)
        monkeypatch.delitem(sys.modules, "own_solver", raising=False)
        digests.append(code_digest(importlib.import_module("own_solver").Own()))
    assert digests[0] == digests[1] != digests[2]
    monkeypatch.undo()
    exact, knowledge, planner = (code_digest(make_solver(name)) for name in ("exact", "knowledge", "equalize"))
    assert len({exact, knowledge, planner}) == 3
    assert exact == code_digest(make_solver("exact", tie_break="corner"))  # settings are in the label
    assert code_digest(play_games) != code_digest(make_solver)
    assert code_digest(None) == code_digest("a builtin")


def test_a_solver_that_was_edited_is_refused_and_the_others_go_on(tmp_path, monkeypatch):
    path = tmp_path / "games.npz"
    evaluated(path, "games=12", "solvers=[exact,random]")
    digest = evaluate.code_digest
    monkeypatch.setattr(
        evaluate, "code_digest",
        lambda *things: "another" if type(things[2]).__name__ == "RandomCellSolver" else digest(*things),
    )  # fmt: skip
    with pytest.raises(ValueError, match="has games with code of random="):
        evaluated(path, "games=12", "solvers=[exact,random]")
    evaluated(path, "games=20", "solvers=[exact]")
