"""Who may look at a page that we serve: somebody with the token, from a page of ours, on the address that was printed.

A browser sends requests for any web page that is open in it. A page elsewhere could therefore reach a server on this
machine, by a form or a script (cross-site) or by letting its own name point here (DNS rebinding). The names in
``Host`` and ``Origin`` give both away, and neither knows the token.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_READING = ("GET", "HEAD")
_HEADERS = [
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
]


class Guard:
    """A WSGI application that lets nobody else reach another one.

    The first visit brings ``?token=...``, which is then kept in a cookie. ``hosts`` are the names, with the port, under
    which the page is reached; without ``writable`` requests that change something are refused.
    """

    def __init__(self, application: Application, *, writable: bool) -> None:
        self._application, self._writable = application, writable
        self.hosts: set[str] = set()
        self.token = secrets.token_urlsafe(24)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, or refuse it with one sentence."""
        host = environ.get("HTTP_HOST", "").lower()
        origin = environ.get("HTTP_ORIGIN")
        if host not in self.hosts:
            return _refuse(start_response, "403 Forbidden", "this page is not served under that name")
        if origin is not None and origin.lower() != f"http://{host}":
            return _refuse(start_response, "403 Forbidden", "the request comes from another page")
        given = parse_qs(environ.get("QUERY_STRING", "")).get("token", [""])[0]
        if given and self._is_token(given):
            cookie = f"{self._cookie(host)}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            # a path such as //elsewhere is another server, and one with a line break another header
            path = "/" + quote(environ.get("PATH_INFO", "").lstrip("/"), encoding="latin-1")
            headers = [("Location", path), ("Set-Cookie", cookie), *_HEADERS]
            start_response("303 See Other", headers)
            return [b""]
        if not self._is_token(self._from_cookie(environ, host)):
            return _refuse(
                start_response, "401 Unauthorized", "open the address that was printed, with its token"
            )
        if environ.get("REQUEST_METHOD") not in _READING and not self._writable:
            return _refuse(
                start_response, "403 Forbidden", "this page is read-only; --writable allows changes"
            )

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            return start_response(status, [*headers, *_HEADERS], *more)

        return self._application(environ, start)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _cookie(self, host: str) -> str:
        # cookies are shared by all ports of a name
        return f"pinnbo-{host.rpartition(':')[2]}"

    def _from_cookie(self, environ: dict[str, Any], host: str) -> str:
        try:
            found = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(self._cookie(host))
        except CookieError:
            return ""
        return found.value if found else ""


def _refuse(start_response: Callable[..., Any], status: str, sentence: str) -> Iterable[bytes]:
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), *_HEADERS])
    return [f"{sentence}\n".encode()]
