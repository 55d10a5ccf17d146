"""Games: drawn boards step by step, batches against single games, rules of the first cell, and every refusal."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage
from scipy.stats import binomtest, chi2

from minesweeper.board import HIDDEN, MINE, neighbour_counts
from minesweeper.games import LOST, PLAYING, WON, Games
from minesweeper.mode import Mode
from minesweeper.textio import text_to_board, text_to_view, view_to_text

GOLDEN = Path(__file__).parent / "golden" / "game_7x5.txt"
MODES = [
    Mode(5, 8, 9, "any"),
    Mode(5, 8, 9, "safe"),
    Mode(8, 5, 6, "zero"),
    Mode(4, 6, 5, "safe", openings=False),
    Mode(1, 9, 3, "any"),
    Mode(9, 1, 3, "zero"),
    Mode(2, 2, 1, "safe"),
]


def drawn(*boards, openings=True):
    """Games whose mines are laid as drawn."""
    mines = np.array([text_to_board(board) for board in boards])
    mode = Mode(*mines.shape[1:], int(mines[0].sum()), "any", openings)
    games = Games(mode, len(boards))
    state = games.state_dict()
    state["mines"] = mines
    state["_counts"] = np.array([neighbour_counts(board) for board in mines])
    state["_is_laid"] = np.ones(len(boards), bool)
    games.load_state_dict(state)
    return games


def shows(games, view, game=0):
    """Whether the view of one game is as drawn."""
    np.testing.assert_array_equal(games.views[game], text_to_view(view)[0])
    return True


def assert_same_state(games, state):
    now = games.state_dict()
    assert list(now) == list(state)
    for name, values in state.items():
        np.testing.assert_array_equal(now[name], values, err_msg=name)


def refused(message):
    return pytest.raises(ValueError, match=f"^{re.escape(message)}$")


BOARD = """
...1*
11011
*1111
111*1
"""


def test_a_new_game():
    games = Games(Mode(3, 5, 4), 2, first_index=7)
    assert (games.views.shape, games.views.dtype) == ((2, 3, 5), np.int8)
    assert (games.views == HIDDEN).all()
    assert not games.mines.any()
    assert games.status.tolist() == [PLAYING, PLAYING] == [0, 0]
    assert games.moves.tolist() == [0, 0]
    assert games.index.tolist() == [7, 8]


def test_a_drawn_game_is_won():
    games = drawn(BOARD)
    games.reveal(0, 0)
    assert shows(games, "0001.\n1101.\n.111.\n.....")
    games.reveal(3, 0)
    assert shows(games, "0001.\n1101.\n.111.\n1....")
    for row, col in [(1, 4), (2, 4), (3, 1), (3, 2)]:
        games.reveal(row, col)
        assert games.status[0] == PLAYING
    assert shows(games, "0001.\n11011\n.1111\n111..")
    games.reveal(3, 4)
    assert shows(games, "0001*\n11011\n*1111\n111*1")
    assert (games.status[0], games.moves[0]) == (WON, 7)


def test_a_drawn_game_is_lost():
    games = drawn(BOARD)
    games.reveal(0, 3)
    assert shows(games, "...1.\n.....\n.....\n.....")
    games.reveal(1, 2)
    assert shows(games, "0001.\n1101.\n.111.\n.....")
    games.reveal(3, 3)
    assert shows(games, "0001*\n1101.\n*111.\n...*.")
    assert (games.status[0], games.moves[0]) == (LOST, 3)


def test_without_openings_each_cell_is_revealed_alone():
    games = drawn(BOARD, openings=False)
    games.reveal(0, 0)
    assert shows(games, "0....\n.....\n.....\n.....")
    games.reveal(0, 1)
    assert shows(games, "00...\n.....\n.....\n.....")
    for row, col in np.argwhere(~games.mines[0])[2:]:
        assert games.status[0] == PLAYING
        games.reveal(row, col)
    assert shows(games, "0001*\n11011\n*1111\n111*1")
    assert (games.status[0], games.moves[0]) == (WON, 17)


def test_openings_meet_at_numbers_and_stop_there():
    games = drawn("....*....\n.........")
    games.reveal(0, 0)
    assert shows(games, "0001.....\n0001.....")
    games.reveal(1, 8)
    assert shows(games, "0001.1000\n0001.1000")


@pytest.mark.parametrize(("turn", "view"), [(False, "001...100"), (True, "0\n0\n1\n.\n.\n.\n1\n0\n0")])
def test_boards_of_one_row_or_column(turn, view):
    board = "...*.*..."
    games = drawn("\n".join(board) if turn else board)
    for place in (0, 8):
        games.reveal(*((place, 0) if turn else (0, place)))
    assert shows(games, view)
    games.reveal(*((4, 0) if turn else (0, 4)))
    assert (games.status[0], games.moves[0]) == (WON, 3)


def test_two_by_two():
    games = drawn(".*\n..", "*.\n..")
    games.reveal([1, 0], [0, 0])
    assert shows(games, "..\n1.")
    assert shows(games, "*.\n..", game=1)
    assert games.status.tolist() == [PLAYING, LOST]
    games.reveal([0, 1], [0, 1])
    games.reveal([1, 1], [1, 1])
    assert shows(games, "1*\n11")
    assert games.status.tolist() == [WON, LOST]
    assert games.moves.tolist() == [3, 1]


@pytest.mark.parametrize(("rows", "cols"), [(3, 4), (1, 5), (5, 1), (2, 2), (1, 1)])
def test_all_mines_but_one(rows, cols):
    games = Games(Mode(rows, cols, rows * cols - 1, "safe"), 1)
    games.reveal(rows - 1, cols // 2)
    expected = np.full((rows, cols), MINE)
    neighbours = neighbour_counts(expected == MINE)
    expected[rows - 1, cols // 2] = neighbours[rows - 1, cols // 2]
    np.testing.assert_array_equal(games.views[0], expected)
    assert (games.status[0], games.moves[0]) == (WON, 1)


@pytest.mark.parametrize("first_click", ["any", "safe", "zero"])
@pytest.mark.parametrize(("rows", "cols"), [(3, 7), (1, 6), (6, 1), (1, 1)])
def test_no_mines(rows, cols, first_click):
    games = Games(Mode(rows, cols, 0, first_click), 2)
    games.reveal([0, rows - 1], [cols - 1, 0])
    assert (games.views == 0).all()
    assert games.status.tolist() == [WON, WON]
    assert games.moves.tolist() == [1, 1]


def test_no_mines_and_no_openings():
    games = Games(Mode(2, 3, 0, openings=False), 1)
    for move, (row, col) in enumerate(np.ndindex(2, 3)):
        assert (games.status[0], games.moves[0]) == (PLAYING, move)
        games.reveal(row, col)
    assert (games.status[0], games.moves[0]) == (WON, 6)


@pytest.mark.parametrize("cell", [(2, 3), (0, 0), (4, 7), (4, 0)])
@pytest.mark.parametrize("first_click", ["any", "safe", "zero"])
def test_mines_are_exact_in_number_and_even_over_the_allowed_cells(first_click, cell):
    num_games, mode = 4000, Mode(5, 8, 9, first_click)
    games = Games(mode, num_games, seed=1)
    games.reveal(*cell)
    assert (games.mines.sum(axis=(1, 2)) == 9).all()
    distance = np.maximum(*np.abs(np.indices((5, 8)) - np.reshape(cell, (2, 1, 1))))
    is_allowed = distance > {"any": -1, "safe": 0, "zero": 1}[first_click]
    total = games.mines.sum(axis=0)
    assert (total[~is_allowed] == 0).all()
    num_allowed = is_allowed.sum()
    rate = 9 / num_allowed
    # Draws without replacement: n / (n - 1) times the binomial variance, n - 1 degrees of freedom.
    variance = num_games * rate * (1 - rate) * num_allowed / (num_allowed - 1)
    statistic = ((total[is_allowed] - num_games * rate) ** 2).sum() / variance
    assert 1e-3 < chi2.sf(statistic, num_allowed - 1) < 1 - 1e-3


@pytest.mark.parametrize("cell", [(1, 2), (3, 6)])
def test_what_the_first_cell_may_be(cell):
    """Of 28 cells 9 are mines: any loses 9 games in 28 at once, safe none, and zero opens at least a neighbourhood."""
    games = {rule: Games(Mode(4, 7, 9, rule), 3000, seed=2) for rule in ("any", "safe", "zero")}
    for batch in games.values():
        batch.reveal(*cell)
    lost = (games["any"].status == LOST).sum()
    assert binomtest(int(lost), 3000, 9 / 28).pvalue > 1e-3
    np.testing.assert_array_equal(games["any"].status == LOST, games["any"].views[:, *cell] == MINE)
    assert not (games["safe"].status == LOST).any()
    assert (games["safe"].views[:, *cell] > 0).any()
    assert (games["zero"].views[:, *cell] == 0).all()


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_views_show_the_counts_and_a_naive_game_agrees(mode):
    """Whole random games against rules written with plain loops on the revealed mines."""
    num_games, rng = 30, np.random.default_rng(3)
    games = Games(mode, num_games, seed=3)
    expected = np.full(games.views.shape, HIDDEN)
    status = np.zeros(num_games, int)
    moves = np.zeros(num_games, int)
    for _ in range(2 * mode.cells):
        rows, cols = rng.integers(mode.rows, size=num_games), rng.integers(mode.cols, size=num_games)
        if (games.moves == 0).all():
            rows[:], cols[:] = 0, 0
        games.reveal(rows, cols)
        for game in range(num_games):
            view, mines = expected[game], games.mines[game]
            row, col = rows[game], cols[game]
            if status[game] != PLAYING or view[row, col] != HIDDEN:
                continue
            moves[game] += 1
            counts = neighbour_counts(mines)
            queue = [(row, col)] if not mines[row, col] else []
            while queue:
                r, c = queue.pop(0)
                if view[r, c] == HIDDEN:
                    view[r, c] = counts[r, c]
                    if counts[r, c] == 0 and mode.openings:
                        queue += [
                            (a, b)
                            for a in range(max(r - 1, 0), min(r + 2, mode.rows))
                            for b in range(max(c - 1, 0), min(c + 2, mode.cols))
                        ]
            if mines[row, col]:
                status[game] = LOST
            elif (view >= 0).sum() == mode.cells - mode.mines:
                status[game] = WON
            if status[game] != PLAYING:
                view[mines] = MINE
        np.testing.assert_array_equal(games.views, expected)
        np.testing.assert_array_equal(games.status, status)
        np.testing.assert_array_equal(games.moves, moves)
    assert (games.status != PLAYING).all()
    assert (games.mines.sum(axis=(1, 2)) == mode.mines).all()


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_batch_equals_single_games(mode):
    num_games, rng = 6, np.random.default_rng(4)
    batch = Games(mode, num_games, seed=5, first_index=10)
    singles = [Games(mode, 1, seed=5, first_index=10 + game) for game in range(num_games)]
    for move in range(mode.cells):
        rows, cols = rng.integers(mode.rows, size=num_games), rng.integers(mode.cols, size=num_games)
        if move == 0:
            rows[:], cols[:] = 0, 0
        batch.reveal(rows, cols)
        for game, single in enumerate(singles):
            single.reveal(int(rows[game]), int(cols[game]))
            for name in ("views", "mines", "status", "moves", "index"):
                np.testing.assert_array_equal(getattr(batch, name)[game], getattr(single, name)[0], err_msg=name)
    assert len(np.unique(batch.mines, axis=0)) > 1


def test_a_board_depends_on_seed_index_mode_and_first_cell_alone():
    mode = Mode(6, 9, 12)
    games = Games(mode, 40, seed=6)
    cells = np.random.default_rng(5).integers([6, 9], size=(40, 2))
    games.reveal(*cells.T)
    for num_games, first_index in [(1, 17), (5, 15), (40, 17), (11, 7)]:
        other = Games(mode, num_games, seed=6, first_index=first_index)
        other.reveal(*cells[17])
        np.testing.assert_array_equal(other.mines[17 - first_index], games.mines[17])
    changed = [(mode, 7, 17, cells[17]), (mode, 6, 18, cells[17]), (Mode(6, 9, 13), 6, 17, cells[17])]
    changed.append((mode, 6, 17, np.argwhere(games.mines[17])[0]))
    for other_mode, seed, index, cell in changed:
        other = Games(other_mode, 1, seed=seed, first_index=index)
        other.reveal(*cell)
        assert (other.mines[0] != games.mines[17]).any()


def test_later_moves_and_other_slots_do_not_change_a_board():
    mode = Mode(5, 7, 8)
    games, others = Games(mode, 3, seed=8), Games(mode, 3, seed=8)
    games.reveal([0, 1, 2], [3, 3, 3])
    laid = games.mines.copy()
    others.reveal([4, 1, 0], [6, 3, 0])
    np.testing.assert_array_equal(others.mines[1], laid[1])
    for cell in np.ndindex(5, 7):
        games.reveal(*cell)
    np.testing.assert_array_equal(games.mines, laid)


@pytest.mark.parametrize("which", [[False, True, True, False], [1, 2], np.array([2, 1, 1]), np.uint8([1, 2])])
def test_restart_goes_on_by_the_number_of_games(which):
    mode = Mode(5, 7, 8)
    games = Games(mode, 4, seed=9, first_index=100)
    games.reveal(2, 2)
    games.reveal(0, [0, 1, 2, 3])
    before = games.state_dict()
    games.restart(which)
    assert games.index.tolist() == [100, 105, 106, 103]
    assert games.moves[[1, 2]].tolist() == [0, 0]
    assert games.status[[1, 2]].tolist() == [PLAYING, PLAYING]
    assert (games.views[[1, 2]] == HIDDEN).all()
    assert not games.mines[[1, 2]].any()
    for name in ("views", "mines", "status", "moves"):
        np.testing.assert_array_equal(getattr(games, name)[[0, 3]], before[name][[0, 3]], err_msg=name)
    single = Games(mode, 1, seed=9, first_index=105)
    for row, col in [(2, 2), (4, 6), (0, 0)]:
        games.reveal(row, col)
        single.reveal(row, col)
        for name in ("views", "mines", "status", "moves"):
            np.testing.assert_array_equal(getattr(games, name)[1], getattr(single, name)[0], err_msg=name)
    games.restart([1])
    assert games.index.tolist() == [100, 109, 106, 103]


@pytest.mark.parametrize("which", [[], [False] * 3, np.zeros(0, bool), np.zeros(0)])
def test_restart_of_no_slot_changes_nothing(which):
    games = Games(Mode(4, 5, 3), 3)
    games.reveal(1, 1)
    state = games.state_dict()
    games.restart(which)
    assert_same_state(games, state)


def test_a_finished_game_never_changes():
    games = drawn(BOARD, BOARD)
    mask = np.stack([~games.mines[0], games.mines[1]])
    games.reveal_mask(mask)
    assert games.status.tolist() == [WON, LOST]
    state = games.state_dict()
    for cell in np.ndindex(4, 5):
        games.reveal(*cell)
        games.reveal_mask(np.ones((2, 4, 5), bool))
    assert_same_state(games, state)


def test_a_revealed_cell_costs_no_move():
    games = drawn(BOARD)
    games.reveal(0, 0)
    state = games.state_dict()
    for cell in np.argwhere(games.views[0] != HIDDEN):
        games.reveal(*cell)
    assert_same_state(games, state)
    assert games.moves[0] == 1


def test_reveal_mask_on_a_drawn_board():
    games = drawn(BOARD, BOARD, BOARD)
    mask = np.zeros((3, 4, 5), bool)
    mask[0, 0, :3] = True  # the first opens the others
    mask[1, [1, 1, 2], [3, 4, 0]] = True  # two numbers, then a mine
    mask[1, 3] = True  # never reached
    games.reveal_mask(mask)
    assert shows(games, "0001.\n1101.\n.111.\n.....")
    assert shows(games, "....*\n...11\n*....\n...*.", game=1)
    assert shows(games, ".....\n" * 4, game=2)
    assert games.moves.tolist() == [1, 3, 0]
    assert games.status.tolist() == [PLAYING, LOST, PLAYING]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_reveal_mask_equals_single_reveals_in_row_order(mode):
    rng, num_games = np.random.default_rng(6), 20
    games = Games(mode, num_games, seed=10)
    singles = [Games(mode, 1, seed=10, first_index=game) for game in range(num_games)]
    for _ in range(4):
        mask = rng.random(games.views.shape) < 1.5 / mode.cells
        if mode.first_click == "zero":
            mask[games.moves == 0, 0, 0] = True
        games.reveal_mask(mask)
        for game, single in enumerate(singles):
            for row, col in np.argwhere(mask[game]):
                single.reveal(row, col)
            for name in ("views", "mines", "status", "moves"):
                np.testing.assert_array_equal(getattr(games, name)[game], getattr(single, name)[0], err_msg=name)
    assert (games.moves > 1).any()


def test_reveal_mask_takes_arrays_that_are_not_contiguous():
    games, others = Games(Mode(4, 6, 5), 3), Games(Mode(4, 6, 5), 3)
    mask = np.random.default_rng(7).random((6, 4, 3)) < 0.1
    games.reveal_mask(mask.T)
    others.reveal_mask(mask.T.copy())
    assert games.moves.sum() > 0
    assert_same_state(games, others.state_dict())


def test_one_integer_stands_for_all_games():
    games, others = Games(Mode(4, 6, 5), 3), Games(Mode(4, 6, 5), 3)
    games.reveal(2, np.uint8([1, 2, 3]))
    others.reveal([2, 2, 2], [1, 2, 3])
    assert_same_state(games, others.state_dict())


def test_the_largest_board_opens_at_the_first_click():
    """1000 x 1000 with 4000 mines: the opening is one component of the zeros and its border (scipy labels them)."""
    games = Games(Mode(1000, 1000, 4000, "zero"), 1, seed=11)
    games.reveal(999, 0)
    mines = games.mines[0]
    assert mines.sum() == 4000
    counts = neighbour_counts(mines)
    labels, _ = ndimage.label((counts == 0) & ~mines, np.ones((3, 3)))
    opened = ndimage.binary_dilation(labels == labels[999, 0], np.ones((3, 3)))
    assert opened.sum() > 900_000
    np.testing.assert_array_equal(games.views[0], np.where(opened, counts, HIDDEN))
    assert (games.status[0], games.moves[0]) == (PLAYING, 1)


def test_a_recorded_game():
    """The file holds the mode, the moves and what each showed; it is replayed line by line."""
    lines = GOLDEN.read_text().splitlines()
    rows, cols, mines, first_click, seed, index = re.fullmatch(
        r"rows=(\d+) cols=(\d+) mines=(\d+) first_click=(\w+) seed=(\d+) index=(\d+)", lines[0]
    ).groups()
    games = Games(Mode(int(rows), int(cols), int(mines), first_click), 1, int(seed), int(index))
    place = 1
    while place < len(lines):
        row, col = re.fullmatch(r"reveal (\d+) (\d+)", lines[place]).groups()
        games.reveal(int(row), int(col))
        status = {PLAYING: "playing", WON: "won", LOST: "lost"}[int(games.status[0])]
        shown = [f"{status} after {games.moves[0]} moves", *view_to_text(games.views[0]).splitlines()]
        assert lines[place + 1 : place + 2 + int(rows)] == shown
        place += 2 + int(rows)
    assert status == "won"
    np.testing.assert_array_equal(text_to_board("\n".join(lines[-int(rows) :])), games.mines[0])


def test_state_goes_there_and_back():
    mode = Mode(5, 8, 9)
    games = Games(mode, 5, seed=12)
    games.reveal(2, 2)
    games.restart([3])
    state = games.state_dict()
    kept = {name: values.copy() for name, values in state.items()}
    others = Games(mode, 5, seed=12, first_index=999)
    others.reveal(0, 0)
    others.load_state_dict(state)
    assert_same_state(others, kept)
    for cell in [(0, 7), (4, 0), (3, 5)]:
        games.reveal(*cell)
        others.reveal(*cell)
        games.restart(games.status != PLAYING)
        others.restart(others.status != PLAYING)
        assert_same_state(others, games.state_dict())
    assert (games.state_dict()["views"] != kept["views"]).any()
    for name, values in state.items():
        np.testing.assert_array_equal(values, kept[name], err_msg=f"{name} is not a copy")


def test_states_that_do_not_fit():
    games = Games(Mode(3, 4, 2), 2)
    before = games.state_dict()
    state = Games(Mode(3, 4, 2), 3).state_dict()
    with refused("state of the games: views must have shape [2, 3, 4]"):
        games.load_state_dict(state)
    state = games.state_dict()
    state["views"][:] = 0
    del state["moves"]
    with refused("state of the games: moves must have shape [2]"):
        games.load_state_dict(state)
    assert_same_state(games, before)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_games": 0}, "num_games must be an integer from 1 to 2147483647, got 0"),
        ({"num_games": 2.0}, "num_games must be an integer from 1 to 2147483647, got 2.0"),
        ({"num_games": True}, "num_games must be an integer from 1 to 2147483647, got True"),
        ({"seed": -1}, "seed must be an integer from 0 to 18446744073709551615, got -1"),
        ({"seed": 2**64}, f"seed must be an integer from 0 to 18446744073709551615, got {2**64}"),
        ({"seed": None}, "seed must be an integer from 0 to 18446744073709551615, got None"),
        ({"first_index": -1}, "first_index must be an integer from 0 to 4611686018427387904, got -1"),
        ({"first_index": "3"}, "first_index must be an integer from 0 to 4611686018427387904, got '3'"),
    ],
)
def test_refused_games(values, message):
    with refused(message):
        Games(**({"mode": Mode(3, 4, 2), "num_games": 2} | values))


def test_the_largest_seed_plays():
    boards = []
    for seed in (0, 2**63, 2**64 - 1):
        games = Games(Mode(5, 6, 10), 1, seed=seed, first_index=2**62)
        games.reveal(0, 0)
        boards.append(games.mines[0].tobytes())
    assert len(set(boards)) == 3


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("reveal", (3, 0), "rows must be 0 to 2, got 3"),
        ("reveal", ([0, -1], 0), "rows must be 0 to 2, got -1"),
        ("reveal", (0, [1, 4]), "cols must be 0 to 3, got 4"),
        ("reveal", (0.0, 0), "rows must be integers, got float64"),
        ("reveal", (0, True), "cols must be integers, got bool"),
        ("reveal", ([0, 1, 2], 0), "rows must have shape [2], got [3]"),
        ("reveal", (0, [[0, 1]]), "cols must have shape [2], got [1, 2]"),
        ("reveal_mask", (np.ones((2, 4, 3), bool),), "mask must be bool [2, 3, 4], got bool [2, 4, 3]"),
        ("reveal_mask", (np.ones((2, 3, 4), np.int8),), "mask must be bool [2, 3, 4], got int8 [2, 3, 4]"),
        ("reveal_mask", (np.ones((3, 4), bool),), "mask must be bool [2, 3, 4], got bool [3, 4]"),
        ("restart", ([True],), "a bool `which` must have shape [2], got [1]"),
        ("restart", ([0, 2],), "slots must be 0 to 1, got 2"),
        ("restart", ([-1],), "slots must be 0 to 1, got -1"),
        ("restart", ([0.0],), "slots must be integers, got float64"),
    ],
)
def test_refused_moves_change_nothing(method, arguments, message):
    games = Games(Mode(3, 4, 2), 2)
    games.reveal(1, 1)
    state = games.state_dict()
    with refused(message):
        getattr(games, method)(*arguments)
    assert_same_state(games, state)


def room(game, limit, cell):
    return (
        f"game {game}: mines must be at most {limit} for a first reveal at {cell} with first_click=zero on 4x5, got 16"
    )


def test_zero_needs_room_for_the_mines():
    """16 mines leave four cells on 4x5: enough for a corner's neighbourhood, not for an edge's or the centre's."""
    mode = Mode(4, 5, 16, "zero")
    games = Games(mode, 3)
    state = games.state_dict()
    with refused(room(0, 11, (1, 1))):
        games.reveal(1, 1)
    with refused(room(1, 14, (3, 2))):
        games.reveal([0, 3, 0], [0, 2, 0])
    mask = np.zeros((3, 4, 5), bool)
    mask[2, 1:, 3] = True
    with refused(room(2, 11, (1, 3))):
        games.reveal_mask(mask)
    assert_same_state(games, state)
    mask[2, 0, 4] = True  # now the corner is the first cell of game 2, and the others have no move
    games.reveal_mask(mask)
    assert games.status.tolist() == [PLAYING, PLAYING, WON]
    games.reveal([0, 3, 1], [0, 0, 1])  # game 2 is over: its cell may be anywhere
    assert shows(games, "02***\n25***\n*****\n*****")
    assert games.status.tolist() == [WON, WON, WON]
    games.restart([1])
    with refused(room(1, 11, (2, 2))):
        games.reveal(2, 2)


