"""The API of the page through its HTTP client: whole games, what is told when, and every refusal."""

import asyncio
import contextlib
import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from playing import GAME, Player, cells, client_of, hidden_view, mines_of, preset, solve, views_of

from minesweeper import HIDDEN, MODES, SOLVERS, Mode, mine_posterior
from models.checkpoint import bundled_checkpoints
from web.game import Game, Move
from web.service import Service
from web.store import Store
from web.validation import RefusedError

BEGINNER = preset("beginner")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("play")) as client:
        yield client


def error_of(response, status):
    assert response.status_code == status, response.text
    answer = response.json()
    assert answer["error"].strip()
    return answer


def test_config(client):
    config = client.get("/api/config").json()
    assert config["modes"] == {name: {"rows": m.rows, "cols": m.cols, "mines": m.mines} for name, m in MODES.items()}
    assert config["first_clicks"] == ["any", "safe", "zero"]
    solvers = {solver["id"]: solver for solver in config["solvers"]}
    assert set(solvers) == {"exact_ahead", *SOLVERS, *(path.stem for path in bundled_checkpoints())}
    assert config["default_solver"] in solvers
    assert solvers["beginner_cnn"]["kind"] == "network"
    assert solvers["beginner_cnn"]["mode"] == "beginner"
    assert solvers["exact"]["kind"] == "exact"
    assert config["start"] is None


@pytest.mark.parametrize("seed", [1, 2])
def test_a_won_game_cell_by_cell(client, seed):
    """Every answer holds what the rules say, and nothing that the view does not."""
    mines = mines_of(BEGINNER, seed, (4, 4))
    player = Player(client, seed=seed)
    assert player.game["status"] == "new"
    player.do("flag", *map(int, np.argwhere(mines)[0]))
    for cell in [(4, 4), *map(tuple, np.argwhere(~mines).tolist())]:
        if player.game["status"] == "won":
            break
        player.do("reveal", *cell)
        if player.game["status"] == "playing":
            posterior = mine_posterior(hidden_view(player.game["view"]), 10)
            hint = player.ask("hint", solver="exact")
            np.testing.assert_array_equal(np.array(hint["probabilities"], float), posterior)
    game = player.game
    assert (game["status"], game["flags"], game["mines_left"], game["fatal"]) == ("won", 1, 9, None)
    shown = cells(game["view"])
    np.testing.assert_array_equal((shown == "*") | (shown == "F"), mines)
    for answer in player.answers[:-1]:
        view = answer.get("view")
        if view is None:
            assert set(answer) == {"solver", "probabilities", "proved", "move", "milliseconds", "exact"}
            continue
        assert set(answer) == GAME
        assert answer["status"] in ("new", "playing")
        assert not set(view) - set(".F012345678\n")
        assert answer["fatal"] is None


def test_a_lost_game(client):
    mines = mines_of(BEGINNER, 3, (0, 0))
    player = Player(client, seed=3)
    player.do("reveal", 0, 0)
    before = hidden_view(player.game["view"])
    wrong = tuple(map(int, np.argwhere(~mines & (before == -2))[0]))
    right, fatal = (tuple(map(int, cell)) for cell in np.argwhere(mines)[:2])
    player.do("flag", *wrong)
    player.do("flag", *right)
    game = player.do("reveal", *fatal)
    assert game["status"] == "lost"
    assert game["fatal"]["cell"] == list(fatal)
    assert game["fatal"]["probability"] == pytest.approx(mine_posterior(before, 10)[fatal], abs=1e-12)
    shown = cells(game["view"])
    assert (shown[wrong], shown[right], shown[fatal]) == ("!", "F", "X")
    np.testing.assert_array_equal(np.isin(shown, ["*", "F", "X"]), mines)
    assert client.get(player.path).json() == game
    for action in ("reveal", "flag", "chord"):
        assert player.do(action, *wrong) == game, "a game that is over stays as it is"
    for action in ("hint", "step"):
        error_of(client.post(f"{player.path}/{action}", json={"solver": "exact"}), 409)


