"""For which problem a study was made: box and physics, kept in the study, so that another problem is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna.exceptions import StorageInternalError
from optuna.study import Study

from pinnbo.pde import PDE
from pinnbo.space import Space

_KEY = "pinnbo:problem"


class OtherProblemError(ValueError):
    """A study was made for another box or another equation."""


def claim(study: Study, space: Space, physics: Sequence[PDE]) -> None:
    """Mark a new study as made for this problem; raise if it was made for another one."""
    stored = study.user_attrs.get(_KEY)
    if stored is None:
        try:
            study.set_user_attr(_KEY, _fingerprint(space, physics))
        except StorageInternalError:
            # a worker that started together with this one may have done the same
            if _KEY not in study.user_attrs:
                raise
        stored = study.user_attrs[_KEY]
    box = stored["space"]
    pairs = zip(box["lower"], box["upper"], strict=True)
    made_for = Space(**dict(zip(box["names"], pairs, strict=True)))
    if made_for != space:
        raise OtherProblemError(f"study {study.study_name!r} was made for {made_for}, got {space}")
    if len(stored["physics"]) != len(physics):
        raise OtherProblemError(
            f"study {study.study_name!r} was made with {len(stored['physics'])} equation(s), got {len(physics)}"
        )
    for pde, values in zip(physics, stored["physics"], strict=True):
        now = pde.fingerprint(space)
        if len(now) != len(values) or not np.allclose(now, values, rtol=1e-6, atol=1e-9):
            raise OtherProblemError(
                f"study {study.study_name!r} was made for another equation than the present {pde.name}"
            )


def _fingerprint(space: Space, physics: Sequence[PDE]) -> dict[str, Any]:
    box = {"names": list(space.names), "lower": space.lower.tolist(), "upper": space.upper.tolist()}
    return {"space": box, "physics": [pde.fingerprint(space) for pde in physics]}
