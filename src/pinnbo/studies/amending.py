"""``pinnbo amend``: a study goes on after its equation was corrected; measurements and old equation stay on record."""

from __future__ import annotations

from collections.abc import Iterator

from pinnbo.stated import as_problem
from pinnbo.studies import fingerprint
from pinnbo.studies.campaign import Campaign
from pinnbo.studies.errors import StudyError


def amend(campaign: Campaign) -> Iterator[str]:
    """Adopt the equations of the problem file; says which were until now, and which are from now on."""
    problem, study = campaign.problem, campaign.study
    try:
        stated = as_problem(problem.physics, problem.options.get("measures"), problem.options.get("unknowns"))
        for pde in stated.physics:
            pde.validate(problem.space)
        stated.check(problem.space)
    except (TypeError, ValueError) as error:
        raise StudyError(str(error)) from None
    if fingerprint.is_made_for(study, problem.space, stated.physics):
        yield "the equation is the one that the study has: nothing to amend"
        return
    measured = len(campaign.record().of("measured"))
    earlier = fingerprint.amend(study, problem.space, stated.physics, measured)
    yield from (f"until now: {line}" for line in _lines(earlier))
    yield from (f"from now on: {line}" for line in _lines([str(pde) for pde in stated.physics]))
    yield f"{measured} measurement{'s' if measured != 1 else ''} stay; pinnbo status shows the old equation"


def _lines(equations: list[str]) -> list[str]:
    return ["; ".join(text.splitlines()) for text in equations] or ["no equation"]
