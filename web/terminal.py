"""Play and watch as text."""


def play(*_):
    raise ValueError("not yet")


def watch(*_):
    raise ValueError("not yet")
