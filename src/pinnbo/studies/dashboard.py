"""Optuna's dashboard, with a note on how the study stands and a picture of the surrogate."""

from __future__ import annotations

import importlib
import socket
import tempfile
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from pinnbo.studies.campaign import Campaign
from pinnbo.studies.errors import StudyError
from pinnbo.studies.guard import Guard

_HERE = ("127.0.0.1", "localhost")
_EVERYWHERE = ("0.0.0.0", "")
_PICTURE = "pinnbo:picture"


def server_for(
    campaign: Campaign, text: str, host: str, port: int, *, writable: bool = False
) -> tuple[WSGIServer, str]:
    """A server, bound but not serving yet, and its address with the token; ``text`` says how the study stands."""
    dashboard = _dashboard()
    from optuna.artifacts import FileSystemArtifactStore

    folder = campaign.problem.path.with_suffix(".artifacts")
    folder.mkdir(exist_ok=True)
    artifacts = FileSystemArtifactStore(folder)
    _draw(campaign, artifacts)
    dashboard.save_note(campaign.study, text)
    guard = Guard(dashboard.wsgi(campaign.study._storage, artifact_store=artifacts), writable=writable)
    try:
        server = make_server(host, port, guard, server_class=_Server, handler_class=_Quiet)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StudyError(f"dashboard: {host}:{port} cannot be used: {reason}") from None
    names = (
        {host, "127.0.0.1", "localhost"} if host in _HERE else {host, socket.gethostname(), socket.getfqdn()}
    )
    guard.hosts |= {f"{name}:{server.server_port}".lower() for name in names}
    shown = socket.gethostname() if host in _EVERYWHERE else host
    return server, f"http://{shown}:{server.server_port}/?token={guard.token}"


def _draw(campaign: Campaign, artifacts: Any) -> None:
    """Attach a picture of the surrogate to the study, unless there is one of the same measurements."""
    from optuna.artifacts import upload_artifact

    from pinnbo import plots

    optimizer = campaign.optimizer()
    if optimizer.best is None:
        return
    digest = campaign.record().digest()
    if campaign.study.user_attrs.get(_PICTURE) == digest:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "surrogate.png")
        plots.field(optimizer, show_next=False).savefig(file)
        upload_artifact(artifact_store=artifacts, file_path=str(file), study_or_trial=campaign.study)
    campaign.study.set_user_attr(_PICTURE, digest)


def _dashboard() -> Any:
    try:
        return importlib.import_module("optuna_dashboard")
    except ImportError as error:
        raise ImportError(
            "The dashboard is optuna-dashboard, which is not installed: pip install 'pinnbo[optuna]'"
        ) from error


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        """Requests are nobody's business."""