def test_the_seed_of_a_random_game_is_told_at_its_end(client):
    player = Player(client)
    for row in range(9):
        for col in range(9):
            if player.game["status"] in ("new", "playing"):
                assert player.game["seed"] is None
                player.do("reveal", row, col)
    mines = mines_of(BEGINNER, player.game["seed"], (0, 0))
    np.testing.assert_array_equal(np.isin(cells(player.game["view"]), ["*", "X"]), mines)


def test_flags_and_chords(client):
    row, col = 4, 4
    around = [(r, c) for r in (3, 4, 5) for c in (3, 4, 5)]
    seed = next(s for s in range(99) if mines_of(BEGINNER, s, (4, 4))[3:6, 3:6].sum() == 1)
    mines = mines_of(BEGINNER, seed, (4, 4))
    mine = next(cell for cell in around if mines[cell])
    player = Player(client, seed=seed)
    view = hidden_view(player.do("reveal", row, col)["view"])
    assert player.do("chord", row, col)["moves"] == 1, "without its flag nothing opens"
    player.do("flag", *mine)
    assert player.do("reveal", *mine)["moves"] == 1, "a flag is not opened"
    game = player.do("chord", row, col)
    assert (game["moves"], game["status"]) == (2, "playing")
    opened = hidden_view(game["view"])
    assert all(opened[cell] >= 0 for cell in around if cell != mine)
    assert player.do("flag", *mine)["flags"] == 0
    moves = client.get(f"{player.path}/moves").json()["moves"]
    assert [move["number"] for move in moves] == [1, 2]
    assert {tuple(cell) for cell in moves[1]["cells"]} == {c for c in around if c != mine and view[c] == -2}
    assert [move["solver"] for move in moves] == [None, None]
    assert hidden_view(views_of(moves, 9, 9)[1]).tolist() == opened.tolist()


def test_a_wrong_flag_makes_a_chord_fatal(client):
    mode = {"rows": 1, "cols": 3, "mines": 1}
    seed = next(s for s in range(50) if mines_of(preset_of(1, 3, 1), s, (0, 1))[0, 2])
    player = Player(client, mode, seed=seed)
    player.do("reveal", 0, 1)
    player.do("flag", 0, 0)
    game = player.do("chord", 0, 1)
    assert (game["status"], game["view"], game["mode"]) == ("lost", "!1X", "custom")
    assert game["fatal"] == {"cell": [0, 2], "probability": 0.5}


def preset_of(rows, cols, mines, first_click="safe"):
    return type(BEGINNER)(rows, cols, mines, first_click)


@pytest.mark.parametrize("first_click", ["safe", "zero"])
def test_the_first_click_keeps_its_promise(client, first_click):
    for seed in range(10):
        player = Player(client, {"rows": 4, "cols": 6, "mines": 12}, first_click, seed=seed)
        hint = player.ask("hint", solver="exact")["move"]
        assert (hint["probability"], hint["is_guess"], len(hint["cells"])) == (0.0, False, 1)
        game = player.do("reveal", 3, 5)
        assert game["status"] != "lost"
        if first_click == "zero":
            assert cells(game["view"])[3, 5] == "0"


def test_any_first_click_may_be_a_mine(client):
    mode = {"rows": 2, "cols": 2, "mines": 3}
    lost = sum(Player(client, mode, "any", seed=seed).do("reveal", 0, 0)["status"] == "lost" for seed in range(20))
    assert 5 < lost < 20
    player = Player(client, mode, "any", seed=0)
    assert player.ask("hint", solver="exact")["move"]["probability"] == 0.75


def test_two_games_at_once(client):
    players = [Player(client, seed=seed) for seed in (1, 2)]
    boards = [mines_of(BEGINNER, seed, (4, 4)) for seed in (1, 2)]
    safe = [[(4, 4), *map(tuple, np.argwhere(~mines).tolist())] for mines in boards]
    for turn in range(72):
        for player, own in zip(players, safe, strict=True):
            player.do("reveal", *own[turn])
    for player, mines in zip(players, boards, strict=True):
        assert player.game["status"] == "won"
        np.testing.assert_array_equal(cells(player.game["view"]) == "*", mines)


