"""What the tests of play.py share: a client of the application, the truth behind a seeded game, one player."""

import contextlib
import json
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from starlette.testclient import TestClient

from minesweeper import HIDDEN, MODES, Games, Mode
from web.app import create_app
from web.catalogue import make_catalogue
from web.store import Store

ADDRESS = "http://127.0.0.1:8000"
GAME = {
    "id", "mode", "rows", "cols", "mines", "first_click", "seed", "no_guess", "status", "view", "flags", "mines_left",
    "moves", "seconds", "is_watched", "fatal",
}  # fmt: skip


@contextlib.contextmanager
def client_of(folder: Path, is_solving: bool = True, **settings: Any):
    """A client of an application whose file is in `folder`; the application ends with the block.

    Args:
        is_solving: whether to wait until the solvers are ready.
    """
    app = create_app(Store(folder / "play.sqlite"), make_catalogue(), **settings)
    with TestClient(app, base_url=ADDRESS) as client:
        if is_solving:
            solve(client, "1..", 1, "exact")
        yield client


def solve(client: httpx2.Client, view: str, mines: int, solver: str) -> dict[str, Any]:
    """A solution of a position, however long the solver takes to be compiled the first time."""
    while True:
        response = client.post("/api/solve", json={"view": view, "mines": mines, "solver": solver})
        if response.status_code != 503:
            assert response.status_code == 200, response.text
            return response.json()


def mines_of(mode: Mode, seed: int, cell: tuple[int, int]) -> np.ndarray:
    """The mines, bool [R, C], of the board of this seed when `cell` is revealed first."""
    games = Games(mode, 1, seed)
    games.reveal(*cell)
    return games.mines[0]


def preset(name: str, first_click: str = "safe") -> Mode:
    mode = MODES[name]
    return Mode(mode.rows, mode.cols, mode.mines, first_click)


def cells(text: str) -> np.ndarray:
    """The characters [R, C] of a view."""
    return np.array([list(row) for row in text.split("\n")])


def hidden_view(text: str) -> np.ndarray:
    """The view int8 [R, C] of a game that is not over."""
    return np.array([[HIDDEN if cell in ".F" else int(cell) for cell in row] for row in text.split("\n")], np.int8)


def views_of(moves: list[dict[str, Any]], rows: int, cols: int) -> list[str]:
    """The view after each of the moves that the API tells."""
    shown = np.full((rows, cols), ".")
    views = []
    for move in moves:
        for row, col, character in move["opened"]:
            assert shown[row, col] == ".", "a cell is opened once"
            shown[row, col] = character
        views.append("\n".join(map("".join, shown.tolist())))
    return views


class Player:
    """One game through the API; keeps all answers."""

    def __init__(self, client: httpx2.Client, mode: Any = "beginner", first_click: str = "safe", **values: Any) -> None:
        self.client = client
        self.answers: list[dict[str, Any]] = []
        self.game = self._answer(client.post("/api/games", json={"mode": mode, "first_click": first_click, **values}))
        self.path = f"/api/games/{self.game['id']}"

    def ask(self, action: str, **inputs: Any) -> dict[str, Any]:
        return self._answer(self.client.post(f"{self.path}/{action}", json=inputs))

    def do(self, action: str, *cell: int, **inputs: Any) -> dict[str, Any]:
        self.game = self.ask(action, **({"cell": list(cell)} if cell else {}), **inputs)
        return self.game

    def _answer(self, response: httpx2.Response) -> dict[str, Any]:
        assert response.status_code == 200, response.text
        self.answers.append(json.loads(response.text))
        return self.answers[-1]
