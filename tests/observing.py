"""Analyses of a solver's games, for tests."""

from minesweeper import play_games


def observed(analysis, *args, **more):
    """The analysis, after it has seen the games that `play_games` plays with the other arguments."""
    play_games(*args, **more, observers=[analysis.observe])
    return analysis
