"""A guarded server for a page: bound to one address, reached with the token that was printed."""

from __future__ import annotations

import io
import socket
from socketserver import ThreadingMixIn
from typing import Any, TextIO
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from pinnbo.studies.errors import StudyError
from pinnbo.studies.guard import Application, Guard

_HERE = ("127.0.0.1", "localhost")
_EVERYWHERE = ("0.0.0.0", "")


def server_for(
    application: Application, who: str, host: str, port: int, *, writable: bool
) -> tuple[WSGIServer, str]:
    """A server, bound but not serving yet, and its address with the token; ``who`` is named in errors."""
    guard = Guard(application, writable=writable)
    try:
        server = make_server(host, port, guard, server_class=_Server, handler_class=_Quiet)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StudyError(f"{who}: {host}:{port} cannot be used: {reason}") from None
    names = (
        {host, "127.0.0.1", "localhost"} if host in _HERE else {host, socket.gethostname(), socket.getfqdn()}
    )
    guard.hosts |= {f"{name}:{server.server_port}".lower() for name in names}
    shown = socket.gethostname() if host in _EVERYWHERE else host
    return server, f"http://{shown}:{server.server_port}/?token={guard.token}"


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off is the visitor's affair; what goes wrong in a page is said by the page."""


class _Quiet(WSGIRequestHandler):
    timeout = 60.0  # seconds that a visitor may be silent

    def get_stderr(self) -> TextIO:
        """Where a page that fails writes its trace: its visitor is told, and nobody else."""
        return io.StringIO()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Requests are nobody's business."""
