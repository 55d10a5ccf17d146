"""Models: one contract for all of configs/model; planes, the window of the MLP, symmetries, device and precision."""

import re

import numpy as np
import pytest
import torch
from tiny_training import CONFIGS, composed
from torch.nn import functional

from minesweeper import HIDDEN, MINE, PLAYING, Games, Mode
from minesweeper.textio import text_to_view
from models import device as device_settings
from models.checkpoint import build_model
from models.cnn import CNN
from models.cnn_global import CNNGlobal, tally
from models.device import choose_device, choose_precision
from models.plain_cnn import PlainCNN
from models.planes import NUM_PLANES, view_planes
from models.symmetry import num_symmetries, turned, turned_back
from models.window_mlp import WindowMLP

PLANNERS = {"planner_net"}  # see test_planner.py
MODELS = sorted({path.stem for path in (CONFIGS / "model").glob("*.yaml")} - PLANNERS)
MODES = sorted(path.stem for path in (CONFIGS / "mode").glob("*.yaml"))


def build(model, mode="beginner"):
    """The model of a YAML file and the mode, with fixed random weights."""
    cfg = composed("train", f"model={model}", f"mode={mode}")
    torch.manual_seed(0)
    return build_model(cfg.model), Mode(**cfg.mode)


def positions(mode, num_games, moves=4):
    """Live games after a few safe moves: views int8 [N, R, C] and their mines, bool [N, R, C]."""
    games = Games(mode, 4 * num_games, seed=5)
    rng = np.random.default_rng(5)
    games.reveal(mode.rows // 2, mode.cols // 2)
    for _ in range(moves):
        safe = (games.views == HIDDEN) & ~games.mines
        cells = (rng.random(safe.shape) + safe).reshape(games.num_games, -1).argmax(1)
        games.reveal(*np.divmod(cells, mode.cols))
    live = np.flatnonzero(games.status == PLAYING)[:num_games]
    assert live.size == num_games
    return torch.from_numpy(games.views[live]), torch.from_numpy(games.mines[live])


def logits_of(model, views, num_mines=10):
    """The model's answer on boards of so many mines."""
    return model(views, torch.full((len(views),), num_mines))


def hidden_loss(model, views, mines):
    is_hidden = views == HIDDEN
    logits = model(views, mines.sum((1, 2)))
    return functional.binary_cross_entropy_with_logits(logits[is_hidden], mines[is_hidden].float())


def fitted(model, views, mines, steps):
    """Losses of `steps` steps of AdamW on one batch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(steps):
        loss = hidden_loss(model, views, mines)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", MODELS)
def test_logits_on_every_mode(name, mode):
    model, mode = build(name, mode)
    views, mines = positions(mode, 3)
    fitted(model, views, mines, 3)  # blocks that start as the identity have no gradient in the first step
    for parameter, values in model.named_parameters():
        assert values.grad is not None, parameter
        assert torch.isfinite(values.grad).all(), parameter
        assert values.grad.abs().max() > 0, parameter
    with torch.no_grad():
        logits = logits_of(model, views)
        alone = torch.cat([logits_of(model, view[None]) for view in views])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rough = logits_of(model, views)
    assert (logits.shape, logits.dtype) == (views.shape, torch.float32)
    assert torch.isfinite(logits).all()
    torch.testing.assert_close(alone, logits, atol=1e-4, rtol=1e-4)
    assert (rough.shape, rough.dtype) == (views.shape, torch.float32)
    torch.testing.assert_close(torch.sigmoid(rough), torch.sigmoid(logits), atol=0.05, rtol=0)


@pytest.mark.parametrize("name", MODELS)
def test_one_batch_can_be_overfitted(name):
    model, mode = build(name)
    views, mines = positions(mode, 4, moves=8)
    rate = mines[views == HIDDEN].float().mean()
    constant = functional.binary_cross_entropy(rate, rate).item()  # the best that one probability for all cells can do
    losses = fitted(model, views, mines, 60)
    assert min(losses[-5:]) < 0.5 * constant


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 7), (7, 1), (5, 3), (2, 2)])
@pytest.mark.parametrize("name", MODELS)
def test_any_board_size(name, rows, cols):
    model, _ = build(name)
    rng = np.random.default_rng(1)
    views = torch.from_numpy(rng.choice(np.array([HIDDEN, HIDDEN, *range(9)], np.int8), (6, rows, cols)))
    logits = logits_of(model, views)
    assert (logits.shape, logits.dtype) == ((6, rows, cols), torch.float32)
    assert torch.isfinite(logits).all()
    logits.sum().backward()


@pytest.mark.parametrize("name", MODELS)
def test_rows_and_columns_are_not_swapped(name):
    """On a long board a number moves the logit of the cell below it."""
    model, mode = build(name)
    fitted(model, *positions(mode, 3), 3)
    views = torch.full((2, 3, 40), HIDDEN, dtype=torch.int8)
    views[1, 0, 35] = 3
    with torch.no_grad():
        before, after = logits_of(model, views)
    assert (before - after).abs()[1, 35] > 1e-6


@pytest.mark.parametrize(
    ("cls", "values", "message"),
    [
        (CNN, {"width": 0}, "width must be an integer of at least 1, got 0"),
        (CNN, {"width": 1.5}, "width must be an integer of at least 1, got 1.5"),
        (CNN, {"width": True}, "width must be an integer of at least 1, got True"),
        (CNN, {"depth": "7"}, "depth must be an integer of at least 1, got '7'"),
        (CNN, {"kernel": None}, "kernel must be an integer of at least 1, got None"),
        (CNN, {"depth": 6}, "depth must be odd, got 6"),
        (CNN, {"kernel": 4}, "kernel must be odd, got 4"),
        (CNNGlobal, {"depth": 3}, "depth must be an integer of at least 5, got 3"),
        (CNNGlobal, {"depth": 6}, "depth must be odd, got 6"),
        (CNNGlobal, {"width": 0}, "width must be an integer of at least 1, got 0"),
        (PlainCNN, {"channels": []}, "channels must be a list of integers, one a layer, got []"),
        (PlainCNN, {"channels": 3}, "channels must be a list of integers, one a layer, got 3"),
        (PlainCNN, {"channels": [8, 0]}, "channels must be an integer of at least 1, got 0"),
        (PlainCNN, {"channels": [8]}, "channels and kernels must be of one length, got 1 and 5"),
        (PlainCNN, {"kernels": [3, 3, 3, 3, 2]}, "kernels must be odd, got 2"),
        (PlainCNN, {"activation": "tanh"}, "activation must be one of relu, sigmoid, got 'tanh'"),
        (WindowMLP, {"hidden": []}, "hidden must be a list of positive integers, got []"),
        (WindowMLP, {"hidden": 256}, "hidden must be a list of positive integers, got 256"),
        (WindowMLP, {"hidden": "256"}, "hidden must be a list of positive integers, got '256'"),
        (WindowMLP, {"hidden": [64, 0]}, "hidden must be a list of positive integers, got [64, 0]"),
        (WindowMLP, {"hidden": [64.0]}, "hidden must be a list of positive integers, got [64.0]"),
        (WindowMLP, {"hidden": [True]}, "hidden must be a list of positive integers, got [True]"),
    ],
)
def test_refused(cls, values, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        cls(**values)
    with pytest.raises(ValueError, match=f"^model: {re.escape(message)}$"):
        build_model({"_target_": f"{cls.__module__}.{cls.__name__}"} | values)


def test_planes_of_a_drawn_view():
    view, _ = text_to_view(".0123\n45678\n")
    planes = view_planes(torch.from_numpy(view)[None])
    assert (planes.shape, planes.dtype) == ((1, NUM_PLANES, 2, 5), torch.float32)
    assert planes[0].flatten(1).tolist() == torch.eye(10).tolist()  # plane 0: hidden; plane 1 + n: the number n
    view, _ = text_to_view(".1\n..\n1.\n")
    planes = view_planes(torch.from_numpy(view)[None])[0]
    assert planes[0].tolist() == [[1, 0], [1, 1], [0, 1]]
    assert planes[2].tolist() == [[0, 1], [0, 0], [1, 0]]
    assert planes.sum() == 6


def test_a_mine_that_shows_is_no_input():
    assert not view_planes(torch.full((1, 2, 2), MINE, dtype=torch.int8)).any()


def test_two_layouts_with_the_same_view_give_the_same_planes():
    games = Games(Mode(3, 5, 2), 200, seed=1)
    games.reveal(1, 1)
    same = (games.status == PLAYING) & (games.views[:, 1, 1] == 1)
    assert len(np.unique(games.mines[same], axis=0)) > 10
    planes = view_planes(torch.from_numpy(games.views[same]))
    assert torch.equal(planes, planes[:1].expand(planes.shape))


@pytest.mark.parametrize(("row", "col"), [(r, c) for r in range(1, 8) for c in range(1, 8) if (r, c) != (4, 4)])
def test_the_mlp_sees_the_24_neighbours_and_no_more(row, col):
    torch.manual_seed(0)
    model = WindowMLP([16])
    views = torch.full((2, 9, 9), HIDDEN, dtype=torch.int8)
    views[:, 3, 4] = views[:, 4, 3] = 1  # so that the cell stays on the frontier
    views[1, row, col] = 5
    before, after = logits_of(model, views)[:, 4, 4]
    is_neighbour = max(abs(row - 4), abs(col - 4)) <= 2
    assert (before != after) == is_neighbour


def test_the_mlp_gives_interior_cells_its_one_logit():
    torch.manual_seed(0)
    model = WindowMLP([16])
    with torch.no_grad():
        model.interior.fill_(0.7)
        view, _ = text_to_view("1....\n.....\n...0.\n")
        logits = logits_of(model, torch.from_numpy(view)[None])[0]
    is_interior = torch.tensor([[0, 0, 1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0]], dtype=torch.bool)
    is_frontier = ~is_interior & torch.from_numpy(view == HIDDEN)
    assert (logits[is_interior] == torch.tensor(0.7)).all()
    assert (logits[is_frontier] != torch.tensor(0.7)).all()


def test_the_tally_of_a_drawn_view():
    """Two cells look like mines and one is open; two interior cells share what the frontier leaves."""
    view, _ = text_to_view("1...\n2...\n")
    logits = torch.tensor([[[0.0, 20, -20, -20], [0.0, 20, 0.0, -20]]])  # frontier: column 1
    planes = view_planes(torch.from_numpy(view)[None])
    values = tally(planes, logits, torch.tensor([5]))[0]
    left, cells = values[:8], values[8:16]
    assert left.argmax() == 3
    assert cells.argmax() == 1
    assert values[17] == pytest.approx((5 - 2) / (4 + 0.5), abs=1e-6)
    assert values[18:20].tolist() == pytest.approx([5 / 8, 4 / 8])
    assert torch.isfinite(values).all()


def test_only_the_global_network_knows_the_number_of_mines():
    view = torch.full((1, 4, 4), HIDDEN, dtype=torch.int8)
    for name in MODELS:
        model, mode = build(name)
        fitted(model, *positions(mode, 3), 3)
        with torch.no_grad():
            few, many = logits_of(model, view, 1), logits_of(model, view, 9)
        assert torch.equal(few, many) == (name != "cnn_global"), name


@pytest.mark.parametrize(
    ("symmetry", "expected"),
    [
        (0, [[0, 1, 2], [3, 4, 5]]),
        (1, [[3, 4, 5], [0, 1, 2]]),
        (2, [[2, 1, 0], [5, 4, 3]]),
        (3, [[5, 4, 3], [2, 1, 0]]),
        (4, [[0, 3], [1, 4], [2, 5]]),
        (5, [[3, 0], [4, 1], [5, 2]]),
        (6, [[2, 5], [1, 4], [0, 3]]),
        (7, [[5, 2], [4, 1], [3, 0]]),
    ],
)
def test_symmetries_of_a_drawn_board(symmetry, expected):
    board = torch.arange(6).reshape(2, 3)
    boards = torch.stack([board, board + 6])
    assert turned(board, symmetry).tolist() == expected
    assert turned(boards, symmetry)[1].sub(6).tolist() == expected
    assert torch.equal(turned_back(turned(boards, symmetry), symmetry), boards)


@pytest.mark.parametrize(("rows", "cols", "number"), [(3, 3, 8), (2, 3, 4), (5, 2, 4), (1, 1, 8)])
def test_number_of_symmetries(rows, cols, number):
    assert num_symmetries(rows, cols) == number
    board = torch.arange(rows * cols).reshape(rows, cols)
    images = [turned(board, symmetry) for symmetry in range(number)]
    assert {image.shape for image in images} == {board.shape}
    if min(rows, cols) > 1:
        assert len({tuple(image.flatten().tolist()) for image in images}) == number


def test_device_and_precision(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == choose_device("cpu") == torch.device("cpu")
    with pytest.raises(ValueError, match=r"^device=cuda, but torch finds no CUDA device here; use device=cpu or"):
        choose_device("cuda")
    with pytest.raises(ValueError, match=r"^device must be one of auto, cpu, cuda, got 'gpu'$"):
        choose_device("gpu")
    cpu = torch.device("cpu")
    for name in ("amx_bf16", "avx512_bf16"):
        for capable, expected in ((True, "bf16"), (False, "float32")):
            monkeypatch.setattr(torch.cpu, "get_capabilities", lambda name=name, capable=capable: {name: capable})
            assert choose_precision("auto", cpu) == expected
    assert [choose_precision(name, cpu) for name in ("bf16", "float32")] == ["bf16", "float32"]
    with pytest.raises(ValueError, match=r"^precision must be one of auto, bf16, float32, got 'fp16'$"):
        choose_precision("fp16", cpu)
    with device_settings.autocast(cpu, "float32"):
        assert not torch.is_autocast_enabled("cpu")
    with device_settings.autocast(cpu, "bf16"):
        assert torch.get_autocast_dtype("cpu") == torch.bfloat16
        assert torch.is_autocast_enabled("cpu")