def test_clicks_that_are_faster_than_the_answers(client):
    mines = mines_of(BEGINNER, 1, (4, 4))
    player = Player(client, seed=1)
    player.do("reveal", 4, 4)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda cell: player.ask("reveal", cell=cell), np.argwhere(~mines).tolist()))
    game = client.get(player.path).json()
    assert game["status"] == "won"
    assert len(client.get(f"{player.path}/moves").json()["moves"]) == game["moves"]


def test_watching_and_going_back(client):
    """A watched game goes on from where it was taken back to, and is in no statistics."""
    before = client.get("/api/statistics").json()
    player = Player(client, "beginner", "zero", seed=5)
    stepped = []
    while player.game["status"] in ("new", "playing"):
        game = player.do("step", solver="exact_ahead")
        assert game["move"]["solver"] == "exact_ahead"
        assert game["move"]["reason"]
        stepped.append(game["move"])
        assert views_of(stepped, 9, 9)[-1] == game["view"]
    moves = client.get(f"{player.path}/moves").json()["moves"]
    assert moves == stepped
    assert len(moves) == player.game["moves"]
    assert moves[-1]["status"] == player.game["status"]
    views = views_of(moves, 9, 9)
    for move, view in zip(moves[:-1], views, strict=False):
        assert move["status"] == "playing"
        assert not set(view) - set(".012345678\n")
    game = player.do("goto", move=2)
    assert (game["moves"], game["status"], game["view"]) == (2, "playing", views[1])
    assert len(client.get(f"{player.path}/moves").json()["moves"]) == 2
    again = player.do("step", solver="exact_ahead")
    assert again["move"] == moves[2]
    assert player.do("goto", move=0)["status"] == "new"
    assert client.get("/api/statistics").json() == before


def test_long_games_are_told_and_taken_back_cheaply(tmp_path, monkeypatch):
    """Each cell is told once, by one pass of the engine, and nobody waits for the store meanwhile."""
    store = Store(tmp_path / "play.sqlite")
    mode = Mode(40, 40, 200)
    game = Game.new(mode, seed=1)
    game.lay((20, 20))
    game.is_watched = True
    safe = [(int(row), int(col)) for row, col in np.argwhere(~game.mines)]
    store.add(game)
    for cell in [(20, 20), *safe]:
        if game.view[cell] == HIDDEN:
            game = store.play(game, Move([cell]))
    assert (game.status, game.moves > 300) == ("won", True)
    passes = []
    replayed = Game.replayed

    def watched(self, moves):
        passes.append(len(moves))
        for state in replayed(self, moves):
            assert not store._lock.locked()
            yield state

    monkeypatch.setattr(Game, "replayed", watched)
    monkeypatch.setattr(Game, "reveal", None)
    service = Service(store, None, {})
    moves = asyncio.run(service.moves(game.id))["moves"]
    assert views_of(moves, 40, 40)[-1] == game.text()
    assert sum(len(move["opened"]) for move in moves) == mode.cells
    assert len(json.dumps(moves)) < 200 * len(moves) + 20 * mode.cells
    taken = asyncio.run(service.go_to(game.id, {"move": 100}))
    assert (taken["view"], taken["moves"]) == (views_of(moves, 40, 40)[99], 100)
    assert passes == [game.moves, 100]
    store.close()


def test_a_game_that_moved_on_is_not_taken_back(tmp_path, monkeypatch):
    store = Store(tmp_path / "play.sqlite")
    game = Game.new(BEGINNER, seed=1)
    game.lay((4, 4))
    game.is_watched = True
    store.add(game)
    game = store.play(game, Move([(4, 4)]))
    read = Store.read

    def read_before_a_move(self, game_id):
        seen = read(self, game_id)
        hidden = [(int(row), int(col)) for row, col in np.argwhere((seen.view == HIDDEN) & ~seen.mines)]
        store.play(seen, Move(hidden[:1]))
        return seen

    monkeypatch.setattr(Store, "read", read_before_a_move)
    with pytest.raises(RefusedError, match=r"^the game has moved on") as caught:
        asyncio.run(Service(store, None, {}).go_to(game.id, {"move": 0}))
    assert caught.value.status == 409
    assert read(store, game.id).moves == len(store.moves(game.id)) == 2
    store.close()


