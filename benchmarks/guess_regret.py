"""What guesses give away against best play: positions with few layouts left, played out exactly.

    python benchmarks/guess_regret.py --mode expert --games 4000 --solvers "[{name: planner, endgame: 0}, exact]"

The first solver plays the games. Every guess that it comes to with `--least` to `--most` layouts left is a position;
each solver is asked for its move there, and the end of the move tree (`minesweeper.endgame`) says what each cell is
worth. Regret is what the best cell wins more than the chosen one, in points; a game's is the sum over its positions.
Give solvers `endgame: 0`, or they play these positions out themselves.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402
from tqdm import tqdm  # noqa: E402

from minesweeper import MODES, play_games, solve_posterior  # noqa: E402
from minesweeper.arena import Decisions  # noqa: E402
from minesweeper.board import random_key  # noqa: E402
from minesweeper.components import frontier_mask  # noqa: E402
from minesweeper.endgame import GAVE_UP, endgame_values  # noqa: E402
from minesweeper.mode import FIRST_CLICKS  # noqa: E402
from minesweeper.summary import margin_of_mean  # noqa: E402
from models.players import make_player  # noqa: E402

_MOST_SETS = 2_000_000  # of one position; past it, it is left out
_AS_SAFE = 0.03  # difference of two probabilities below which cells count as about as safe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=MODES, default="expert")
    parser.add_argument("--first-click", choices=FIRST_CLICKS, default="safe")
    parser.add_argument("--first-cell", default="corner", help="corner, centre, random or [row, col]")
    parser.add_argument("--solvers", default="[{name: planner, endgame: 0}, exact]", help="the first one plays")
    parser.add_argument("--games", type=int, default=4000)
    parser.add_argument("--least", type=int, default=200, help="layouts left, more than that")
    parser.add_argument("--most", type=int, default=2000, help="and at most that")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.set_num_threads(1)
    given = OmegaConf.to_container(OmegaConf.create(f"solvers: {args.solvers}\nfirst_cell: {args.first_cell}"))
    settings = [own if isinstance(own, dict) else {"name": own} for own in given["solvers"]]
    solvers = [make_player(own, torch.device("cpu")) for own in settings]
    mode = replace(MODES[args.mode], first_click=args.first_click)

    found = Positions(args.least, args.most)
    play_games(solvers[0], mode, args.games, args.seed, given["first_cell"], observers=[found.observe])
    if not found.views:
        sys.exit(f"no guess of these games had {args.least} to {args.most} layouts left")
    views = np.stack(found.views)
    wins = exact_wins(views, mode.mines, args.most, np.exp(found.log_layouts))
    is_solved = ~np.isnan(wins).all(axis=1)
    views, wins, log_layouts = views[is_solved], wins[is_solved], np.array(found.log_layouts)[is_solved]
    if not len(views):
        sys.exit(f"none of the {len(is_solved)} positions could be played out")

    probabilities = solve_posterior(views, mode.mines).probabilities.reshape(len(views), -1)
    is_frontier = frontier_mask(views).reshape(len(views), -1)
    each, best = np.arange(len(views)), np.nanargmax(wins, axis=1)
    print(
        f"{mode.rows}x{mode.cols}/{mode.mines}, first_click={mode.first_click}, first cell {args.first_cell}, seed "
        f"{args.seed}: {len(views)} of {len(is_solved)} positions of {args.games} games, best play wins "
        f"{wins[each, best].mean():.2%} of them"
    )
    for own, solver in zip(settings, solvers, strict=True):
        keys = np.array([random_key(np.uint64(args.seed), i, 1) for i in each], np.uint64)
        mask, _ = solver.choose(views, mode.mines, keys)
        chosen = mask.reshape(len(views), -1).argmax(axis=1)
        regret = 100 * (wins[each, best] - wins[each, chosen])
        above = probabilities[each, best] - probabilities[each, chosen]
        print(f"\n{own}: {regret.sum() / args.games:.3f} points a game, best cell {(regret < 1e-6).mean():.1%}")
        show("all", regret, regret >= 0)
        middle = np.log(np.sqrt(args.least * args.most))
        show(f"at most {np.exp(middle):.0f} layouts", regret, log_layouts <= middle)
        show("more", regret, log_layouts > middle)
        show("chosen on the frontier", regret, is_frontier[each, chosen])
        show("chosen in the interior", regret, ~is_frontier[each, chosen])
        show(f"best is riskier by {_AS_SAFE}", regret, (regret > 1e-6) & (above > _AS_SAFE))
        show("best is about as safe", regret, (regret > 1e-6) & (abs(above) <= _AS_SAFE))
        show(f"best is safer by {_AS_SAFE}", regret, (regret > 1e-6) & (above < -_AS_SAFE))


class Positions:
    """Guesses with so many layouts left.

    Attributes:
        views: int8 [R, C] each.
        log_layouts: natural logarithm of each one's layouts.
    """

    def __init__(self, least: int, most: int) -> None:
        self.views: list[NDArray[np.int8]] = []
        self.log_layouts: list[float] = []
        self.low, self.high = np.log(least) + 1e-9, np.log(most) + 1e-9

    def observe(self, decisions: Decisions) -> None:
        """Keeps those among a decision in each of some games."""
        posterior = solve_posterior(decisions.views, decisions.num_mines, over_budget="density")
        is_guess = np.nanmin(posterior.probabilities, axis=(1, 2)) > 0
        layouts = np.where(posterior.exact & is_guess, posterior.log_layouts, np.inf)
        for game in np.flatnonzero((layouts > self.low) & (layouts <= self.high)):
            self.views.append(decisions.views[game].copy())
            self.log_layouts.append(float(layouts[game]))


def exact_wins(views: NDArray[np.int8], num_mines: int, most: int, layouts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance to win by opening each cell and then playing best, float64 [N, R * C]; NaN where it has no number."""
    wins = np.full(views.shape, np.nan)
    for view, values, total in zip(tqdm(views, disable=None), wins, layouts, strict=True):
        if endgame_values(view, num_mines, most, _MOST_SETS, True, values) == GAVE_UP:
            values[:] = np.nan
        values /= total
    return wins.reshape(len(views), -1)


def show(name: str, regret: NDArray[np.float64], which: NDArray[np.bool_]) -> None:
    """A line about some of the positions: their share, mean regret with its 95% interval, and part of all regret."""
    if which.any():
        own = regret[which]
        part = own.sum() / max(regret.sum(), 1e-12)
        mean = f"{own.mean():8.2f} ±{margin_of_mean(own):.2f}"
        print(f"  {name:28}{which.mean():7.1%}{mean}{part:8.0%} of the regret", flush=True)


if __name__ == "__main__":
    main()
