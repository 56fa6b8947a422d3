"""How a study stands, for people, scripts and the dashboard."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

from pinnbo.studies import fingerprint, phrases
from pinnbo.studies.campaign import Campaign
from pinnbo.studies.stopping import outlook

_Status = dict[str, Any]
_PHYSICS = ("trust", "belief", "physics")  # of the diagnostics


def of(campaign: Campaign) -> _Status:
    """Counts, the best point with its interval, what may be gained, the trust in the physics, what is under way."""
    space, held = campaign.problem.space, campaign.record()
    optimizer = campaign.optimizer()
    now = outlook(optimizer)
    found = {} if now is None else optimizer.diagnostics()
    best = None
    if now is not None:
        best = {
            "point": space.to_dict(now.best.x),
            "value": now.best.value if math.isfinite(now.best.value) else None,
            "mean": now.best.mean,
            "interval": list(now.best.interval),
        }
    return {
        "study": campaign.problem.name,
        "goal": campaign.problem.goal,
        "budget": campaign.problem.budget,
        "units": campaign.problem.units,
        "unit": campaign.problem.unit,
        **{
            meaning: len(held.of(meaning))
            for meaning in ("measured", "read", "infeasible", "lost", "withdrawn")
        },
        "readings": Counter(entry.of for entry in held.of("read")),
        "earlier_equations": [
            {key: entry.get(key) for key in ("equations", "until", "measured")}
            for entry in fingerprint.earlier(campaign.study)
        ],
        "corrected": [
            entry.number for entry in sorted(held.entries) if entry.was and entry.meaning != "withdrawn"
        ],
        "set_aside": [{"trial": entry.number, "value": entry.value} for entry in sorted(held.set_aside())],
        "under_way": [
            {"trial": entry.number, "point": dict(zip(space.names, entry.x, strict=True))}
            for entry in sorted(held.of("pending"))
        ],
        "without_a_point": campaign.without_a_point(),
        "best": best,
        "expected_improvement": None if now is None else now.expected_improvement,
        **{name: found.get(name) for name in _PHYSICS},
        "unknowns": {
            name: {key: said[key] for key in ("mean", "interval", "prior")}
            for name, said in (found.get("unknowns") or {}).items()
        },
    }


def as_text(status: _Status) -> str:
    """Lines for the terminal."""
    return "\n".join(f"{name:22}{text}" for name, text in _lines(status))


def as_note(status: _Status) -> str:
    """Markdown for the dashboard; names from a problem file are shown as they are, and do nothing."""
    lines = [f"| {_plain(name)} | {_plain(text)} |" for name, text in _lines(status)]
    return "\n".join(["| pinnbo | |", "|---|---|", *lines])


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: no link, no picture, no element."""
    return re.sub(r"([\\`*_{}\[\]()#!|<>&~])", r"\\\1", text)


def _lines(status: _Status) -> list[tuple[str, str]]:
    answered = status["measured"] + status["read"] + status["infeasible"]
    counts = [f"{status[word]} {word}" for word in ("infeasible", "lost", "withdrawn") if status[word]]
    lines = [
        ("study", f"{status['study']}, {status['goal']}"),
        ("evaluations", f"{answered} of {status['budget']}" + (f" ({', '.join(counts)})" if counts else "")),
    ]
    lines += [(f"readings of {name}", str(number)) for name, number in sorted(status["readings"].items())]
    for entry in status["earlier_equations"]:
        after = "" if entry["measured"] is None else f" ({entry['measured']} measured by then)"
        written = "; ".join(line for text in entry["equations"] for line in text.splitlines()) or "none"
        lines.append((f"until {entry['until']}", f"the equation was {written}{after}"))
    if status["corrected"]:
        lines.append(("corrected trials", ", ".join(str(number) for number in status["corrected"])))
    lines += [
        (f"kept aside, trial {one['trial']}", f"{one['value']:.6g} is too far from the others")
        for one in status["set_aside"]
    ]
    lines += [
        (f"under way, trial {one['trial']}", phrases.point(one["point"], status["units"]))
        for one in status["under_way"]
    ]
    if status["without_a_point"]:
        numbers = ", ".join(str(number) for number in status["without_a_point"])
        lines.append(("without a point yet", f"trials {numbers}"))
    best = status["best"]
    if best is None:
        return [*lines, ("best", "nothing measured yet")]
    (low, high), gain = best["interval"], float(f"{status['expected_improvement']:.3g}")
    lines += [
        (
            "best point",
            f"{phrases.point(best['point'], status['units'])}, by the posterior mean, not by the single reading",
        ),
        (
            "measured there",
            "only by another sensor"
            if best["value"] is None
            else phrases.value(best["value"], status["unit"]),
        ),
        ("95% interval", f"{low:.6g} to {phrases.value(high, status['unit'])}"),
        ("still to be gained", f"{phrases.value(gain, status['unit'])} expected from one more evaluation"),
    ]
    for name, said in status["unknowns"].items():
        unit, (low, high), prior = status["units"].get(name, ""), said["interval"], said["prior"]
        shown = f"{phrases.value(said['mean'], unit)}, 95% interval {low:.3g} to {high:.3g}"
        lines.append((f"coefficient {name}", f"{shown} (stated: {prior[0]:.3g} to {prior[1]:.3g})"))
    if status["belief"] is not None:
        lines += [("the equation is", status["belief"]), ("it is", status["physics"])]
    return lines
