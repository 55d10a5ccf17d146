"""The compiler's announcement, and Ctrl-C while it works."""

import signal

import pytest

from minesweeper import kernels


@pytest.fixture
def announcement():
    """A listener of its own, and Python's own handler of Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield kernels._Announcement()
    signal.signal(signal.SIGINT, before)


def test_it_is_said_once(announcement, capsys, monkeypatch):
    monkeypatch.delenv("MINESWEEPER_QUIET", raising=False)
    for _ in range(2):
        announcement.on_start(None)
        announcement.on_end(None)
    assert capsys.readouterr().err == "compiling kernels for the first time (half a minute to two)...\n"
    assert announcement.compiled == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_waits_for_the_end_of_the_outermost_kernel(announcement, capsys):
    announcement.on_start(None)
    announcement.on_start(None)
    signal.raise_signal(signal.SIGINT)
    announcement.on_end(None)
    with pytest.raises(KeyboardInterrupt):
        announcement.on_end(None)
    assert "stopping when this is compiled; Ctrl-C again stops at once" in capsys.readouterr().err
    announcement.on_start(None)
    announcement.on_end(None)  # the next one is not stopped


def test_a_second_ctrl_c_stops_at_once(announcement):
    announcement.on_start(None)
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_who_has_a_handler_of_their_own_keeps_it(announcement):
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    announcement.on_start(None)
    signal.raise_signal(signal.SIGINT)
    announcement.on_end(None)
    assert seen == [1]
