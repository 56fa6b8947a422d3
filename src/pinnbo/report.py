"""The report: how a search stands, as one HTML page that opens without a network."""

from __future__ import annotations

import io
import math
import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from pinnbo import __version__, plots
from pinnbo.optimizer import Optimizer
from pinnbo.pages import html, words
from pinnbo.pages.field_data import field_data
from pinnbo.plots.canvas import Names
from pinnbo.replay import LeftOut, left_out, replay
from pinnbo.studies import files
from pinnbo.studies.stopping import outlook

_DIGITS = 6
_DPI = 110
_CAPTIONS = {
    "field": "What is believed: the mean and its uncertainty, with all points.",
    "convergence": "The best value as it was believed after each number of measurements, computed again from the first "
    "ones. When it no longer moves and its interval is narrow, the search has settled.",
    "trust": "How likely the stated equation is exact, nearly true or wrong, and what one more measurement was "
    "expected to gain.",
    "reason": "Why the next point is where it is: what a measurement is expected to gain, everywhere.",
    "validation": "Every measurement against its prediction from the others. About 95 of 100 intervals should reach "
    "the dashed line.",
    "residual": "Where the mean misses the equation, as a share of the size of its terms: near zero where the equation "
    "is believed and has enough rows.",
    "contribution": "The uncertainty given the same measurements, without the equation and with it.",
}


class Row(NamedTuple):
    """One line of the table of measurements."""

    number: int
    point: Sequence[float]
    meaning: str
    value: float | None
    noise: float | None
    remark: str


