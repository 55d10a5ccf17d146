"""What opening a cell would bring: each number that it may show, with its exact chance, and what would be known then.

For each number the layouts are counted anew (`recount.py`), and what would be known is summed up in some features: of
the position, of the cell and of the position after. They do not change when the board is turned or mirrored, and suit
any board. Half of the file is these features, which are of use with the counting alone.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.components import frontier_mask
from minesweeper.counting import COUNTED
from minesweeper.frontier import new_boxes
from minesweeper.kernels import kernel
from minesweeper.posterior import MAX_STATES, Posterior, solve_each
from minesweeper.recount import begin, new_room, recount, spread_out
from minesweeper.telling import count_telling

_NEAR = 0.03  # cells at most this above the lowest probability are about as good
_SAME = 1e-9  # a probability this close to a bound counts as on it, however it was rounded
_ENOUGH_STATES = 100_000  # a budget that `recount`, which has its own, stays below
_INTERIOR, _FRONTIER, _BESIDE_CELL = 0, 1, 2  # where cells lie once the cell is opened
NUM_POSITION, NUM_CELL, NUM_OUTCOME = 11, 7, 28
NUM_FEATURES = NUM_POSITION + NUM_CELL + NUM_OUTCOME
_IS_WON, _SAFE, _LOWEST, _SECOND = 0, 1, 5, 23  # features of the position after
_CELLS_OF_A_PASS = 2048
_DIGITS = 7  # of a score: float32 networks tell equal cells apart by less


class Prospects(NamedTuple):
    """The numbers that some cells may show; M of them.

    Attributes:
        of: int64 [M], which of the cells, in order.
        numbers: int64 [M], what it shows.
        chances: float64 [M]; those of a cell add up to the chance that it is safe.
        features: float32 [M, NUM_FEATURES].
    """

    of: NDArray[np.int64]
    numbers: NDArray[np.int64]
    chances: NDArray[np.float64]
    features: NDArray[np.float32]

    @property
    def leads_on(self) -> NDArray[np.bool_]:
        """Whether a cell is proved safe then, or the game is won, bool [M]."""
        first = NUM_POSITION + NUM_CELL
        return (self.features[:, first + _IS_WON] > 0) | (self.features[:, first + _SAFE] > 0)

    def next_safety(self, second: float) -> NDArray[np.float64]:
        """The chance to survive the next move too, float64 [M]: on the safest cell that is left, in the share `second`
        on the second safest. Proved cells whose number is known before do not count, as they lead nowhere."""
        first = NUM_POSITION + NUM_CELL
        lowest, other = self.features[:, first + _LOWEST], self.features[:, first + _SECOND]
        return 1.0 - (1.0 - second) * lowest.astype(np.float64) - second * other


def prospects(
    views: NDArray[np.int8],
    num_mines: NDArray[np.int64],
    posterior: Posterior,
    games: NDArray[np.int64],
    cells: NDArray[np.int64],
    max_states: int = MAX_STATES,
) -> Prospects:
    """What opening cells would bring.

    Args:
        views: int8 [N, R, C].
        num_mines: int64 [N].
        posterior: theirs, [N], exact.
        games: int64 [K], the view of each cell, in rising order.
        cells: int64 [K], flat; a proved mine shows no number.
        max_states: budget of one count; a number past it is left out.
    """
    room = 9 * cells.size
    of, numbers = np.empty(room, np.int64), np.empty(room, np.int64)
    chances, features = np.empty(room), np.empty((room, NUM_FEATURES), np.float32)
    inputs = (views, num_mines, posterior.probabilities, posterior.log_layouts, games, cells)
    contiguous = [np.ascontiguousarray(array) for array in inputs]  # so that one layout alone is compiled for
    count = _prospects(*contiguous, max_states, of, numbers, chances, features)
    return Prospects(of[:count], numbers[:count], chances[:count], features[:count])


def cell_scores(
    views: NDArray[np.int8],
    num_mines: NDArray[np.int64],
    posterior: Posterior,
    cells: NDArray[np.int64],
    worth: Callable[[Prospects, NDArray[np.int64], NDArray[np.int64]], NDArray],
    max_states: int = MAX_STATES,
) -> NDArray[np.float64]:
    """What some cells are worth: the sum over the numbers that each may show of its chance times what it is worth.

    Args:
        views, num_mines, posterior, max_states: as for `prospects`.
        cells: int64 [N, K], flat; -1: none.
        worth: what each number is worth, [M], of prospects and the games and the cells that they were asked for.

    Returns:
        float64 [N, R, C], rounded so that equal cells are equal; NaN elsewhere.
    """
    scores = np.full((len(views), views[0].size), np.nan)
    every_game, place = np.nonzero(cells >= 0)
    for start in range(0, every_game.size, _CELLS_OF_A_PASS):
        part = slice(start, start + _CELLS_OF_A_PASS)
        games, asked = every_game[part], cells[every_game[part], place[part]]
        found = prospects(views, num_mines, posterior, games, asked, max_states)
        sums = np.bincount(found.of, found.chances * worth(found, games, asked), games.size)
        scores[games, asked] = sums.round(_DIGITS)
    return scores.reshape(views.shape)


def most_promising(views: NDArray[np.int8], posterior: Posterior, margin: float, most: int = 0) -> NDArray[np.int64]:
    """The cells worth a look at guesses: the lowest probabilities first, of equal ones those with the fewest undecided
    neighbours, those on the frontier before the others.

    Args:
        views: int8 [N, R, C].
        posterior: theirs, [N].
        margin: cells at most this above the lowest probability.
        most: of them; 0: all.

    Returns:
        int64 [N, K], flat; -1: no more.
    """
    probabilities = np.nan_to_num(posterior.probabilities, nan=2.0)
    lowest = probabilities.min(axis=(1, 2), keepdims=True)
    is_candidate = (views == HIDDEN) & (probabilities <= lowest + margin + _SAME)
    order = np.round(probabilities, 9) * 1e6 + undecided_around(probabilities) + 0.5 * ~frontier_mask(views)
    order = np.where(is_candidate, order, np.inf).reshape(len(views), -1)
    count = int(is_candidate.sum(axis=(1, 2)).max(initial=1))
    cells = np.argsort(order, axis=1, kind="stable")[:, : min(most, count) if most else count]
    return np.where(np.isfinite(np.take_along_axis(order, cells, 1)), cells, -1)


def undecided_around(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many of the up to eight neighbours of each cell are neither known nor proved, [N, R, C].

    Args:
        probabilities: float64 [N, R, C], above 1 or NaN where revealed.
    """
    is_undecided = np.pad((probabilities > 0) & (probabilities < 1), ((0, 0), (1, 1), (1, 1))).astype(np.int64)
    rows = is_undecided[:, 1:-1] + is_undecided[:, :-2] + is_undecided[:, 2:]
    return rows[:, :, 1:-1] + rows[:, :, :-2] + rows[:, :, 2:] - is_undecided[:, 1:-1, 1:-1]


