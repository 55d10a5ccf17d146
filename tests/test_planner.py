"""The planner: what its network sees, what it chooses, one look ahead, and the labels it is trained by."""

import math
import re

import numpy as np
import pytest
import torch
from tiny_training import composed, resume_tiny, train_tiny
from torch import nn

from minesweeper import (
    HIDDEN,
    LOST,
    MODES,
    PLAYING,
    Games,
    Mode,
    make_solver,
    mine_posterior,
    neighbour_counts,
    play_games,
    solve_posterior,
)
from minesweeper.lookahead import outcomes
from minesweeper.solvers.base import choose_lowest
from minesweeper.textio import text_to_view
from models.checkpoint import load_checkpoint
from models.mine_task import planned_risks
from models.planner import PlannerSolver
from models.planner_net import PlannerNet, position_planes
from models.planner_task import PlannerTask, hidden_around
from models.ranks import Ranks

TINY_PLANNER = ("task=planner", "model.width=4", "model.depth=5", "rollout_steps=2", "weight_decay=0")


def views_of(*texts):
    return np.stack([text_to_view(text)[0] for text in texts])


class Fixed(nn.Module):
    """Answers with the same chances [R, C] for every position."""

    def __init__(self, chances):
        super().__init__()
        self.logits = nn.Parameter(torch.logit(torch.as_tensor(chances, dtype=torch.float64)))

    def forward(self, views, probabilities, num_mines):  # noqa: ARG002
        return self.logits.expand(len(views), *self.logits.shape)


def best_play(view, num_mines):
    """P(win) of each cell of a position [R, C] by best play, and 1 - p of each, both float64 [R, C]."""
    posterior = solve_posterior(view, num_mines)
    p = posterior.probabilities
    if np.nanmin(p) > 0:
        wins = make_solver("exact", endgame=5000).endgame_wins(view, num_mines)
        return wins / math.exp(float(posterior.log_layouts)), 1 - p
    # Something is safe: the worth of opening it is the mean over the numbers that it may show.
    cell = int(np.nanargmin(p))
    _, trials, chances, posteriors = outcomes(view[None], np.array([num_mines]), np.array([cell]))
    value = 0.0
    for trial, chance, after in zip(trials, chances, posteriors, strict=True):
        is_won = not (after < 1).any()
        value += chance * (1.0 if is_won else np.nanmax(best_play(trial, num_mines)[0]))
    return np.where(p == 0, value, np.nan), 1 - p


class Truth(nn.Module):
    """u of best play, for small boards: P(win | the cell is opened and safe)."""

    def __init__(self):
        super().__init__()
        self.zero = nn.Parameter(torch.zeros(()))

    def forward(self, views, probabilities, num_mines):  # noqa: ARG002
        chances = []
        for view, mines in zip(views.numpy(), num_mines.tolist(), strict=True):
            wins, safe = best_play(np.ascontiguousarray(view), mines)
            chances.append(np.divide(wins, safe, out=np.full(wins.shape, 0.5), where=(safe > 0) & ~np.isnan(wins)))
        return torch.logit(torch.from_numpy(np.stack(chances)).clip(1e-12, 1 - 1e-12)) + self.zero


def guesses(mode, num_games=200, seed=1):
    """Positions where nothing is proved, [N, R, C], and their posteriors."""
    found = []

    def keep(decisions):
        found.append(decisions.views[np.nanmin(decisions.posterior, axis=(1, 2)) > 0])

    play_games(make_solver("exact"), mode, num_games, seed, "corner", observers=[keep])
    views = np.concatenate(found)
    return views, solve_posterior(views, mode.mines)


# what the network sees


def test_planes_of_a_position():
    """The 3 at the top needs one mine beside the proved one below it; the row below is satisfied."""
    view = views_of("..1\n...\n...")
    probabilities = np.array([[[0.25, 1.0, np.nan], [0.5, 0.0, 0.0], [0.75, 0.75, 0.75]]], np.float32)
    planes, counts = position_planes(torch.from_numpy(view), torch.from_numpy(probabilities), torch.tensor([4]))
    assert planes.shape == (1, 11, 3, 3)
    is_open, is_safe, is_interior, p = planes[0, :4]
    assert is_open.tolist() == [[1, 0, 0], [1, 1, 1], [1, 1, 1]]
    assert is_safe.tolist() == [[0, 0, 0], [0, 1, 1], [0, 0, 0]]
    assert is_interior.tolist() == [[1, 0, 0], [1, 0, 0], [1, 1, 1]]
    assert p.tolist() == [[0.25, 0, 0], [0.5, 0, 0], [0.75, 0.75, 0.75]]
    assert planes[0, 4:].nonzero().tolist() == [[0, 0, 2]]  # the 1 needs no more mines, but has cells beside it
    assert counts[0, :12].tolist() == [0, 0, 0, 1] + [0] * 8  # three mines left
    assert counts[0, 12:24].tolist() == [0] * 7 + [1] + [0] * 4  # seven cells left


