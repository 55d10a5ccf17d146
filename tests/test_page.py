"""The page of play.py in a headless Chromium, against a server of its own."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from numpy.typing import NDArray
from playing import mines_of, preset, views_of

from minesweeper import mine_posterior
from minesweeper.textio import text_to_view

sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install -e '.[test]'")
CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(
    not CHROMIUM.exists(), reason=f"needs a browser at {CHROMIUM}: apt-get install chromium"
)
ROOT = Path(__file__).parent.parent
MINES = 10  # of the beginner mode, 9x9
POSITION = "...1101..\n....201..\n.2..20111\n.211101.1\n.200012..\n.10012.2.\n11112.2..\n.....2...\n........."
RIGHT = {"button": "right"}


class Server:
    """`python play.py` on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "play.py", "open=false", f"port={self.port}", f"data_dir={self.folder}"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 600
        while True:  # the kernels are compiled the first time
            with contextlib.suppress(OSError):
                if self.post("/api/solve", {"view": "1..", "mines": 1, "solver": "exact"}):
                    return
            assert self.process.poll() is None, "play.py ended"
            assert time.monotonic() < deadline, "play.py does not answer"
            time.sleep(0.2)

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(sign)
        self.process.wait(30)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path) as answer:
            return json.load(answer)

    def post(self, path: str, values: dict[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, json.dumps(values).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("play"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page in which no script failed and nothing broke the content security policy."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    # an answer with an error status is logged as well, but that the page may show
    opened.on("console", lambda line: faults.append(line.text) if "Failed to load resource" not in line.text else None)
    yield opened
    context.close()
    assert faults == []


class Board:
    """The board of one tab, read and used as a player would."""

    def __init__(self, page: Any, tab: str, name: str = "board") -> None:
        self.page, self.tab, self.name = page, tab, name
        self.cells = page.locator(f"#{tab} [data-ref={name}] .cell")

    def cell(self, row: int, col: int) -> Any:
        return self.cells.nth(row * self.cols + col)

    @property
    def cols(self) -> int:
        return self.page.locator(f"#{self.tab} [data-ref={self.name}] .line").first.locator(".cell").count()

    def view(self) -> str:
        """As the server tells a view."""
        text = "".join(self.cells.evaluate_all("cells => cells.map((cell) => cell.dataset.shows)"))
        return "\n".join(text[i : i + self.cols] for i in range(0, len(text), self.cols))

    def colours(self) -> list[list[int]]:
        """Red, green, blue of each cell."""
        script = "cells => cells.map((cell) => getComputedStyle(cell).backgroundColor.match(/[0-9]+/g).map(Number))"
        return self.cells.evaluate_all(script)

    def shows(self, row: int, col: int, character: str) -> None:
        """Waits until a cell shows a character."""
        sync_api.expect(self.cell(row, col)).to_have_attribute("data-shows", character)

    def reveal(self, row: int, col: int, key: bool = False) -> None:
        """Reveals a cell by a click or by Enter and waits for the answer."""
        with self.page.expect_response("**/reveal"):
            if key:
                self.cell(row, col).focus()
                self.page.keyboard.press("Enter")
            else:
                self.cell(row, col).click()
        sync_api.expect(self.cell(row, col)).not_to_have_attribute("data-shows", ".")


def open_page(page: Any, server: Server, address: str = "") -> None:
    page.goto("about:blank")  # else another address of the same page would not be loaded
    page.goto(f"{server.address}/{address}")
    page.wait_for_selector("body[data-ready]")


def start(page: Any, server: Server, seed: int, first_click: str = "safe", mode: str = "mode=beginner") -> Board:
    open_page(page, server, f"#play?{mode}&first_click={first_click}&seed={seed}&no_guess=false")
    sync_api.expect(page.locator("#play")).to_have_attribute("data-status", "new")
    return Board(page, "play")


def neighbours(row: int, col: int) -> list[tuple[int, int]]:
    rows, cols = range(max(row - 1, 0), min(row + 2, 9)), range(max(col - 1, 0), min(col + 2, 9))
    return [(r, c) for r in rows for c in cols if (r, c) != (row, col)]


def colour_of(probability: float) -> NDArray[np.int64]:
    """Viridis without its darkest part, as 0 to 255."""
    return np.round(255 * np.array(mpl.colormaps["viridis"](0.15 + 0.85 * probability)[:3])).astype(int)


def test_a_game_is_won_by_clicks_and_keys(page: Any, server: Server) -> None:
    board = start(page, server, seed=3)
    safe = [(int(row), int(col)) for row, col in np.argwhere(~mines_of(preset("beginner"), 3, (4, 4)))]
    before = server.get("/api/statistics")["modes"]
    for number, (row, col) in enumerate([(4, 4), *safe]):
        if board.view().split("\n")[row][col] == ".":
            board.reveal(row, col, key=number % 2 == 1)
    sync_api.expect(page.locator("#play [data-ref=message]")).to_contain_text("Won in")
    assert page.locator("#play").get_attribute("data-status") == "won"
    assert page.locator("#play [data-ref=face]").get_attribute("data-face") == "won"
    after = server.get("/api/statistics")["modes"]["beginner"]
    assert after["wins"] == before.get("beginner", {"wins": 0})["wins"] + 1
    page.locator("#statistics-open").click()
    sync_api.expect(page.locator("#statistics-table")).to_contain_text("Beginner")


def test_a_lost_game_shows_mines_wrong_flags_and_the_chance_of_the_fatal_cell(page: Any, server: Server) -> None:
    board = start(page, server, seed=4, first_click="zero")
    mines = mines_of(preset("beginner", "zero"), 4, (4, 4))
    board.reveal(4, 4)
    view = board.view()
    hidden = [(row, col) for row in range(9) for col in range(9) if view.split("\n")[row][col] == "."]
    wrong = next(cell for cell in hidden if not mines[cell])
    right, fatal = [cell for cell in hidden if mines[cell]][:2]
    for cell in (wrong, right):
        board.cell(*cell).click(**RIGHT)
        board.shows(*cell, "F")
    board.reveal(*fatal)
    expected = np.full((9, 9), ".")
    for row, line in enumerate(view.split("\n")):
        expected[row] = list(line)
    expected[mines] = "*"
    expected[right], expected[wrong], expected[fatal] = "F", "!", "X"
    assert board.view() == "\n".join("".join(line) for line in expected)
    probability = mine_posterior(text_to_view(view)[0][None], MINES)[0][fatal]
    shown = page.locator("#play [data-ref=message]").inner_text()
    assert shown.startswith(f"Lost at row {fatal[0] + 1}, column {fatal[1] + 1}")
    assert float(shown.split()[-1].rstrip("%.")) == pytest.approx(100 * probability, abs=0.051)
    cross = "getComputedStyle(cell, '::after').maskImage"
    assert "cross.svg" in board.cell(*wrong).evaluate(f"cell => {cross}")
    assert "cross.svg" not in board.cell(*right).evaluate(f"cell => {cross}")
    board.cell(*wrong).click()  # a game that is over does not change
    assert page.locator("#play").get_attribute("data-status") == "lost"


def test_flags_by_mouse_key_and_long_press_and_a_chord(page: Any, server: Server) -> None:
    board = start(page, server, seed=4, first_click="zero")
    mines = mines_of(preset("beginner", "zero"), 4, (4, 4))
    board.reveal(4, 4)
    lines = board.view().split("\n")
    numbers = [(row, col) for row in range(9) for col in range(9) if lines[row][col] in "12"]
    around = {cell: [beside for beside in neighbours(*cell) if lines[beside[0]][beside[1]] == "."] for cell in numbers}
    number = next(cell for cell in numbers if not all(mines[beside] for beside in around[cell]))
    mined = [cell for cell in around[number] if mines[cell]]
    opened = [cell for cell in around[number] if not mines[cell]]
    left = page.locator("#play [data-ref=minesLeft]")
    board.cell(*opened[0]).focus()
    page.keyboard.press("f")
    board.shows(*opened[0], "F")
    sync_api.expect(left).to_have_text("009")
    page.keyboard.press("Enter")  # a flag protects its cell
    touch = {"pointerType": "touch", "button": 0, "isPrimary": True, "bubbles": True}
    board.cell(*opened[0]).dispatch_event("pointerdown", touch)
    board.shows(*opened[0], ".")
    board.cell(*opened[0]).dispatch_event("pointerup", touch)
    board.cell(*number).click()  # it has no flags yet: nothing opens
    for cell in mined:
        board.cell(*cell).click(**RIGHT)
        board.shows(*cell, "F")
    board.shows(*opened[0], ".")
    board.cell(*number).click()
    for cell in opened:
        sync_api.expect(board.cell(*cell)).not_to_have_attribute("data-shows", ".")
    assert page.locator("#play").get_attribute("data-status") in ("playing", "won")
    sync_api.expect(left).to_have_text(f"{10 - len(mined):03}")


def test_arrow_keys_move_and_a_cell_says_what_it_is(page: Any, server: Server) -> None:
    board = start(page, server, seed=4, first_click="zero")
    board.reveal(4, 4)
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused) == "Row 5, column 5: empty"
    for keys, place in (
        (["ArrowUp", "ArrowLeft"], "Row 4, column 4:"),
        (["Home", "PageUp"], "Row 1, column 1:"),
        (["ArrowUp", "ArrowLeft"], "Row 1, column 1:"),
        (["End", "PageDown", "PageDown", "ArrowDown"], "Row 9, column 9:"),
    ):
        for key in keys:
            page.keyboard.press(key)
        assert page.evaluate(focused).startswith(place)
    assert page.locator("#play .cell[tabindex='0']").count() == 1
    roles = {"grid": 1, "row": 9, "gridcell": 81}
    assert {role: page.locator(f"#play [role={role}]").count() for role in roles} == roles


def test_hints_have_the_colours_of_the_numbers(page: Any, server: Server) -> None:
    board = start(page, server, seed=33, first_click="zero")
    board.reveal(4, 4)
    with page.expect_response("**/hint") as response:
        page.locator("#play [data-ref=solver]").select_option("exact")
    solution = response.value.json()
    sync_api.expect(page.locator("#play .make")).to_be_visible()
    probabilities = [value for line in solution["probabilities"] for value in line]
    proved = "".join(solution["proved"])
    colours = board.colours()
    shown = board.cells.evaluate_all("cells => cells.map((cell) => [cell.dataset.proved ?? null, cell.ariaLabel])")
    assert {"s", "m", "?"} <= set(proved)
    for value, mark, colour, (sign, label) in zip(probabilities, proved, colours, shown, strict=True):
        if value is None:
            assert sign is None
            continue
        np.testing.assert_allclose(colour, colour_of(value), atol=3)
        assert sign == (mark if mark in "sm" else "")
        assert ("proved" in label) == (mark in "sm")
    index = next(i for i, value in enumerate(probabilities) if value is not None and 0.01 < value < 0.99)
    board.cells.nth(index).hover()
    tip = page.locator(".tip:visible")
    assert float(tip.inner_text().rstrip("%")) == pytest.approx(100 * probabilities[index], abs=0.051)
    best = board.cells.evaluate_all("cells => cells.flatMap((c, i) => c.classList.contains('is-best') ? [i] : [])")
    assert best == sorted(9 * row + col for row, col in solution["move"]["cells"])
    sync_api.expect(page.locator("#play .reason")).to_contain_text("proved by")
    with page.expect_response("**/reveal"):
        page.locator("#play .make").click()
    sync_api.expect(board.cells.nth(best[0])).not_to_have_attribute("data-shows", ".")


def test_a_hint_waits_by_itself_until_the_solver_is_ready(page: Any, server: Server) -> None:
    board = start(page, server, seed=33, first_click="zero")
    board.reveal(4, 4)
    answers = []

    def not_ready_twice(route: Any) -> None:
        answers.append(route)
        if len(answers) > 2:
            route.continue_()
            return
        error = json.dumps({"error": "the solver is being made ready", "key": None})
        route.fulfill(status=503, headers={"Retry-After": "1"}, content_type="application/json", body=error)

    page.route("**/hint", not_ready_twice)
    page.locator("#play [data-ref=solver]").select_option("exact")
    banner = page.locator("#banner")
    sync_api.expect(banner).to_have_text("The solver is being made ready.")
    assert page.locator("#play .problem").count() == 0
    sync_api.expect(page.locator("#play .make")).to_be_visible()
    sync_api.expect(banner).to_be_hidden()
    assert len(answers) == 3


def test_watch_to_the_end_and_back(page: Any, server: Server) -> None:
    open_page(page, server, "#watch")
    page.locator("#watch input[type=number][placeholder=random]").fill("5")
    page.locator("#watch [data-ref=speed]").fill("6")
    with page.expect_response("**/api/games") as response:
        page.locator("#watch form button").click()
    game = response.value.json()["id"]
    page.locator("#watch [data-ref=toggle]").click()
    page.wait_for_selector("#watch [data-ref=step]:disabled", timeout=60_000)
    sync_api.expect(page.locator("#watch [data-ref=toggle]")).to_have_attribute("aria-label", "Play")
    moves = server.get(f"/api/games/{game}/moves")["moves"]
    views = views_of(moves, 9, 9)
    board = Board(page, "watch")
    entries = page.locator("#watch [data-ref=moves] li")
    bars = page.locator("#watch .chart .risk")
    assert server.get(f"/api/games/{game}")["status"] in ("won", "lost")
    assert entries.count() == bars.count() == len(moves) > 3
    assert board.view() == server.get(f"/api/games/{game}")["view"]
    for number in (1, len(moves) - 1):
        entries.nth(number - 1).click()
        assert board.view() == views[number - 1]
        assert entries.nth(number - 1).get_attribute("aria-selected") == "true"
        assert moves[number - 1]["reason"].lower() in page.locator("#watch [data-ref=message]").inner_text().lower()
    page.locator("#watch [data-ref=moves]").focus()
    page.keyboard.press("Home")
    assert set(board.view()) == {".", "\n"}
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert board.view() == views[0]
    page.locator("#watch [data-ref=branch]").click()
    sync_api.expect(entries).to_have_count(1)
    page.locator("#watch [data-ref=step]").click()
    sync_api.expect(entries).to_have_count(2)


def expect_heat(board: Board, probabilities: list[float | None]) -> None:
    """The cells have the colours of the probabilities, None or NaN where there is none; soon, if not at once."""
    expected = {i: colour_of(p) for i, p in enumerate(probabilities) if p is not None and not np.isnan(p)}
    end = time.monotonic() + 30
    while True:
        colours = board.colours()
        assert len(colours) == len(probabilities)
        wrong = [i for i, colour in expected.items() if not np.allclose(colours[i], colour, atol=3, rtol=0)]
        if not wrong:
            return
        assert time.monotonic() < end, f"cells {wrong} have the colours {[colours[i] for i in wrong]}"
        time.sleep(0.1)


def test_a_pasted_position_is_analysed_and_its_link_holds_it(page: Any, server: Server) -> None:
    open_page(page, server, "#analyse")
    board = Board(page, "analyse")
    page.locator("#analyse [data-ref=solver]").select_option("exact")
    with page.expect_response("**/api/solve"):
        page.locator("#analyse [data-ref=text]").fill("9 9 12\n" + POSITION.replace(".", ". "))
    sync_api.expect(board.cell(2, 2)).to_have_attribute("data-proved", "s")
    assert board.view() == POSITION
    assert page.locator("#analyse [data-ref=mines]").input_value() == "12"
    expect_heat(board, mine_posterior(text_to_view(POSITION)[0][None], 12)[0].ravel().tolist())
    link = page.url
    open_page(page, server, "#play")
    open_page(page, server, link.removeprefix(f"{server.address}/"))
    sync_api.expect(board.cell(2, 2)).to_have_attribute("data-proved", "s")
    assert board.view() == POSITION


def test_an_impossible_position_says_which_number_cannot_be_met(page: Any, server: Server) -> None:
    open_page(page, server, "#analyse?mines=3&view=1../.../...")
    board = Board(page, "analyse")
    sync_api.expect(board.cell(0, 1)).to_have_text("33")
    for _ in range(10):  # through 0 to 8 to a flag
        board.cell(1, 0).click()
    board.shows(1, 0, "F")
    board.cell(1, 0).focus()
    page.keyboard.press("8")
    message = page.locator("#analyse [data-ref=message]")
    sync_api.expect(message).to_contain_text("the 8 at row 2, column 1 cannot be met")
    assert "is-fault" in board.cell(1, 0).get_attribute("class")
    page.locator("#analyse [data-ref=text]").fill("12\n1x")
    sync_api.expect(message).to_have_text("Line 2: “x” is no cell. Cells are . F and 0 to 8.")
    page.locator("#analyse [data-ref=text]").fill("1..\n1..\n...")
    sync_api.expect(message).to_have_text("")
    assert page.locator("#analyse .is-fault").count() == 0


def test_compare_shows_the_difference_of_two_solvers(page: Any, server: Server) -> None:
    view = POSITION.replace("\n", "/")
    open_page(page, server, f"#compare?mines=12&view={view}&a=exact&b=equalize")
    table = page.locator("#compare tbody tr")
    sync_api.expect(table.first).to_be_visible(timeout=30_000)
    answer = server.post("/api/compare", {"view": POSITION, "mines": 12, "solvers": ["exact", "equalize"]})
    for name, solution in zip(("boardA", "boardB"), answer["solutions"], strict=True):
        values = [value for line in solution["probabilities"] for value in line]
        expect_heat(Board(page, "compare", name), values)
    assert table.count() == len(answer["most"])
    row, col = answer["most"][0]["cell"]
    sync_api.expect(table.first).to_contain_text(f"row {row + 1}, column {col + 1}")
    for value, colour in zip(np.ravel(answer["difference"]), Board(page, "compare", "boardD").colours(), strict=True):
        if value is not None and abs(value) > 0.05:
            assert (colour[0] > colour[2]) == (value > 0)  # orange where the first fears a mine more, else blue
    table.first.hover()
    assert page.locator("#compare .is-linked").count() == 3


def test_a_game_continues_after_a_reload_and_a_killed_server(page: Any, server: Server) -> None:
    board = start(page, server, seed=33, first_click="zero")
    page.locator("#play [data-ref=hints]").uncheck()
    board.reveal(4, 4)
    hidden = board.view().replace("\n", "").index(".")
    board.cells.nth(hidden).click(**RIGHT)
    board.shows(*divmod(hidden, 9), "F")
    before = board.view()
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert board.view() == before
    page.locator("#play [data-ref=hints]").check()
    page.goto("about:blank")  # closed at once: settings are saved all the same
    deadline = time.monotonic() + 10
    while not server.get("/api/settings").get("hints"):
        assert time.monotonic() < deadline, "settings are lost"
    open_page(page, server)
    server.stop(signal.SIGKILL)
    board.cells.nth(hidden).click(**RIGHT)
    sync_api.expect(page.locator("#banner")).to_contain_text("The server does not answer")
    server.start()
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert board.view() == before
    assert page.locator("#play [data-ref=hints]").is_checked()
    board.cells.nth(hidden).click(**RIGHT)
    board.shows(*divmod(hidden, 9), ".")
    assert page.locator("#banner").is_hidden()


@pytest.mark.parametrize(("width", "height"), [(360, 740), (1366, 633), (3840, 2160)])
def test_the_board_fits(page: Any, server: Server, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    mode = "mode=expert" if width > 360 else "mode=beginner"
    board = start(page, server, seed=1, mode=mode)
    page.wait_for_function("document.querySelector('#play .cell').offsetWidth > 20")
    over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    last = board.cells.last.bounding_box()
    assert over == 0
    assert last["x"] + last["width"] <= width
    assert last["y"] + last["height"] <= height


def test_a_large_board_redraws_only_what_changed(page: Any, server: Server) -> None:
    board = start(page, server, seed=1, first_click="zero", mode="rows=100&cols=100&mines=2000")
    assert board.cells.count() == 10_000
    page.locator("#play [data-ref=hints]").uncheck()
    sync_api.expect(page.locator("#play .cell[data-ink]")).to_have_count(0)
    page.evaluate("""() => {
        window.changed = new Set();
        const note = (changes) => changes.forEach((change) => window.changed.add(change.target));
        const what = { subtree: true, attributes: true, attributeFilter: ["data-shows"] };
        new MutationObserver(note).observe(document.querySelector("#play .grid"), what);
    }""")
    board.reveal(50, 50)
    opened = sum(cell != "." for cell in board.view() if cell != "\n")
    assert page.evaluate("window.changed.size") == opened < 1000
    milliseconds = page.evaluate("""async () => {
        const frame = () => new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
        const times = [];
        for (let i = 0; i < 9; i++) {
            await frame();
            const start = performance.now();
            document.querySelectorAll("#play .cell")[i].dataset.shows = "F";
            await frame();
            times.push(performance.now() - start);
        }
        return times.sort((a, b) => a - b)[4];
    }""")
    assert milliseconds < 200  # 20 to 40 even on a busy machine; far more when every cell is styled anew
