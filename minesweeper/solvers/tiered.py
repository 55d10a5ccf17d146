"""Rules first, then a search within a budget: the agent that falls off a cliff where the budget ends.

The tiers, for one view (terms as in `frontier.py`; a *component* is a set of undecided cells linked through clues):
    1. Counting rules: a clue that needs no mine, or as many as it has undecided cells, decides them.
    2. Subset rules: if the undecided cells of one clue are some of those of another, the others hold the difference of
       their needs; when that is none or all of them they are decided. 1 and 2 are repeated until nothing more follows.
    3. Search: each component by backtracking, cell by cell; its layouts are counted by their number of mines, in all
       and with a mine in each cell. It stops at components of over `max_component` cells, and
       after `max_nodes` placements of a view.
    4. Total: the components' counts are combined with each other and C(interior cells, mines left for them)
       (`counting.combine`), so inside the budget the probabilities are the exact posterior.
    5. Past the budget the total is not used: all layouts of a component that was searched count alike. The cells of one
       that was not get the mean over their clues of (mines needed / undecided cells), the interior the share of the
       remaining mines among all undecided cells. What rules or a finished search prove stays proved.
The move: what tiers 1 and 2 prove safe; if that is nothing, what the search proves safe; otherwise the lowest
probability, among equals the cells with the most hidden neighbours, a random one of these.

Source: the agents of university courses on 8x8/10, 16x16/40 and 16x30/99 (rules, subsets, enumeration under a cap);
the limits and the tie rule are theirs. Ours: small components are searched first, so that a large one takes no nodes
from them.

One file, since each tier goes on with what the ones before have written.
"""

import numpy as np
from numpy.typing import NDArray

from minesweeper.board import HIDDEN, MINE
from minesweeper.counting import (
    CONTRADICTION,
    COUNTED,
    OVER_BUDGET,
    chain_length,
    combine,
    log_tilt_for,
    not_proved,
    tilt_polynomials,
)
from minesweeper.frontier import (
    SAFE,
    fill_field,
    find_components,
    make_boxes,
    neighbour_offsets,
    new_field,
    single_point,
)
from minesweeper.kernels import kernel
from minesweeper.posterior import IMPOSSIBLE_TOTAL, checked_views, estimate_locally, raise_fault
from minesweeper.solvers.base import TIE_TOLERANCE, Solver, choose_lowest

MAX_CELLS = 250  # highest `max_component`: a search has no chance there, and its tables would grow large
_LARGE = 1000  # undecided cells from which on the tilt is needed (see `counting.py`)


