"""The exact posterior: P(mine) of every hidden cell, given the view and the number of mines.

All layouts that fit the view are equally likely; they are counted, not searched (`counting.py`), so every position that
real games reach is exact. `num_mines` counts all mines of the board.

One file, since what is checked, counted and said of a fault is the same for one view and for many.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.counting import (
    CONTRADICTION,
    COUNTED,
    MAX_OPEN_CLUES,
    OVER_BUDGET,
    Layers,
    chain_length,
    combine,
    log_tilt_for,
    mines_used,
    new_layers,
    normalise,
    not_proved,
    sweep,
    sweep_back,
    tilt_polynomials,
    weighted_ways,
)
from minesweeper.frontier import SAFE, fill_field, find_components, make_boxes, new_field, order_boxes, single_point
from minesweeper.kernels import kernel
from minesweeper.textio import counted

MAX_STATES = 4_000_000  # of one view: about a second and 250 MB
OVER_BUDGET_CHOICES = ("raise", "density")
_CELL_VALUES = f"a cell must be {HIDDEN} (hidden), {MINE} (mine) or 0 to 8"
IMPOSSIBLE_TOTAL = 3
_MOST_CELLS = 2**31 - 1
_LARGE = 1000  # undecided cells from which on the tilt is needed (see `counting.py`)
_MOST_TILTS = 8


class InconsistentViewError(ValueError):
    """No layout of the mines fits the view.

    Attributes:
        game: index of the view in its batch.
        row, col: the number that cannot be met, or None when the total of mines is at fault.
    """

    def __init__(self, message: str, game: int, row: int | None = None, col: int | None = None) -> None:
        super().__init__(message)
        self.game, self.row, self.col = game, row, col


class StateBudgetError(RuntimeError):
    """A view needs more states than `max_states`, or more than 27 numbers open at once in every sweep tried."""


@dataclass(frozen=True)
class Posterior:
    """What is known of a view; a leading axis [N] as the views had, or none.

    Attributes:
        probabilities: float64 [N, R, C], NaN where revealed; exactly 0.0 and 1.0 for proved cells, and only for these.
        interior: float64 [N], of a hidden cell beside no number; NaN where there is none.
        log_layouts: float64 [N], natural logarithm of the number of layouts; NaN where not exact.
        exact: bool [N], False where the state budget was exceeded and `over_budget="density"` gave a weaker answer.
    """

    probabilities: NDArray[np.float64]
    interior: Any
    log_layouts: Any
    exact: Any

    def of(self, games: NDArray) -> "Posterior":
        """That of some of the views: integers or bool [N]."""
        return Posterior(**{name: array[games] for name, array in vars(self).items()})

    def put(self, games: NDArray, others: "Posterior") -> None:
        """Replaces that of some of the views, integers or bool [N], by `others`."""
        for name, array in vars(self).items():
            array[games] = getattr(others, name)


def mine_posterior(
    views: ArrayLike, num_mines: ArrayLike, *, max_states: int = MAX_STATES, over_budget: str = "raise"
) -> NDArray[np.float64]:
    """The `probabilities` of `solve_posterior`, which see.

    >>> mine_posterior([[1, -2, -2],
    ...                 [1, -2, -2]], num_mines=1)
    array([[nan, 0.5, 0. ],
           [nan, 0.5, 0. ]])
    """
    return solve_posterior(views, num_mines, max_states=max_states, over_budget=over_budget).probabilities


def solve_posterior(
    views: ArrayLike, num_mines: ArrayLike, *, max_states: int = MAX_STATES, over_budget: str = "raise"
) -> Posterior:
    """Counts all layouts of the mines that fit each view.

    A `MINE` in a view is a known mine; every number counts as a clue, an unexpanded zero too.

    Args:
        views: int8 [R, C] or [N, R, C]: `HIDDEN`, `MINE` or 0..8.
        num_mines: integer, or integers [N]: mines on the whole board.
        max_states: budget of states for one view; the time is about 0.1 microseconds a state.
        over_budget: what happens past the budget. "raise", or "density": the total of mines is replaced by
            independent mines at the density of what is left, and the components that are too large get the mean of
            (mines needed / undecided neighbours) over their numbers. What is 0.0 or 1.0 stays proved.

    Raises:
        ValueError: a shape, type or value that does not fit.
        InconsistentViewError: no layout fits; it says which number or total.
        StateBudgetError: past the budget with `over_budget="raise"`.
    """
    views, mines = checked_views(views, num_mines)
    if over_budget not in OVER_BUDGET_CHOICES:
        raise ValueError(f"over_budget must be one of {', '.join(OVER_BUDGET_CHOICES)}, got {over_budget!r}")
    check_max_states(max_states)
    batch = views if views.ndim == 3 else views[None]
    probabilities = np.empty(batch.shape)
    interior = np.empty(batch.shape[0])
    log_layouts = np.empty(batch.shape[0])
    faults = np.empty((batch.shape[0], 4), np.int64)
    solve_each(batch, mines, max_states, probabilities, interior, log_layouts, faults)
    exact = faults[:, 0] == COUNTED
    is_wrong = ~exact
    if over_budget == "density":
        is_wrong &= faults[:, 0] != OVER_BUDGET
    if is_wrong.any():
        game = int(is_wrong.argmax())
        raise_fault(batch, mines, max_states, game, *faults[game].tolist())
    if views.ndim == 3:
        return Posterior(probabilities, interior, log_layouts, exact)
    return Posterior(probabilities[0], interior[0], log_layouts[0], exact[0])


def proved_by_single_point(views: NDArray[np.int8], num_mines: ArrayLike) -> NDArray[np.int8]:
    """What single numbers prove, to a fixpoint, in a fraction of the time of the posterior.

    Args:
        views: int8 [N, R, C].
        num_mines: integer, or integers [N].

    Returns:
        int8 [N, R, C]: `SAFE` and `MINE` where proved, `HIDDEN` where not, 0 where revealed.

    Raises:
        ValueError, InconsistentViewError: as `solve_posterior`.
    """
    views, mines = checked_views(views, num_mines)
    if views.ndim != 3:
        raise ValueError(f"views must have shape [N, R, C], got {list(views.shape)}")
    known = np.empty(views.shape, np.int8)
    game, where = _single_point_each(views, known)
    if game >= 0:
        raise_fault(views, mines, 0, game, CONTRADICTION, where, 0, 0)
    return known


def check_max_states(max_states: int) -> None:
    """ValueError unless `max_states` is an integer in its range."""
    if isinstance(max_states, bool) or not isinstance(max_states, (int, np.integer)) or not 1 <= max_states <= 2**30:
        raise ValueError(f"max_states must be an integer from 1 to {2**30}, got {max_states!r}")


def checked_views(views: ArrayLike, num_mines: ArrayLike) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """`views` as contiguous int8 and `num_mines` as int64 [N]; ValueError if one does not fit."""
    views = np.asarray(views)
    if views.dtype != np.int8 or not views.flags.c_contiguous:
        if views.dtype.kind not in "iu":
            raise ValueError(f"views must be integers, got {views.dtype}")
        outside = (views < HIDDEN) | (views > 8)
        if outside.any():
            which = f"view {np.argwhere(outside)[0, 0]}: " if views.ndim == 3 and len(views) > 1 else ""
            raise ValueError(f"{which}{_CELL_VALUES}, got {views[outside].flat[0]}")
        views = np.ascontiguousarray(views, np.int8)
    if views.ndim not in (2, 3) or 0 in views.shape[-2:]:
        raise ValueError(f"views must have shape [R, C] or [N, R, C], got {list(views.shape)}")
    num_games = views.shape[0] if views.ndim == 3 else 1
    mines = np.asarray(num_mines)
    if mines.dtype.kind not in "iu" or mines.shape not in ((), (num_games,)):
        raise ValueError(f"num_mines must be an integer or integers [{num_games}], got {num_mines!r}")
    if mines.size and not -_MOST_CELLS <= mines.min() <= mines.max() <= _MOST_CELLS:
        raise ValueError(f"num_mines must be 0 to the number of cells, got {num_mines!r}")
    return views, np.full(num_games, mines, np.int64)


def raise_fault(
    views: NDArray, mines: NDArray, max_states: int, game: int, outcome: int, where: int, low: int, high: int
) -> None:
    rows, cols = views.shape[-2:]
    row, col = where // (cols + 2) - 1, where % (cols + 2) - 1
    which = f"view {game}: " if views.shape[0] > 1 else ""
    if outcome == OVER_BUDGET:
        raise StateBudgetError(
            f"{which}counting needs more than max_states={max_states} states or {MAX_OPEN_CLUES} numbers open at once; "
            f"raise max_states or choose over_budget=density"
        )
    if outcome == IMPOSSIBLE_TOTAL:
        raise InconsistentViewError(
            f"{which}{impossible_total(mines[game], rows, cols)}: it needs between {low} and {high}", game
        )
    value = views[game, row, col]
    if not HIDDEN <= value <= 8:
        raise ValueError(f"{which}{_CELL_VALUES}, got {value}")
    raise InconsistentViewError(f"{which}the number {value} at ({row}, {col}) cannot be met", game, row, col)


def impossible_total(num_mines: int, rows: int, cols: int) -> str:
    """What is said of a total of mines that no layout has."""
    return f"{counted(num_mines, 'mine')} {'is' if num_mines == 1 else 'are'} not possible on this {rows}x{cols} view"


@kernel
def _single_point_each(views, known):
    num_games, rows, cols = views.shape
    width = cols + 2
    field, need, unknown, stack = new_field(rows, cols)
    for game in range(num_games):
        clue = fill_field(views[game], field)
        if clue < 0:
            clue = single_point(field, width, need, unknown, stack)
        if clue >= 0:
            return game, clue
        for row in range(rows):
            for col in range(cols):
                value = views[game, row, col]
                known[game, row, col] = field[(row + 1) * width + col + 1] if value == HIDDEN else 0
    return -1, -1


@kernel
def solve_each(views, num_mines, max_states, probabilities, interior, log_layouts, faults):
    """Writes the posterior of each view into the other arrays.

    `faults` int64 [N, 4], out: the outcome of each view, and where, low and high, which say what is wrong when it is
    neither `COUNTED` nor `OVER_BUDGET` (which comes with a usable answer).
    """
    num_games, rows, cols = views.shape
    width = cols + 2
    field, need, unknown, stack = new_field(rows, cols)
    for game in range(num_games):
        faults[game] = 0
        clue = fill_field(views[game], field)
        if clue < 0:
            clue = single_point(field, width, need, unknown, stack)
        if clue >= 0:
            faults[game, 0] = CONTRADICTION
            faults[game, 1] = clue
            continue
        boxes, num_boxes, num_clues, num_interior = make_boxes(field, width)
        known_mines = (field == MINE).sum()
        outcome, where, low, high, box_probability, interior[game], log_layouts[game] = solve_boxes(
            boxes, num_boxes, num_clues, num_interior, need, unknown, width, num_mines[game] - known_mines, max_states
        )
        faults[game, 0] = outcome
        faults[game, 1] = where
        faults[game, 2] = low + known_mines
        faults[game, 3] = high + known_mines
        if outcome != COUNTED and outcome != OVER_BUDGET:
            continue
        write_probabilities(views[game], field, boxes, box_probability, interior[game], probabilities[game])


@kernel
def write_probabilities(view, field, boxes, box_probability, interior, probabilities):
    """The probability of each cell of a view [R, C], from what is decided in its field and those of the boxes."""
    rows, cols = view.shape
    for row in range(rows):
        for col in range(cols):
            cell = (row + 1) * (cols + 2) + col + 1
            if view[row, col] != HIDDEN:
                probability = np.nan
            elif field[cell] == SAFE:
                probability = 0.0
            elif field[cell] == MINE:
                probability = 1.0
            elif boxes.cell_box[cell] < 0:
                probability = interior
            else:
                probability = box_probability[boxes.cell_box[cell]]
            probabilities[row, col] = probability


class BoxCounts(NamedTuple):
    """The counted components of a view: C of them, T totals of mines over them all. See `counting.py`."""

    outcome: int  # `CONTRADICTION`: not all is set; `OVER_BUDGET`: the polynomials are not
    where: np.int64  # the cell of a clue that cannot be met
    num_components: int
    layers: Layers
    layer_start: NDArray[np.int32]  # those of component c begin at boxes.start[c] + c
    last_state: NDArray[np.int64]  # [C] end of each one's states; -1: over budget
    num_states: int
    ways: NDArray[np.float64]  # [9, 9], tilted
    leasts: NDArray[np.int64]  # [C] the least mines of each
    lengths: NDArray[np.int64]  # [C] how many totals each may have
    starts: NDArray[np.int64]  # [C + 1] where these begin in `polynomials`
    polynomials: NDArray[np.float64]  # [T] layouts by total, with the tilt and what it lacks
    density: float  # of the mines that are left
    tilt: float
    log_tilt_left: float  # the log of what the tilt still lacks
    log_scale: float  # of the polynomials


@kernel
def count_boxes(boxes, num_boxes, num_clues, num_interior, need, width, mines_left, max_states):
    """Orders the boxes and counts the layouts of each component; on large boards with the tilt that suits the mines."""
    num_components = find_components(boxes, num_boxes, num_clues)
    order_boxes(boxes, num_components, need, width, num_boxes, num_clues)

    cells = num_interior + boxes.size[:num_boxes].astype(np.int64).sum()
    density = min(max(mines_left / max(cells, 1), 0.001), 0.999)
    is_large = cells > _LARGE
    tilt = density / (1 - density) if is_large else 1.0
    log_tilt_left = 0.0

    layers = new_layers()
    layer_start = np.empty(num_boxes + num_components, np.int32)
    slot_of = np.empty(num_clues, np.int64)
    left = np.empty(num_clues, np.int64)
    last_state = np.empty(num_components, np.int64)  # end of each component's states; -1: over budget
    leasts = np.zeros(num_components, np.int64)
    lengths = np.ones(num_components, np.int64)
    starts = np.zeros(num_components + 1, np.int64)
    where = np.int64(-1)
    for attempt in range(_MOST_TILTS):
        ways = weighted_ways(tilt)
        table = np.full(1024, -1, np.int32)
        num_states = 0
        num_edges = 0
        log_scale = 0.0
        outcome = COUNTED
        for c in range(num_components):
            result, clue, layers, table, end, edges, scale = sweep(
                boxes.order[boxes.start[c] : boxes.start[c + 1]], boxes, need, ways, layers, num_states, num_edges,
                layer_start[boxes.start[c] + c :], table, slot_of, left, max_states,
            )  # fmt: skip
            if result == CONTRADICTION:
                outcome, where = CONTRADICTION, np.int64(boxes.clue_cell[clue])
                break
            if result == OVER_BUDGET:
                outcome = OVER_BUDGET
                last_state[c] = -1
                table[:] = -1
                continue
            log_scale += scale
            begin = layer_start[boxes.start[c + 1] + c]
            leasts[c] = mines_used(layers.word_2[begin:end].min())
            lengths[c] = mines_used(layers.word_2[begin:end].max()) - leasts[c] + 1
            last_state[c] = end
            num_states, num_edges = end, edges
        starts[1:] = np.cumsum(lengths)
        polynomials = np.zeros(starts[num_components])
        if outcome == COUNTED and chain_length(lengths) > max(max_states, 1000):
            outcome = OVER_BUDGET
        if outcome != COUNTED:
            break
        for c in range(num_components):
            begin = layer_start[boxes.start[c + 1] + c]
            for state in range(begin, last_state[c]):
                mines = mines_used(layers.word_2[state]) - leasts[c]
                polynomials[starts[c] + mines] = layers.forward[state]
            log_scale += normalise(polynomials[starts[c] : starts[c + 1]])
        if not is_large:
            break
        log_tilt_left = log_tilt_for(polynomials, lengths, leasts, num_interior, mines_left, tilt)
        if abs(log_tilt_left) < 0.1 or attempt == _MOST_TILTS - 1:
            break
        tilt = min(max(tilt * np.exp(log_tilt_left), 1e-8), 1e8)
    if outcome == COUNTED:
        tilt_polynomials(polynomials, lengths, log_tilt_left)
    return BoxCounts(
        outcome, where, num_components, layers, layer_start, last_state, num_states, ways, leasts, lengths, starts,
        polynomials, density, tilt, log_tilt_left, log_scale,
    )  # fmt: skip


@kernel
def solve_boxes(boxes, num_boxes, num_clues, num_interior, need, unknown, width, mines_left, max_states):
    """The posterior of the undecided cells.

    Returns:
        (outcome, where, low, high, probability of each box, of the interior, log of the layouts).
    """
    probability = np.empty(num_boxes)
    counted = count_boxes(boxes, num_boxes, num_clues, num_interior, need, width, mines_left, max_states)
    if counted.outcome == CONTRADICTION:
        return CONTRADICTION, counted.where, 0, 0, probability, np.nan, np.nan
    is_exact = counted.outcome == COUNTED
    num_components, layers, last_state = counted.num_components, counted.layers, counted.last_state
    leasts, lengths, starts, polynomials = counted.leasts, counted.lengths, counted.starts, counted.polynomials
    tilt, log_tilt_left = counted.tilt, counted.log_tilt_left

    interior = np.nan
    log_layouts = np.nan
    if is_exact:
        log_scale = counted.log_scale + leasts.sum() * log_tilt_left
        full_tilt = tilt * np.exp(log_tilt_left)
        totals = combine(polynomials, lengths, leasts, num_interior, mines_left, full_tilt)
        if not totals.is_possible:
            least = leasts.sum()
            most = least + (lengths - 1).sum() + num_interior
            return IMPOSSIBLE_TOTAL, -1, least, most, probability, np.nan, np.nan
        weights = totals.weights
        tilt_polynomials(weights, lengths, log_tilt_left)
        log_layouts = totals.log_layouts + log_scale - mines_left * np.log(full_tilt)
        if num_interior > 0:
            if not totals.interior_can_have:
                interior = 0.0
            elif not totals.interior_can_lack:
                interior = 1.0
            else:
                interior = not_proved(totals.expected_interior / num_interior)
    else:
        weights = np.ones(polynomials.size)
        tilt_polynomials(weights, lengths, np.log(counted.density / (1 - counted.density) / tilt))
        if num_interior > 0:
            interior = counted.density

    backward = np.empty(counted.num_states)
    for c in range(num_components):
        members = boxes.order[boxes.start[c] : boxes.start[c + 1]]
        if last_state[c] < 0:
            estimate_locally(members, boxes, need, unknown, probability)
            continue
        layer = counted.layer_start[boxes.start[c] + c : boxes.start[c + 1] + c + 1]
        for state in range(layer[members.size], last_state[c]):
            mines = mines_used(layers.word_2[state]) - leasts[c]
            backward[state] = weights[starts[c] + mines]
        sweep_back(members, boxes, counted.ways, layers, layer, last_state[c], backward, probability)
    return COUNTED if is_exact else OVER_BUDGET, -1, 0, 0, probability, interior, log_layouts


@kernel
def estimate_locally(members, boxes, need, unknown, probability):
    """A weak answer for boxes that are too many to count: the mean over their clues of needed / undecided."""
    for box in members:
        total = 0.0
        for k in range(boxes.degree[box]):
            cell = boxes.clue_cell[boxes.clues[box, k]]
            total += need[cell] / unknown[cell]
        probability[box] = not_proved(total / boxes.degree[box])