def test_zero_with_room_for_the_centre_takes_every_cell():
    for cell in np.ndindex(4, 5):
        games = Games(Mode(4, 5, 11, "zero"), 1)
        games.reveal(*cell)
        assert games.views[0][cell] == 0
        assert games.mines.sum() == 11


def test_games_that_have_begun():
    """They go on as those that they were taken from; a view that does not fit is refused."""
    mode = Mode(6, 8, 9)
    games = Games(mode, 40, seed=2)
    games.reveal(3, 4)
    games.reveal(0, 0)
    playing = np.flatnonzero(games.status == PLAYING)
    assert playing.size > 10
    begun = Games.on_boards(games.mines[playing], views=games.views[playing])
    for row, col in np.ndindex(6, 8):
        if (row + col) % 3:
            games.reveal(row, col)
            begun.reveal(row, col)
    np.testing.assert_array_equal(begun.views, games.views[playing])
    np.testing.assert_array_equal(begun.status, games.status[playing])
    mines = np.array([[[False, True, False]]])
    over = Games.on_boards(mines, views=np.array([[[1, HIDDEN, 1]]], np.int8))
    assert (over.status.tolist(), over.views.tolist()) == ([WON], [[[1, MINE, 1]]])
    marked = Games.on_boards(mines, views=np.array([[[1, MINE, HIDDEN]]], np.int8))
    marked.reveal(0, 2)
    assert marked.status.tolist() == [WON]
    with pytest.raises(ValueError, match=re.escape("game 0: its board does not have the 2 seen at (0, 0)")):
        Games.on_boards(mines, views=np.array([[[2, HIDDEN, 1]]], np.int8))
    with pytest.raises(ValueError, match=re.escape("views must be int8 [1, 1, 3], got int64 [1, 1, 3]")):
        Games.on_boards(mines, views=np.array([[[1, -2, 1]]]))