@kernel
def undisturbed_kind(view, row, col):
    """Where the cell lies, by its distances of up to two from the four sides, or -1 if a revealed cell is within three
    steps of it: with cells of one kind all is alike but the places."""
    rows, cols = view.shape
    for r in range(max(row - 3, 0), min(row + 4, rows)):
        for c in range(max(col - 3, 0), min(col + 4, cols)):
            if view[r, c] != HIDDEN:
                return -1
    return min(row, 2) + 3 * (min(rows - 1 - row, 2) + 3 * (min(col, 2) + 3 * min(cols - 1 - col, 2)))


@kernel
def _prospects(views, num_mines, probabilities, log_layouts, games, cells, max_states, of, numbers, chances, features):
    rows, cols = views.shape[1:]
    room = new_room(rows, cols)
    boxes, num_parts, num_interior, num_known = new_boxes(1), 0, 0, 0
    groups = _Groups(np.empty(rows * cols + 2), np.empty(rows * cols + 2, np.int64), np.empty(rows * cols + 2, np.int8))
    trial = np.empty((1, rows, cols), np.int8)
    after = np.empty((1, rows, cols))
    interior = np.empty(1)
    log_after = np.empty(1)
    faults = np.empty((1, 4), np.int64)
    beside = np.empty((rows, cols), np.bool_)
    start = NUM_POSITION + NUM_CELL
    of_cell = np.empty(start, np.float32)
    first_of_kind = np.empty(81, np.int64)  # of the undisturbed cells of this view: the first row
    last = -1
    count = 0
    lowest_now = 0.0
    known_mines = 0  # marked or proved
    marked = 0
    is_quick = False
    for i in range(cells.size):
        game = games[i]
        if game != last:
            last = game
            trial[0] = views[game]
            first_of_kind[:] = -1
            _mark_beside(views[game], beside)
            marked = (views[game] == MINE).sum()
            known_mines = marked
            lowest_now = 1.0
            for probability in probabilities[game].flat:
                known_mines += probability == 1.0
                if probability >= 0.0:
                    lowest_now = min(lowest_now, probability)
            _sum_up_position(
                probabilities[game], beside, num_mines[game] - known_mines, log_layouts[game], of_cell[:NUM_POSITION]
            )
            is_quick = lowest_now > 0.0 and max_states >= _ENOUGH_STATES
            if is_quick:
                is_quick, boxes, num_parts, num_interior, num_known = begin(views[game], room)
        row, col = cells[i] // cols, cells[i] % cols
        if not probabilities[game, row, col] < 1.0:
            continue  # it shows no number
        _sum_up_cell(probabilities[game], beside, row, col, lowest_now, of_cell[NUM_POSITION:])
        kind = undisturbed_kind(views[game], row, col)
        if kind >= 0 and first_of_kind[kind] >= 0:
            j = first_of_kind[kind]
            first = of[j]
            while j < count and of[j] == first:
                of[count] = i
                numbers[count] = numbers[j]
                chances[count] = chances[j]
                features[count, :start] = of_cell
                features[count, start:] = features[j, start:]
                j += 1
                count += 1
            continue
        if kind >= 0:
            first_of_kind[kind] = count
        low = 0  # the least and the most that the cell can show
        high = 0
        for r in range(max(row - 1, 0), min(row + 2, rows)):
            for c in range(max(col - 1, 0), min(col + 2, cols)):
                if r != row or c != col:
                    low += views[game, r, c] == MINE or probabilities[game, r, c] == 1.0
                    high += views[game, r, c] == MINE or probabilities[game, r, c] > 0.0
        is_found, num_beside, num_boxes, num_others = False, 0, 0, 0
        if is_quick:
            is_found, num_beside, num_boxes, num_others = recount(
                (row + 1) * (cols + 2) + col + 1, cols + 2, boxes, num_parts, num_interior, num_mines[game] - num_known,
                room,
            )  # fmt: skip
        for number in range(low, high + 1):
            if is_found:
                value = number - num_beside
                log_now = room.found.log_layouts[value]
                if np.isnan(log_now):
                    continue
                num_groups = _group_boxes(room.found, value, num_boxes, num_others, num_known - marked, groups)
                num_telling = 0
                if groups.probability[:num_groups].min() == 0.0:
                    spread_out(value, row, col, boxes, room, after[0])
                    num_telling = count_telling(views[game], row, col, after[0])
            else:
                trial[0, row, col] = number
                solve_each(trial, num_mines[game : game + 1], max_states, after, interior, log_after, faults)
                trial[0, row, col] = HIDDEN
                if faults[0, 0] != COUNTED:
                    continue
                log_now = log_after[0]
                num_groups = _group_cells(after[0], beside, row, col, groups)
                num_telling = count_telling(views[game], row, col, after[0])
            for group in range(num_groups):
                if groups.place[group] == _INTERIOR and groups.probability[group] == 0.0 and kind >= 0:
                    first_of_kind[kind] = -1  # how many of them tell anything may differ from cell to cell
            of[count] = i
            numbers[count] = number
            chances[count] = np.exp(log_now - log_layouts[game])
            features[count, :start] = of_cell
            _sum_up_outcome(
                groups, num_groups, num_telling, number - low, num_mines[game] - known_mines, known_mines - marked,
                log_now, log_layouts[game], features[count, start:],
            )  # fmt: skip
            count += 1
    return count


