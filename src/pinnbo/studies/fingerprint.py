"""For which problem a study was made: box and physics, kept in the study, so that another problem is refused.

The box is compared by every command; the equations only where they are used, because that takes JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.exceptions import StorageInternalError
from optuna.study import Study

from pinnbo.space import Space
from pinnbo.studies import ledger, storage

if TYPE_CHECKING:
    from pinnbo.pde import PDE

_KEY = "pinnbo:problem"
_VERSION = 2  # of what pinnbo writes into studies; 1 did not say so and is otherwise the same


class OtherProblemError(ValueError):
    """A study was made for another box or another equation."""


def is_claimed(study: Study) -> bool:
    """Whether the study says for which problem it was made."""
    return _KEY in study.user_attrs


def check_box(study: Study, space: Space) -> None:
    """Raise if the study, which is claimed, was made for another box, or by a newer pinnbo."""
    stored = study.user_attrs[_KEY]
    version = stored.get("version", 1)
    if version > _VERSION:
        raise OtherProblemError(
            f"study {study.study_name!r} was written by a newer pinnbo, in version {version} of its entries; "
            f"this one knows up to {_VERSION}"
        )
    if version < _VERSION:
        study.set_user_attr(_KEY, {**stored, "version": _VERSION})
    box = stored["space"]
    if box != space.to_json():
        made_for = Space.from_json({**box, "inside": None})
        raise OtherProblemError(f"study {study.study_name!r} was made for {made_for}, got {space}")


def claim(study: Study, space: Space, physics: Sequence[PDE]) -> None:
    """Mark a new study as made for this problem; raise if it was made for another one."""
    if not is_claimed(study):
        try:
            study.set_user_attr(_KEY, _fingerprint(space, physics))
        except StorageInternalError:
            # a worker that started together with this one may have done the same
            if not is_claimed(study):
                raise
    check_box(study, space)
    stored = study.user_attrs[_KEY]["physics"]
    if len(stored) != len(physics):
        raise OtherProblemError(
            f"study {study.study_name!r} was made with {len(stored)} equation(s), got {len(physics)}; "
            "pinnbo amend adopts the present ones"
        )
    for pde, values in zip(physics, stored, strict=True):
        if not _is_same(pde, values, space):
            raise OtherProblemError(
                f"study {study.study_name!r} was made for another equation than the present {pde.name}; "
                "pinnbo amend adopts the present one"
            )


def _is_same(pde: PDE, values: Sequence[float], space: Space) -> bool:
    now = pde.fingerprint(space)
    return len(now) == len(values) and np.allclose(now, values, rtol=1e-6, atol=1e-9)


def is_made_for(study: Study, space: Space, physics: Sequence[PDE]) -> bool:
    """Whether these are the equations of the study, which is claimed."""
    stored = study.user_attrs[_KEY]["physics"]
    return len(stored) == len(physics) and all(map(lambda p, v: _is_same(p, v, space), physics, stored))


def stamp(study: Study) -> Any:
    """What changes when the study is amended."""
    return study.user_attrs.get(_KEY, {}).get("physics")


def earlier(study: Study) -> list[dict[str, Any]]:
    """What the study was made for before it was amended: equations, until when, after how many measurements."""
    return study.user_attrs.get(_KEY, {}).get("earlier", [])


def amend(study: Study, space: Space, physics: Sequence[PDE], measured: int) -> list[str]:
    """Let a study go on with other equations; the earlier ones stay in its record, and are returned."""
    check_box(study, space)
    new = _fingerprint(space, physics)
    now = datetime.now().isoformat(timespec="seconds")
    with storage.transaction(ledger.held_by(study), study._study_id):
        stored = study.user_attrs[_KEY]
        was = {key: stored.get(key, []) for key in ("physics", "equations")}
        history = [*stored.get("earlier", []), {**was, "until": now, "measured": measured}]
        study.set_user_attr(_KEY, {**new, "earlier": history})
    return list(was["equations"])


def _fingerprint(space: Space, physics: Sequence[PDE]) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "space": space.to_json(),
        "physics": [pde.fingerprint(space) for pde in physics],
        "equations": [str(pde) for pde in physics],
    }
