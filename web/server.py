"""The HTTP server around the application: its socket, and its end."""

import socket
import sys

import uvicorn
from starlette.applications import Starlette

FIRST_PORT = 8000


def listen(host: str, port: int | None) -> socket.socket:
    """A socket on `port` of `host`, or on the next free one from `FIRST_PORT` if it is None.

    Raises:
        ValueError: the port is taken, or the host is not an address of this machine.
    """
    try:
        family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
    except OSError as error:
        raise ValueError(f"host={host} is no address of this machine: {error.strerror}") from error
    reason = ""
    for candidate in range(FIRST_PORT, FIRST_PORT + 100) if port is None else [port]:
        # Named TCP, or asyncio leaves Nagle's algorithm on, and every answer waits 40 ms.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if sys.platform != "win32":  # there it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
            listening.listen()
        except OSError as error:
            listening.close()
            reason = error.strerror or str(error)
        else:
            return listening
    tried = f"port={port}" if port is not None else f"every port from {FIRST_PORT} to {FIRST_PORT + 99}"
    raise ValueError(f"cannot listen on {host} at {tried}: {reason}")


class _Server(uvicorn.Server):
    """Ends what is being solved first, or Ctrl-C would wait for it."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self.config.app.state.stop_solving()  # type: ignore[union-attr]
        await super().shutdown(sockets)


def run_server(app: Starlette, listening: socket.socket) -> None:
    """Serves `app` of `create_app` on a socket of `listen` until Ctrl-C."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=1
    )
    _Server(config).run(sockets=[listening])
