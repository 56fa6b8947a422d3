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
# title and caption
_PICTURES = {
    "field": ("The field", "What is believed: the mean and its uncertainty, with all points."),
    "pairs": (
        "Pairs of parameters",
        "Planes through the best point: the mean below the diagonal, its uncertainty above.",
    ),
    "time": ("In time", "The mean at six times; measured points are shown with the nearest of them."),
    "fields": (
        "Fields that are not measured",
        "What the equations say about them, given the measurements, if they hold.",
    ),
    "convergence": (
        "Convergence",
        "The best value as it was believed after each number of measurements, computed again from the first ones. "
        "When it no longer moves and its interval is narrow, the search has settled.",
    ),
    "trust": (
        "Trust and expected gain",
        "How likely the stated equation is exact, nearly true or wrong, and what one more measurement was expected "
        "to gain.",
    ),
    "unknowns": (
        "Unknown coefficients",
        "How likely each value is, given the measurements and if the equation holds, beside what was stated.",
    ),
    "reason": (
        "Why this point",
        "What a measurement is expected to gain, everywhere, with the next point and the runner-up.",
    ),
    "validation": (
        "Measured against predicted",
        "Every measurement against its prediction from the others. About 95 of 100 intervals should reach the dashed "
        "line.",
    ),
    "residual": (
        "Residual of the equation",
        "Where the mean misses the equation, as a share of the size of its terms: near zero where the equation is "
        "believed and has enough rows.",
    ),
    "misfit": (
        "Misfit of the equation",
        "What seems to be lacking in the equation, and where, if it is only nearly true.",
    ),
    "contribution": (
        "What the equation contributed",
        "The uncertainty given the same measurements, without the equation and with it.",
    ),
}
# where such a picture makes no sense, nobody misses it
_SPECIAL = ("pairs", "time", "fields", "unknowns", "misfit")


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
    if not isinstance(title, str):
        raise TypeError(f"title: expected a text, got {title!r:.60}")
    names = Names.of(optimizer, value, units)
    rows = _rows(optimizer) if rows is None else rows
    now = outlook(optimizer)
    tested = left_out(optimizer) if len(optimizer.data.direct.values) >= 3 else None
    said = words.summary(optimizer, names, now, tested)
    field = field_data(optimizer, names)
    date = datetime.now().strftime("%-d %B %Y, %H:%M")
    body = "\n".join(
        [
            f'<header><h1>{escape(title)}</h1><p class="soft">Report of pinnbo {__version__}, {date}</p></header>',
            "<main>",
            html.summary(said),
            *html.look_up(field),
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
            "words": _words(columns),
        },
    }
    return html.page(title, body, ["map.js", "report.js"], data=data)


def _pictures(optimizer: Optimizer, names: Names, tested: LeftOut | None) -> list[str]:
    if optimizer.best is None:
        return ['<p class="soft">There are none yet: nothing has been measured.</p>']
    options: dict[str, Any] = {"value": names.value, "units": names.units}
    known: dict[str, dict[str, Any]] = {"validation": {"predicted": tested}}
    known["convergence"] = known["trust"] = {"moments": replay(optimizer)}
    parts: list[str] = []
    missing: dict[str, list[str]] = {}
    for kind, (title, caption) in _PICTURES.items():
        try:
            figure = plots.draw(kind, optimizer, **options, **known.get(kind, {}))
        except plots.NothingToDraw as error:
            if kind not in _SPECIAL:
                missing.setdefault(str(error).partition(": ")[2], []).append(title.lower())
            continue
        target = io.BytesIO()
        figure.savefig(target, format="png", dpi=_DPI)
        width, height = (int(size * 80) for size in figure.get_size_inches())
        shown = html.picture(target.getvalue(), f"{title}: {caption}", caption, width, height)
        parts.append(f"<h3>{title}</h3>{shown}")
    for reason, titles in missing.items():
        parts.append(f'<p class="soft">No picture of {", ".join(titles)}: {escape(reason)}.</p>')
    return parts


def _equations(optimizer: Optimizer) -> list[str]:
    if not optimizer.physics:
        return ["<p>None is stated.</p>"]
    typeset = [pde.equation.mathml() for pde in optimizer.physics if pde.equation is not None]
    written = "\n".join(pde.in_words for pde in optimizer.physics)
    if not typeset:
        return [f"<pre>{escape(written)}</pre>"]
    return [
        '<div class="scroll" tabindex="0" role="group" aria-label="Equations">',
        *typeset,
        f"</div><details><summary>As text</summary><pre>{escape(written)}</pre></details>",
    ]


def _columns(names: Names) -> list[str]:
    shown = [names.text(name) for name in (*names.space.names, names.value)]
    return ["No.", *shown[:-1], "meaning", shown[-1], "noise", "remark"]


def _words(columns: list[str]) -> list[int]:
    """The columns that are no numbers: the meaning and the remark."""
    return [len(columns) - 4, len(columns) - 1]


def _table(names: Names) -> str:
    columns = _columns(names)
    words = _words(columns)
    heads = "".join(
        f'<th scope="col" aria-sort="none"{" class=words" if k in words else ""}>'
        f'<button type="button">{escape(name)}</button></th>'
        for k, name in enumerate(columns)
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
    model = _model(optimizer.diagnostics())
    versions = [("pinnbo", __version__), ("Python", platform.python_version())]
    versions += [("JAX", jax.__version__), ("NumPy", numpy.__version__)]
    return [
        ("Goal", f"{optimizer.goal} {names.value}"),
        *(
            (name, f"from {low:.6g} to {high:.6g} {names.units.get(name, '')}".strip())
            for name, low, high in bounds
        ),
        ("Method", optimizer.method.name),
        *([("Model", model)] if model else []),
        ("Noise", "not stated" if optimizer.noise is None else f"{optimizer.noise:.6g}{names.unit}"),
        ("Seed", str(optimizer.seed)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions)),
    ]


def _model(known: Mapping[str, Any]) -> str | None:
    """The likeliest model: one of many that say much the same, which those of another hypothesis may outweigh."""
    models = known.get("settings") or []
    if len(models) < 2:
        return known.get("model")
    first = models[0]
    return f"{first['model']} (likeliest of {len(models)}, with {first['weight']:.0%} of the weight)"