def test_a_game_taken_back_to_its_start_promises_nothing(client):
    """Its mines stay where they are, so another first cell may be one."""
    board = {"mode": {"rows": 6, "cols": 6, "mines": 20}, "first_click": "safe", "seed": 1}
    path = f"/api/games/{client.post('/api/games', json=board).json()['id']}"
    client.post(f"{path}/reveal", json={"cell": [0, 0]})
    client.post(f"{path}/step", json={"solver": "random"})
    client.post(f"{path}/goto", json={"move": 0})
    move = client.post(f"{path}/hint", json={"solver": "exact"}).json()["move"]
    assert move["is_guess"]
    assert move["probability"] == pytest.approx(20 / 36)


def test_only_watched_games_are_taken_back(client):
    player = Player(client, seed=1)
    player.do("reveal", 4, 4)
    error_of(client.post(f"{player.path}/goto", json={"move": 0}), 409)


@pytest.mark.parametrize("solver", ["exact_ahead", *SOLVERS, "beginner_cnn"])
def test_every_solver_gives_a_hint_and_a_reason(client, solver):
    answer = solve(client, "01..\n01..\n", 2, solver)
    assert answer["solver"] == solver
    assert answer["exact"] == (solver in ("exact", "exact_ahead"))
    probabilities = np.array(answer["probabilities"], float)
    assert np.isnan(probabilities[:, :2]).all()
    assert ((probabilities[:, 2:] >= 0) & (probabilities[:, 2:] <= 1)).all()
    assert answer["proved"] == ["  ??", "  ??"]
    move = answer["move"]
    assert move["reason"]
    if solver != "beginner_cnn":
        assert (len(move["cells"]), move["is_guess"]) == (1, True)
        assert move["probability"] == pytest.approx(0.5, abs=0.01)


def test_a_position_with_proofs(client):
    view = "3 5 4\n01...\n01.F.\n01...\n".replace("3 5 4", "5 3 4")
    answer = client.post("/api/solve", json={"view": view, "mines": None, "solver": "exact"}).json()
    assert answer["proved"] == ["  s??", "  m??", "  s??"]
    assert answer["move"]["cells"] == [[0, 2], [2, 2]]
    assert answer["move"]["reason"].startswith("2 safe cells; row 1, column 3: proved by the 1 at row ")
    total = client.post("/api/solve", json={"view": "01..\n01..", "mines": 1, "solver": "exact"}).json()
    assert "because of the mines left" in total["move"]["reason"]
    over = client.post("/api/solve", json={"view": "1.", "mines": 1, "solver": "exact"}).json()
    assert over["move"]["cells"] == []


@pytest.mark.parametrize("solver", ["exact", "random", "beginner_cnn"])
def test_an_impossible_position_names_the_number(client, solver):
    answer = error_of(client.post("/api/solve", json={"view": "...\n.12\n.3.", "mines": 3, "solver": solver}), 400)
    assert answer["key"] == "view"
    row, col = answer["cell"]
    assert f"row {row + 1}, column {col + 1} cannot be met" in answer["error"]
    total = error_of(client.post("/api/solve", json={"view": "...\n.8.\n...", "mines": 4, "solver": solver}), 400)
    assert (total["key"], "needs between 8 and 8" in total["error"]) == ("mines", True)


