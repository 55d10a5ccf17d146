"""The server as a process: started, interrupted and killed; its solving processes; its file."""

import asyncio
import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import httpx2
import numpy as np
import pytest
from playing import Player, client_of, mines_of, preset
from tiny_training import ROOT, composed, program

import play
from minesweeper import HIDDEN, Mode
from minesweeper.board import neighbour_counts
from minesweeper.mode import MODES
from web.catalogue import make_catalogue
from web.game import LONGEST_LOOK, Game, Move
from web.pool import Pool
from web.server import FIRST_PORT, listen
from web.solving import is_long
from web.store import KEPT_DAYS, Store, StoreError
from web.validation import RefusedError

BEGINNER = preset("beginner")
NO_GUESS = ("no guess", "load_no_guess", {})
WARM = """
import sys
from dataclasses import asdict
from numba.core.registry import CPUDispatcher
from web import worker
from web.catalogue import DEFAULT_SOLVER, make_catalogue

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("minesweeper")]
    kernels = [kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, CPUDispatcher)]
    return {f"{kernel}": len(kernel.signatures) for kernel in kernels}

solvers = {name: asdict(entry) for name, entry in make_catalogue().items() if entry.kind != "network"}
wide = "\\n".join(["." * 40, "." + "1.." * 13] + ["." * 40] * 38)
for entry in solvers.values():
    worker.load(entry)
    before = compiled()
    for view, mines in [
        ("01..\\n01..", 2), ("01..\\n01..", 1), ("01...\\n01...\\n01...", 4), ("1*.\\n...", 2), ("1.", 1),
        ("..\\n..", 1), ("\\n".join(["." * 9] * 9), 10), ("1.1..\\n2...2\\n.....", 5), (wide, 300),
    ]:
        worker.solve_position(entry, view, mines, 1, False)
        worker.is_long(view, mines)
        worker.probability(view, mines, [0, 1])
    assert compiled() == before, (entry["id"], compiled().items() - before.items())
"""
ENDLESS = {
    "mode": {"rows": 40, "cols": 40, "mines": 700, "first_click": "zero"},
    "seed": 0,
    "cell": (0, 0),
    "seconds": 600,
}
SHORT = ENDLESS | {"mode": {"rows": 5, "cols": 5, "mines": 1, "first_click": "zero"}}


@contextlib.contextmanager
def running(folder, *settings):
    """`python play.py` and a client of it; killed at the end if it still runs."""
    command = [sys.executable, "play.py", "open=false", f"data_dir={folder}", *settings]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+:\d+/", line)
        assert found, line
        with httpx2.Client(base_url=found[0], timeout=120) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def children(process):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in listed.stdout.split()]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_kill_loses_nothing(tmp_path):
    """And the solving processes don't outlive the server."""
    with running(tmp_path) as (process, client):
        player = Player(client, seed=1)
        player.do("reveal", 4, 4)
        player.do("flag", 0, 0)
        workers = children(process)
        assert workers
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_for(lambda: not any(map(is_running, workers)))
    with running(tmp_path) as (_, client):
        game = client.get("/api/current").json()
        assert game | {"seconds": 0} == player.game | {"seconds": 0}
        player.client = client
        mines = mines_of(BEGINNER, 1, (4, 4))
        if mines[0, 0] == 0:
            player.do("flag", 0, 0)
        for row, col in np.argwhere(~mines).tolist():
            player.do("reveal", row, col)
        assert player.game["status"] == "won"


def test_ctrl_c_ends_it_quietly_and_two_take_two_ports(tmp_path):
    with running(tmp_path) as (process, client), running(tmp_path) as (other, second):
        assert client.base_url.port != second.base_url.port
        assert client.get("/").status_code == 200
        game = client.post("/api/games", json={}).json()
        assert second.get(f"/api/games/{game['id']}").json()["id"] == game["id"], "they share the file"
        endless = Player(client, {"rows": 40, "cols": 40, "mines": 700}, no_guess=True).path + "/reveal"
        with ThreadPoolExecutor() as threads:
            waiting = threads.submit(client.post, endless, json={"cell": [0, 0]})
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            assert waiting.result(10).status_code == 503, "what is being solved is given up"
        other.send_signal(signal.SIGINT)
        for one in (process, other):
            assert one.wait(20) == 0
            assert one.stdout.read().strip() in (
                "",
                "compiling kernels for the first time (half a minute to two)...",
            )


