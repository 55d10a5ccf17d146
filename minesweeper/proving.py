"""Games brought to their next guess: all that is proved safe is opened, again and again, until nothing more is."""

import numpy as np
from numpy.typing import ArrayLike

from minesweeper.board import HIDDEN, MINE
from minesweeper.counting import COUNTED
from minesweeper.frontier import SAFE, decide, fill_field, make_boxes, neighbour_offsets, new_field, single_point
from minesweeper.games import PLAYING, WON, Games, integers_below, show_mines
from minesweeper.kernels import kernel
from minesweeper.posterior import MAX_STATES, Posterior, solve_boxes, write_probabilities


def open_proved(games: Games, slots: ArrayLike | None = None) -> Posterior:
    """Opens what is proved safe in the games of `slots` until they are over or nothing is proved; changes `games`.

    Each cell is a move, but not those that an opening brings. Past the state budget of a position (artificial boards
    only) what the weaker answer of `over_budget="density"` still proves is opened.

    Args:
        slots: integers, 0..N-1; None: all.

    Returns:
        The posterior of each game, [N], as it then is; NaN, and not `exact`, for those that are over or not of `slots`.

    Raises:
        ValueError: slots that are no integers, or outside.
    """
    found = Posterior(
        np.full(games.views.shape, np.nan), np.full(games.num_games, np.nan), np.full(games.num_games, np.nan),
        np.zeros(games.num_games, np.bool_),
    )  # fmt: skip
    given = np.arange(games.num_games) if slots is None else np.asarray(slots)
    which = integers_below("slots", given, games.num_games) if given.size else np.empty(0, np.int64)
    which = which[games.status[which] == PLAYING]
    views, mines, status, moves, _, counts, _, safe_left = games.arrays()
    rules = games.mode.mines, games.mode.openings
    _open_each(views, mines, status, moves, counts, safe_left, which, *rules, *vars(found).values())
    return found


@kernel
def _open_each(
    views, mines, status, moves, counts, safe_left, slots, num_mines, openings,
    probabilities, interior, log_layouts, exact,
):  # fmt: skip
    """`open_proved` for the games of `slots`, which go on; the last four arrays are those of `Posterior`.

    The field follows the views as cells are opened, so that the rules look only at what is new. Numbers are those of a
    board, so all of them can be met.
    """
    rows, cols = views.shape[1:]
    width = cols + 2
    offsets = neighbour_offsets(width)
    field, need, unknown, stack = new_field(rows, cols)
    queue = np.empty(field.size, np.int32)  # cells that are proved safe and still hidden
    for slot in slots:
        view = views[slot]
        fill_field(view, field)
        single_point(field, width, need, unknown, stack)
        in_stack = 0
        in_queue = 0
        for cell in range(field.size):
            if field[cell] == SAFE:
                queue[in_queue] = cell
                in_queue += 1
        while True:
            while in_stack > 0 or in_queue > 0:
                if in_stack == 0:
                    in_queue -= 1
                    cell = queue[in_queue]
                    row, col = cell // width - 1, cell % width - 1
                    view[row, col] = field[cell] = counts[slot, row, col]
                    safe_left[slot] -= 1
                    is_beside_zero = _note_number(cell, field, offsets, need, unknown)
                    moves[slot] += not (openings and is_beside_zero)
                    if unknown[cell] > 0 and (need[cell] == 0 or need[cell] == unknown[cell]):
                        stack[in_stack] = cell
                        in_stack += 1
                else:
                    in_stack -= 1
                    clue = stack[in_stack]
                    decision = SAFE if need[clue] == 0 else MINE
                    for k in range(8):
                        cell = clue + offsets[k]
                        if field[cell] == HIDDEN:
                            in_stack = decide(cell, decision, field, offsets, need, unknown, stack, in_stack)
                            queue[in_queue] = cell
                            in_queue += decision == SAFE
            if safe_left[slot] == 0:
                status[slot] = WON
                show_mines(view, mines[slot])
                break
            boxes, num_boxes, num_clues, num_interior = make_boxes(field, width)
            mines_left = num_mines - (field == MINE).sum()
            outcome, _, _, _, of_box, of_interior, log_now = solve_boxes(
                boxes, num_boxes, num_clues, num_interior, need, unknown, width, mines_left, MAX_STATES
            )
            for cell in range(field.size):
                if field[cell] == HIDDEN:
                    box = boxes.cell_box[cell]
                    if (of_interior if box < 0 else of_box[box]) == 0.0:
                        in_stack = decide(cell, SAFE, field, offsets, need, unknown, stack, in_stack)
                        queue[in_queue] = cell
                        in_queue += 1
            if in_queue == 0:
                write_probabilities(view, field, boxes, of_box, of_interior, probabilities[slot])
                interior[slot] = of_interior
                log_layouts[slot] = log_now
                exact[slot] = outcome == COUNTED
                break


@kernel
def _note_number(cell, field, offsets, need, unknown):
    """Sets what a clue that was just opened still needs and has undecided around it; whether a zero is beside it."""
    need[cell] = field[cell]
    unknown[cell] = 0
    is_beside_zero = False
    for k in range(8):
        beside = field[cell + offsets[k]]
        need[cell] -= beside == MINE
        unknown[cell] += beside == HIDDEN
        is_beside_zero |= beside == 0
    return is_beside_zero
