"""Play and watch as text. Rows and columns count from 1, as in the reasons."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from minesweeper import HIDDEN, PLAYING, WON, Games, Mode, play_games
from minesweeper.arena import check_first_cell, choice_keys, first_cells
from minesweeper.summary import rate
from minesweeper.textio import counted, view_to_text
from web.catalogue import Entry
from web.game import Game, Move
from web.no_guess import need_no_guess
from web.reasons import place
from web.solving import exact_probability, percent, solve, solver_of
from web.store import Store
from web.validation import Cell, RefusedError

HELP = """row col     reveal a cell; on a number with its flags: open its neighbours
f row col   set or take away a flag
h           a hint: the move, its reason and what is proved
n           a new game
q           save and quit"""


@dataclass
class Player:
    """A player at the terminal.

    Attributes:
        store: where the games are kept.
        entry: the solver that gives hints.
        game: the one that is played.
    """

    store: Store
    entry: Entry
    game: Game

    def run(self) -> None:
        """Plays until the player quits."""
        print(HELP)
        while True:
            print(f"\n{describe(self.game)}\n{draw(self.game.text())}")
            try:
                words = input("> ").split()
            except (EOFError, RuntimeError):  # without a standard input Python raises the latter
                words = ["q"]
            if words[:1] == ["q"]:
                if not self.game.is_over:
                    print("saved; go on with it by: python play.py ui=terminal (without mode, seed and the like)")
                return
            try:
                print(self.obey(words), end="")
            except RefusedError as error:
                print(f"{error}")

    def obey(self, words: Sequence[str]) -> str:
        """Does one command; what to say about it, if anything.

        Raises:
            RefusedError: it is none, or is not possible.
        """
        game = self.game = self.store.read(self.game.id)
        match words:
            case ["n"]:
                self.game = Game.new(game.mode, no_guess=game.no_guess)
                self.store.add(self.game)
            case ["h"]:
                return self._hint()
            case ["f", row, col]:
                with self.store.changing(game.id) as (self.game, _):
                    self.game.flag(self._cell(row, col))
            case [row, col]:
                return self._reveal(self._cell(row, col))
            case _:
                return HELP + "\n"
        return ""

    def _cell(self, row: str, col: str) -> Cell:
        rows, cols = self.game.view.shape
        is_number = row.isdecimal() and col.isdecimal() and max(len(row), len(col)) < 10
        if not (is_number and 1 <= int(row) <= rows and 1 <= int(col) <= cols):
            raise RefusedError(f"a cell is a row from 1 to {rows} and a column from 1 to {cols}")
        return int(row) - 1, int(col) - 1

    def _reveal(self, cell: Cell) -> str:
        game = self.game
        if game.is_over:
            raise RefusedError("the game is over; n begins a new one")
        if game.flags[cell]:
            raise RefusedError("this cell has a flag; f takes it away")
        cells = [cell] if game.view[cell] == HIDDEN else game.chord_cells(cell)
        if not cells:
            raise RefusedError("nothing to open there")
        if game.mines is None:
            game.lay(cell, *(need_no_guess(game.mode, game.seed, cell) if game.no_guess else ()))
        self.game = self.store.play(game, Move(cells))
        if self.game.fatal is None:
            return ""
        self.game.fatal_probability = exact_probability(game.view, game.mode.mines, self.game.fatal)
        self.store.keep_fatal_probability(self.game)
        return ""

    def _hint(self) -> str:
        game = self.game
        if game.is_over:
            raise RefusedError("the game is over; n begins a new one")
        solution = solve(self.entry, game.view, game.mode.mines, game.choice_key, game.is_promised)
        move = solution["move"]
        proved = np.array([list(row) for row in solution["proved"]])
        marked = np.array([list(row) for row in game.text().split("\n")])
        marked = np.where(np.isin(proved, ["s", "m"]), proved, marked)
        picture = draw("\n".join("".join(row) for row in marked))
        return f"{_cells(move['cells'])}: {move['reason']}\n{picture}\n(s proved safe, m proved a mine)\n"


def play(
    store: Store, entry: Entry, mode: Mode, seed: int | None = None, no_guess: bool = False, is_new: bool = False
) -> None:
    """Plays in the terminal; goes on with the game that was played last, unless `is_new` or there is none."""
    game = None if is_new else store.current()
    if game is None:
        game = Game.new(mode, seed, no_guess)
        store.add(game)
    Player(store, entry, game).run()


def watch(entry: Entry, mode: Mode, games: int, seed: int | None, first_cell: str | Sequence[int], quiet: bool) -> None:
    """Prints games of a solver, every move with its reason, and the result; just the result if `quiet`.

    They are the games that `play_games` plays with the same arguments.

    Raises:
        ValueError: a first cell outside the board.
    """
    seed = secrets.randbelow(2**32) if seed is None else seed
    check_first_cell(first_cell, mode)
    if quiet:
        with tqdm(total=games, unit="game", leave=False, disable=None) as bar:
            records = play_games(solver_of(entry), mode, games, seed, first_cell, progress=bar.update)
    else:
        results = [_watch_one(entry, mode, index, seed, first_cell) for index in range(games)]
        records = np.array(results, [("won", "?"), ("guesses", "i4"), ("moves", "i4")]).view(np.recarray)
    won = rate("won", records.won)
    print(
        f"{entry.id}: {int(records.won.sum())} of {counted(games, 'game')} won, {100 * won['won']:.1f}% "
        f"({100 * won['won_low']:.1f} to {100 * won['won_high']:.1f}); a game: {records.guesses.mean():.2f} guesses, "
        f"{records.moves.mean():.1f} cells clicked; {mode.rows}x{mode.cols}, {counted(mode.mines, 'mine')}, "
        f"first_click={mode.first_click}, seed={seed}"
    )


def _watch_one(
    entry: Entry, mode: Mode, index: int, seed: int, first_cell: str | Sequence[int]
) -> tuple[bool, int, int]:
    """Prints one game; whether it was won, its guesses and its clicks."""
    games = Games(mode, 1, seed, first_index=index)
    is_promised = mode.first_click != "any"
    guesses = 0
    print(f"game {index}")
    if first_cell != "solver":
        rows, cols = first_cells(first_cell, games)
        games.reveal(rows, cols)
        guesses += not is_promised
        print(f"{_cells([(int(rows[0]), int(cols[0]))])}: the first cell\n{_picture(games)}\n")
        is_promised = False
    decision = 0
    while games.status[0] == PLAYING:
        decision += 1
        key = int(choice_keys(games, decision)[0])
        move = solve(entry, games.views[0], mode.mines, key, is_promised)["move"]
        is_promised = False
        guesses += move["is_guess"]
        mask = np.zeros(games.views.shape, np.bool_)
        mask[(0, *np.array(move["cells"]).T)] = True
        games.reveal_mask(mask)
        print(f"{_cells(move['cells'])}: {move['reason']}\n{_picture(games)}\n")
    is_won = games.status[0] == WON
    print(f"game {index}: {'won' if is_won else 'lost'}\n")
    return bool(is_won), guesses, int(games.moves[0])


def _picture(games: Games) -> str:
    return draw(view_to_text(games.views[0]).rstrip())


def describe(game: Game) -> str:
    """One line about a game."""
    told: dict[str, Any] = game.public()
    board = f"{told['mode']}, {told['rows']}x{told['cols']}, {counted(told['mines'], 'mine')}"
    if game.is_over:
        end = f"{game.status} in {counted(round(game.seconds), 'second')}; seed={game.seed}"
        if game.fatal:
            end += f"; the mine was at {place(game.fatal)}"
        if game.fatal_probability is not None:
            end += f", where the chance of one was {percent(game.fatal_probability)}"
        return f"{board}: {end}; n begins a new game, q quits"
    return f"{board}, {told['mines_left']} left"


def draw(text: str) -> str:
    """A view's text with row and column numbers.

    >>> print(draw("01.\\n01F"))
       1 2 3
     1 0 1 .
     2 0 1 F
    """
    rows = text.split("\n")
    numbers = range(1, len(rows[0]) + 1)
    width = max(2, len(str(len(rows))))
    lines = []
    for place_value in (100, 10, 1):
        if place_value == 1 or len(rows[0]) >= place_value:
            digits = (str(number // place_value % 10) if number >= place_value else " " for number in numbers)
            lines.append((" " * width + " " + " ".join(digits)).rstrip())
    lines += [f"{number:>{width}} " + " ".join(row) for number, row in enumerate(rows, start=1)]
    return "\n".join(lines)


def _cells(cells: Sequence[Sequence[int]]) -> str:
    """Cells as the player types them."""
    return ", ".join(f"{row + 1} {col + 1}" for row, col in cells) or "no cell"