def test_slow_solves_leave_other_players_their_hints(tmp_path):
    """However many there are."""
    numbers = "\n".join(["." * 31, ".2" * 15 + "."] * 15 + ["." * 31])
    with client_of(tmp_path, processes=2, solve_seconds=60) as client, ThreadPoolExecutor(6) as threads:
        player = Player(client, "expert", seed=1)
        player.do("reveal", 8, 15)
        body = {"view": numbers, "mines": 200, "solver": "exact_ahead"}
        slow = [threads.submit(client.post, "/api/solve", json=body) for _ in range(6)]
        for _ in range(3):
            player.ask("hint", solver="exact_ahead")
        assert sum(answer.done() for answer in slow) < 3
        client.portal.call(client.app.state.stop_solving)


def test_a_solver_that_is_not_ready_asks_to_try_again(client, monkeypatch):
    monkeypatch.setattr("web.pool._PATIENCE", 0.0)
    response = client.post("/api/solve", json={"view": "1..", "mines": 1, "solver": "universal_cnn_global"})
    assert "is being made ready" in error_of(response, 503)["error"]
    assert int(response.headers["Retry-After"]) >= 1
    assert solve(client, "1..", 1, "universal_cnn_global")["solver"] == "universal_cnn_global"


def test_a_marked_mine_counts(client):
    answer = client.post("/api/solve", json={"view": "1*.\n...", "mines": 2, "solver": "exact"}).json()
    np.testing.assert_allclose(np.array(answer["probabilities"], float)[:, 2], 0.5)
    network = client.post("/api/solve", json={"view": "1*.\n...", "mines": 2, "solver": "beginner_cnn"}).json()
    assert network["probabilities"][0][1] is None


def test_compare(client):
    body = {"view": "01..\n01..\n", "mines": 1, "solvers": ["exact", "random"]}
    answer = client.post("/api/compare", json=body).json()
    assert [solution["solver"] for solution in answer["solutions"]] == ["exact", "random"]
    assert answer["difference"] == [[None, None, 0.25, -0.25]] * 2
    assert sorted(entry["cell"] for entry in answer["most"]) == [[0, 2], [0, 3], [1, 2], [1, 3]]
    assert {(entry["a"], entry["b"]) for entry in answer["most"]} == {(0.5, 0.25), (0.0, 0.25)}
    player = Player(client, seed=1)
    player.do("reveal", 4, 4)
    answer = client.post("/api/compare", json={"game": player.game["id"], "solvers": ["exact", "exact"]}).json()
    assert answer["most"] == []


def test_settings(client):
    assert client.put("/api/settings", json={"theme": "dark", "ü": [1]}).status_code == 200
    assert client.get("/api/settings").json() == {"theme": "dark", "ü": [1]}
    error_of(client.put("/api/settings", json={"x": "y" * 5000}), 400)
    endless = {"content": '{"a": 1e999}', "headers": {"Content-Type": "application/json"}}
    error_of(client.put("/api/settings", **endless), 400)
    assert client.get("/api/settings").json() == {"theme": "dark", "ü": [1]}


def test_statistics(tmp_path):
    with client_of(tmp_path, is_solving=False) as client:
        for seed, is_won in enumerate([True, True, False, True]):
            mines = mines_of(BEGINNER, seed, (4, 4))
            player = Player(client, seed=seed)
            player.do("reveal", 4, 4)
            for row, col in np.argwhere(~mines if is_won else mines).tolist():
                player.do("reveal", row, col)
        entry = client.get("/api/statistics").json()["modes"]
        assert list(entry) == ["beginner"]
        seconds = entry["beginner"].pop("best_seconds")
        assert 0 <= seconds < 60
        assert entry["beginner"] == {"games": 4, "wins": 3, "streak": 1, "best_streak": 2}
        assert client.delete("/api/statistics").json() == {"modes": {}}
        assert client.get("/api/statistics").json() == {"modes": {}}


CELLS = [
    {"cell": [9, 0]},
    {"cell": [0, -1]},
    {"cell": [0]},
    {"cell": "00"},
    {"cell": [True, 0]},
    {"cell": [0.5, 1]},
    {},
]


@pytest.mark.parametrize("body", CELLS)
@pytest.mark.parametrize("action", ["reveal", "flag", "chord"])
def test_refused_cells(client, action, body):
    path = Player(client).path
    assert error_of(client.post(f"{path}/{action}", json=body), 400)["key"] == "cell"