class _Groups(NamedTuple):
    """Hidden cells after a number, those that are alike together; G groups."""

    probability: NDArray[np.float64]  # [G]
    size: NDArray[np.int64]  # [G]
    place: NDArray[np.int8]  # [G]


@kernel
def _group_boxes(found, value, num_boxes, num_interior, num_mines, groups):
    """Fills `groups` from `recount`; `num_mines` hidden cells were proved before. Returns their number."""
    for box in range(num_boxes):
        groups.probability[box] = found.probability[box, value]
        groups.size[box] = found.size[box]
        groups.place[box] = _BESIDE_CELL if found.is_beside[box] else _FRONTIER
    groups.probability[num_boxes] = found.interior[value]
    groups.size[num_boxes] = num_interior
    groups.place[num_boxes] = _INTERIOR
    num_groups = num_boxes + (num_interior > 0)
    groups.probability[num_groups] = 1.0
    groups.size[num_groups] = num_mines
    groups.place[num_groups] = _INTERIOR
    return num_groups + (num_mines > 0)


@kernel
def _group_cells(after, beside, row, col, groups):
    """Fills `groups` from the posterior after the cell is opened, cell by cell. Returns their number."""
    rows, cols = after.shape
    num_groups = 0
    for r in range(rows):
        for c in range(cols):
            if after[r, c] >= 0.0:
                is_near = abs(r - row) <= 1 and abs(c - col) <= 1
                groups.probability[num_groups] = after[r, c]
                groups.size[num_groups] = 1
                groups.place[num_groups] = _BESIDE_CELL if is_near else _FRONTIER if beside[r, c] else _INTERIOR
                num_groups += 1
    return num_groups