def test_a_host_for_others_comes_with_a_warning(tmp_path):
    with running(tmp_path, "host=0.0.0.0") as (process, _):
        assert process.stdout.readline().startswith("warning: host=0.0.0.0 lets everybody in the network in")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["ui=window"], "ui must be one of page, terminal, got 'window'"),
        (["port=0"], "port must be an integer from 1 to 65535, got 0"),
        (["open=maybe"], "open must be one of True, False"),
        (["seed=-1"], "seed must be an integer from 0"),
        (["watch=exact"], "watch= needs ui=terminal"),
        (["games=5"], "games= and quiet= need watch="),
        (["ckpt=nothing.pt"], "no checkpoint at nothing.pt; train one with"),
        (["mode=beginner", "mode.rows=200"], "the page has boards of up to 100x100"),
        (["mode=beginner", "mode.openings=false"], "mode.openings=false can be watched"),
        (["host=no.such.host.invalid"], "host=no.such.host.invalid is no address of this machine"),
        (["ui=terminal", "watch=best"], "watch must be one of exact_ahead, exact"),
        (["ui=terminal", "solver=best"], "solver must be one of exact_ahead, exact"),
    ],
)
def test_refused_settings(tmp_path, overrides, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        play.run(composed("play", "open=false", f"data_dir={tmp_path}", *overrides))


@pytest.mark.parametrize("name", ["play", "evaluate"])
def test_a_mode_that_is_changed_must_be_named(name):
    message = "error: mode.rows= changes a mode that mode= must name, as in: mode=beginner mode.rows=..."
    with pytest.raises(SystemExit, match=f"^{re.escape(message)}$"):
        program(f"{name}.py", "mode.rows=20")


def test_a_taken_port_is_refused():
    with listen("127.0.0.1", None) as taken:
        port = taken.getsockname()[1]
        assert port >= FIRST_PORT
        with pytest.raises(ValueError, match=f"^cannot listen on 127.0.0.1 at port={port}: Address already in use"):
            listen("127.0.0.1", port)


def test_without_the_extra_it_says_what_to_install(tmp_path):
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('No module named uvicorn', name='uvicorn')")
    command = [sys.executable, "play.py", "open=false", f"data_dir={tmp_path}"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "error: play.py needs uvicorn, which is not installed; run: pip install -c constraints.txt -e '.[play]'"
    )


def test_the_start_mode_reaches_the_page(tmp_path):
    with client_of(tmp_path, is_solving=False, start_mode=Mode(5, 6, 7, "zero")) as client:
        start = client.get("/api/config").json()["start"]
        assert start == {"mode": {"rows": 5, "cols": 6, "mines": 7}, "first_click": "zero"}


def run_pool(work, **settings):
    async def run():
        async with Pool(**{"size": 2, "limit": 1.0, "first": NO_GUESS} | settings) as pool:
            while not pool._workers:
                await asyncio.sleep(0.02)
            return await work(pool)

    return asyncio.run(run())


def test_a_slow_task_is_given_up_and_blocks_nobody():
    async def work(pool):
        await pool.ask("no_guess_board", SHORT)
        while len(pool._workers) < 2:
            await asyncio.sleep(0.02)
        slow = asyncio.create_task(pool.ask("no_guess_board", ENDLESS))
        await asyncio.sleep(0)
        answered = await pool.ask("no_guess_board", SHORT)
        assert not slow.done()
        with pytest.raises(RefusedError, match=r"^this took over 3 seconds and was given up") as caught:
            await slow
        assert caught.value.status == 503
        return answered, await pool.ask("no_guess_board", SHORT)

    first, second = run_pool(work, limit=3.0)
    assert first == second


def test_long_tasks_leave_a_process_to_the_others():
    async def work(pool):
        long = [asyncio.create_task(pool.ask("no_guess_board", ENDLESS, is_long=True)) for _ in range(4)]
        while not pool._running:  # the second process is starting
            await asyncio.sleep(0.02)
        for _ in range(5):
            await pool.ask("no_guess_board", SHORT)
        assert not any(task.done() for task in long)
        assert [job.is_long for job in pool._running.values()] == [True]
        assert len(pool._waiting) == 3
        for task in long:
            task.cancel()
        await asyncio.gather(*long, return_exceptions=True)

    run_pool(work, limit=60.0)


def test_what_is_made_ready_is_all_that_a_solver_needs():
    """Else a hint would wait for a compiler."""
    done = subprocess.run([sys.executable, "-c", WARM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_position_is_long_when_it_takes_seconds_to_count():
    seen = np.indices((30, 30)).sum(0) % 2 == 0
    mines = (np.random.default_rng(1).random((30, 30)) < 0.15) & ~seen
    alternating = np.where(seen, neighbour_counts(mines), HIDDEN).astype(np.int8)
    assert not is_long(alternating, int(mines.sum())), "many numbers are not enough"
    seen = np.zeros((30, 30), bool)
    seen[1::2, 1::2] = True
    mines = (np.random.default_rng(1).random((30, 30)) < 0.3) & ~seen
    assert is_long(np.where(seen, neighbour_counts(mines), HIDDEN).astype(np.int8), int(mines.sum()))


async def asked_until_ready(pool, *task):
    """The answer, however long a new process takes to begin."""
    while True:
        try:
            return await pool.ask(*task)
        except RefusedError as error:
            if "is being made ready" not in str(error):
                raise


def test_when_all_are_busy_the_next_waits_and_is_told_so():
    async def work(pool):
        slow = asyncio.create_task(pool.ask("no_guess_board", ENDLESS))
        await asyncio.sleep(0)
        with pytest.raises(RefusedError, match=r"^(all solvers are busy|this took over)"):
            await asyncio.gather(pool.ask("no_guess_board", SHORT), slow)
        await asyncio.gather(slow, return_exceptions=True)
        return await asked_until_ready(pool, "no_guess_board", SHORT)

    assert run_pool(work, size=1)


def test_a_solver_that_is_being_made_ready_is_waited_for_in_one_process(monkeypatch):
    network = {"entry": asdict(make_catalogue()["beginner_cnn"])}
    position = network | {"view": "1..", "mines": 1, "key": 0, "is_promised": False}

    async def work(pool):
        while len(pool._workers) < 2:
            await pool.ask("no_guess_board", SHORT)
        monkeypatch.setattr("web.pool._PATIENCE", 0.05)
        refused = []
        while True:
            try:
                answer = await pool.ask("solve_position", position, ("network", "load", network))
            except RefusedError as error:
                refused.append(error)
            else:
                return refused, answer["solver"]
            assert sum(worker.loading == "network" for worker in pool._running) <= 1
            await asyncio.sleep(0.05)

    refused, solver = run_pool(work, limit=60.0)
    assert solver == "beginner_cnn"
    assert {(error.status, error.retry_after) for error in refused} == {(503, 1)}
    assert all("is being made ready" in str(error) for error in refused)


def test_a_task_that_nobody_waits_for_is_ended_but_not_at_once():
    async def work(pool):
        (worker,) = pool._workers
        short = asyncio.create_task(pool.ask("no_guess_board", SHORT))
        await asyncio.sleep(0)
        short.cancel()
        await pool.ask("no_guess_board", SHORT)
        assert pool._workers == {worker}, "a quick one keeps its process"
        long = asyncio.create_task(pool.ask("no_guess_board", ENDLESS))
        await asyncio.sleep(0.1)
        long.cancel()
        async with asyncio.timeout(20):
            while worker in pool._workers:
                await asyncio.sleep(0.05)
        assert worker.process.returncode is not None or await worker.process.wait()

    run_pool(work, size=1, limit=60.0)


def test_a_process_that_dies_is_replaced():
    async def work(pool):
        (worker,) = pool._workers
        worker.process.kill()
        with pytest.raises((RefusedError, OSError)):
            await pool.ask("no_guess_board", SHORT)
        return await asked_until_ready(pool, "no_guess_board", SHORT)

    assert run_pool(work, size=1, limit=60.0)


@pytest.fixture
def store(tmp_path):
    with contextlib.closing(Store(tmp_path / "play.sqlite")) as store:
        yield store


def new_game(store, **settings):
    game = Game.new(BEGINNER, **settings)
    store.add(game)
    return game


def test_random_choices_of_solvers_tell_nothing_of_a_secret_seed():
    games = [Game.new(BEGINNER) for _ in range(2)]
    games[1].id = games[0].id
    assert games[0].seed != games[1].seed
    assert games[0].choice_key == games[1].choice_key
    games[1].moves += 1
    assert games[0].choice_key != games[1].choice_key
    watched = [Game.new(BEGINNER, seed) for seed in (7, 7, 8)]
    keys = [game.choice_key for game in watched]
    assert keys[0] == keys[1] != keys[2], "a game with a seed can be repeated"


def test_old_games_expire_and_statistics_stay(store):
    old, young = new_game(store, seed=1), new_game(store, seed=1)
    for game in (old, young):
        game.lay((4, 4))
        mines = [(int(row), int(col)) for row, col in np.argwhere(game.mines)]
        store.play(game, Move([mines[0]]))
    store._file.execute("UPDATE games SET seen = seen - ? WHERE id = ?", ((KEPT_DAYS + 1) * 86_400, old.id))
    store.expire()
    with pytest.raises(RefusedError, match=r"^there is no such game; it may have expired$") as caught:
        store.read(old.id)
    assert caught.value.status == 404
    assert store.moves(old.id) == []
    assert store.read(young.id).status == "lost"
    assert store.statistics()["beginner"]["games"] == 2


def test_only_so_many_games_are_kept(store, monkeypatch):
    monkeypatch.setattr("web.store.KEPT_GAMES", 3)
    games = [new_game(store) for _ in range(5)]
    for age, game in enumerate(games):
        store._file.execute("UPDATE games SET seen = seen - ? WHERE id = ?", (age, game.id))
    store.expire()
    assert {row[0] for row in store._file.execute("SELECT id FROM games")} == {game.id for game in games[:3]}


def test_the_clock_stops_when_nobody_looks(store):
    game = new_game(store, seed=1)
    game.lay((4, 4))
    game = store.play(game, Move([(4, 4)]))
    assert game.seconds < 1
    for ago, counted in ((10, 10), (3600, LONGEST_LOOK)):
        before = store.read(game.id).seconds
        store._file.execute("UPDATE games SET seen = seen - ?", (ago,))
        assert store.read(game.id).seconds - before == pytest.approx(counted, abs=1)


def test_a_move_in_a_game_that_has_moved_on_is_refused(store):
    seen = new_game(store, seed=1)
    seen.lay((4, 4))
    store.play(seen, Move([(4, 4)]))
    with pytest.raises(RefusedError, match=r"^the game has moved on") as caught:
        store.play(seen, Move([(0, 0)]))
    assert caught.value.status == 409
    assert (store.read(seen.id).moves, len(store.moves(seen.id))) == (1, 1)


def test_a_change_that_fails_leaves_nothing(store):
    game = new_game(store)
    with contextlib.suppress(ZeroDivisionError), store.changing(game.id) as (changed, _):
        changed.flag((0, 0))
        1 / 0  # noqa: B018
    assert not store.read(game.id).flags.any()


def test_the_names_of_the_statistics(store):
    for mode, no_guess, name in [
        (MODES["expert"], False, "expert"), (MODES["expert"], True, "expert, no guess"),
        (Mode(9, 9, 12), False, "9x9, 12 mines"),
    ]:  # fmt: skip
        game = Game.new(mode, 1, no_guess)
        store.add(game)
        game.lay((4, 4))
        mines = [(int(row), int(col)) for row, col in np.argwhere(game.mines)]
        store.play(game, Move(mines[:1]))
        assert name in store.statistics()


def test_files_that_are_refused(tmp_path):
    (tmp_path / "text").write_text("no database at all, but a text of some length")
    with pytest.raises(StoreError, match="choose another data_dir="):
        Store(tmp_path / "text")
    with pytest.raises(StoreError, match="choose another data_dir="):
        Store(tmp_path / "text" / "play.sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "newer")) as file:
        file.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="was written by a newer version"):
        Store(tmp_path / "newer")