@pytest.mark.parametrize(
    ("path", "body", "key"),
    [
        ("/api/games", {"mode": "hard"}, "mode"),
        ("/api/games", {"mode": None}, "mode"),
        ("/api/games", {"mode": {"rows": 9, "cols": 9}}, "mode"),
        ("/api/games", {"mode": {"rows": 101, "cols": 9, "mines": 1}}, "rows"),
        ("/api/games", {"mode": {"rows": 9, "cols": 0, "mines": 1}}, "cols"),
        ("/api/games", {"mode": {"rows": 9, "cols": 9, "mines": 81}}, "mines"),
        ("/api/games", {"mode": {"rows": 9, "cols": 9, "mines": "1"}}, "mines"),
        ("/api/games", {"mode": {"rows": True, "cols": 9, "mines": 1}}, "rows"),
        ("/api/games", {"first_click": "lucky"}, "first_click"),
        ("/api/games", {"seed": -1}, "seed"),
        ("/api/games", {"seed": 2**32}, "seed"),
        ("/api/games", {"seed": 1.5}, "seed"),
        ("/api/games", {"no_guess": 1}, "no_guess"),
        ("/api/games", {"speed": 1}, "speed"),
        ("/api/solve", {"view": 7, "mines": 1}, "view"),
        ("/api/solve", {"view": "", "mines": 1}, "view"),
        ("/api/solve", {"view": "1x", "mines": 1}, "view"),
        ("/api/solve", {"view": "1.\n1", "mines": 1}, "view"),
        ("/api/solve", {"view": "11\n11", "mines": 0}, "view"),
        ("/api/solve", {"view": "." * 40_000, "mines": 1}, "view"),
        ("/api/solve", {"view": "." * 101, "mines": 1}, "view"),
        ("/api/solve", {"view": "1.."}, "mines"),
        ("/api/solve", {"view": "1..", "mines": 3}, "mines"),
        ("/api/solve", {"view": "1..", "mines": -1}, "mines"),
        ("/api/solve", {"view": "1..", "mines": True}, "mines"),
        ("/api/solve", {"view": "3 1 2\n1..", "mines": 1}, "mines"),
        ("/api/solve", {"view": "1..", "mines": 1, "solver": "Exact"}, "solver"),
        ("/api/solve", {"view": "1..", "mines": 1, "solver": ["exact"]}, "solver"),
        ("/api/compare", {"view": "1..", "mines": 1, "solvers": ["exact"]}, "solvers"),
        ("/api/compare", {"view": "1..", "mines": 1, "solvers": ["exact", "x"]}, "solvers"),
    ],
)
def test_refused_inputs(client, path, body, key):
    answer = error_of(client.post(path, json=body), 400)
    assert answer["key"] == key
    assert len(answer["error"]) < 400


def test_no_room_for_the_first_cell(client):
    player = Player(client, {"rows": 3, "cols": 3, "mines": 4}, "zero")
    answer = error_of(client.post(f"{player.path}/reveal", json={"cell": [1, 1]}), 400)
    assert (answer["key"], "only for 0" in answer["error"]) == ("cell", True)
    assert client.get(player.path).json()["status"] == "new"
    assert player.do("reveal", 0, 0)["status"] in ("playing", "won")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400), (b"{", 400), (b"[]", 400), (b"7", 400), (b'{"seed": NaN}', 400), (b"\xff\xfe", 400),
        (b"[" * 60_000, 400), (b'{"\\ud800": 1}', 400), (b'{"mode": "' + b"x" * 70_000 + b'"}', 413),
    ],
)  # fmt: skip
def test_refused_bodies(client, content, status):
    headers = {"Content-Type": "application/json"}
    error_of(client.post("/api/games", content=content, headers=headers), status)