class TieredSolver(Solver):
    """Plays by rules and a bounded search.

    Args:
        tie_break: see `Solver`; it decides where `most_hidden_first` leaves a choice.
        max_component: most cells of a component that is searched, 0 to 250.
        max_nodes: most placements tried in one view, 0 and up; about 25 nanoseconds each.
        most_hidden_first: among cells of equal lowest probability, those with the most hidden neighbours first.

    Attributes:
        num_decisions: views that `choose` was given so far, one for each move of each game.
        num_searches: those of them in which the rules proved no cell safe.
        num_over_budget: those of the searches that left the budget; `num_over_budget / num_decisions` is their share.

    Raises:
        ValueError: a setting outside its range.
    """

    name = "tiered"

    def __init__(
        self,
        tie_break: str = "random",
        max_component: int = 40,
        max_nodes: int = 500_000,
        most_hidden_first: bool = True,
    ) -> None:
        super().__init__(tie_break)
        for key, value, most in (("max_component", max_component, MAX_CELLS), ("max_nodes", max_nodes, 2**40)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value <= most:
                raise ValueError(f"{key} must be an integer from 0 to {most}, got {value!r}")
        if not isinstance(most_hidden_first, bool):
            raise ValueError(f"most_hidden_first must be true or false, got {most_hidden_first!r}")
        self.max_component = max_component
        self.max_nodes = max_nodes
        self.most_hidden_first = most_hidden_first
        self.num_decisions = self.num_searches = self.num_over_budget = 0

    def mine_probabilities(self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Solver`.

        Raises:
            InconsistentViewError: a rule or a finished search finds that no layout fits.
        """
        return self.solve(views, num_mines)[0]

    def solve(
        self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """`mine_probabilities`, and whether each view was solved inside the budget (bool [N]), so exactly."""
        views, mines = checked_views(views, num_mines)
        probabilities = np.empty(views.shape)
        faults = np.empty((len(views), 4), np.int64)
        _solve_each(views, mines, self.max_component, self.max_nodes, probabilities, faults)
        is_exact = faults[:, 0] == COUNTED
        is_wrong = ~is_exact & (faults[:, 0] != OVER_BUDGET)
        if is_wrong.any():
            game = int(is_wrong.argmax())
            raise_fault(views, mines, 0, game, *faults[game].tolist())
        return probabilities, is_exact

    def choose(
        self, views: NDArray[np.int8], num_mines: int | NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """See `Solver` and the move above."""
        mask = proved_by_rules(views, num_mines) == SAFE
        is_guess = np.zeros(len(views), np.bool_)
        stuck = np.flatnonzero(~mask.any(axis=(1, 2)))
        self.num_decisions += len(views)
        self.num_searches += stuck.size
        if stuck.size:
            mines = num_mines if np.ndim(num_mines) == 0 else np.asarray(num_mines)[stuck]
            probabilities, is_exact = self.solve(views[stuck], mines)
            self.num_over_budget += int((~is_exact).sum())
            if self.most_hidden_first:
                _keep_most_hidden(probabilities, views[stuck])
            mask[stuck], is_guess[stuck] = choose_lowest(probabilities, views[stuck], keys[stuck], 0.0, self.tie_break)
        return mask, is_guess


def proved_by_rules(views: NDArray[np.int8], num_mines: int | NDArray[np.int64]) -> NDArray[np.int8]:
    """What tiers 1 and 2 prove: int8 [N, R, C], `SAFE` and `MINE` where proved, `HIDDEN` where not, 0 where revealed.

    Raises:
        ValueError, InconsistentViewError: as `posterior.proved_by_single_point`.
    """
    views, mines = checked_views(views, num_mines)
    known = np.empty(views.shape, np.int8)
    game, where = _rules_each(views, known)
    if game >= 0:
        raise_fault(views, mines, 0, game, CONTRADICTION, where, 0, 0)
    return known


@kernel
def _rules_each(views, known):
    num_games, rows, cols = views.shape
    width = cols + 2
    field, need, unknown, stack = new_field(rows, cols)
    for game in range(num_games):
        clue = fill_field(views[game], field)
        if clue < 0:
            clue = _apply_rules(field, width, need, unknown, stack)
        if clue >= 0:
            return game, clue
        for row in range(rows):
            for col in range(cols):
                known[game, row, col] = (
                    field[(row + 1) * width + col + 1] if views[game, row, col] == HIDDEN else np.int8(0)
                )
    return -1, -1


@kernel
def _apply_rules(field, width, need, unknown, stack):
    """Tiers 1 and 2 to their common fixpoint; arguments and result as for `frontier.single_point`."""
    while True:
        clue = single_point(field, width, need, unknown, stack)
        if clue >= 0:
            return clue
        decided, clue = _subset_rules(field, width, need, unknown)
        if clue >= 0 or not decided:
            return clue


@kernel
def _subset_rules(field, width, need, unknown):
    """Tier 2 once over all pairs of clues; returns (whether a cell was decided, -1 or a clue that cannot be met)."""
    decided = False
    for clue in range(width + 1, field.size - width - 1):
        if field[clue] < 0 or unknown[clue] == 0:
            continue
        for down in range(-2, 3):
            for right in range(-2, 3):  # clues that share a cell; past the border of a side all is `OFF`
                other = clue + down * width + right
                if not 0 <= other < field.size or field[other] < 0 or unknown[other] <= unknown[clue]:
                    continue
                if _num_shared(field, width, clue, down, right) < unknown[clue]:
                    continue
                cells = unknown[other] - unknown[clue]
                mines = need[other] - need[clue]
                if not 0 <= mines <= cells:
                    return decided, other
                if mines == 0 or mines == cells:
                    _decide_rest(field, width, clue, other, SAFE if mines == 0 else MINE, need, unknown)
                    decided = True
    return decided, -1


@kernel
def _num_shared(field, width, clue, down, right):
    """Undecided cells around both `clue` and the cell that is `down` rows and `right` columns further."""
    shared = 0
    for r in range(max(-1, down - 1), min(1, down + 1) + 1):
        for c in range(max(-1, right - 1), min(1, right + 1) + 1):
            shared += field[clue + r * width + c] == HIDDEN
    return shared


@kernel
def _decide_rest(field, width, clue, other, decision, need, unknown):
    """Decides the undecided cells around `other` that are not around `clue`, and keeps `need` and `unknown` true."""
    offsets = neighbour_offsets(width)
    for k in range(8):
        cell = other + offsets[k]
        if field[cell] != HIDDEN or np.any(clue + offsets == cell):
            continue
        field[cell] = decision
        for j in range(8):
            if field[cell + offsets[j]] >= 0:
                unknown[cell + offsets[j]] -= 1
                need[cell + offsets[j]] -= decision == MINE


@kernel
def _search(box_of, first_row, boxes, need_left, unknown_left, max_nodes, counts, tallies):
    """Tier 3 for one component: tries safe, then mine, in each cell in turn.

    Args:
        box_of: int32 [cells], the box of each cell in the order of the search; `tallies` has a row for each from
            `first_row` on, in that order.
        need_left, unknown_left: int8 [K] of its clues; changed.
        counts: float64 [at least cells + 1], out: layouts by number of mines; zeros before.
        tallies: float64 [boxes, same], out: mines in each box, summed over these layouts; zeros before.

    Returns:
        Placements tried, or -1 past `max_nodes`.
    """
    row_of = np.empty(box_of.size, np.int32)
    row = first_row
    for i in range(box_of.size):
        row += i > 0 and box_of[i] != box_of[i - 1]
        row_of[i] = row
    value = np.full(box_of.size, -1, np.int8)  # of each cell: nothing tried, 0 safe, 1 mine
    depth = mines = nodes = 0
    while depth >= 0:
        if depth == box_of.size:
            counts[mines] += 1
            for i in range(depth):
                tallies[row_of[i], mines] += value[i]
            depth -= 1
            continue
        box = box_of[depth]
        if value[depth] >= 0:
            for k in range(boxes.degree[box]):
                unknown_left[boxes.clues[box, k]] += 1
                need_left[boxes.clues[box, k]] += value[depth]
            mines -= value[depth]
        if value[depth] == 1:
            value[depth] = -1
            depth -= 1
            continue
        if nodes == max_nodes:
            return -1
        nodes += 1
        value[depth] += 1
        mines += value[depth]
        fits = True
        for k in range(boxes.degree[box]):
            clue = boxes.clues[box, k]
            unknown_left[clue] -= 1
            need_left[clue] -= value[depth]
            fits &= 0 <= need_left[clue] <= unknown_left[clue]
        depth += fits
    return nodes


@kernel
def _search_components(boxes, num_components, num_clues, need, unknown, max_component, max_nodes):
    """Tier 3 for all components, small ones first.

    Returns:
        cells int64 [C]; is_searched bool [C]; counts [C, m] and tallies [B, m] as in `_search`, the boxes in the order
        of `boxes.order`.
    """
    cells = np.zeros(num_components, np.int64)
    for c in range(num_components):
        for box in boxes.order[boxes.start[c] : boxes.start[c + 1]]:
            cells[c] += boxes.size[box]
    most = 0
    for c in range(num_components):
        if cells[c] <= max_component:
            most = max(most, cells[c])
    counts = np.zeros((num_components, most + 1))
    tallies = np.zeros((boxes.start[num_components], most + 1))
    is_searched = np.zeros(num_components, np.bool_)
    need_left = need[boxes.clue_cell[:num_clues]]
    unknown_left = unknown[boxes.clue_cell[:num_clues]]
    for c in np.argsort(cells):
        if cells[c] > max_component:
            break
        members = boxes.order[boxes.start[c] : boxes.start[c + 1]]
        box_of = np.repeat(members, boxes.size[members])
        nodes = _search(box_of, boxes.start[c], boxes, need_left, unknown_left, max_nodes, counts[c], tallies)
        if nodes < 0:
            break
        max_nodes -= nodes
        is_searched[c] = True
    return cells, is_searched, counts, tallies


@kernel
def _solve_boxes(boxes, num_boxes, num_clues, num_interior, need, unknown, mines_left, max_component, max_nodes):
    """Tiers 3 to 5; returns (outcome, where, low, high, probability of each box, of the interior)."""
    probability = np.empty(num_boxes)
    num_components = find_components(boxes, num_boxes, num_clues)
    cells, is_searched, counts, tallies = _search_components(
        boxes, num_components, num_clues, need, unknown, max_component, max_nodes
    )
    leasts = np.zeros(num_components, np.int64)
    lengths = cells + 1
    for c in range(num_components):
        if is_searched[c]:
            possible = np.flatnonzero(counts[c])
            if possible.size == 0:
                clue = boxes.clues[boxes.order[boxes.start[c]], 0]
                return CONTRADICTION, boxes.clue_cell[clue], 0, 0, probability, np.nan
            leasts[c] = possible[0]
            lengths[c] = possible[-1] - possible[0] + 1
    low, high = leasts.sum(), leasts.sum() + (lengths - 1).sum() + num_interior
    if not low <= mines_left <= high:
        return IMPOSSIBLE_TOTAL, -1, low, high, probability, np.nan

    is_exact = is_searched.sum() == num_components and chain_length(lengths) <= max(max_nodes, 1000)
    undecided = num_interior + cells.sum()
    if is_exact:
        is_possible, weights, interior = _by_total(counts, leasts, lengths, num_interior, mines_left, undecided)
        if not is_possible:
            return IMPOSSIBLE_TOTAL, -1, low, high, probability, np.nan
    else:
        weights = np.ones(lengths.sum())
        interior = not_proved(mines_left / undecided)
    start = 0
    for c in range(num_components):
        of_totals = weights[start : start + lengths[c]]
        start += lengths[c]
        if not is_searched[c]:
            estimate_locally(boxes.order[boxes.start[c] : boxes.start[c + 1]], boxes, need, unknown, probability)
            continue
        for i in range(boxes.start[c], boxes.start[c + 1]):
            box = boxes.order[i]
            layouts = slice(leasts[c], leasts[c] + lengths[c])
            probability[box] = _weighted(of_totals, counts[c, layouts], tallies[i, layouts], boxes.size[box])
    return COUNTED if is_exact else OVER_BUDGET, -1, 0, 0, probability, interior


@kernel
def _by_total(counts, leasts, lengths, num_interior, mines_left, undecided):
    """Tier 4.

    Returns:
        whether the total of mines is possible; float64, the weight of each total of each component, concatenated; the
        mine probability of the interior.
    """
    polynomials = np.empty(lengths.sum())
    start = 0
    for c in range(lengths.size):
        polynomials[start : start + lengths[c]] = counts[c, leasts[c] : leasts[c] + lengths[c]]
        start += lengths[c]
    log_tilt = 0.0
    if undecided > _LARGE:
        log_tilt = log_tilt_for(polynomials, lengths, leasts, num_interior, mines_left, 1.0)
        tilt_polynomials(polynomials, lengths, log_tilt)
    totals = combine(polynomials, lengths, leasts, num_interior, mines_left, np.exp(log_tilt))
    interior = np.nan
    if totals.is_possible and num_interior > 0:
        if not totals.interior_can_have:
            interior = 0.0
        elif not totals.interior_can_lack:
            interior = 1.0
        else:
            interior = not_proved(totals.expected_interior / num_interior)
    tilt_polynomials(totals.weights, lengths, log_tilt)
    return totals.is_possible, totals.weights, interior


@kernel
def _weighted(weights, counts, tallies, size):
    """Mine probability of a cell of a box from its component's layouts; 0.0 and 1.0 only if all layouts say so."""
    total = expected = 0.0
    can_be_mine = can_be_safe = False
    for i in range(weights.size):
        if weights[i] > 0.0 and counts[i] > 0.0:
            total += weights[i] * counts[i]
            expected += weights[i] * tallies[i]
            can_be_mine |= tallies[i] > 0.0
            can_be_safe |= tallies[i] < size * counts[i]
    if not can_be_mine:
        return 0.0
    return not_proved(expected / total / size) if can_be_safe else 1.0


@kernel
def _solve_each(views, num_mines, max_component, max_nodes, probabilities, faults):
    """Writes the answer of each view into `probabilities`, and `faults` int64 [N, 4] as `posterior.solve_each` does."""
    num_games, rows, cols = views.shape
    width = cols + 2
    field, need, unknown, stack = new_field(rows, cols)
    for game in range(num_games):
        clue = fill_field(views[game], field)
        if clue < 0:
            clue = _apply_rules(field, width, need, unknown, stack)
        if clue >= 0:
            faults[game] = np.array([CONTRADICTION, clue, 0, 0])
            continue
        boxes, num_boxes, num_clues, num_interior = make_boxes(field, width)
        known_mines = (field == MINE).sum()
        outcome, where, low, high, box_probability, interior = _solve_boxes(
            boxes, num_boxes, num_clues, num_interior, need, unknown, num_mines[game] - known_mines,
            max_component, max_nodes,
        )  # fmt: skip
        faults[game] = np.array([outcome, where, low + known_mines, high + known_mines])
        for row in range(rows):
            for col in range(cols):
                cell = (row + 1) * width + col + 1
                if views[game, row, col] != HIDDEN:
                    probabilities[game, row, col] = np.nan
                elif field[cell] == SAFE or field[cell] == MINE:
                    probabilities[game, row, col] = 0.0 if field[cell] == SAFE else 1.0
                else:
                    box = boxes.cell_box[cell]
                    probabilities[game, row, col] = interior if box < 0 else box_probability[box]


@kernel
def _keep_most_hidden(probabilities, views):
    """Where no cell is proved safe, sets to infinity the cells of lowest probability that have fewer hidden neighbours
    than another such cell, in place."""
    num_games, rows, cols = views.shape
    for game in range(num_games):
        lowest = np.inf
        for row in range(rows):
            for col in range(cols):
                if views[game, row, col] == HIDDEN:
                    lowest = min(lowest, probabilities[game, row, col])
        if lowest <= 0.0:
            continue
        most = 0
        for take in range(2):
            for row in range(rows):
                for col in range(cols):
                    if views[game, row, col] != HIDDEN or probabilities[game, row, col] > lowest + TIE_TOLERANCE:
                        continue
                    hidden = 0
                    for r in range(max(row - 1, 0), min(row + 2, rows)):
                        for c in range(max(col - 1, 0), min(col + 2, cols)):
                            hidden += views[game, r, c] == HIDDEN
                    if take == 0:
                        most = max(most, hidden)
                    elif hidden < most:
                        probabilities[game, row, col] = np.inf
