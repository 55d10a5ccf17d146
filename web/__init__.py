"""The page behind play.py, and the same game in the terminal.

service.py     the requests of API.md and their answers
app.py         HTTP around it; guard.py: who may ask, and how much; server.py: the socket
validation.py  what a request may hold
game.py        one game, as its player may see it
store.py       games, settings and statistics in one file
pool.py        processes that solve, with a time limit; worker.py: what such a process does
catalogue.py   the solvers to choose from
solving.py     what a solver says of a position; reasons.py: why a cell is safe
no_guess.py    boards that need no guess
terminal.py    play and watch as text
"""
