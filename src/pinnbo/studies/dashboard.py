"""Optuna's dashboard behind a page of ours: how the study stands, in words and as a map, comes first."""

from __future__ import annotations

import importlib
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer

from pinnbo.studies import serving
from pinnbo.studies.campaign import Campaign
from pinnbo.studies.guard import Application

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
    optuna = dashboard.wsgi(campaign.study._storage, artifact_store=artifacts)
    application = _WithFront(campaign, optuna)
    return serving.server_for(application, "dashboard", host, port, writable=writable)


class _WithFront:
    """A WSGI application whose first page is ours, and all others another's."""

    def __init__(self, campaign: Campaign, others: Application) -> None:
        self._campaign, self._others = campaign, others
        self._thinking = threading.Lock()  # there is one optimizer

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if (environ.get("REQUEST_METHOD"), environ.get("PATH_INFO")) != ("GET", "/"):
            return self._others(environ, start_response)
        from pinnbo.pages.front import front_page

        with self._thinking:
            page = front_page(self._campaign, f"/dashboard/studies/{self._campaign.study._study_id}")
        start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
        return [page.encode()]


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
        plots.field(optimizer, show_next=False, **campaign.problem.words).savefig(file)
        upload_artifact(artifact_store=artifacts, file_path=str(file), study_or_trial=campaign.study)
    campaign.study.set_user_attr(_PICTURE, digest)


def _dashboard() -> Any:
    try:
        return importlib.import_module("optuna_dashboard")
    except ImportError as error:
        raise ImportError(
            "The dashboard is optuna-dashboard, which is not installed: pip install 'pinnbo[optuna]'"
        ) from error
