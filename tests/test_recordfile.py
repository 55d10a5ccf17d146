"""Records of games in a file: kept as games end, gone on from, and never mixed with those of other games."""

import importlib
import json
import os
import sys
from functools import partial

import numpy as np
import pytest
from tiny_training import composed, save_small

import evaluate
from minesweeper import MODES, make_solver, play_games, recordfile
from minesweeper.arena import RECORD
from minesweeper.recordfile import RecordFile, code_digest, play_on
from models import players

BEGINNER = {"rows": 9, "cols": 9, "mines": 10, "first_click": "safe", "openings": True}
SETTINGS = ("ckpt=[]", "mode=beginner", "games_alone=0", "batch=10", "threads=1")


def evaluated(path, *overrides):
    return evaluate.evaluate(composed("evaluate", *SETTINGS, f"records={path}", *overrides))


def without_times(rows):
    return [{key: value for key, value in row.items() if not key.startswith("ms_")} for row in rows]


@pytest.fixture
def network(tmp_path):
    """Writes a checkpoint of a small random network and returns its path."""

    def save(seed=0):
        return save_small(tmp_path / "beginner_tiny.pt", BEGINNER, guess_threshold=0.01, seed=seed)

    return save


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
        assert about["mode"] == BEGINNER
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
    with pytest.raises(ValueError, match=r"^.*games.npz has games with boards="):
        evaluate.evaluate(composed("evaluate", *own, f"boards={boards}"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=1", r"games.npz has games with seed=0, these have seed=1; give another file$"),
        ("first_cell=centre", "first_cell=corner, these have first_cell=centre"),
        ("mode=expert", "these have mode="),
        ("first_click=zero", "these have mode="),
        ("judge=false", "has games of .*beginner_tiny.pt with judge=True, these have judge=False"),
        ("guess_threshold=0.2", "with guess_threshold=0.01, these have guess_threshold=0.2"),
        ("tie_break=corner", "with tie_break=random, these have tie_break=corner"),
    ],
)
def test_other_games_are_refused_and_the_file_stays(tmp_path, network, override, message):
    path = tmp_path / "games.npz"
    own = (f"ckpt={network()}", "games=3", "solvers=[exact]", "precision=float32", "device=cpu")
    evaluated(path, *own)
    before = np.load(path)["exact"].tolist()
    with pytest.raises(ValueError, match=message):
        evaluated(path, *own, override)
    assert np.load(path)["exact"].tolist() == before
    evaluated(path, "games=3", "solvers=[exact]", "judge=false", "tie_break=corner")  # of learned solvers alone


def test_other_weights_under_the_same_name_are_refused(tmp_path, network, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "games.npz"
    evaluated(path, f"ckpt={network(seed=0)}", "games=3", "solvers=[]")
    network(seed=1)
    with pytest.raises(ValueError, match=r"games.npz has games of beginner_tiny.pt with weights="):
        evaluated(path, "ckpt=./beginner_tiny.pt", "games=3", "solvers=[]")


@pytest.mark.parametrize("content", [b"no archive", b"PK\x03\x04 half of one"])
def test_a_file_of_another_kind_is_not_overwritten(tmp_path, content):
    path = tmp_path / "games.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="holds no records of games; it is not overwritten"):
        evaluated(path, "games=3", "solvers=[exact]")


def test_where_it_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match=r"records=.*: its folder does not exist"):
        evaluated(tmp_path / "none" / "games.npz", "games=3")
    with pytest.raises(ValueError, match="is the file of out= too"):
        evaluated(tmp_path / "games.npz", "games=3", f"out={tmp_path / 'games.npz'}")


@pytest.mark.parametrize(
    "content",
    [
        {"about": json.dumps({"solvers": {"it": {}}}), "it": np.zeros(3)},
        {"about": json.dumps({"solvers": {"it": {}}}), "it": np.zeros((3, 1), RECORD)},
        {"about": json.dumps({"solvers": {"it": {}}}), "it": np.zeros(3, RECORD.descr[:-1])},
        {"about": json.dumps({"solvers": {}}), "it": np.zeros(3, RECORD)},
        {"about": json.dumps({"solvers": {"it": {}}, "more": 1}), "it": np.zeros(3, RECORD)},
        {"about": json.dumps([1]), "it": np.zeros(3, RECORD)},
        {"it": np.zeros(3, RECORD)},
    ],
)
def test_archives_of_other_things(tmp_path, content):
    path = tmp_path / "games.npz"
    np.savez(path, **content)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="holds no records of games; it is not overwritten"):
        RecordFile(path, {})
    assert path.read_bytes() == before


def test_what_is_no_file_and_links(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"pipe is no file for records$"):
        RecordFile(tmp_path / "pipe", {})
    (tmp_path / "link.npz").symlink_to(tmp_path / "games.npz")
    RecordFile(tmp_path / "link.npz", {})
    assert (tmp_path / "link.npz").is_symlink()
    assert (tmp_path / "games.npz").is_file()
    (tmp_path / "lost.npz").symlink_to(tmp_path / "missing" / "games.npz")
    with pytest.raises(ValueError, match=r"records=.*lost.npz cannot be written: .*No such file"):
        evaluated(tmp_path / "lost.npz", "games=3")


@pytest.mark.parametrize("label", ["about", "file", "allow_pickle", "x.npy"])
def test_labels_that_cannot_be_kept(tmp_path, label):
    with pytest.raises(ValueError, match=f"cannot be kept under the label '{label}'"):
        RecordFile(tmp_path / "games.npz", {}).of(label, {})


def played(count, first):
    return play_games(make_solver("exact"), MODES["beginner"], count, first_index=first)


def test_a_while_passes_between_two_writes(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(recordfile.time, "monotonic", lambda: now[0])
    file = RecordFile(tmp_path / "games.npz", {})
    seen = []

    def play(count, first):
        now[0] += 6
        with np.load(file.path) as kept:
            seen.append(len(kept["it"]) if "it" in kept.files else 0)
        return played(count, first)

    play_on(file.of("it", {}), 40, 10, play, partial(file.add, "it"))
    assert seen == [0, 0, 20, 20]
    file.write()
    assert len(np.load(file.path)["it"]) == 40


def test_games_go_on_where_records_can_no_longer_be_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(recordfile, "_SECONDS_BETWEEN", 0.0)
    file = RecordFile(tmp_path / "games.npz", {})

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recordfile.np, "savez", full)
    records = play_on(file.of("it", {}), 20, 10, played, partial(file.add, "it"))
    assert len(records) == 20
    assert capsys.readouterr().err.count("error: records are not kept: [Errno 28] No space left on device") == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["games.npz"]


def test_another_program_that_writes_to_the_file_is_left_alone(tmp_path, capsys):
    path = tmp_path / "games.npz"
    first = RecordFile(path, {})
    second = RecordFile(path, {})
    for file, count in ((second, 10), (first, 5)):
        play_on(file.of("it", {}), count, 5, played, partial(file.add, "it"))
        file.write()
    assert "records are not kept: something else has written to" in capsys.readouterr().err
    assert len(np.load(path)["it"]) == 10


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
    digest = players.code_digest

    def edited(*things):
        return "another" if type(things[1]).__name__ == "RandomCellSolver" else digest(*things)

    monkeypatch.setattr(players, "code_digest", edited)
    with pytest.raises(ValueError, match="has games of random with code="):
        evaluated(path, "games=30", "solvers=[exact,random]")
    assert len(np.load(path)["exact"]) == 12  # nothing was played before it was found
    evaluated(path, "games=20", "solvers=[exact]")
