"""Optuna's dashboard, with a note on how the study stands and a picture of the surrogate."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer

from pinnbo.studies import serving
from pinnbo.studies.campaign import Campaign

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
    application = dashboard.wsgi(campaign.study._storage, artifact_store=artifacts)
    return serving.server_for(application, "dashboard", host, port, writable=writable)


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
