"""The planner: its scores and choices, one look ahead, and the labels that its network is trained by."""

import math
import re

import numpy as np
import pytest
import torch
from test_lookahead import best_play
from test_prospects import PLACE, of_view
from tiny_training import composed, resume_tiny, train_tiny
from torch import nn

from minesweeper import (
    HIDDEN,
    LOST,
    MODES,
    PLAYING,
    WON,
    Games,
    Mode,
    make_solver,
    mine_posterior,
    neighbour_counts,
    play_games,
    solve_posterior,
)
from minesweeper import prospects as prospects_file
from minesweeper.arena import choice_keys
from minesweeper.prospects import NUM_FEATURES, most_promising, prospects, undecided_around
from minesweeper.proving import open_proved
from minesweeper.solvers.base import choose_highest, choose_lowest
from minesweeper.textio import text_to_view
from minesweeper.unavoidable import candidates, unavoidable_guesses
from models import planner as planner_file
from models.checkpoint import load_checkpoint
from models.labelled import Labelled
from models.mine_task import planned_risks
from models.planner import PlannerSolver
from models.planner_net import PlannerNet, win_chances
from models.planner_task import PlannerTask, play_out
from models.ranks import Ranks

TINY_PLANNER = ("task=planner", "model.width=4", "model.depth=2", "rollout_steps=2", "weight_decay=0")


def planner_of(model, margin=0.05, **settings):
    """A planner that looks at all cells within the margin."""
    return PlannerSolver(model, margin, **({"candidates": 0} | settings))


def views_of(*texts):
    return np.stack([text_to_view(text)[0] for text in texts])


class Fixed(nn.Module):
    """Answers with the same chance whatever it is shown, or with a function of the features."""

    def __init__(self, chance):
        super().__init__()
        self.chance = chance if callable(chance) else lambda features: torch.full((len(features),), float(chance))
        self.zero = nn.Parameter(torch.zeros(()))

    def forward(self, features):
        return torch.logit(self.chance(features).double()) + self.zero


def varied(features):
    """A chance that differs from number to number."""
    return 0.2 + 0.5 * features[:, PLACE["lowest_after"]] + 0.1 * features[:, PLACE["safe"]].clip(max=1)


def worth(view, num_mines):
    """P(win) of a position by best play, from plain recursion over its layouts."""
    if (view == HIDDEN).sum() == num_mines:
        return 1.0
    wins, num_layouts = best_play(view, num_mines)
    return max(wins.values()) / num_layouts


class Truth(nn.Module):
    """Knows what best play makes of each number that the cells of some small positions may show.

    None of these look alike without being worth the same.
    """

    def __init__(self, views, num_mines):
        super().__init__()
        self.known = {}
        self.zero = nn.Parameter(torch.zeros(()))
        for view in views:
            found, cells, _ = of_view(view, num_mines)
            for of, number, features in zip(found.of, found.numbers, found.features, strict=True):
                trial = view.copy()
                trial.flat[cells[of]] = number
                value = worth(trial, num_mines)
                assert self.known.setdefault(self.key(features), value) == pytest.approx(value)

    @staticmethod
    def key(features):
        return tuple(np.round(features, 4).tolist())

    def forward(self, features):
        chances = [self.known[self.key(row)] for row in features.numpy()]
        return torch.logit(torch.tensor(chances, dtype=torch.float64).clip(1e-12, 1 - 1e-12)) + self.zero


def trials_of(view, num_mines, cell):
    """The numbers that a cell may show: (view then, chance, posterior then, nothing proved and not won)."""
    now = solve_posterior(view, num_mines)
    for number in range(9):
        trial = view.copy()
        trial.flat[cell] = number
        try:
            after = solve_posterior(trial, num_mines)
        except ValueError:
            continue
        lowest = np.nanmin(after.probabilities, initial=1.0)
        yield trial, math.exp(after.log_layouts - now.log_layouts), after, 0 < lowest < 1


def guesses(mode, num_games=200, seed=1):
    """Positions where nothing is proved, [N, R, C], their numbers of mines, and their posteriors."""
    found = []

    def keep(decisions):
        found.append(decisions.views[np.nanmin(decisions.posterior, axis=(1, 2)) > 0])

    play_games(make_solver("exact"), mode, num_games, seed, "corner", observers=[keep])
    views = np.concatenate(found)
    return views, np.full(len(views), mode.mines), solve_posterior(views, mode.mines)


# its network


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "width must be an integer of at least 1, got 0"),
        ({"width": 1.5}, "width must be an integer of at least 1, got 1.5"),
        ({"depth": 0}, "depth must be an integer of at least 1, got 0"),
        ({"depth": True}, "depth must be an integer of at least 1, got True"),
    ],
)
def test_shapes_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        PlannerNet(**settings)


