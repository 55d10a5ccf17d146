"""Steps a second of the engine and of jumanji's Minesweeper, side by side on one core.

    python benchmarks/engine.py

A step is one move of one game: a uniformly random hidden cell, with automatic restart of a game that ended. Choosing
the cell is inside the timing on both sides. Every repeat times both sides, one after the other, so that a change in
the machine's load meets both; the medians are compared.
"""

import argparse
import dataclasses
import time
from collections.abc import Callable

from machine import describe, pin_to_one_core, version_of

CORE = pin_to_one_core()  # before the imports below start threads

import numpy as np  # noqa: E402

from minesweeper.board import HIDDEN, draw, random_key  # noqa: E402
from minesweeper.games import PLAYING, Games  # noqa: E402
from minesweeper.kernels import kernel  # noqa: E402
from minesweeper.mode import MODES, Mode  # noqa: E402

JUMANJI_BATCHES = (64, 256, 1024, 4096)


@kernel
def pick_hidden(views, seed, step, rows, cols):
    """Writes a uniformly random hidden cell of each live game into `rows` and `cols` [N], in place."""
    num_rows, num_cols = views.shape[1:]
    state = random_key(seed, step, 0)
    for game in range(views.shape[0]):
        while True:
            state, cell = draw(state, num_rows * num_cols)
            rows[game], cols[game] = cell // num_cols, cell % num_cols
            if views[game, rows[game], cols[game]] == HIDDEN:
                break


def our_runner(mode: Mode, batch: int, seed: int) -> Callable[[int], int]:
    """A function that plays that many moves in each of `batch` games and returns the number of games finished."""
    games = Games(mode, batch, seed)
    rows, cols = np.empty(batch, np.int64), np.empty(batch, np.int64)
    steps = 0

    def run(num_steps: int) -> int:
        nonlocal steps
        finished = 0
        for steps in range(steps + 1, steps + 1 + num_steps):  # noqa: B020 - the next call goes on counting
            pick_hidden(games.views, seed, steps, rows, cols)
            games.reveal(rows, cols)
            over = games.status != PLAYING
            finished += np.count_nonzero(over)
            games.restart(over)
        return finished

    return run


def jumanji_runner(mode: Mode, batch: int, seed: int, reset: str) -> Callable[[int], int]:
    """The same with jumanji: vmap over the games, one compiled scan over the steps.

    `reset` "wrapper" is jumanji's AutoResetWrapper, which under vmap lays a new board for every game at every step.
    "map" restarts with the wrapper's own function too, but one game after the other, so only those that ended; this
    is our addition, and several times faster on a CPU.
    """
    import jax
    import jax.numpy as jnp
    from jumanji.environments import Minesweeper
    from jumanji.environments.logic.minesweeper.generator import UniformSamplingGenerator
    from jumanji.wrappers import AutoResetWrapper

    env = Minesweeper(UniformSamplingGenerator(mode.rows, mode.cols, mode.mines))
    wrapper = AutoResetWrapper(env)

    def pick(key, mask):
        # One random number picks the k-th legal cell: as fast as the other ways tried (categorical, a draw per cell).
        legal = jnp.cumsum(mask.reshape(-1))
        cell = jnp.sum(legal <= jax.random.randint(key, (), 0, legal[-1]))
        return jnp.stack([cell // mode.cols, cell % mode.cols]).astype(jnp.int32)

    def restart_ended(game):
        return jax.lax.cond(game[1].last(), wrapper._auto_reset, lambda *game: game, *game)

    def step(carry, key):
        state, mask = carry
        actions = jax.vmap(pick)(jax.random.split(key, batch), mask)
        if reset == "wrapper":
            state, timestep = jax.vmap(wrapper.step)(state, actions)
        else:
            state, timestep = jax.lax.map(restart_ended, jax.vmap(env.step)(state, actions))
        return (state, timestep.observation.action_mask), timestep.last().sum()

    state, timestep = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.PRNGKey(seed), batch))
    carry = (state, timestep.observation.action_mask)
    key = jax.random.PRNGKey(seed + 1)
    scan = jax.jit(lambda carry, keys: jax.lax.scan(step, carry, keys))

    def run(num_steps: int) -> int:
        nonlocal carry, key
        key, scan_key = jax.random.split(key)
        carry, finished = scan(carry, jax.random.split(scan_key, num_steps))
        return int(finished.sum())

    return run


def warmed_up_steps(run: Callable[[int], int], seconds: float) -> int:
    """The number of steps that `run` does in about `seconds`, after compiling and running for that long."""
    num_steps = 8
    while True:
        run(num_steps)  # the first call of a new length compiles on jumanji's side
        start = time.perf_counter()
        run(num_steps)
        elapsed = time.perf_counter() - start
        if elapsed > seconds / 8:
            num_steps = max(8, round(num_steps * seconds / elapsed))
            run(num_steps)
            return num_steps
        num_steps *= 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modes", nargs="+", choices=MODES, default=["beginner", "expert"])
    parser.add_argument("--batch", type=int, default=1024, help="games at once on our side")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one timing of one side")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    has_jumanji = version_of("jumanji") is not None
    print(describe(CORE, ("jumanji", "jax")))
    print(f"ours: batch {args.batch}, first_click=safe, openings on (the game as played) or off (as jumanji)")
    print(f"jumanji: best batch of {JUMANJI_BATCHES}, first cell may be a mine, no openings, one XLA thread;")
    print("  reset 'wrapper': its AutoResetWrapper; reset 'map': the same restart, run only for the games that ended")
    print(f"{args.repeats} alternating repeats of {args.seconds} s a side; seed {args.seed}; ratio: ours / the row")
    if not has_jumanji:
        print("jumanji is not installed, so ours runs alone; to compare: pip install jumanji==1.1.2")

    for name in args.modes:
        mode = MODES[name]
        plain = dataclasses.replace(mode, openings=False)
        sides = {
            "ours": (our_runner(mode, args.batch, args.seed), args.batch),
            "ours, no openings": (our_runner(plain, args.batch, args.seed), args.batch),
        }
        for reset in ("wrapper", "map") if has_jumanji else ():
            runners = {batch: jumanji_runner(mode, batch, args.seed, reset) for batch in JUMANJI_BATCHES}
            batch = max(runners, key=lambda batch: batch * warmed_up_steps(runners[batch], args.seconds / 2))
            sides[f"jumanji, {reset}"] = (runners[batch], batch)
        lengths = {side: warmed_up_steps(run, args.seconds) for side, (run, _) in sides.items()}

        speeds = {side: [] for side in sides}
        games_ended = dict.fromkeys(sides, 0)
        for _ in range(args.repeats):
            for side, (run, batch) in sides.items():
                start = time.perf_counter()
                games_ended[side] += run(lengths[side])
                speeds[side].append(batch * lengths[side] / (time.perf_counter() - start))

        print(f"\n{name} {mode.rows}x{mode.cols}/{mode.mines}")
        heads = f"{'median steps/s':>16}{'lowest':>12}{'highest':>12}{'steps/game':>12}{'ratio':>8}"
        print(f"  {'side':20}{'batch':>6}{heads}")
        for side, (_, batch) in sides.items():
            median = np.median(speeds[side])
            steps_a_game = args.repeats * batch * lengths[side] / max(games_ended[side], 1)
            print(
                f"  {side:20}{batch:6}{median:16,.0f}{min(speeds[side]):12,.0f}{max(speeds[side]):12,.0f}"
                f"{steps_a_game:12.1f}{np.median(speeds['ours']) / median:8.1f}"
            )


if __name__ == "__main__":
    main()