@kernel
def _mark_beside(view, beside):
    """Which cells have a number beside them."""
    rows, cols = view.shape
    for row in range(rows):
        for col in range(cols):
            beside[row, col] = False
            for r in range(max(row - 1, 0), min(row + 2, rows)):
                for c in range(max(col - 1, 0), min(col + 2, cols)):
                    beside[row, col] |= view[r, c] >= 0


@kernel
def _sum_up_position(probabilities, beside, mines_left, log_layouts, out):
    """The features of a position; spreads and counts are of undecided cells."""
    rows, cols = probabilities.shape
    num_open = 0
    num_frontier = 0
    lowest = 1.0
    spread = 0.0
    even = 0
    for row in range(rows):
        for col in range(cols):
            p = probabilities[row, col]
            if p >= 0.0 and p < 1.0:
                num_open += 1
                lowest = min(lowest, p)
                if beside[row, col]:
                    num_frontier += 1
                    spread += p * (1.0 - p)
                    even += 0.4 - _SAME <= p <= 0.6 + _SAME
    near = 0
    for p in probabilities.flat:
        near += p <= lowest + _NEAR + _SAME
    out[0] = lowest
    out[1] = np.log1p(near) / 4
    out[2] = np.log1p(num_open) / 4
    out[3] = np.log1p(num_frontier) / 4
    out[4] = np.log1p(max(mines_left, 0)) / 4
    out[5] = mines_left / max(num_open, 1)
    out[6] = num_open / (rows * cols)
    out[7] = np.log1p(spread) / 4
    out[8] = np.log1p(even) / 4
    out[9] = np.log1p(log_layouts) / 4
    out[10] = np.log(rows * cols) / 4