def test_a_body_that_a_form_could_send_is_refused(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        error_of(client.post("/api/games", content=b"{}", headers={"Content-Type": kind}), 415)


@pytest.mark.parametrize(("method", "path", "status"), [
    ("GET", "/api/games/none", 404), ("GET", "/api/nothing", 404), ("PUT", "/api/games", 405),
    ("GET", "/../play.py", 404), ("GET", "/%2e%2e/app.py", 404), ("GET", "/api/games/none/moves", 404),
])  # fmt: skip
def test_nothing_there(client, method, path, status):
    error_of(client.request(method, path), status)


@pytest.mark.parametrize("headers", [
    {"Host": "evil.example"}, {"Host": "evil.example:8000"}, {"Host": "127.0.0.1.evil.example"}, {"Host": ""},
    {"Host": "192.168.0.7:8000"}, {"Host": "[::1"}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://[::1"},
    {"Origin": "http://127.0.0.1:9000"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
])  # fmt: skip
def test_other_sites_are_refused(client, headers):
    error_of(client.post("/api/games", json={}, headers=headers), 403)
    if "Sec-Fetch-Site" not in headers:  # a link from another site may open the page
        error_of(client.get("/api/config", headers=headers), 403)


@pytest.mark.parametrize("headers", [
    {"Host": "localhost:8000"}, {"Host": "[::1]:8000"}, {"Host": "127.0.0.1"}, {"Origin": "http://127.0.0.1:8000"},
    {"Sec-Fetch-Site": "same-origin"},
])  # fmt: skip
def test_the_page_itself_is_not(client, headers):
    assert client.post("/api/games", json={}, headers=headers).status_code == 200


def test_a_server_for_others_answers_to_its_addresses_and_name(tmp_path):
    with client_of(tmp_path, is_solving=False, host="0.0.0.0") as client:
        for host, status in (("192.168.0.7:8000", 200), ("localhost", 200), ("evil.example", 403)):
            assert client.get("/api/config", headers={"Host": host}).status_code == status


def test_security_headers(client):
    for path in ("/api/config", "/api/nothing", "/"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    assert client.get("/api/config").headers["Cache-Control"] == "no-store"


def test_the_files_of_the_page_are_sent_compressed(client):
    """And still just once: with the same ETag a browser keeps what it has."""
    plain = client.get("/board.js", headers={"Accept-Encoding": "identity"})
    with client.stream("GET", "/board.js", headers={"Accept-Encoding": "gzip"}) as packed:
        sent = b"".join(packed.iter_raw())
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(sent) < len(plain.content) / 2
    assert gzip.decompress(sent) == plain.content
    headers = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]}
    assert client.get("/board.js", headers=headers).status_code == 304


def test_a_mistake_of_the_server_tells_nothing(tmp_path, monkeypatch):
    with client_of(tmp_path, is_solving=False) as client:
        monkeypatch.setattr("web.store.Store.statistics", lambda _: 1 / 0)
        client._transport.raise_server_exceptions = False
        answer = error_of(client.get("/api/statistics"), 500)
        assert "division" not in answer["error"]


def test_a_restart_loses_nothing(tmp_path):
    with client_of(tmp_path) as client:
        player = Player(client, seed=1)
        player.do("reveal", 4, 4)
        player.do("flag", 0, 0)
        watched = Player(client, seed=2)
        watched.do("step", solver="exact")
        client.put("/api/settings", json={"a": 1})
        moves = client.get(f"{player.path}/moves").json()
    with client_of(tmp_path, is_solving=False) as client:
        game = client.get("/api/current").json()
        assert game | {"seconds": 0} == player.game | {"seconds": 0}
        assert game["seconds"] >= player.game["seconds"]
        assert client.get(watched.path).json()["view"] == watched.game["view"]
        assert client.get(f"{player.path}/moves").json() == moves
        assert client.get("/api/settings").json() == {"a": 1}
        player.client = client
        for row, col in np.argwhere(~mines_of(BEGINNER, 1, (4, 4))).tolist():
            player.do("reveal", row, col)
        assert player.game["status"] == (
            "won" if player.game["view"].count("*") + player.game["flags"] == 10 else "lost"
        )
        with contextlib.suppress(KeyError):
            assert client.get("/api/current").json()["game"] is None
