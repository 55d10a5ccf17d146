"""HTTP around `service.py`: which path is which request, bodies as JSON, errors as sentences."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from minesweeper import Mode
from web.catalogue import DEFAULT_SOLVER, Entry
from web.game import warm_up
from web.guard import Guard, body_of, error_answer, is_loopback, names_of
from web.pool import Pool
from web.service import Service
from web.store import Store
from web.validation import RefusedError

SOLVE_SECONDS = 10.0
EXPIRE_EVERY = 3600.0  # seconds
_STATIC = Path(__file__).parent / "static"

Ask = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


def create_app(
    store: Store,
    catalogue: dict[str, Entry],
    start_mode: Mode | None = None,
    host: str = "127.0.0.1",
    processes: int = 4,
    solve_seconds: float = SOLVE_SECONDS,
) -> Starlette:
    """The application; it starts and ends its solving processes by itself, or sooner with `app.state.stop_solving`.

    Args:
        store: kept open; closed when the application ends.
        catalogue: of `make_catalogue`.
        start_mode: the mode that the page begins with; None: the one played last.
        host: where the server listens, which decides the host names that are answered to.
        processes: solves at a time.
        solve_seconds: after which one is given up.
    """
    first = (DEFAULT_SOLVER, "load", {"entry": asdict(catalogue[DEFAULT_SOLVER])})
    pool = Pool(processes, solve_seconds, first)
    service = Service(store, pool, catalogue, start_mode)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with pool:
            background = [asyncio.create_task(asyncio.to_thread(warm_up)), asyncio.create_task(_expire(store))]
            yield
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
        store.close()

    def route(method: str, path: str, ask: Ask) -> Route:
        return Route(path, _endpoint(ask, method in ("POST", "PUT")), methods=[method])

    game = "/api/games/{game_id}"
    app = Starlette(
        routes=[
            route("GET", "/api/config", service.config),
            route("POST", "/api/games", service.new_game),
            route("GET", "/api/current", service.current),
            route("GET", game, service.game),
            route("POST", f"{game}/reveal", service.reveal),
            route("POST", f"{game}/flag", service.flag),
            route("POST", f"{game}/chord", service.chord),
            route("POST", f"{game}/hint", service.hint),
            route("POST", f"{game}/step", service.step),
            route("GET", f"{game}/moves", service.moves),
            route("POST", f"{game}/goto", service.go_to),
            route("POST", "/api/solve", service.solve),
            route("POST", "/api/compare", service.compare),
            route("GET", "/api/settings", service.settings),
            route("PUT", "/api/settings", service.keep_settings),
            route("GET", "/api/statistics", service.statistics),
            route("DELETE", "/api/statistics", service.forget_statistics),
            Mount("/", GZipMiddleware(StaticFiles(directory=_STATIC, html=True))),
        ],
        middleware=[Middleware(Guard, names=names_of(host), only_loopback=is_loopback(host))],
        exception_handlers={HTTPException: _http_error, Exception: _failure},
        lifespan=lifespan,
    )
    app.state.stop_solving = pool.end
    return app


def _endpoint(ask: Ask, has_body: bool) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            inputs = (_parsed(await body_of(request)),) if has_body else ()
            answer = ask(*request.path_params.values(), *inputs)
            return JSONResponse(await (_until_gone(request, answer) if has_body else answer))
        except RefusedError as error:
            return error_answer(error)
        except sqlite3.Error as error:
            return error_answer(RefusedError(f"the file of the games cannot be used: {error}", None, 503))

    return endpoint


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        inputs = json.loads(body, parse_constant=_no_constant)
        # Half a character or 1e999 can be read, but no answer can hold them.
        json.dumps(inputs, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise RefusedError("the body is not JSON") from None
    if not isinstance(inputs, dict):
        raise RefusedError("the body must be a JSON object")
    return inputs


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


async def _until_gone(request: Request, answer: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """The answer, given up as soon as nobody waits for it."""
    work = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise RefusedError("the page has gone", None, 499)
        return work.result()
    finally:
        for task in (work, gone):
            task.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _expire(store: Store) -> None:
    while True:
        await asyncio.sleep(EXPIRE_EVERY)
        await asyncio.to_thread(store.expire)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = {404: "there is nothing at this address", 405: "this address does not take that method"}
    return error_answer(RefusedError(known.get(error.status_code, error.detail), None, error.status_code))


async def _failure(_: Request, error: Exception) -> Response:  # noqa: ARG001 - the server prints it, nobody else sees it
    return error_answer(RefusedError("the server made a mistake; its terminal says more", None, 500))