@kernel
def _sum_up_cell(probabilities, beside, row, col, lowest, out):
    """The features of a cell."""
    rows, cols = probabilities.shape
    neighbours = -1
    undecided = -1
    for r in range(max(row - 1, 0), min(row + 2, rows)):
        for c in range(max(col - 1, 0), min(col + 2, cols)):
            neighbours += 1
            undecided += 0.0 <= probabilities[r, c] < 1.0
    from_top = min(row, rows - 1 - row, 4)
    from_side = min(col, cols - 1 - col, 4)
    out[0] = probabilities[row, col]
    out[1] = 5 * (probabilities[row, col] - lowest)
    out[2] = not beside[row, col]
    out[3] = undecided / 8
    out[4] = neighbours / 8
    out[5] = min(from_top, from_side) / 4
    out[6] = max(from_top, from_side) / 4


@kernel
def _sum_up_outcome(groups, num_groups, num_telling, need, mines_left, proved_mines, log_after, log_now, out):
    """The features of the position after the cell shows `need` mines more than are proved.

    Args:
        mines_left: that were not proved before.
        proved_mines: hidden cells that were proved mines before.
    """
    num_open = 0
    num_frontier = 0
    num_safe = 0
    num_mine = 0
    safe_beside = 0
    open_beside = 0
    spread = 0.0
    frontier_spread = 0.0
    even = 0
    good = 0
    interior = 0.0
    safest = np.ones(5)
    safest[:num_telling] = 0.0
    for i in range(num_groups):
        p = groups.probability[i]
        size = groups.size[i]
        place = groups.place[i]
        if p == 0.0:
            num_safe += size
            safe_beside += size if place == _BESIDE_CELL else 0
        elif p == 1.0:
            num_mine += size
        else:
            for _ in range(min(size, safest.size)):
                risk = p
                for j in range(safest.size):
                    if risk < safest[j]:
                        safest[j], risk = risk, safest[j]
            num_open += size
            spread += size * p * (1.0 - p)
            good += size if p < 0.1 - _SAME else 0
            open_beside += size if place == _BESIDE_CELL else 0
            if place == _INTERIOR:
                interior = p
            else:
                num_frontier += size
                frontier_spread += size * p * (1.0 - p)
                even += size if 0.4 - _SAME <= p <= 0.6 + _SAME else 0
    if num_open == 0:
        safest[:] = 0.0
    near = 0
    if num_telling == 0:
        for i in range(num_groups):
            p = groups.probability[i]
            near += groups.size[i] if 0.0 < p < 1.0 and p <= safest[0] + _NEAR + _SAME else 0
    out[0] = num_open == 0
    out[1] = np.log1p(num_safe) / 2
    out[2] = num_telling >= 1
    out[3] = num_telling >= 2
    out[4] = safe_beside / 8
    out[5] = safest[0]
    out[6] = np.log1p(near) / 4
    out[7] = np.log1p(max(num_mine - proved_mines, 0)) / 2
    out[8] = np.log1p(log_after) / 4
    out[9] = (log_now - log_after) / 4
    out[10] = np.log1p(spread) / 4
    out[11] = np.log1p(frontier_spread) / 4
    out[12] = np.log1p(num_open) / 4
    out[13] = np.log1p(num_open - num_frontier) / 4
    out[14] = interior
    out[15] = np.log1p(even) / 4
    out[16] = np.log1p(good) / 4
    out[17] = need == 0
    out[18] = need == 1
    out[19] = need == 2
    out[20] = need >= 3
    out[21] = open_beside / 8
    out[22] = (mines_left - (num_mine - proved_mines)) / max(num_open + num_safe, 1)
    out[23:27] = safest[1:]
    out[27] = np.log1p(num_telling) / 2