def write(
    optimizer: Optimizer,
    path: str | PathLike[str],
    *,
    title: str = "Search for the optimum",
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    rows: Sequence[Row] | None = None,
    settings: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a report of how a search stands.

    ``value`` names the measured quantity and ``units`` gives units, e.g. ``{"x": "m", "f": "K"}``. ``rows`` are the
    lines of the table, by default the measurements that the optimizer was told; ``settings`` are further facts.
    """
    text = as_html(optimizer, title=title, value=value, units=units, rows=rows, settings=settings)
    files.write(Path(path), text)


def as_html(
    optimizer: Optimizer,
    *,
    title: str = "Search for the optimum",
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    rows: Sequence[Row] | None = None,
    settings: Sequence[tuple[str, str]] = (),
) -> str:
    """The report as text, see `write`."""
    names = Names.of(optimizer, value, units)
    rows = _rows(optimizer) if rows is None else rows
    now = outlook(optimizer)
    tested = left_out(optimizer) if len(optimizer.data.values) >= 3 else None
    said = words.summary(optimizer, names, now, tested)
    field = field_data(optimizer, names)
    date = datetime.now().strftime("%-d %B %Y, %H:%M")
    body = "\n".join(
        [
            f'<header><h1>{escape(title)}</h1><p class="soft">Report of pinnbo {__version__}, {date}</p></header>',
            "<main>",
            '<section class="summary" aria-label="Summary">',
            *(f"<p><strong>{escape(s.topic)}.</strong> {escape(s.text)}</p>" for s in said),
            "</section>",
            *_map(field),
            "<h2>Pictures</h2>",
            *_pictures(optimizer, names, tested),
            "<h2>Equation</h2>",
            *_equations(optimizer),
            "<h2>Measurements</h2>",
            _table(names),
            "<h2>Settings</h2>",
            html.facts([*_settings(optimizer, names), *settings]),
            "</main>",
            '<footer><p class="soft">This page holds everything it shows and asks no server for anything.</p></footer>',
        ]
    )
    columns = _columns(names)
    data = {
        "field": field,
        "rows": {
            "columns": columns,
            "rows": [_cells(row) for row in rows],
            "words": [len(columns) - 1, len(columns) - 4],
        },
    }
    return html.page(title, body, ["map.js", "report.js"], data=data)


def _map(field: dict[str, Any] | None) -> list[str]:
    if field is None:
        return []
    fixed = f'<p class="soft">Through the best point: {escape(field["fixed"])}.</p>' if field["fixed"] else ""
    return ["<h2>Look up a value</h2>", fixed, html.field_map()]


def _pictures(optimizer: Optimizer, names: Names, tested: LeftOut | None) -> list[str]:
    options: dict[str, Any] = {"value": names.value, "units": names.units}
    known: dict[str, dict[str, Any]] = {"validation": {"predicted": tested}}
    if len(optimizer.data.values):
        known["convergence"] = known["trust"] = {"moments": replay(optimizer)}
    parts = []
    for kind, caption in _CAPTIONS.items():
        try:
            figure = plots.draw(kind, optimizer, **options, **known.get(kind, {}))
        except plots.NothingToDraw as error:
            parts.append(f'<h3>{kind.capitalize()}</h3><p class="soft">{escape(_reason(error))}</p>')
            continue
        target = io.BytesIO()
        figure.savefig(target, format="png", dpi=_DPI)
        width, height = (int(size * 80) for size in figure.get_size_inches())
        alt = f"{kind.capitalize()}: {caption}"
        parts.append(
            f"<h3>{kind.capitalize()}</h3>{html.picture(target.getvalue(), alt, caption, width, height)}"
        )
    return parts


def _reason(error: Exception) -> str:
    said = str(error).partition(": ")[2]
    return f"No picture: {said}."


def _equations(optimizer: Optimizer) -> list[str]:
    if not optimizer.physics:
        return ["<p>None is stated.</p>"]
    return [f"<pre>{escape(str(pde))}</pre>" for pde in optimizer.physics]


def _columns(names: Names) -> list[str]:
    units = names.units
    shown = [f"{n} [{units[n]}]" if n in units else n for n in (*names.space.names, names.value)]
    return ["No.", *shown[:-1], "meaning", shown[-1], "noise", "remark"]


def _table(names: Names) -> str:
    heads = "".join(
        f'<th scope="col" aria-sort="none"><button type="button">{escape(name)}</button></th>'
        for name in _columns(names)
    )
    return (
        "<noscript><p>The table needs JavaScript, which this browser has switched off.</p></noscript>"
        '<div class="row"><button type="button" id="back">Previous</button>'
        '<button type="button" id="on">Next</button><span id="page" role="status"></span></div>'
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of measurements">'
        f'<table id="table"><thead><tr>{heads}</tr></thead><tbody></tbody></table></div>'
    )


def _cells(row: Row) -> list[Any]:
    return [
        row.number,
        *(_short(c) for c in row.point),
        row.meaning,
        _short(row.value),
        _short(row.noise),
        row.remark,
    ]


def _short(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(f"{number:.{_DIGITS}g}")


def _rows(optimizer: Optimizer) -> list[Row]:
    """What the optimizer was told."""
    found = []
    for number, record in enumerate(optimizer.to_dict()["records"]):
        y = record["y"]
        measured = isinstance(y, float | int)
        meaning = "measured" if measured else "lost" if y is None else "impossible"
        was = f"was {', '.join(map(str, record['replaced']))}" if record["replaced"] else ""
        meaning = "withdrawn" if record["dropped"] else meaning
        found.append(Row(number, record["x"], meaning, y if measured else None, record["noise"], was))
    return found


def _settings(optimizer: Optimizer, names: Names) -> list[tuple[str, str]]:
    import jax
    import numpy

    space = optimizer.space
    bounds = zip(space.names, space.lower, space.upper, strict=True)
    model = optimizer.diagnostics().get("model")
    versions = [("pinnbo", __version__), ("Python", platform.python_version())]
    versions += [("JAX", jax.__version__), ("NumPy", numpy.__version__)]
    return [
        ("Goal", f"{optimizer.goal} {names.value}"),
        *(
            (name, f"from {low:.6g} to {high:.6g} {names.units.get(name, '')}".strip())
            for name, low, high in bounds
        ),
        ("Method", optimizer.method.name),
        *([("Model", str(model))] if model else []),
        ("Noise", "not stated" if optimizer.noise is None else f"{optimizer.noise:.6g}{names.unit}"),
        ("Seed", str(optimizer.seed)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions)),
    ]