def test_what_is_decided_looks_like_nothing():
    """Numbers that proved mines satisfy, with no open cell beside them, and the mines themselves show on no plane."""
    view = views_of(".1.....\n11.....")  # the corner is a mine, so all that is beside the numbers is safe
    probabilities = mine_posterior(view, 4)
    assert (probabilities[0, 0, 0], probabilities[0, 0, 2]) == (1, 0)
    planes, counts = position_planes(
        torch.from_numpy(view), torch.from_numpy(probabilities.astype(np.float32)), torch.tensor([4])
    )
    assert planes[0, :, :, 0].abs().sum() == 0
    assert planes[0, 4:, :, 1].nonzero().tolist() == [[0, 0], [0, 1]]  # both need nothing more
    assert counts[0, :12].argmax() == 3


def test_a_known_mine_is_a_proved_mine():
    hidden, marked = views_of(".1.....\n11....."), views_of("*1.....\n11.....")
    shown = [
        position_planes(
            torch.from_numpy(view), torch.from_numpy(mine_posterior(view, 4).astype(np.float32)), torch.tensor([4])
        )
        for view in (hidden, marked)
    ]
    for one, other in zip(*shown, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(("settings", "message"), [({"depth": 6}, "depth must be odd"), ({"width": 0}, "width must")])
def test_shapes_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        PlannerNet(**settings)


@pytest.mark.parametrize(("rows", "cols", "num_mines"), [(1, 2, 1), (1, 7, 2), (7, 1, 2), (5, 3, 4), (16, 30, 99)])
def test_any_size_and_no_board_depends_on_another(rows, cols, num_mines):
    torch.manual_seed(0)
    net = PlannerNet(width=6, depth=5)
    games = Games(Mode(rows, cols, num_mines), 6, 1)
    games.reveal(0, 0)
    games.reveal_mask(~games.mines & (np.arange(cols) % 3 == 0))
    views = games.views[games.status == PLAYING]
    if not len(views):
        views = np.full((2, rows, cols), HIDDEN, np.int8)
    inputs = [torch.from_numpy(views), torch.from_numpy(mine_posterior(views, num_mines).astype(np.float32))]
    mines = torch.full((len(views),), num_mines)
    logits = net(*inputs, mines)
    assert (logits.shape, logits.dtype) == (views.shape, torch.float32)
    assert torch.isfinite(logits).all()
    alone = torch.cat([net(*(array[i : i + 1] for array in inputs), mines[:1]) for i in range(len(views))])
    torch.testing.assert_close(logits, alone, atol=1e-5, rtol=1e-4)


# what may be shown


@pytest.mark.parametrize("mode", [MODES["beginner"], Mode(5, 5, 5)])
def test_the_outcomes_of_a_cell(mode):
    views, posterior = guesses(mode, 60)
    flat = posterior.probabilities.reshape(len(views), -1)
    cells = np.nanargmin(flat, axis=1)
    mines = np.full(len(views), mode.mines)
    of, trials, chances, posteriors = outcomes(views, mines, cells)
    sums = np.bincount(of, chances, len(views))
    np.testing.assert_allclose(sums, 1 - flat[np.arange(len(views)), cells], rtol=1e-9)
    shown = trials.reshape(len(trials), -1)[np.arange(len(trials)), cells[of]]
    assert set(np.unique(shown)) <= set(range(9))
    restored = trials.reshape(len(trials), -1).copy()
    restored[np.arange(len(trials)), cells[of]] = HIDDEN
    np.testing.assert_array_equal(restored, views[of].reshape(len(trials), -1))
    np.testing.assert_array_equal(posteriors, mine_posterior(trials, mode.mines))
    # The law of total probability, for every other cell.
    for i in range(0, len(views), 7):
        own = of == i
        mean = np.tensordot(chances[own], posteriors[own], 1)
        joint = chances[own].sum() * np.ones_like(mean)
        is_other = views[i] == HIDDEN
        is_other.flat[cells[i]] = False
        assert (mean[is_other] <= np.minimum(posterior.probabilities[i], joint)[is_other] + 1e-9).all()


# what it chooses


def test_the_score_is_survival_times_the_chance():
    view = views_of("1..\n1..")
    probabilities = mine_posterior(view, 1)  # 0.5 beside the numbers, safe in the last column
    assert (probabilities[0, :, 2] == 0).all()
    view = views_of("1.\n..")
    chances = [[0.5, 0.2], [0.9, 0.4]]
    scores = PlannerSolver(Fixed(chances)).guess_scores(view, np.array([1]), mine_posterior(view, 1))
    np.testing.assert_allclose(scores[0], [[np.nan, 0.2 * 2 / 3], [0.9 * 2 / 3, 0.4 * 2 / 3]], rtol=1e-6)
    mask, is_guess = PlannerSolver(Fixed(chances), endgame=0).choose(view, 1, np.zeros(1, np.uint64))
    assert mask[0].tolist() == [[False, False], [True, False]]
    assert is_guess.tolist() == [True]


def test_only_cells_within_the_margin_are_candidates():
    views, posterior = guesses(MODES["beginner"], 60)
    mines = np.full(len(views), 10)
    scores = PlannerSolver(Fixed(np.full((9, 9), 0.5)), margin=0.05).guess_scores(views, mines, posterior.probabilities)
    lowest = np.nanmin(posterior.probabilities, axis=(1, 2), keepdims=True)
    np.testing.assert_array_equal(~np.isnan(scores), posterior.probabilities <= lowest + 0.05)


def test_what_is_proved_is_opened_whatever_the_network_says():
    mode = MODES["beginner"]
    planner = PlannerSolver(Fixed(np.linspace(0.1, 0.9, 81).reshape(9, 9)))
    lost_by_proof = 0

    def check(decisions):
        nonlocal lost_by_proof
        proved = np.nanmin(decisions.posterior, axis=(1, 2)) == 0
        lost_by_proof += (decisions.is_lost & proved).sum()

    records = play_games(planner, mode, 100, 5, "corner", observers=[check])
    assert lost_by_proof == 0
    exact = play_games(make_solver("exact"), mode, 100, 5, "corner")
    np.testing.assert_array_equal(records.guess_free, exact.guess_free)


@pytest.mark.parametrize("look_ahead", [0, 3, 25])
def test_with_the_truth_it_plays_the_move_tree(look_ahead):
    """With u of the exact move tree, the scores are the exact chances, with and without a look ahead."""
    mode = Mode(4, 4, 4)
    views, posterior = guesses(mode, 60)
    few = posterior.log_layouts < math.log(300)
    views, probabilities = views[few], posterior.probabilities[few]
    mines = np.full(len(views), 4)
    planner = PlannerSolver(Truth(), margin=1.0, look_ahead=look_ahead)
    scores = planner.guess_scores(views, mines, probabilities)
    assert len(views) > 10
    for i, view in enumerate(views):
        expected, _ = best_play(view, 4)
        is_scored = ~np.isnan(scores[i])
        np.testing.assert_allclose(scores[i][is_scored], expected[is_scored], atol=1e-6)
        assert is_scored[expected == np.nanmax(expected)].any()


def test_values_are_exact_with_few_layouts_left():
    mode = Mode(4, 4, 4)
    views, posterior = guesses(mode, 80)
    planner = PlannerSolver(Fixed(np.full((4, 4), 0.123)), margin=1.0, endgame=100)
    values, _ = planner.values(views, np.full(len(views), 4), posterior)
    few = posterior.log_layouts <= math.log(100) + 1e-9
    assert few.any()
    assert (~few).any()
    for i, view in enumerate(views):
        if few[i]:
            assert values[i] == pytest.approx(np.nanmax(best_play(view, 4)[0]))
        else:
            best = 0.123 * (1 - np.nanmin(posterior.probabilities[i]))
            assert values[i] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margin": -0.1}, "margin must be 0 to 1, got -0.1"),
        ({"look_ahead": -1}, "look_ahead must be an integer of at least 0, got -1"),
        ({"look_ahead": True}, "look_ahead must be an integer of at least 0, got True"),
        ({"endgame": -1}, "endgame must be 0 to 100000, got -1"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        PlannerSolver(Fixed([[0.5]]), **settings)


# what it is trained by


def task_of(*overrides):
    cfg = composed("train", "task=planner", "num_live_games=40", "device=cpu", *overrides)
    return PlannerTask(cfg, Ranks(40, 10), torch.device("cpu"), "float32")


def test_all_games_come_to_a_guess():
    task = task_of()
    games = task.pools[0]
    _, _, posterior = task.come_to_guesses(games, 0)
    assert (games.status == PLAYING).all()
    assert posterior.exact.all()
    assert (np.nanmin(posterior.probabilities, axis=(1, 2)) > 0).all()
    np.testing.assert_array_equal(posterior.probabilities, mine_posterior(games.views, 10))


@pytest.mark.parametrize("rule", ["any", "safe", "zero"])
def test_the_first_cell_is_a_guess_in_some_games(rule):
    """Each candidate is tried on the board that the rule lays for it."""
    task = task_of("random_first=1", f"mode.first_click={rule}", "rollout_steps=9", "afterwards=0", "replay=0")
    batch = task.batch(PlannerNet(4, 5), PlannerNet(4, 5), 0)
    games, forks = batch.games, batch.more.forks
    assert (games.views == HIDDEN).all()
    assert (games.moves == 0).all()
    tried = len(batch.labels)
    assert tried == 160 if rule != "any" else 100 < tried < 160
    assert (batch.more.goes_on_in >= 0).all()
    shown = (forks.views >= 0).sum(axis=(1, 2))
    assert ((shown >= 1) | (forks.status == LOST)).all()
    if rule == "zero":
        assert (shown > 3).all()
    task.act(batch, 0)
    assert ((games.moves >= 1) | (games.status == LOST)).all()


def test_the_candidates_of_a_position():
    task = task_of("candidates=5", "margin=0.04")
    games = task.pools[0]
    _, _, posterior = task.come_to_guesses(games, 0)
    scores = np.random.default_rng(0).random(games.views.shape)
    lowest = np.nanmin(posterior.probabilities, axis=(1, 2), keepdims=True)
    scores[~(posterior.probabilities <= lowest + 0.04)] = np.nan
    candidates = task.candidates(games, posterior, scores, 0)
    assert candidates.shape == (40, 5)
    for i in range(40):
        found = candidates[i][candidates[i] >= 0]
        assert len(set(found)) == len(found) >= min(5, (~np.isnan(scores[i])).sum())
        assert not np.isnan(scores[i].flat[found]).any()
        order = np.argsort(-np.nan_to_num(scores[i].ravel(), nan=-1))
        assert found[:2].tolist() == order[:2][: len(found)].tolist()
    np.testing.assert_array_equal(candidates, task.candidates(games, posterior, scores, 0))
    assert (candidates != task.candidates(games, posterior, scores, 1)).any()


def test_labels_are_the_values_of_the_forks():
    """Played out: each label is whether that very board is won after that cell, by the exact solver."""
    task = task_of("rollout_steps=1", "afterwards=0", "explore=0", "replay=0")
    batch = task.batch(PlannerNet(4, 5), PlannerNet(4, 5), 0)
    assert set(batch.labels.tolist()) == {0.0, 1.0}
    assert batch.weight == len(batch.labels) > 80
    assert batch.loss.item() == pytest.approx(
        nn.functional.binary_cross_entropy_with_logits(batch.asked, batch.labels).item(), rel=1e-6
    )
    before = batch.games.state_dict()
    task.act(batch, 0)
    games = batch.games
    is_lost = games.status == LOST
    moved = (games.views != before["views"]).any(axis=(1, 2))
    assert (is_lost | moved).all()
    goes_on = games.status == PLAYING
    assert (np.nanmin(mine_posterior(games.views[goes_on], 10), axis=(1, 2)) > 0).all()


def test_labels_of_the_network_are_bounded_by_the_best_candidate():
    task = task_of("rollout_steps=0", "afterwards=1", "endgame=0")
    batch = task.batch(PlannerNet(4, 5), Fixed(np.full((9, 9), 0.25)), 0)
    labels = batch.labels.numpy()
    assert ((labels == 1) | (labels < 0.25)).all()
    assert batch.weight < len(labels)  # the safe cells of a position afterwards share one weight


def test_positions_afterwards_show_one_number_more():
    """What is safe there has the value that the candidate has at the guess."""
    task = task_of("afterwards=1", "candidates=4", "replay=0", "rollout_steps=9")
    games = task.pools[0]
    task.batch(PlannerNet(4, 5), PlannerNet(4, 5), 0)
    new = task.remembered[0].at((slice(None), 0))
    guess, after = new.at((slice(None), 0)), new.at((slice(None), 1))
    np.testing.assert_array_equal(guess.views, games.views)
    shown = np.flatnonzero((after.cells >= 0).any(axis=1))
    assert 5 < shown.size < 40
    for i in shown:
        ((row, col),) = np.argwhere(after.views[i] != guess.views[i])
        assert guess.views[i, row, col] == HIDDEN
        assert after.views[i, row, col] == neighbour_counts(games.mines[i])[row, col]
        tried = guess.cells[i] == row * 9 + col
        assert tried.sum() == 1
        exact = mine_posterior(after.views[i], 10)
        np.testing.assert_array_equal(after.posterior[i], np.nan_to_num(exact).astype(np.float32))
        is_labelled = after.cells[i] >= 0
        assert (exact.flat[after.cells[i][is_labelled]] == 0).all()
        assert (after.values[i][is_labelled] == guess.values[i][tried]).all()
        assert after.weights[i].sum() == pytest.approx(1)


def test_earlier_guesses_are_shown_again():
    seen = []

    class Spy(PlannerNet):
        def forward(self, views, probabilities, num_mines):
            seen.append((views.clone(), probabilities.clone()))
            return super().forward(views, probabilities, num_mines)

    task = task_of("afterwards=0", "replay=3", "symmetries=false", "rollout_steps=9", "random_first=0")
    model = Spy(4, 5)
    guesses, labels = [], []
    for step in range(6):
        batch = task.batch(model, PlannerNet(4, 5), step)
        guesses.append(batch.games.views.copy())
        labels.append(len(batch.labels))
        task.act(batch, step)
    assert len(seen[0][0]) == 4 * 40  # of the first turn alone: the same ones
    known = {view.tobytes() for views in guesses for view in views}
    assert {view.numpy().tobytes() for view in seen[-1][0]} <= known
    new = {view.tobytes() for view in guesses[-1]}
    shown = [view.numpy().tobytes() in new for view in seen[-1][0]]
    assert 40 <= sum(shown) < 100
    assert labels[-1] > 3 * 40 * 2


def test_hidden_around():
    assert hidden_around(views_of("...\n.1.\n...")).tolist() == [[[2, 4, 2], [4, 8, 4], [2, 4, 2]]]


def test_the_lowest_risk_is_the_choice_of_the_planner():
    mode = MODES["beginner"]
    games = Games(mode, 80, 4)
    games.reveal(0, 0)
    posterior = solve_posterior(games.views, 10, over_budget="density")
    planner = PlannerSolver(Fixed(np.linspace(0.1, 0.9, 81).reshape(9, 9)), endgame=0)
    risks = planned_risks(planner, games, posterior)
    proved = (posterior.probabilities == 0).any(axis=(1, 2))
    assert proved.any()
    np.testing.assert_array_equal(risks[proved], posterior.probabilities[proved])
    keys = np.arange(80, dtype=np.uint64)
    chosen, _ = planner.choose(games.views, 10, keys)
    lowest, _ = choose_lowest(risks, games.views, keys)
    np.testing.assert_array_equal(lowest[~proved], chosen[~proved])
    np.testing.assert_allclose(
        risks[chosen & ~proved[:, None, None]], posterior.probabilities[chosen & ~proved[:, None, None]]
    )
    is_hidden = games.views == HIDDEN
    assert ((risks[is_hidden] >= 0) & (risks[is_hidden] <= 1)).all()


def test_a_planner_is_trained_and_goes_on_exactly(tmp_path):
    whole = train_tiny(tmp_path / "whole", *TINY_PLANNER, model=())
    half = train_tiny(tmp_path / "half", *TINY_PLANNER, "games=20", "schedule=constant", model=())
    content = load_checkpoint(whole / "last.pt")
    assert content["config"]["task"] == "planner"
    assert content["progress"]["games"] >= 40
    train_tiny(tmp_path / "pupil", "target=planner", f"teacher={whole / 'best.pt'}")
    assert all(torch.isfinite(values).all() for values in content["averaged"].values())
    resumed = resume_tiny(half / "last.pt", "games=40", f"run_dir={tmp_path / 'resumed'}")
    straight = train_tiny(tmp_path / "straight", *TINY_PLANNER, "schedule=constant", model=())
    one, other = (load_checkpoint(folder / "last.pt") for folder in (resumed, straight))
    for key, values in one["model"].items():
        assert torch.equal(values, other["model"][key]), key
    for key, values in one["live_games"][0].items():
        assert torch.equal(values, other["live_games"][0][key]), key
