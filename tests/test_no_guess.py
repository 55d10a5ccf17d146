"""Boards that need no guess: proofs alone win them, each such board is equally likely, and a hopeless search ends."""

import time

import numpy as np
import pytest
from playing import Player, cells, client_of

import web.service
from minesweeper import PLAYING, WON, Games, Mode, make_solver, mine_posterior
from web import no_guess
from web.no_guess import find_no_guess, need_no_guess
from web.validation import RefusedError


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("play")) as client:
        yield client


def wins_by_proofs(mode, seed, board, cell):
    """By a plain loop over the exact posterior alone."""
    games = Games(mode, 1, seed, first_index=board)
    games.reveal(*cell)
    while games.status[0] == PLAYING:
        safe = mine_posterior(games.views, mode.mines) == 0.0
        if not safe.any():
            return False
        games.reveal_mask(safe)
    assert games.status[0] == WON
    return True


@pytest.mark.parametrize(("mode", "cell"), [
    (Mode(9, 9, 10), (4, 4)), (Mode(9, 9, 10, "any"), (0, 0)), (Mode(5, 8, 12, "zero"), (2, 3)),
    (Mode(16, 30, 99), (8, 15)), (Mode(3, 3, 5), (0, 0)), (Mode(1, 5, 2), (0, 0)), (Mode(4, 4, 0), (0, 0)),
])  # fmt: skip
def test_it_is_the_first_board_that_proofs_win(mode, cell):
    for seed in range(3):
        board, tried, rule = find_no_guess(mode, seed, cell, 60.0)
        rules = Mode(mode.rows, mode.cols, mode.mines, rule)
        assert tried == board + 1
        first = next(index for index in range(tried) if wins_by_proofs(rules, seed, index, cell))
        assert board == first


def test_the_rule_is_zero_where_there_is_room():
    assert find_no_guess(Mode(9, 9, 10), 0, (4, 4), 60.0).rule == "zero"
    assert find_no_guess(Mode(3, 3, 5), 0, (0, 0), 60.0).rule == "zero"
    assert find_no_guess(Mode(3, 3, 5), 0, (1, 1), 0.01).rule == "safe"


@pytest.mark.parametrize("first", [1, 3, 16])
def test_the_batches_change_nothing(monkeypatch, first):
    expected = [find_no_guess(Mode(9, 9, 16), seed, (4, 4), 60.0) for seed in range(5)]
    monkeypatch.setattr(no_guess, "_FIRST_BATCH", first)
    monkeypatch.setattr(no_guess, "_LARGEST_BATCH", 7)
    assert [find_no_guess(Mode(9, 9, 16), seed, (4, 4), 60.0) for seed in range(5)] == expected


def test_a_hopeless_search_ends_with_a_clear_word():
    begin = time.monotonic()
    with pytest.raises(RefusedError) as caught:
        need_no_guess(Mode(20, 20, 180), 0, (10, 10), 0.5)
    assert time.monotonic() - begin < 5
    assert (caught.value.status, caught.value.key) == (409, "no_guess")
    assert "no board that needs no guess was found in 0.5 seconds, of " in str(caught.value)
    assert "with fewer mines they are less rare" in str(caught.value)


def test_the_page_plays_one_without_a_guess(client, monkeypatch):
    boards = set()
    for seed in (7, 7, 8):
        player = Player(client, "intermediate", seed=seed, no_guess=True)
        player.do("reveal", 8, 8)
        while player.game["status"] == "playing":
            assert not player.do("step", solver="csp")["move"]["is_guess"]
        assert player.game["status"] == "won"
        boards.add(player.game["view"])
    assert len(boards) == 2, "the seed decides the board"
    monkeypatch.setattr(web.service, "NO_GUESS_SECONDS", 0.3)
    player = Player(client, {"rows": 20, "cols": 20, "mines": 180}, no_guess=True)
    response = client.post(f"{player.path}/reveal", json={"cell": [10, 10]})
    assert response.status_code == 409
    assert "no board that needs no guess was found" in response.json()["error"]
    assert client.get(player.path).json() == player.game


def test_the_exact_solver_agrees_that_none_of_its_moves_is_a_guess():
    mode = Mode(16, 16, 40)
    board, _, rule = find_no_guess(mode, 3, (0, 0), 60.0)
    games = Games(Mode(16, 16, 40, rule), 1, 3, first_index=board)
    games.reveal(0, 0)
    while games.status[0] == PLAYING:
        chosen, is_guess = make_solver("exact").choose(games.views, 40, np.zeros(1, np.uint64))
        assert not is_guess[0]
        games.reveal_mask(chosen)
    assert games.status[0] == WON


def test_any_first_cell_is_safe_on_them(client):
    player = Player(client, "beginner", "any", no_guess=True)
    assert player.ask("hint", solver="exact")["move"]["reason"] == "the rules promise that the first cell is safe"
    assert cells(player.do("reveal", 0, 0)["view"])[0, 0] == "0"
