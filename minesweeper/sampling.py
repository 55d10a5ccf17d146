"""Layouts at random from all that fit a view, each as likely as any other.

The components are counted as for the posterior (`counting.py`). A layout is then drawn from the end: the total of mines
of each component, one component after the other, by the ways that all later ones and the interior have with what is
left; for each component a path back through the states of its sweep, which says the mines of each box; and the cells
within a box, and in the interior, by lot.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minesweeper.board import HIDDEN, MINE, draw, draw_share, mix
from minesweeper.counting import (
    CONTRADICTION,
    COUNTED,
    OVER_BUDGET,
    Layers,
    add_product,
    interior_weights,
    mines_used,
    normalise,
    product,
)
from minesweeper.frontier import SAFE, Boxes, fill_field, make_boxes, new_field, single_point
from minesweeper.kernels import kernel
from minesweeper.posterior import (
    IMPOSSIBLE_TOTAL,
    MAX_STATES,
    check_max_states,
    checked_views,
    count_boxes,
    raise_fault,
)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def sample_layouts(
    views: ArrayLike,
    num_mines: ArrayLike,
    count: int,
    seed: ArrayLike = 0,
    *,
    safe: ArrayLike | None = None,
    max_states: int = MAX_STATES,
) -> NDArray[np.bool_]:
    """Draws layouts of the mines that fit each view, all equally likely, with replacement.

    Args:
        views, num_mines, max_states: as for `solve_posterior`.
        count: layouts of each view, at least 1.
        seed: integers of at least 0, one or [N]; the layouts of a view depend on it and the view alone.
        safe: integers, one or [N]: a flat cell of each view that is to have no mine, so that only such layouts are
            drawn, each as likely as any other; -1: any layout.

    Returns:
        bool [N, count, R, C], True for a mine; without N for a single view [R, C].

    Raises:
        ValueError: a shape, type or value that does not fit, or the cell `safe` has a mine in all layouts.
        InconsistentViewError: no layout fits; it says which number or total.
        StateBudgetError: counting needs more than `max_states`.

    >>> sample_layouts(np.array([[1, -2]], np.int8), 1, count=2)
    array([[[False,  True]],
    <BLANKLINE>
           [[False,  True]]])
    """
    views, mines = checked_views(views, num_mines)
    check_max_states(max_states)
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise ValueError(f"count must be an integer of at least 1, got {count!r}")
    batch = views if views.ndim == 3 else views[None]
    num_views, rows, cols = batch.shape
    seeds = _checked_integers("seed", seed, num_views, 0, 2**64 - 1).astype(np.uint64)
    cells = _checked_integers("safe", -1 if safe is None else safe, num_views, -1, rows * cols - 1).astype(np.int64)
    layouts = np.zeros((num_views, count, rows, cols), np.bool_)
    game, outcome, where, low, high = _sample_each(batch, mines, seeds, cells, max_states, layouts)
    if outcome not in (COUNTED, OVER_BUDGET) and cells[game] >= 0:  # is the view at fault, or the cell?
        alone = slice(game, game + 1)
        _, outcome, where, low, high = _sample_each(
            batch[alone], mines[alone], seeds[alone], np.full(1, -1), max_states, layouts[alone]
        )
        if outcome == COUNTED:
            row, col = divmod(int(cells[game]), cols)
            which = f"view {game}: " if num_views > 1 else ""
            raise ValueError(f"{which}there is no layout in which safe={cells[game]}, the cell ({row}, {col}), is safe")
    if outcome != COUNTED:
        raise_fault(batch, mines, max_states, game, outcome, where, low, high)
    return layouts if views.ndim == 3 else layouts[0]


def _checked_integers(name: str, values: ArrayLike, num_views: int, low: int, high: int) -> NDArray:
    """`values` as integers [N]; ValueError if they do not fit."""
    array = np.asarray(values)
    is_one_or_each = array.shape in ((), (num_views,)) and array.dtype.kind in "iu"
    if not is_one_or_each or (array.size and (int(array.min()) < low or int(array.max()) > high)):
        raise ValueError(f"{name} must be an integer from {low} to {high}, or [{num_views}] of them, got {values!r}")
    return np.broadcast_to(array, num_views)


class _Plan(NamedTuple):
    """What the layouts of a view are drawn from."""

    boxes: Boxes
    layers: Layers
    layer_start: NDArray[np.int32]
    ways: NDArray[np.float64]
    lengths: NDArray[np.int64]  # [C]
    starts: NDArray[np.int64]  # [C + 1]
    polynomials: NDArray[np.float64]  # [T]
    last_states: NDArray[np.int64]  # [T] the state that each total ends in, -1: none
    offsets: NDArray[np.int64]  # [C + 2] where those of each component begin in `following`
    following: NDArray[np.float64]  # ways of all components from c on, by the mines that those before have too much
    box_cells: NDArray[np.int32]  # [B, 8]
    interior: NDArray[np.int32]
    mines_left: int  # if each component had its least


@kernel
def _sample_each(views, num_mines, seeds, safe, max_states, layouts):
    """Fills `layouts` [N, count, R, C], which are all False; a cell of `safe` is decided before the rules are applied.

    Returns:
        (0, `COUNTED`, ...), or (first view at fault, its outcome, where, low, high), as in `solve_each`.
    """
    num_views, rows, cols = views.shape
    width = cols + 2
    field, need, unknown, stack = new_field(rows, cols)
    mines = np.empty(rows * cols, np.int32)
    for game in range(num_views):
        clue = fill_field(views[game], field)
        if clue < 0 and safe[game] >= 0:
            cell = (safe[game] // cols + 1) * width + safe[game] % cols + 1
            if field[cell] == MINE:
                clue = cell
            elif field[cell] == HIDDEN:
                field[cell] = SAFE
        if clue < 0:
            clue = single_point(field, width, need, unknown, stack)
        if clue >= 0:
            return game, CONTRADICTION, clue, 0, 0
        num_known = 0
        for row in range(rows):
            for col in range(cols):
                if field[(row + 1) * width + col + 1] == MINE:
                    mines[num_known] = row * cols + col
                    num_known += 1
        boxes, num_boxes, num_clues, num_interior = make_boxes(field, width)
        counted = count_boxes(
            boxes, num_boxes, num_clues, num_interior, need, width, num_mines[game] - num_known, max_states
        )
        if counted.outcome != COUNTED:
            return game, counted.outcome, counted.where, 0, 0
        plan = _plan(field, boxes, num_boxes, num_interior, counted, num_mines[game] - num_known)
        if not plan.following[0] > 0.0:
            least = num_known + counted.leasts.sum()
            return game, IMPOSSIBLE_TOTAL, -1, least, least + (counted.lengths - 1).sum() + num_interior
        state = mix(seeds[game] + _GOLDEN)
        for i in range(layouts.shape[1]):
            state = _draw_mines(plan, state, width, mines, num_known)
            for k in range(num_mines[game]):
                layouts[game, i, mines[k] // cols, mines[k] % cols] = True
    return 0, COUNTED, 0, 0, 0


@kernel
def _plan(field, boxes, num_boxes, num_interior, counted, mines_left):
    """Prepares the draws of one view; `following[0]` is 0 if the total is not possible."""
    num_components, lengths, starts = counted.num_components, counted.lengths, counted.starts
    polynomials = counted.polynomials
    last_states = np.full(polynomials.size, -1, np.int64)
    offsets = np.zeros(num_components + 2, np.int64)
    size = 1
    for c in range(num_components):
        begin = counted.layer_start[boxes.start[c + 1] + c]
        for state in range(begin, counted.last_state[c]):
            mines = mines_used(counted.layers.word_2[state]) - counted.leasts[c]
            last_states[starts[c] + mines] = state
        offsets[c + 1] = offsets[c] + size
        size += lengths[c] - 1
    offsets[num_components + 1] = offsets[num_components] + size

    tilt = counted.tilt * np.exp(counted.log_tilt_left)
    least = counted.leasts.sum()
    following = np.zeros(offsets[num_components + 1])
    weights, _ = interior_weights(num_interior, mines_left, least, least + size - 1, tilt)
    following[offsets[num_components] :] = weights
    for c in range(num_components - 1, -1, -1):
        for before in range(offsets[c + 1] - offsets[c]):
            for k in range(lengths[c]):
                after = following[offsets[c + 1] + before + k]
                add_product(following, offsets[c] + before, polynomials[starts[c] + k], after)
        normalise(following[offsets[c] : offsets[c + 1]])

    box_cells = np.empty((num_boxes, 8), np.int32)
    interior = np.empty(num_interior, np.int32)
    filled = np.zeros(num_boxes + 1, np.int64)
    for cell in range(field.size):
        if field[cell] == HIDDEN:
            box = boxes.cell_box[cell]
            if box < 0:
                interior[filled[num_boxes]] = cell
                filled[num_boxes] += 1
            else:
                box_cells[box, filled[box]] = cell
                filled[box] += 1
    return _Plan(
        boxes, counted.layers, counted.layer_start, counted.ways, lengths, starts, polynomials, last_states, offsets,
        following, box_cells, interior, mines_left - least,
    )  # fmt: skip


@kernel
def _draw_mines(plan, state, width, mines, size):
    """Draws one layout: writes the flat cells of its mines to `mines`, from `size` on; returns the stream's state."""
    boxes = plan.boxes
    used = 0
    for c in range(plan.lengths.size):
        polynomial = plan.polynomials[plan.starts[c] : plan.starts[c + 1]]
        after = plan.following[plan.offsets[c + 1] + used :]
        whole = 0.0
        for k in range(polynomial.size):
            whole += product(polynomial[k], after[k])
        state, left = draw_share(state, whole)
        total = -1
        for k in range(polynomial.size):
            weight = product(polynomial[k], after[k])
            if weight > 0.0 and left >= 0.0:
                total = k
                left -= weight
        used += total
        target = plan.last_states[plan.starts[c] + total]
        for step in range(boxes.start[c + 1] - 1, boxes.start[c] - 1, -1):
            box = boxes.order[step]
            state, target, num_mines = _step_back(plan, state, step + c, boxes.size[box], target)
            state, size = _draw_cells(state, plan.box_cells[box, : boxes.size[box]], num_mines, width, mines, size)
    state, size = _draw_cells(state, plan.interior, plan.mines_left - used, width, mines, size)
    return state


