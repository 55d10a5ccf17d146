"""The arena: against a plain loop over single games, the same boards for all, what each field means, win rates.

One file, since all of it is about what `play_games` and `play_boards` return for the same few players.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from minesweeper import arena
from minesweeper.arena import FIRST_CELLS, check_first_cell, choice_keys, first_cells, play_games
from minesweeper.board import HIDDEN
from minesweeper.games import LOST, PLAYING, WON, Games
from minesweeper.mode import MODES, Mode
from minesweeper.posterior import mine_posterior
from minesweeper.solvers import SOLVERS, Solver, make_solver

BEGINNER = MODES["beginner"]
SMALL = Mode(5, 8, 7)
RESULTS = ("won", "guess_free", "guesses", "moves")


class BoldSolver(Solver):
    """Takes every cell up to 25% for safe, by the exact posterior; so it claims what it has not proved."""

    name = "bold"
    guess_threshold = 0.25

    def mine_probabilities(self, views, num_mines):
        return mine_posterior(views, num_mines)


class StubbornSolver(Solver):
    """Reveals the first hidden cell, but in the 6th game of a batch of new ones a revealed one."""

    name = "stubborn"

    def choose(self, views, num_mines, keys):  # noqa: ARG002
        flat = (views == HIDDEN).reshape(len(views), -1)
        chosen = np.zeros_like(flat)
        chosen[np.arange(len(views)), flat.argmax(axis=1)] = True
        chosen[5] = ~flat[5]
        return chosen.reshape(views.shape), np.ones(len(views), bool)


def play_alone(solver, mode, index, seed, first_cell, judge=False):
    """One game in a plain loop: (won, guess_free, guesses, moves, whether every cell opened was proved safe)."""
    game = Games(mode, 1, seed, first_index=index)
    is_promised = mode.first_click != "any"
    guesses, was_proved, decision = 0, True, 0
    if first_cell != "solver":
        game.reveal(*first_cells(first_cell, game))
        guesses += not is_promised
        was_proved &= is_promised
    while game.status[0] == PLAYING:
        decision += 1
        is_first = game.moves[0] == 0
        chosen, is_guess = solver.choose(game.views, mode.mines, choice_keys(game, decision))
        cells = np.argwhere(chosen[0])
        if is_first and is_promised:
            cells = cells[:1]
        else:
            guesses += int(is_guess[0])
            if judge:
                was_proved &= bool((mine_posterior(game.views, mode.mines)[0][tuple(cells.T)] == 0.0).all())
        for row, col in cells:
            game.reveal(int(row), int(col))
    won = bool(game.status[0] == WON)
    return won, won and guesses == 0, guesses, int(game.moves[0]), won and was_proved


def assert_same_records(records, others):
    for field in RESULTS:
        np.testing.assert_array_equal(records[field], others[field], err_msg=field)


@pytest.fixture
def played(monkeypatch):
    """The `Games` that the arena makes, in order."""
    made = []

    class RecordedGames(Games):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(arena, "Games", RecordedGames)
    return made


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("first_click", ["any", "safe", "zero"])
@pytest.mark.parametrize("first_cell", [*FIRST_CELLS, (4, 1)])
def test_equals_a_plain_loop(name, first_click, first_cell):
    mode, solver = replace(SMALL, first_click=first_click), make_solver(name)
    records = play_games(solver, mode, 60, seed=3, first_cell=first_cell, batch=25)
    for index, record in enumerate(records):
        expected = play_alone(solver, mode, index, 3, first_cell)
        assert tuple(record[field] for field in RESULTS) == expected[:4]
    assert (records.moves >= 1).all()
    assert records.guesses.sum() > 0
    if name == "exact":
        assert 0 < records.won.sum() < 60
        assert (first_click == "any") != records.guess_free.any()


def test_fields():
    records = play_games(make_solver("exact"), SMALL, 20)
    assert records.dtype.names == ("won", "guess_free", "guesses", "moves", "seconds")
    assert [records.dtype[name].kind for name in records.dtype.names] == ["b", "b", "i", "i", "f"]
    assert len(records) == 20
    assert (records.seconds > 0).sum() >= (records.moves > 1).sum() > 0
    np.testing.assert_array_equal(records.guess_free, records.won & (records.guesses == 0))
    with_judge = play_games(make_solver("exact"), SMALL, 20, judge=make_solver("exact"))
    assert with_judge.dtype.names == (*records.dtype.names, "judged_guess_free")


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("batch", [1, 7, 64, 100_000])
def test_batches_change_nothing(name, batch):
    solver = make_solver(name)
    for mode, first_cell in ((SMALL, "random"), (replace(SMALL, first_click="any"), "solver")):
        expected = play_games(solver, mode, 150, seed=4, first_cell=first_cell)
        assert_same_records(play_games(solver, mode, 150, seed=4, first_cell=first_cell, batch=batch), expected)
        assert_same_records(play_games(solver, mode, 150, seed=4, first_cell=first_cell), expected)
        first = play_games(solver, mode, 40, seed=4, first_cell=first_cell, batch=batch)
        assert_same_records(first, expected[:40])


def test_seeds_change_the_games():
    records = [play_games(make_solver("exact"), SMALL, 150, seed=seed) for seed in (0, 1)]
    assert (records[0].moves != records[1].moves).mean() > 0.5


@pytest.mark.parametrize("first_cell", ["random", "corner", "centre", (2, 6)])
def test_each_board_once_and_the_same_for_every_solver(played, first_cell):
    expected = Games(SMALL, 90, seed=5)
    expected.reveal(*first_cells(first_cell, expected))
    solvers = [*(make_solver(name, tie_break=rule) for name in SOLVERS for rule in ("random", "corner")), BoldSolver()]
    for solver in solvers:
        played.clear()
        records = play_games(solver, SMALL, 90, seed=5, first_cell=first_cell, batch=40)
        assert [games.num_games for games in played] == [40, 40, 10]
        np.testing.assert_array_equal(np.concatenate([games.index for games in played]), np.arange(90))
        np.testing.assert_array_equal(np.concatenate([games.mines for games in played]), expected.mines)
        status = np.concatenate([games.status for games in played])
        assert (status != PLAYING).all()
        np.testing.assert_array_equal(records.won, status == WON)
        np.testing.assert_array_equal(records.moves, np.concatenate([games.moves for games in played]))
    assert len(np.unique(expected.mines, axis=0)) == 90


@pytest.mark.parametrize(
    ("first_cell", "cell"), [("corner", (0, 0)), ("centre", (2, 4)), ((4, 7), (4, 7)), ([3, 0], (3, 0))]
)
def test_first_cells(first_cell, cell):
    games = Games(SMALL, 3)
    rows, cols = first_cells(first_cell, games)
    assert (rows.tolist(), cols.tolist()) == ([cell[0]] * 3, [cell[1]] * 3)


def test_centre_of_odd_and_even_boards():
    for (rows, cols), centre in {(9, 9): (4, 4), (16, 30): (8, 15), (1, 7): (0, 3), (2, 1): (1, 0)}.items():
        cells = first_cells("centre", Games(Mode(rows, cols, 1), 1))
        assert (int(cells[0][0]), int(cells[1][0])) == centre


def test_random_first_cells_are_uniform_and_depend_on_seed_and_index():
    games = Games(SMALL, 8000, seed=6)
    rows, cols = first_cells("random", games)
    assert 1e-3 < chisquare(np.bincount(rows * 8 + cols, minlength=40)).pvalue < 1 - 1e-3
    later = first_cells("random", Games(SMALL, 100, seed=6, first_index=500))
    np.testing.assert_array_equal(later, (rows[500:600], cols[500:600]))
    other = first_cells("random", Games(SMALL, 8000, seed=7))
    assert ((other[0] == rows) & (other[1] == cols)).mean() < 0.1


def test_choice_keys_depend_on_seed_index_and_move():
    games = Games(SMALL, 50, seed=6)
    keys = np.concatenate([choice_keys(games, move) for move in range(1, 20)])
    keys = np.concatenate([keys, choice_keys(Games(SMALL, 50, seed=7), 1)])
    assert len(np.unique(keys)) == 20 * 50
    later = choice_keys(Games(SMALL, 10, seed=6, first_index=20), 3)
    np.testing.assert_array_equal(later, choice_keys(games, 3)[20:30])


def test_what_counts_as_a_guess_on_the_first_cell():
    """Boards without other decisions: all cells but one are mines, so the first cell ends the game."""
    for first_cell in ("corner", "solver"):
        safe = play_games(make_solver("exact"), Mode(2, 3, 5, "safe"), 200, first_cell=first_cell)
        assert (safe.won & safe.guess_free & (safe.guesses == 0) & (safe.moves == 1)).all()
        any_cell = play_games(make_solver("exact"), Mode(2, 3, 5, "any"), 200, first_cell=first_cell)
        assert ((any_cell.guesses == 1) & (any_cell.moves == 1)).all()
        assert not any_cell.guess_free.any()
        assert binom.ppf(1e-4, 200, 1 / 6) <= any_cell.won.sum() <= binom.ppf(1 - 1e-4, 200, 1 / 6)
    proved = play_games(make_solver("exact"), Mode(2, 3, 0, "any", openings=False), 5, first_cell="solver")
    assert (proved.guess_free & (proved.guesses == 0) & (proved.moves == 6)).all()


def test_a_promised_first_cell_is_one_cell():
    """The bold solver takes all cells of a new board for safe; only its first cell is covered by the promise."""
    mode = Mode(4, 6, 5, "safe")
    records = play_games(BoldSolver(), mode, 60, seed=8, first_cell="solver")
    for index, record in enumerate(records):
        assert tuple(record[field] for field in RESULTS) == play_alone(BoldSolver(), mode, index, 8, "solver")[:4]
    assert (records.moves > 1).any()


@pytest.mark.parametrize("first_click", ["any", "safe", "zero"])
@pytest.mark.parametrize("first_cell", ["random", "solver"])
def test_the_judge_agrees_with_the_exact_solver(first_click, first_cell):
    mode = replace(SMALL, first_click=first_click)
    records = play_games(make_solver("exact"), mode, 300, 9, first_cell, judge=make_solver("exact"))
    np.testing.assert_array_equal(records.judged_guess_free, records.guess_free)
    assert records.guess_free.any() == (first_click != "any")
    assert_same_records(records, play_games(make_solver("exact"), mode, 300, 9, first_cell))


@pytest.mark.parametrize("first_cell", ["random", "solver"])
def test_the_judge_sees_through_claims(first_cell):
    """The bold solver counts no guess up to its own threshold; the judge does."""
    records = play_games(BoldSolver(), SMALL, 150, 10, first_cell, batch=64, judge=make_solver("exact"))
    expected = [play_alone(BoldSolver(), SMALL, index, 10, first_cell, judge=True) for index in range(150)]
    assert records.judged_guess_free.tolist() == [game[4] for game in expected]
    assert not (records.judged_guess_free & ~records.won).any()
    assert 0 < records.judged_guess_free.sum() < records.guess_free.sum()


@pytest.mark.parametrize("mode", [SMALL, replace(SMALL, first_click="any")])
@pytest.mark.parametrize("first_cell", ["random", "solver"])
def test_observers_see_every_decision(played, mode, first_cell):
    """Replaying what they saw gives the same games; a first cell that is given or promised safe is no decision."""
    seen, counted = [], []
    observers = [seen.append, lambda decisions: counted.append(len(decisions.views))]
    records = play_games(BoldSolver(), mode, 80, 13, first_cell, batch=30, observers=observers)
    assert_same_records(records, play_games(BoldSolver(), mode, 80, 13, first_cell))
    assert counted == [len(decisions.views) for decisions in seen]
    is_decided = records.moves > (first_cell == "random")  # not lost by the cell that was given
    assert sum(decisions.is_lost.sum() for decisions in seen) == (~records.won & is_decided).sum() > 0
    num_new = sum((decisions.views == HIDDEN).all(axis=(1, 2)).sum() for decisions in seen)
    assert num_new == (80 if first_cell == "solver" and mode.first_click == "any" else 0)
    boards = {mines.tobytes() for games in played[:3] for mines in games.mines}
    for decisions in seen:
        assert decisions.num_mines == mode.mines
        assert decisions.chosen.any(axis=(1, 2)).all()
        assert (decisions.views[decisions.chosen] == HIDDEN).all()
        np.testing.assert_array_equal(decisions.predicted, BoldSolver().mine_probabilities(decisions.views, mode.mines))
        assert {mines.tobytes() for mines in decisions.mines} <= boards
        for view, chosen, mines, is_lost in zip(
            decisions.views, decisions.chosen, decisions.mines, decisions.is_lost, strict=True
        ):
            game = Games.on_boards(mines[None])
            game.reveal_mask((view != HIDDEN)[None])
            np.testing.assert_array_equal(game.views[0], view)
            game.reveal_mask(chosen[None])
            assert (game.status[0] == LOST) == is_lost


@pytest.mark.parametrize("batch", [1, 9, 50, 1000])
def test_progress_adds_up(batch):
    finished = []
    play_games(make_solver("exact"), SMALL, 101, batch=batch, progress=finished.append)
    assert sum(finished) == 101
    assert min(finished) > 0
    assert max(finished) <= batch


def test_a_solver_that_chooses_no_hidden_cell():
    message = "solver stubborn chose no hidden cell in game 5"
    with pytest.raises(ValueError, match=f"^{message}$"):
        play_games(StubbornSolver(), Mode(4, 6, 0, openings=False), 20, first_cell="corner")


CELL_WANTED = "first_cell must be one of random, corner, centre, solver or [row, col] with row 0 to 4 and col 0 to 7"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_games": 0}, "num_games must be an integer of at least 1, got 0"),
        ({"num_games": 10.0}, "num_games must be an integer of at least 1, got 10.0"),
        ({"num_games": True}, "num_games must be an integer of at least 1, got True"),
        ({"batch": 0}, "batch must be an integer of at least 1, got 0"),
        ({"batch": "8"}, "batch must be an integer of at least 1, got '8'"),
        ({"batch": False}, "batch must be an integer of at least 1, got False"),
        ({"seed": -1}, "seed must be an integer from 0 to 18446744073709551615, got -1"),
        ({"seed": None}, "seed must be an integer from 0 to 18446744073709551615, got None"),
        (
            {"first_cell": "middle"},
            "first_cell must be one of random, corner, centre, solver or [row, col], got 'middle'",
        ),
        ({"first_cell": 5}, f"{CELL_WANTED}, got 5"),
        ({"first_cell": None}, f"{CELL_WANTED}, got None"),
        ({"first_cell": (True, False)}, f"{CELL_WANTED}, got (True, False)"),
        ({"first_cell": (5, 0)}, f"{CELL_WANTED}, got {(5, 0)}"),
        ({"first_cell": (0, 8)}, f"{CELL_WANTED}, got {(0, 8)}"),
        ({"first_cell": (-1, 0)}, f"{CELL_WANTED}, got {(-1, 0)}"),
        ({"first_cell": (1, 2, 3)}, f"{CELL_WANTED}, got {(1, 2, 3)}"),
        ({"first_cell": []}, f"{CELL_WANTED}, got {[]}"),
        ({"first_cell": [1.0, 2.0]}, f"{CELL_WANTED}, got {[1.0, 2.0]}"),
    ],
)
def test_refused_settings(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        play_games(make_solver("random"), SMALL, **({"num_games": 10} | settings))


def test_first_cells_that_are_allowed():
    for first_cell in (*FIRST_CELLS, (0, 0), [4, 7], np.array([4, 7])):
        check_first_cell(first_cell, SMALL)


def test_win_rate_of_the_exact_solver():
    """Beginner, first click safe and in the corner, random ties: 89.4%; four standard deviations either way."""
    records = play_games(make_solver("exact"), BEGINNER, 4000, seed=11, first_cell="corner")
    low, high = binom.interval(1 - 6e-5, 4000, 0.894)
    assert low <= records.won.sum() <= high
    assert records.guess_free.sum() < records.won.sum()


def test_win_rate_of_random_cells():
    """A random game needs about 20 safe reveals in a row; it wins less than one in a thousand."""
    records = play_games(make_solver("random"), BEGINNER, 2000, seed=11, first_cell="corner")
    assert records.won.sum() <= 2
    assert records.moves.mean() > 1.5


def test_an_easier_first_click_wins_more():
    won = [
        play_games(make_solver("exact"), replace(BEGINNER, first_click=first_click), 2000, 12, "centre").won.mean()
        for first_click in ("any", "safe", "zero")
    ]
    assert won[0] + 0.05 < won[1] < won[2] - 0.05


@pytest.mark.parametrize(
    ("name", "mode", "settings", "expected"),
    [
        ("exact", "beginner", {}, (422, 184, 650, 9213)),
        ("exact", "beginner", {"tie_break": "corner"}, (439, 184, 480, 9612)),
        ("exact", "expert", {}, (34, 3, 454, 14265)),
        ("random", "beginner", {}, (0, 0, 2174, 2674)),
    ],
)
def test_recorded_results(name, mode, settings, expected):
    """Seed 0: games won, games won without a guess, guesses and moves. Any change here is a change of results."""
    num_games = 500 if mode == "beginner" else 100
    records = play_games(make_solver(name, **settings), MODES[mode], num_games)
    assert tuple(int(records[field].sum()) for field in RESULTS) == expected
