"""Who may ask and how much: hosts and origins are checked, bodies are limited, answers carry security headers.

A page of another site can make the browser send requests to 127.0.0.1. Such a request names the other site in `Origin`,
or, when that site's name was pointed at this address, in `Host`; both are refused.
"""

import ipaddress
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from web.validation import RefusedError

MAX_BODY = 65_536  # bytes
_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether a host setting or name means this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def names_of(host: str) -> set[str]:
    """The names, besides addresses, that a server listening on `host` answers to."""
    return {"localhost"} if is_loopback(host) else {"localhost", socket.gethostname().lower(), host.lower()}


class Guard:
    """ASGI middleware.

    Args:
        names: host names that are answered to.
        only_loopback: whether other addresses than this machine's own are refused in `Host`.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str], only_loopback: bool) -> None:
        self.app, self.names, self.only_loopback = app, set(names), only_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_SECURITY)
                headers["Cache-Control"] = "no-store" if scope["path"].startswith("/api/") else "no-cache"
            await send(message)

        try:
            self._check(Headers(scope=scope), scope["method"])
        except RefusedError as error:
            await error_answer(error)(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)

    def _check(self, headers: Headers, method: str) -> None:
        host = headers.get("host", "")
        if not self._is_known(host):
            raise RefusedError("this server does not answer to that host name", "Host", 403)
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, host):
            raise RefusedError("requests from pages of other sites are refused", "Origin", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and method not in ("GET", "HEAD"):
            raise RefusedError("requests from pages of other sites are refused", "Sec-Fetch-Site", 403)

    @staticmethod
    def _is_own(origin: str, host: str) -> bool:
        try:
            return urlsplit(origin).netloc.lower() == host.lower()
        except ValueError:
            return False

    def _is_known(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self.names:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback or not self.only_loopback
        except ValueError:
            return False


async def body_of(request: Request) -> Any:
    """The body of a request, at most `MAX_BODY` bytes, which must say that it is JSON."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise RefusedError("the body must be JSON (Content-Type: application/json)", None, 415)
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                raise RefusedError(f"a request can have at most {MAX_BODY} bytes", None, 413)
    except ClientDisconnect:
        raise RefusedError("the request was not sent to its end") from None
    return body


def error_answer(error: RefusedError) -> JSONResponse:
    """The answer for a refused request."""
    content: dict[str, Any] = {"error": str(error), "key": error.key}
    if error.cell is not None or error.key == "view":
        content["cell"] = error.cell and list(error.cell)
    headers = None if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JSONResponse(content, error.status, headers)