def test_no_row_depends_on_another():
    torch.manual_seed(0)
    net = PlannerNet(6, 3)
    features = torch.rand(50, NUM_FEATURES)
    logits = net(features)
    assert (logits.shape, logits.dtype) == ((50,), torch.float32)
    assert logits.std() > 0.01
    torch.testing.assert_close(torch.cat([net(row[None]) for row in features]), logits, atol=1e-6, rtol=1e-5)
    assert net(features[:0]).shape == (0,)
    chances = win_chances(net, features)
    assert chances.dtype == torch.float64
    torch.testing.assert_close(chances.float(), torch.sigmoid(logits), atol=1e-6, rtol=1e-5)
    logits.square().sum().backward()
    assert all(values.grad.abs().max() > 0 for values in net.parameters())


def test_one_batch_can_be_overfitted():
    """Any numbers of any guesses, and labels by lot."""
    torch.manual_seed(0)
    views, mines, posterior = guesses(MODES["beginner"], 20)
    games, cells = np.nonzero(posterior.probabilities.reshape(len(views), -1) < 0.2)
    features = torch.from_numpy(np.unique(prospects(views, mines, posterior, games, cells).features, axis=0))
    features = features[torch.randperm(len(features))[:20]]
    assert len(features) == 20
    labels = torch.arange(20) % 2.0
    net = PlannerNet(32, 3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(150):
        loss = nn.functional.binary_cross_entropy_with_logits(net(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.5 * math.log(2)


# what it chooses


def test_the_score_by_hand():
    """The cell of the interior shows 1 in one of six layouts, where all is known then, and 2 in two of them."""
    view = views_of("1..\n...")
    planner = planner_of(Fixed(lambda features: 0.3 + 0.5 * features[:, PLACE["is_won"]]), margin=1.0)
    scores = planner.guess_scores(view, np.array([2]), solve_posterior(view, 2))
    assert scores[0, 0, 2] == pytest.approx(0.8 / 6 + 0.3 * 2 / 6)
    assert np.isnan(scores[0, 0, 0])


def test_the_score_is_the_mean_of_the_network_over_the_numbers(monkeypatch):
    """By a plain loop, in one pass or in many; a constant gives the chance to be safe times it."""
    views, mines, posterior = guesses(MODES["beginner"], 15)
    planner = planner_of(Fixed(varied), margin=0.05)
    scores = planner.guess_scores(views, mines, posterior)
    lowest = np.nanmin(posterior.probabilities, axis=(1, 2), keepdims=True)
    np.testing.assert_array_equal(~np.isnan(scores), posterior.probabilities <= lowest + 0.05)
    for game in range(0, len(views), 5):
        for cell in np.flatnonzero(~np.isnan(scores[game])):
            found, _, _ = of_view(views[game], 10, [cell])
            values = varied(torch.from_numpy(found.features)).tolist()
            expected = sum(chance * value for chance, value in zip(found.chances, values, strict=True))
            assert scores[game].flat[cell] == pytest.approx(expected, abs=1e-6)
    constant = planner_of(Fixed(0.25), margin=0.05).guess_scores(views, mines, posterior)
    is_scored = ~np.isnan(scores)
    np.testing.assert_allclose(constant[is_scored], 0.25 * (1 - posterior.probabilities[is_scored]), rtol=1e-6)
    monkeypatch.setattr(prospects_file, "_CELLS_OF_A_PASS", 7)
    np.testing.assert_allclose(planner.guess_scores(views, mines, posterior), scores, atol=1e-6)


def test_the_most_promising_by_hand():
    """Seven cells in a row, the fifth shows 1: beside it 1/2, away from it one or two mines in four cells."""
    view = views_of("....1..", "....1..")
    posterior = solve_posterior(view, np.array([2, 3]))
    assert posterior.interior.tolist() == pytest.approx([1 / 4, 1 / 2])
    assert most_promising(view, posterior, 0.3).tolist() == [[0, 6, 1, 2, 3, 5], [3, 5, 0, 6, 1, 2]]
    assert most_promising(view, posterior, 0.2).tolist() == [[0, 6, 1, 2, -1, -1], [3, 5, 0, 6, 1, 2]]
    assert most_promising(view, posterior, 0.2, 3).tolist() == [[0, 6, 1], [3, 5, 0]]
    assert most_promising(view[:1], posterior.of(np.array([0])), 0.0, 9).tolist() == [[0, 6, 1, 2]]


def test_undecided_around_by_hand():
    probabilities = np.array([[[0.5, 0.5, 0.0], [np.nan, 1.0, 0.2], [0.1, 2.0, 0.3]]])
    assert undecided_around(probabilities).tolist() == [[[1, 2, 2], [3, 5, 2], [0, 3, 1]]]


def test_of_many_candidates_the_most_promising_are_looked_at():
    views, mines, posterior = guesses(MODES["beginner"], 40)
    every = planner_of(Fixed(varied), margin=0.1).guess_scores(views, mines, posterior)
    some = planner_of(Fixed(varied), margin=0.1, candidates=3).guess_scores(views, mines, posterior)
    first = candidates(views, posterior, 0.1, 3)
    for game in range(len(views)):
        cells = first[game][first[game] >= 0]
        np.testing.assert_array_equal(np.flatnonzero(~np.isnan(some[game])), np.sort(cells))
        np.testing.assert_allclose(some[game].flat[cells], every[game].flat[cells], atol=1e-6)
    assert (np.isnan(some) & ~np.isnan(every)).any()


def test_the_highest_score_is_opened():
    views, mines, posterior = guesses(MODES["beginner"], 40)
    planner = planner_of(Fixed(lambda features: 0.2 + 0.7 * features[:, PLACE["is_interior"]]), endgame=0)
    scores = np.nan_to_num(planner.guess_scores(views, mines, posterior), nan=-1.0)
    mask, is_guess = planner.choose(views, 10, np.arange(len(views), dtype=np.uint64))
    assert is_guess.all()
    assert (mask.sum(axis=(1, 2)) == 1).all()
    np.testing.assert_allclose(scores[mask], scores.max(axis=(1, 2)), atol=1e-8)
    assert (posterior.probabilities[mask] > np.nanmin(posterior.probabilities, axis=(1, 2)) + 1e-6).any()


def test_what_is_proved_is_opened_whatever_the_network_says():
    mode = MODES["beginner"]
    planner = planner_of(Fixed(varied), candidates=2, endgame=0)
    lost_by_proof = 0

    def check(decisions):
        nonlocal lost_by_proof
        proved = np.nanmin(decisions.posterior, axis=(1, 2)) == 0
        lost_by_proof += (decisions.is_lost & proved).sum()

    records = play_games(planner, mode, 100, 5, "corner", observers=[check])
    assert lost_by_proof == 0
    exact = play_games(make_solver("exact"), mode, 100, 5, "corner")
    np.testing.assert_array_equal(records.guess_free, exact.guess_free)
    assert 0 < records.guess_free.sum() < 100


def test_looking_ahead_takes_the_best_guess_of_what_proves_nothing():
    """Of a constant: a number that proves a cell or wins is worth it; at any other, the lowest risk is run first."""
    views, mines, posterior = guesses(Mode(5, 6, 7), 12)
    planner = planner_of(Fixed(0.25), margin=0.1, look_ahead=100)
    scores = planner.guess_scores(views, mines, posterior)
    np.testing.assert_array_equal(np.isnan(scores), np.isnan(planner_of(Fixed(0.25), 0.1).guess_scores(
        views, mines, posterior)))  # fmt: skip
    num_stuck = num_others = 0
    for game in range(len(views)):
        for cell in np.flatnonzero(~np.isnan(scores[game])):
            expected = 0.0
            for _, chance, after, is_stuck in trials_of(views[game], 7, cell):
                expected += chance * 0.25 * (1 - np.nanmin(after.probabilities) if is_stuck else 1)
                num_stuck, num_others = num_stuck + is_stuck, num_others + (not is_stuck)
            assert scores[game].flat[cell] == pytest.approx(expected, abs=1e-6)
    assert num_stuck > 50
    assert num_others > 50


def test_only_the_best_are_looked_at_further():
    views, mines, posterior = guesses(Mode(5, 6, 7), 12)
    settings = {"model": Fixed(varied), "margin": 0.1}
    at_once = planner_of(**settings).guess_scores(views, mines, posterior)
    every = planner_of(**settings, look_ahead=100).guess_scores(views, mines, posterior)
    two = planner_of(**settings, look_ahead=2).guess_scores(views, mines, posterior)
    for game in range(len(views)):
        best = np.argsort(-np.nan_to_num(at_once[game].ravel(), nan=-1.0), kind="stable")[:2]
        best = best[~np.isnan(at_once[game].flat[best])]
        assert set(np.flatnonzero(~np.isnan(two[game]))) == set(best.tolist())
        np.testing.assert_allclose(two[game].flat[best], every[game].flat[best], atol=1e-6)
    assert np.nanmax(abs(every - at_once)) > 0.01


@pytest.mark.parametrize("look_ahead", [0, 2, 25])
def test_with_the_truth_it_plays_the_move_tree(look_ahead):
    """A model that knows the worth of each number gives the exact chances, at once and one guess further."""
    small = [
        (view, mode.mines)
        for mode in (Mode(4, 4, 4), Mode(3, 5, 5), Mode(5, 3, 4), Mode(2, 7, 5))
        for view in np.unique(guesses(mode, 200)[0], axis=0)
        if (view == HIDDEN).sum() <= 7  # so that six cells are all that is left one guess further
    ]
    leads_further = 0
    for view, num_mines in small:
        further = [trial for cell in np.flatnonzero(view == HIDDEN) for trial, *_, is_stuck in
                   trials_of(view, num_mines, cell) if is_stuck]  # fmt: skip
        planner = planner_of(Truth([view, *further], num_mines), margin=1.0, look_ahead=look_ahead)
        posterior = solve_posterior(view[None], num_mines)
        scores = planner.guess_scores(view[None], np.array([num_mines]), posterior)[0]
        wins, num_layouts = best_play(view, num_mines)
        is_scored = np.flatnonzero(~np.isnan(scores))
        is_unavoidable = (unavoidable_guesses(view[None], posterior.probabilities) >= 0).all()
        assert is_scored.size == (2 if look_ahead == 2 or is_unavoidable else (view == HIDDEN).sum())
        expected = [wins[cell] / num_layouts for cell in is_scored.tolist()]
        np.testing.assert_allclose(scores.flat[is_scored], expected, atol=1e-6)
        assert max(expected) == max(wins.values()) / num_layouts
        leads_further += len(further) > 0
    assert len(small) > 100
    assert leads_further > 30


def test_rollouts_correct_the_network(monkeypatch):
    """In three rounds, of 2, 2 and 2 for the best six, three and two: means as one, with the network as 100 more."""
    views, mines, posterior = guesses(MODES["beginner"], 60)
    asked = []

    def told(own_views, own_mines, own_posterior, cells, count, number):
        assert (own_views == 0).any(axis=(1, 2)).all()
        assert len(own_views) == len(own_mines) == len(own_posterior.exact) == len(cells)
        asked.append((cells, count, number))
        return np.where(cells < 0, np.nan, np.cos(cells + 10 * number))

    monkeypatch.setattr(planner_file, "rollout_values", told)
    before = planner_of(Fixed(varied), margin=0.1).guess_scores(views, mines, posterior)
    after = planner_of(Fixed(varied), margin=0.1, rollouts=6).guess_scores(views, mines, posterior)
    has_opening = (views == 0).any(axis=(1, 2))
    assert has_opening.any()
    assert not has_opening.all()
    np.testing.assert_array_equal(after[~has_opening], before[~has_opening])
    assert [(cells.shape[1], count, number) for cells, count, number in asked] == [(6, 2, 0), (3, 2, 1), (2, 2, 2)]
    for game, (own_before, own_after) in enumerate(zip(before[has_opening], after[has_opening], strict=True)):
        left = {int(cell): 100 * own_before.flat[cell] for cell in np.flatnonzero(~np.isnan(own_before))}
        for number, (most, (cells, *_)) in enumerate(zip((6, 3, 2), asked, strict=True)):
            best = sorted(left, key=lambda cell: -round(left[cell], 9))[:most]
            assert sorted(cells[game][cells[game] >= 0].tolist()) == sorted(best)
            left = {cell: left[cell] + 2 * math.cos(cell + 10 * number) for cell in best}
        assert np.flatnonzero(~np.isnan(own_after)).tolist() == sorted(left)
        for cell, total in left.items():
            assert own_after.flat[cell] == pytest.approx(total / 106)


def test_rollouts_without_a_value_leave_the_network_alone(monkeypatch):
    views, mines, posterior = guesses(MODES["beginner"], 20)
    monkeypatch.setattr(planner_file, "rollout_values", lambda *given: np.full(given[3].shape, np.nan))
    before = planner_of(Fixed(varied), margin=0.1).guess_scores(views, mines, posterior)
    after = planner_of(Fixed(varied), margin=0.1, rollouts=30).guess_scores(views, mines, posterior)
    np.testing.assert_allclose(np.nanmax(after, axis=(1, 2)), np.nanmax(before, axis=(1, 2)))


def test_a_planner_with_rollouts_plays():
    """It wins as many as without, of few games; and the same ones again."""
    planner = planner_of(Fixed(varied), rollouts=4, endgame=50)
    records = play_games(planner, MODES["beginner"], 40, 3, "corner")
    assert records.won.mean() > 0.7
    np.testing.assert_array_equal(play_games(planner, MODES["beginner"], 40, 3, "corner", batch=7).won, records.won)


def test_values_are_exact_with_few_layouts_left():
    views = np.unique(guesses(Mode(4, 4, 4), 40)[0], axis=0)
    mines, posterior = np.full(len(views), 4), solve_posterior(views, 4)
    planner = planner_of(Fixed(0.123), margin=1.0, endgame=40)
    values, scores = planner.values(views, mines, posterior)
    few = posterior.log_layouts <= math.log(40) + 1e-9
    assert few.any()
    assert (~few).any()
    for i, view in enumerate(views):
        if few[i]:
            wins, num_layouts = best_play(view, 4)
            assert values[i] == pytest.approx(max(wins.values()) / num_layouts)
            for cell, won in wins.items():
                assert scores[i].flat[cell] == pytest.approx(won / num_layouts)
        else:
            assert values[i] == pytest.approx(0.123 * (1 - np.nanmin(posterior.probabilities[i])), rel=1e-6)
            np.testing.assert_allclose(scores[i], 0.123 * (1 - posterior.probabilities[i]), rtol=1e-5)
    never = planner_of(Fixed(0.123), margin=1.0, endgame=0).values(views, mines, posterior)[0]
    np.testing.assert_allclose(never, 0.123 * (1 - np.nanmin(posterior.probabilities, axis=(1, 2))), rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margin": -0.1}, "margin must be 0 to 1, got -0.1"),
        ({"candidates": -1}, "candidates must be an integer of at least 0, got -1"),
        ({"candidates": 2.5}, "candidates must be an integer of at least 0, got 2.5"),
        ({"look_ahead": -1}, "look_ahead must be an integer of at least 0, got -1"),
        ({"look_ahead": True}, "look_ahead must be an integer of at least 0, got True"),
        ({"rollouts": -1}, "rollouts must be an integer from 0 to 1000000, got -1"),
        ({"rollouts": 1.5}, "rollouts must be an integer from 0 to 1000000, got 1.5"),
        ({"endgame": -1}, "endgame must be 0 to 100000, got -1"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        planner_of(Fixed(0.5), **settings)


def test_it_plays_with_the_margin_of_its_training():
    planner = PlannerSolver.trained(Fixed(0.5), {"margin": 0.02, "candidates": 6, "endgame": 3})
    assert (planner.margin, planner.candidates, planner.endgame) == (0.02, 10, 2000)
    planner = PlannerSolver.trained(Fixed(0.5), {"margin": 0.02}, margin=0.3, look_ahead=4)
    assert (planner.margin, planner.look_ahead) == (0.3, 4)


# what it is trained by


def task_of(*overrides):
    cfg = composed("train", "task=planner", "num_live_games=40", "device=cpu", *overrides)
    return PlannerTask(cfg, Ranks(40, 10), torch.device("cpu"), "float32")


def played(*overrides, steps=2):
    """A task after some steps of a constant model, and the number of the next step."""
    task = task_of(*overrides)
    for step in range(steps):
        task.act(task.batch(Fixed(0.5), Fixed(0.5), step), step)
    return task, steps


def test_all_games_come_to_a_guess():
    task, step = played("random_first=0", "endgame=0", "mode.mines=16", steps=3)
    games = task.pools[0]
    ended, won = (games.status != PLAYING).sum(), (games.status == WON).sum()
    num_over, num_won, posterior = task.come_to_guesses(games, step)
    assert num_over >= ended > 0
    assert num_won >= won
    assert (games.status == PLAYING).all()
    assert (games.views != HIDDEN).any(axis=(1, 2)).all()
    assert posterior.exact.all()
    assert (np.nanmin(posterior.probabilities, axis=(1, 2)) > 0).all()
    expected = solve_posterior(games.views, 16)
    np.testing.assert_array_equal(posterior.probabilities, expected.probabilities)
    np.testing.assert_array_equal(posterior.log_layouts, expected.log_layouts)


def test_the_first_cell_is_a_guess_in_some_of_the_new_games():
    def is_first(share):
        task, step = played(f"random_first={share}", "num_live_games=200", "endgame=0", steps=1)
        games = task.pools[0]
        is_new = games.status != PLAYING
        task.come_to_guesses(games, step)
        return (games.views == HIDDEN).all(axis=(1, 2))[is_new]

    assert not is_first(0).any()
    assert is_first(1).all()
    assert 0 < is_first(0.3).mean() < 0.7


@pytest.mark.parametrize("rule", ["any", "safe", "zero"])
def test_the_first_cell_as_a_guess(rule):
    """Each candidate is tried on the board that the rule lays for it."""
    task = task_of("random_first=1", f"mode.first_click={rule}", "rollout_steps=9", "replay=0")
    batch = task.batch(PlannerNet(4, 2), PlannerNet(4, 2), 0)
    games, forks = batch.games, batch.more.forks
    assert (games.views == HIDDEN).all()
    assert (games.moves == 0).all()
    tried = len(batch.labels)
    assert tried == 240 if rule != "any" else 180 < tried < 240
    assert (batch.more.goes_on_in >= 0).all()
    shown = (forks.views >= 0).sum(axis=(1, 2))
    assert ((shown >= 1) | (forks.status == LOST)).all()
    assert (forks.mines.sum(axis=(1, 2)) == 10).all()
    if rule == "zero":
        assert (shown > 3).all()
        new = task.remembered[0].at((slice(None), 0))
        assert (new.features[..., PLACE["needs_0"]] == 1).all()
    task.act(batch, 0)
    assert ((games.moves >= 1) | (games.status == LOST)).all()


def test_the_cells_looked_at():
    task, step = played("candidates=5", "margin=0.04", "random_first=0")
    games = task.pools[0]
    _, _, posterior = task.come_to_guesses(games, step)
    looked_at = task.looked_at(games, posterior, step)
    first = most_promising(games.views, posterior, 0.04, 4)
    lowest = np.nanmin(posterior.probabilities, axis=(1, 2), keepdims=True)
    is_candidate = (posterior.probabilities <= lowest + 0.04).reshape(40, -1)
    assert looked_at.shape == (40, 10)
    for i in range(40):
        found = looked_at[i][looked_at[i] >= 0].tolist()
        assert len(set(found)) == len(found) == min(10, is_candidate[i].sum())
        assert is_candidate[i][found].all()
        assert set(first[i][first[i] >= 0].tolist()) <= set(found)
    np.testing.assert_array_equal(looked_at, task.looked_at(games, posterior, step))
    assert (looked_at != task.looked_at(games, posterior, step + 1)).any()


def test_half_of_the_cells_tried_have_the_best_scores():
    task = task_of("candidates=5")
    games = task.pools[0]
    scores = np.random.default_rng(0).random((40, 10))
    scores[:20, 7:] = scores[:5, 2:] = scores[0] = -1.0
    is_tried = task.is_tried(games, scores, 3)
    assert is_tried.sum(axis=1).tolist() == [0] + [2] * 4 + [5] * 35
    assert not is_tried[scores < 0].any()
    best = np.argsort(-scores, axis=1)[:, :3]
    assert np.take_along_axis(is_tried, best, 1)[5:].all()
    np.testing.assert_array_equal(is_tried, task.is_tried(games, scores, 3))
    others = np.array([task.is_tried(games, scores, step)[20:] for step in range(60)])  # 2 of 7 are random
    worst = np.argsort(-scores, axis=1)[20:, 3:]
    shares = np.take_along_axis(others.mean(axis=0), worst, 1).mean(axis=0)
    np.testing.assert_allclose(shares, 2 / 7, atol=0.06)


def test_which_fork_a_game_goes_on_in():
    scores = np.tile([0.1, 0.9, 0.5, -1.0], (40, 1))
    is_tried = np.tile([True, True, False, False], (40, 1))
    task = task_of("explore=0")
    games = task.pools[0]
    games.moves[:20] = 1
    explored = task.explored(games, is_tried, scores, 0)
    assert (explored[:20] == 1).all()
    assert set(explored[20:].tolist()) == {0, 1}  # first cells: any that is tried
    assert set(task_of("explore=1").explored(games, is_tried, scores, 0)[:20].tolist()) == {0, 1}


def tried_cells(task, step):
    """The games and cells that a step with constant models tries, in order; of games that are at a guess."""
    games = task.pools[0]
    posterior = solve_posterior(games.views, games.mode.mines)
    looked_at = task.looked_at(games, posterior, step)
    p = posterior.probabilities.reshape(games.num_games, -1)
    scores = np.where(looked_at >= 0, 0.5 * (1 - np.take_along_axis(p, looked_at.clip(0), 1)), -1.0)
    scores = np.round(scores, 9)
    is_tried = task.is_tried(games, scores, step)
    return [(int(game), int(looked_at[game, place])) for game, place in np.argwhere(is_tried)], posterior


def test_what_is_remembered_is_the_number_that_the_cell_showed():
    task, step = played("random_first=0", "rollout_steps=9", "candidates=100", "mode.rows=6", "mode.cols=7")
    batch = task.batch(Fixed(0.5), Fixed(0.5), step)
    games = batch.games
    cells, posterior = tried_cells(task, step)  # all candidates, so that the network has no say
    new = task.remembered[0].at((slice(None), step))
    labelled, place = 0, dict.fromkeys(range(40), 0)
    for game, cell in cells:
        k = place[game]
        place[game] += 1
        if games.mines[game].flat[cell]:
            assert np.isnan(new.values[game, k])
            continue
        number = neighbour_counts(games.mines[game]).flat[cell]
        found = prospects(games.views[game : game + 1], np.array([10]), posterior.of(np.array([game])),
                          np.zeros(1, np.int64), np.array([cell]))  # fmt: skip
        (row,) = np.flatnonzero(found.numbers == number)
        np.testing.assert_allclose(new.features[game, k], found.features[row], atol=2e-6)
        assert new.values[game, k] in (0, 1)
        labelled += 1
    assert labelled == len(batch.labels[:labelled]) == (~np.isnan(new.values)).sum() > 80
    for game, k in place.items():
        assert np.isnan(new.values[game, k:]).all()


def test_playing_out_is_playing():
    mode, solver = MODES["beginner"], make_solver("exact", tie_break="corner")
    games = Games(mode, 60, 7)
    games.reveal(0, 0)
    play_out(solver, games)
    assert (games.status != PLAYING).all()
    np.testing.assert_array_equal(games.status == WON, play_games(solver, mode, 60, 7, "corner").won)


def test_labels_of_games_played_out():
    """Whether that very board is won after that cell; games that are won by what is proved are won."""
    task, step = played("rollout_steps=9", "replay=0", "explore=0", "random_first=0")
    batch = task.batch(PlannerNet(4, 2), PlannerNet(4, 2), step)
    forks, labels = batch.more.forks, batch.labels.numpy()
    assert set(labels.tolist()) == {0.0, 1.0}
    assert batch.weight == len(labels) == forks.num_games > 80
    assert (labels[forks.status == WON] == 1).all()
    assert (forks.status == WON).any()
    play_out(make_solver("exact", tie_break="corner"), forks)
    np.testing.assert_array_equal(labels, forks.status == WON)


def test_self_play_goes_on_in_the_forks():
    task, step = played("rollout_steps=9", "random_first=0")
    batch = task.batch(PlannerNet(4, 2), PlannerNet(4, 2), step)
    games, before, forks = batch.games, batch.games.state_dict(), batch.more.forks
    is_live = before["status"] == PLAYING
    task.act(batch, step)
    is_lost = games.status == LOST
    np.testing.assert_array_equal(is_lost, is_live & (batch.more.goes_on_in < 0))
    assert 0 < is_lost.sum() < 20
    goes_on = np.flatnonzero(is_live & ~is_lost)
    np.testing.assert_array_equal(games.views[goes_on], forks.views[batch.more.goes_on_in[goes_on]])
    np.testing.assert_array_equal(games.mines, before["mines"])
    assert (games.views != before["views"]).any(axis=(1, 2))[goes_on].all()
    live = games.status == PLAYING
    assert (np.nanmin(mine_posterior(games.views[live], 10), axis=(1, 2)) > 0).all()


def test_labels_of_the_network():
    """A won game is worth 1, any other what the best cell of its next guess is."""
    task, step = played("rollout_steps=0", "endgame=0", "replay=0", "random_first=0", "horizon=0")
    batch = task.batch(PlannerNet(4, 2), Fixed(0.25), step)
    forks, labels = batch.more.forks, batch.labels.numpy()
    lowest = np.nanmin(mine_posterior(forks.views, 10), axis=(1, 2), initial=1.0)
    np.testing.assert_allclose(labels, np.where(forks.status == WON, 1, 0.25 * (1 - lowest)), rtol=1e-5)
    assert ((labels == 1) | (labels < 0.25)).all()
    assert (labels == 1).any()
    assert (labels < 0.2).any()


@pytest.mark.parametrize("horizon", [1, 20])
def test_labels_that_follow_guesses(horizon):
    """Game by game: the chance to survive each guess that is followed, times what the next one is worth, or 1 if won;
    a mine ends it."""
    task, step = played("rollout_steps=0", "endgame=0", "replay=0", "random_first=0", f"horizon={horizon}")
    batch = task.batch(PlannerNet(4, 2), Fixed(0.25), step)
    planner = task.labeller(Fixed(0.25))
    ends = []
    for fork, label in enumerate(batch.labels.tolist()):
        game, survival, expected = batch.more.forks.fork([fork]), 1.0, 1.0
        for guess in range(horizon + 1):
            if game.status[0] == WON:
                expected = survival
                break
            posterior = solve_posterior(game.views, 10)
            scores = planner.guess_scores(game.views, np.array([10]), posterior)
            cell = choose_highest(scores, game.views, choice_keys(game, guess))
            expected = survival * np.nanmax(scores)
            assert expected == pytest.approx(survival * 0.25 * (1 - np.nanmin(posterior.probabilities)), abs=1e-6)
            survival *= 1 - posterior.probabilities[cell].item()
            game.reveal_mask(cell)
            if game.status[0] == LOST:
                break
            open_proved(game)
        assert label == pytest.approx(expected, rel=1e-5)
        ends.append(int(game.status[0]))
    assert {LOST, PLAYING if horizon == 1 else WON} <= set(ends)


def test_labels_of_the_move_tree():
    board = ("mode.rows=4", "mode.cols=4", "mode.mines=4")
    task, step = played(*board, "rollout_steps=0", "endgame=30", "replay=0", "random_first=0")
    batch = task.batch(PlannerNet(4, 2), Fixed(0.01), step)
    compared = 0
    for view, status, label in zip(batch.more.forks.views, batch.more.forks.status, batch.labels.tolist(), strict=True):
        if status == PLAYING and solve_posterior(view, 4).log_layouts <= math.log(30) + 1e-9:
            assert label == pytest.approx(worth(view, 4), rel=1e-6)
            compared += 1
    assert compared >= 10


def test_the_loss_by_hand():
    """Of errors -0.2 and 0.4 at one guess, 0.3 either side of their mean; of 0.1 alone at the other."""
    guesses = Labelled.empty((1, 2), 3)
    guesses.features[0, :, :, 0] = [[0.8, 0.4, 0.9], [0.6, 0.9, 0.9]]
    guesses.values[0] = [[1, 0, math.nan], [0.5, math.nan, math.nan]]
    model = Fixed(lambda features: features[:, 0])
    for contrast in (0, 10):
        logits, labels, loss = task_of(f"contrast={contrast}").asked(model, guesses)
        assert torch.sigmoid(logits).tolist() == pytest.approx([0.8, 0.4, 0.6])
        assert labels.tolist() == [1, 0, 0.5]
        entropy = -(math.log(0.8) + math.log(0.6) + 0.5 * math.log(0.6) + 0.5 * math.log(0.4)) / 3
        assert loss.item() == pytest.approx(entropy + contrast * (0.09 + 0.09 + 0) / 3, rel=1e-5)


def test_no_label_no_loss():
    net = PlannerNet(4, 2)
    logits, labels, loss = task_of().asked(net, Labelled.empty((3, 2), 6))
    assert (len(logits), len(labels), loss.item()) == (0, 0, 0)
    loss.backward()
    assert all((values.grad == 0).all() for values in net.parameters())


def test_earlier_guesses_are_shown_again():
    shown = []

    class Spy(PlannerNet):
        def forward(self, features):
            shown.append(features.clone())
            return super().forward(features)

    task = task_of("replay=3", "rollout_steps=9", "random_first=0")
    model, new, labels = Spy(4, 2), [], []
    for step in range(6):
        batch = task.batch(model, PlannerNet(4, 2), step)
        remembered = task.remembered[0].at((slice(None), step))
        new.append(remembered.features[~np.isnan(remembered.values)])
        labels.append(len(batch.labels))
        task.act(batch, step)
    assert labels[0] == 4 * len(new[0])  # of the first turn alone: the same ones
    assert [len(rows) for rows in shown] == labels
    known = {row.tobytes() for rows in new for row in rows}
    last = [row.tobytes() for row in shown[-1].numpy()]
    assert set(last) <= known
    assert {row.tobytes() for row in new[-1]} <= set(last)
    earlier = {row.tobytes() for rows in new[:-1] for row in rows} - {row.tobytes() for row in new[-1]}
    assert len(set(last) & earlier) > 100
    assert np.isnan(task.remembered[0].values[:, 6:]).all()


def test_the_lowest_risk_is_the_choice_of_the_planner():
    mode = MODES["beginner"]
    games = Games(mode, 80, 4)
    games.reveal(0, 0)
    posterior = solve_posterior(games.views, 10, over_budget="density")
    p = posterior.probabilities
    planner = planner_of(Fixed(varied), endgame=0)
    risks = planned_risks(planner, games, posterior)
    proved = (p == 0).any(axis=(1, 2))
    assert proved.any()
    np.testing.assert_array_equal(risks[proved], p[proved])
    keys = np.arange(80, dtype=np.uint64)
    chosen, _ = planner.choose(games.views, 10, keys)
    lowest, _ = choose_lowest(risks, games.views, keys)
    np.testing.assert_array_equal(lowest[~proved], chosen[~proved])
    np.testing.assert_allclose(risks[chosen & ~proved[:, None, None]], p[chosen & ~proved[:, None, None]])
    # Of the other candidates: 1 - (1 - p) u / (u of the choice), where the score is (1 - p) u.
    stuck = np.flatnonzero(~proved)
    scores = planner.guess_scores(games.views[stuck], np.full(stuck.size, 10), posterior.of(stuck))
    for game, score in zip(stuck, scores, strict=True):
        choice = score[chosen[game]] / (1 - p[game][chosen[game]])
        is_candidate = ~np.isnan(score)
        np.testing.assert_allclose(risks[game][is_candidate], 1 - score[is_candidate] / choice, atol=1e-9)
        np.testing.assert_array_equal(risks[game][~is_candidate], p[game][~is_candidate])
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
        torch.testing.assert_close(values, other["live_games"][0][key], atol=0, rtol=0, equal_nan=True, msg=key)
