"""The page behind play.py, and the same game in the terminal.

app.py         the requests and their answers (API.md)    guard.py  who may ask, and how much
validation.py  what a request may hold                    game.py   one game, as its player may see it
store.py       games, settings, statistics in one file    catalogue.py  the solvers to choose from
pool.py        processes that solve, with a time limit    worker.py     what such a process does
solving.py     what a solver says of a position           reasons.py    and why, in a sentence
no_guess.py    boards that need no guess                  terminal.py   play and watch as text
"""
