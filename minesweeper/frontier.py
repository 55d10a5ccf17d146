"""The frontier of a view as a constraint problem: single-point rules, boxes, components and a good order of the boxes.

Terms, for one view:
    field    int8, the view with a border of `OFF` around it, flattened; so each cell has eight neighbours at fixed
             offsets and no bounds to check. The rules write `SAFE` and `MINE` into it for hidden cells they decide.
    clue     a revealed number, unexpanded zeros too; it is active while it has undecided neighbours.
    box      all undecided cells with the same active clues around them. They are interchangeable.
    component  boxes connected through clues; components share nothing but the total of mines.

One file, since each step works on the arrays of the one before.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.kernels import kernel

SAFE = -3
OFF = -4

_CHEAP_ENOUGH = 400.0  # estimated states below which no better order is looked for
_GREEDY_LIMIT = 2000  # boxes in a component above which only orders of linear cost are tried


@kernel
def new_field(rows, cols):
    """Room for the field of one view and for `single_point` on it: field, need, unknown and stack, all unset."""
    size = (rows + 2) * (cols + 2)
    return np.empty(size, np.int8), np.empty(size, np.int8), np.empty(size, np.int8), np.empty(size, np.int32)


@kernel
def fill_field(view, field):
    """Writes `view` [R, C] into `field` [(R+2)*(C+2)] with its border; returns a cell with a bad value, or -1."""
    rows, cols = view.shape
    width = cols + 2
    field[:] = OFF
    bad = -1
    for row in range(rows):
        start = (row + 1) * width + 1
        for col in range(cols):
            field[start + col] = view[row, col]
            if not HIDDEN <= view[row, col] <= 8:
                bad = start + col
    return bad


@kernel
def neighbour_offsets(width):
    """The eight neighbours of a cell in a field of this width, in reading order."""
    return np.array([-width - 1, -width, -width + 1, -1, 1, width - 1, width, width + 1], np.int64)


@kernel
def single_point(field, width, need, unknown, stack):
    """Decides cells by single numbers until nothing more follows: writes `SAFE` and `MINE` into `field`.

    A clue that needs no more mines makes its undecided neighbours safe; one that needs as many as it has undecided
    neighbours makes them mines.

    Args:
        need, unknown: int8 [field size], out: for each clue the mines it still needs and its undecided neighbours.
        stack: int32 [field size], scratch space.

    Returns:
        -1, or the first clue found that cannot be met.
    """
    offsets = neighbour_offsets(width)
    size = 0
    for cell in range(width + 1, field.size - width - 1):
        if field[cell] < 0:
            continue
        hidden = 0
        mines = 0
        for k in range(8):
            value = field[cell + offsets[k]]
            hidden += value == HIDDEN
            mines += value == MINE
        left = field[cell] - mines
        if left < 0 or left > hidden:
            return cell
        need[cell] = left
        unknown[cell] = hidden
        if hidden > 0 and (left == 0 or left == hidden):
            stack[size] = cell
            size += 1
    # A clue that decides its neighbours goes on doing so until it has none left, so it enters the stack once.
    while size > 0:
        size -= 1
        clue = stack[size]
        if unknown[clue] == 0:
            continue
        decision = SAFE if need[clue] == 0 else MINE
        for k in range(8):
            cell = clue + offsets[k]
            if field[cell] == HIDDEN:
                size = decide(cell, decision, field, offsets, need, unknown, stack, size)
                if size < 0:
                    return -1 - size
    return -1


@kernel(forceinline=True)  # it is the heart of the hottest loop
def decide(cell, decision, field, offsets, need, unknown, stack, size):
    """Writes `SAFE` or `MINE` for an undecided cell, and tells the clues around it.

    Those that decide their other neighbours now are put on the stack. The arrays are those of `single_point`.

    Returns:
        The new size of the stack, or -1 - a clue that cannot be met now.
    """
    field[cell] = decision
    for k in range(8):
        clue = cell + offsets[k]
        if field[clue] < 0:
            continue
        was_decided = need[clue] == 0 or need[clue] == unknown[clue]
        unknown[clue] -= 1
        need[clue] -= decision == MINE
        if need[clue] < 0 or need[clue] > unknown[clue]:
            return -1 - clue
        if not was_decided and unknown[clue] > 0 and (need[clue] == 0 or need[clue] == unknown[clue]):
            stack[size] = clue
            size += 1
    return size


class Boxes(NamedTuple):
    """The undecided frontier; B boxes, K active clues. Arrays are larger than what is used."""

    cell_box: NDArray[np.int32]  # [field size] box of an undecided cell; -1 for the interior
    size: NDArray[np.int8]  # [B] cells
    cell: NDArray[np.int32]  # [B] its first cell
    degree: NDArray[np.int8]  # [B] active clues around it
    clues: NDArray[np.int32]  # [B, 8]
    clue_cell: NDArray[np.int32]  # [K]
    clue_degree: NDArray[np.int8]  # [K] boxes around it
    clue_boxes: NDArray[np.int32]  # [K, 8]
    order: NDArray[np.int32]  # [B] boxes by component, each component in sweep order
    start: NDArray[np.int32]  # [components + 1] where each component begins in `order`


@kernel
def new_boxes(cells):
    """Room for that many boxes, clues and cells of the field, all unset."""
    return Boxes(
        np.empty(cells, np.int32),
        np.empty(cells, np.int8),
        np.empty(cells, np.int32),
        np.empty(cells, np.int8),
        np.empty((cells, 8), np.int32),
        np.empty(cells, np.int32),
        np.empty(cells, np.int8),
        np.empty((cells, 8), np.int32),
        np.empty(cells, np.int32),
        np.empty(cells + 1, np.int32),
    )


@kernel
def make_boxes(field, width):
    """The boxes of a field after `single_point`.

    Returns:
        boxes (`order` and `start` still unset), number of boxes, number of active clues, number of interior cells.
    """
    offsets = neighbour_offsets(width)
    cells = field.size
    boxes = new_boxes(cells)
    clue_id = np.full(cells, -1, np.int32)
    shape = np.empty(cells, np.int32)  # of each box: where its clues lie, seen from the first one, as bits
    around = np.empty(8, np.int32)
    num_boxes = 0
    num_clues = 0
    num_interior = 0
    for cell in range(width + 1, cells - width - 1):
        if field[cell] != HIDDEN:
            continue
        degree = 0
        bits = 0
        for k in range(8):
            clue = cell + offsets[k]
            if field[clue] >= 0:
                around[degree] = clue
                degree += 1
                # All clues of a cell lie within two columns and two rows below its first one.
                distance = clue - around[0] + 2
                bits |= 1 << (distance // width * 5 + distance % width)
        if degree == 0:
            num_interior += 1
            boxes.cell_box[cell] = -1
            continue
        first = clue_id[around[0]]
        box = -1
        if first >= 0:
            for k in range(boxes.clue_degree[first]):
                other = boxes.clue_boxes[first, k]
                if shape[other] == bits and boxes.clues[other, 0] == first:
                    box = other
        if box < 0:
            box = num_boxes
            num_boxes += 1
            shape[box] = bits
            boxes.size[box] = 0
            boxes.cell[box] = cell
            boxes.degree[box] = degree
            for k in range(degree):
                clue = clue_id[around[k]]
                if clue < 0:
                    clue = num_clues
                    num_clues += 1
                    clue_id[around[k]] = clue
                    boxes.clue_cell[clue] = around[k]
                    boxes.clue_degree[clue] = 0
                boxes.clues[box, k] = clue
                boxes.clue_boxes[clue, boxes.clue_degree[clue]] = box
                boxes.clue_degree[clue] += 1
        boxes.size[box] += 1
        boxes.cell_box[cell] = box
    return boxes, num_boxes, num_clues, num_interior


@kernel
def find_components(boxes, num_boxes, num_clues):
    """Fills `boxes.order` (breadth-first) and `boxes.start`; returns the number of components."""
    seen_box = np.zeros(num_boxes, np.bool_)
    seen_clue = np.zeros(num_clues, np.bool_)
    num_components = 0
    end = 0
    for root in range(num_boxes):
        if seen_box[root]:
            continue
        boxes.start[num_components] = end
        num_components += 1
        head = end
        boxes.order[end] = root
        seen_box[root] = True
        end += 1
        while head < end:
            box = boxes.order[head]
            head += 1
            for k in range(boxes.degree[box]):
                clue = boxes.clues[box, k]
                if seen_clue[clue]:
                    continue
                seen_clue[clue] = True
                for j in range(boxes.clue_degree[clue]):
                    other = boxes.clue_boxes[clue, j]
                    if not seen_box[other]:
                        seen_box[other] = True
                        boxes.order[end] = other
                        end += 1
    boxes.start[num_components] = end
    return num_components


@kernel
def _order_cost(order, boxes, need, left, open_factor):
    """Estimated states of a sweep in this order: after each box, the product over open clues of their possible needs.

    `left` int32 [K] and `open_factor` float64 [K] are scratch space.
    """
    for box in order:
        for k in range(boxes.degree[box]):
            left[boxes.clues[box, k]] = 0
            open_factor[boxes.clues[box, k]] = 1.0
    for box in order:
        for k in range(boxes.degree[box]):
            left[boxes.clues[box, k]] += boxes.size[box]
    total = 0.0
    product = 1.0
    placed = np.zeros_like(left)
    for box in order:
        for k in range(boxes.degree[box]):
            clue = boxes.clues[box, k]
            left[clue] -= boxes.size[box]
            placed[clue] += boxes.size[box]
            mines = need[boxes.clue_cell[clue]]
            least = max(0, mines - left[clue])
            most = min(placed[clue], mines)
            factor = 1.0 + most - least
            product *= factor / open_factor[clue]
            open_factor[clue] = factor
        total += product
    return total


@kernel
def _greedy_order(order, start, oldest_first, boxes, left, seen):
    """Rearranges `order` in place into a sweep from box `start` that keeps few clues open.

    Each step places the candidate box that opens the fewest new clues net of those it closes; candidates are the boxes
    of all open clues or, with `oldest_first`, of the clue that has been open longest (a sweep of linear cost).
    `left` int32 [K] and `seen` int8 [B] are scratch space.
    """
    num_boxes = order.size
    for box in order:
        seen[box] = 0
        for k in range(boxes.degree[box]):
            left[boxes.clues[box, k]] = -1  # not open
    open_clues = np.empty(num_boxes * 8, np.int32)
    first = 0
    num_open = 0
    box = start
    for step in range(num_boxes):
        if step > 0:
            while left[open_clues[first]] == 0:
                first += 1
            box = -1
            best = 100
            for i in range(first, first + 1 if oldest_first else num_open):
                clue = open_clues[i]
                if left[clue] == 0:
                    continue
                for j in range(boxes.clue_degree[clue]):
                    other = boxes.clue_boxes[clue, j]
                    if seen[other]:
                        continue
                    score = 0
                    for k in range(boxes.degree[other]):
                        other_left = left[boxes.clues[other, k]]
                        if other_left == 1:
                            score -= 1
                        elif other_left < 0 and boxes.clue_degree[boxes.clues[other, k]] > 1:
                            score += 1
                    if score < best:
                        best = score
                        box = other
        order[step] = box
        seen[box] = 1
        for k in range(boxes.degree[box]):
            clue = boxes.clues[box, k]
            if left[clue] < 0:
                left[clue] = boxes.clue_degree[clue]
                open_clues[num_open] = clue
                num_open += 1
            left[clue] -= 1


@kernel
def order_boxes(boxes, num_components, need, width, num_boxes, num_clues):
    """Puts each component's boxes into a sweep order in which few clues are open at once, in place.

    The cost of the count grows exponentially with the clues that are open at once. Several sweeps are tried, from both
    ends and along rows and columns, until one is cheap enough; the cheapest is kept.
    """
    left = np.zeros(num_clues, np.int32)
    open_factor = np.empty(num_clues, np.float64)
    seen = np.empty(num_boxes, np.int8)
    for component in range(num_components):
        members = boxes.order[boxes.start[component] : boxes.start[component + 1]]
        if members.size < 3:
            continue
        best = members.copy()
        trial = members.copy()
        best_cost = np.inf
        start = members[members.size - 1]  # the farthest from the root of the breadth-first order
        for attempt in range(9):
            if attempt < 7:
                if attempt < 6 and attempt % 2 == 0 and members.size > _GREEDY_LIMIT:
                    continue
                if attempt == 2:
                    start = best[best.size - 1]
                elif attempt == 4:
                    start = members[0]
                elif attempt == 6:
                    start = members[members.size // 2]
                _greedy_order(trial, start, attempt % 2 == 1 or members.size > _GREEDY_LIMIT, boxes, left, seen)
            else:
                keys = np.empty(members.size, np.int64)
                for i in range(members.size):
                    cell = boxes.cell[members[i]]
                    keys[i] = cell if attempt == 7 else cell % width * (np.int64(1) << 32) + cell
                trial[:] = members[np.argsort(keys)]
            cost = _order_cost(trial, boxes, need, left, open_factor)
            if cost < best_cost:
                best_cost = cost
                best[:] = trial
            if best_cost <= _CHEAP_ENOUGH:
                break
        members[:] = best