@kernel
def _step_back(plan, state, layer, box_size, target):
    """Draws the state before `target` in the sweep: (the stream's state, that state, the mines of the box between)."""
    layers = plan.layers
    begin, end = plan.layer_start[layer], plan.layer_start[layer + 1]
    mines_after = mines_used(layers.word_2[target])
    whole = 0.0
    left = np.inf
    before, num_mines = -1, np.int64(0)
    for attempt in range(2):  # first the sum of all weights, then the drawn one
        if attempt == 1:
            state, left = draw_share(state, whole)
        for candidate in range(begin, end):
            mines = mines_after - mines_used(layers.word_2[candidate])
            edge = mines - layers.least[candidate]  # the only one that can lead to `target`
            if edge < 0 or edge >= layers.num_edges[candidate]:
                continue
            if layers.target[layers.first_edge[candidate] + edge] == target:
                before, num_mines = candidate, mines
                weight = layers.forward[candidate] * plan.ways[box_size, mines]
                whole += weight
                left -= weight
                if left < 0.0:
                    break
    return state, before, num_mines


@kernel
def _draw_cells(state, cells, num_mines, width, mines, size):
    """Draws that many of `cells`, which it shuffles, and appends them to `mines` as flat cells of the view."""
    for i in range(num_mines):
        state, offset = draw(state, cells.size - i)
        cells[i], cells[i + offset] = cells[i + offset], cells[i]
        mines[size] = (cells[i] // width - 1) * (width - 2) + cells[i] % width - 1
        size += 1
    return state, size
