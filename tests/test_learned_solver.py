"""LearnedSolver: what it makes of given logits, what the model gets to see, and whole games."""

import math
import re

import numpy as np
import pytest
import torch
from torch import nn

from minesweeper import Games, Mode, make_solver, play_games
from minesweeper.textio import text_to_view
from models.learned_solver import LearnedSolver

KEYS = np.arange(10, dtype=np.uint64)


class FixedLogits(nn.Module):
    """Answers every position with the same logits [R, C], and keeps what it was asked."""

    def __init__(self, logits):
        super().__init__()
        self.logits = nn.Parameter(torch.as_tensor(logits, dtype=torch.float32))
        self.asked = []

    def forward(self, views, num_mines):
        self.asked.append((views, num_mines, self.training, torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")))
        return self.logits.expand(len(views), *self.logits.shape)


def solver_of(probabilities, **settings):
    """A solver whose model has these probabilities [R, C]."""
    values = torch.as_tensor(probabilities, dtype=torch.float64)
    return LearnedSolver(FixedLogits(torch.logit(values)), **settings)


def views_of(*texts):
    return np.stack([text_to_view(text)[0] for text in texts])


def test_probabilities_of_hidden_cells_alone():
    solver = solver_of([[0.1, 0.25, 0.5], [0.75, 0.9, 0.99]])
    views = views_of(".1.\n2..", "...\n...", "012\n345")
    before = views.copy()
    probabilities = solver.mine_probabilities(views, 3)
    nan = math.nan
    expected = [
        [[0.1, nan, 0.5], [nan, 0.9, 0.99]],
        [[0.1, 0.25, 0.5], [0.75, 0.9, 0.99]],
        [[nan, nan, nan], [nan, nan, nan]],
    ]
    assert (probabilities.shape, probabilities.dtype) == ((3, 2, 3), np.float64)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-6)
    np.testing.assert_array_equal(views, before)


def test_a_network_proves_nothing():
    solver = LearnedSolver(FixedLogits([[-1e4, -100.0, 100.0, 1e4, -math.inf, math.inf]]))
    probabilities = solver.mine_probabilities(views_of("......"), 3)[0, 0]
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert (probabilities[[0, 1, 4]] < 1e-11).all()
    assert (probabilities[[2, 3, 5]] > 1 - 1e-11).all()


def test_the_model_sees_the_view_and_the_number_of_mines_in_eval_mode():
    model = FixedLogits([[0.0, 0.0]]).train()
    solver = LearnedSolver(model)
    assert not model.training
    solver.mine_probabilities(views_of(".1"), 1)
    solver.mine_probabilities(views_of(".1"), np.array([77]))
    (view, mines, training, has_grad, is_rough), (again, other_mines, *_) = model.asked
    assert view.tolist() == again.tolist() == [[[-2, 1]]]
    assert (view.dtype, mines.dtype) == (torch.int8, torch.int64)
    assert (mines.tolist(), other_mines.tolist()) == ([1], [77])
    assert (training, has_grad, is_rough) == (False, False, False)


@pytest.mark.parametrize("shape", [(2, 1, 2, 3), (2, 2), (2, 2, 1), (1, 2, 3)])
def test_logits_of_another_shape(shape):
    class Wrong(nn.Linear):
        def forward(self, views, num_mines):  # noqa: ARG002
            return torch.zeros(shape)

    message = f"Wrong must give logits of the shape of its views, [2, 2, 3], got {list(shape)}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LearnedSolver(Wrong(1, 1)).mine_probabilities(np.full((2, 2, 3), -2, np.int8), 1)


def test_bf16_runs_the_model_under_autocast():
    model = FixedLogits([[0.0]])
    probabilities = LearnedSolver(model, precision="bf16").mine_probabilities(views_of("."), 1)
    assert model.asked[0][4]
    assert probabilities.tolist() == [[[0.5]]]


@pytest.mark.parametrize(
    ("threshold", "view", "chosen", "is_guess"),
    [
        (0.6, "....", [1, 1, 0, 0], False),  # all at or below the threshold
        (0.5, "....", [1, 1, 0, 0], False),
        (0.4, "....", [1, 0, 0, 0], False),
        (0.4, "1...", [0, 1, 0, 0], True),  # none of them: the lowest
        (0.0, "....", [1, 0, 0, 0], True),
        (0.6, "11..", [0, 0, 1, 0], True),
        (1.0, "1...", [0, 1, 1, 1], False),
    ],
)
def test_choice(threshold, view, chosen, is_guess):
    solver = solver_of([[0.1, 0.5, 0.75, 0.9]], guess_threshold=threshold)
    mask, guess = solver.choose(views_of(view), 1, KEYS[:1])
    assert mask.tolist() == [[[bool(value) for value in chosen]]]
    assert guess.tolist() == [is_guess]


def test_equal_probabilities_are_broken_by_key_or_by_corner():
    views = np.repeat(views_of("...\n...\n..."), 10, axis=0)
    cells = np.full((3, 3), 0.25)
    random, _ = solver_of(cells).choose(views, 2, KEYS)
    assert random.sum(axis=(1, 2)).tolist() == [1] * 10
    assert len({mask.tobytes() for mask in random}) > 1
    corner, _ = solver_of(cells, tie_break="corner").choose(views, 2, KEYS)
    assert corner.sum(axis=(1, 2)).tolist() == [1] * 10
    assert not (corner & [[False, True, False], [True, True, True], [False, True, False]]).any()


@pytest.mark.parametrize("threshold", [-0.001, 1.001, math.nan, math.inf])
def test_refused_threshold(threshold):
    message = f"guess_threshold must be 0 to 1, got {threshold!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        solver_of([[0.5]], guess_threshold=threshold)


def test_refused_tie_break():
    with pytest.raises(ValueError, match=r"^tie_break must be one of random, corner.*, got 'first'$"):
        solver_of([[0.5]], tie_break="first")


def test_a_model_that_knows_the_mines_wins_without_a_guess():
    mode = Mode(4, 6, 7)
    games = Games(mode, 1, seed=3)
    games.reveal(0, 0)
    mines = games.mines[0].copy()
    records = play_games(solver_of(np.where(mines, 0.99, 0.001)), mode, 1, seed=3, first_cell="corner")
    assert (records.won.tolist(), records.guess_free.tolist(), records.guesses.tolist()) == ([True], [True], [0])
    wrong = play_games(solver_of(np.where(mines, 0.3, 0.4)), mode, 1, seed=3, first_cell="corner")
    assert (wrong.won.tolist(), wrong.guesses.tolist(), wrong.moves.tolist()) == ([False], [1], [2])


def test_whole_games_do_not_depend_on_the_batch():
    mode = Mode(4, 6, 3)
    rng = np.random.default_rng(0)
    cells = rng.choice([0.02, 0.2, 0.3], (4, 6))
    records = [
        play_games(solver_of(cells, guess_threshold=0.05), mode, 40, seed=1, batch=batch) for batch in (1, 7, 64)
    ]
    for name in ("won", "guess_free", "guesses", "moves"):
        for other in records[1:]:
            np.testing.assert_array_equal(records[0][name], other[name], err_msg=name)
    assert 0 < records[0].won.sum() < 40
    assert records[0].guesses.max() > 0


def test_a_judge_does_not_trust_the_threshold():
    solver = solver_of(np.full((3, 3), 0.5), guess_threshold=0.5)  # takes every cell as safe
    records = play_games(solver, Mode(3, 3, 1, "any"), 30, seed=2, first_cell="solver", judge=make_solver("exact"))
    assert 0 < records.won.sum() < 30
    assert (records.guesses == 0).all()
    assert (records.guess_free == records.won).all()
    assert not records.judged_guess_free.any()


def test_a_model_of_the_frontier_shares_the_mines_left_among_the_interior():
    solver = solver_of([[0.5, 0.25, 0.9, 0.9]], cells="frontier")
    views = views_of("1...", ".1..", "....", "111.")
    nan = math.nan
    probabilities = solver.mine_probabilities(views, np.array([1, 1, 2, 1]))[:, 0]
    expected = [[nan, 0.25, 0.375, 0.375], [0.5, nan, 0.9, 1e-12], [0.5] * 4, [nan, nan, nan, 0.9]]
    np.testing.assert_allclose(probabilities, expected, rtol=1e-6)
    with pytest.raises(ValueError, match=r"^cells must be one of hidden, frontier, got 'all'$"):
        solver_of([[0.5]], cells="all")
