"""A page in one file: everything escaped, its own style and script named by their hashes, and nothing else allowed."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any


def asset(name: str) -> str:
    """A file of this package."""
    return files("pinnbo.pages").joinpath(name).read_text(encoding="utf-8")


def policy(scripts: Sequence[str], styles: Sequence[str], more: str = "") -> str:
    """What the browser may do: run exactly these scripts, use these styles, show pictures from within the page.

    A script that found its way into the page through a name or a value is none of them, and is not run.
    """
    hashes = {
        kind: " ".join(f"'sha256-{_hash(text)}'" for text in texts)
        for kind, texts in (("script-src", scripts), ("style-src", styles))
    }
    rules = [f"{kind} {allowed}" for kind, allowed in hashes.items()]
    return "; ".join(
        ["default-src 'none'", "img-src data:", *rules, "base-uri 'none'", "form-action 'none'"]
        + ([more] if more else [])
    )


def page(
    title: str, body: str, scripts: Sequence[str], *, data: dict[str, Any] | None = None, more: str = ""
) -> str:
    """The document; ``body`` is HTML already, ``data`` are JSON values that scripts find by their id."""
    style, script = asset("style.css"), "\n".join(asset(name) for name in scripts)
    blocks = "".join(
        f'<script type="application/json" id="{escape(name)}">{inert(value)}</script>\n'
        for name, value in (data or {}).items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy([script], [style], more))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # a browser would ask for one
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n{blocks}"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def inert(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and texts as a list."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs)
    return f'<dl class="facts">{items}</dl>'


def picture(png: bytes, alt: str, caption: str, width: int, height: int) -> str:
    """A picture within the page."""
    source = base64.b64encode(png).decode()
    return (
        '<figure><div class="picture" tabindex="0" role="group" aria-label="Picture">'
        f'<img src="data:image/png;base64,{source}" alt="{escape(alt)}" width="{width}" height="{height}"></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def summary(sentences: Iterable[tuple[str, str]]) -> str:
    """Topics and what is said of them."""
    said = (f"<p><strong>{escape(topic)}.</strong> {escape(text)}</p>" for topic, text in sentences)
    return f'<section class="summary" aria-label="Summary">{"".join(said)}</section>'


def look_up(field: dict[str, Any] | None) -> list[str]:
    """The map of `pinnbo.pages.field_data` under its heading; nothing where there is none yet."""
    if field is None:
        return []
    fixed = f'<p class="soft">All other parameters as at the best point: {escape(field["fixed"])}.</p>'
    return ["<h2>Look up a value</h2>", fixed if field["fixed"] else "", field_map()]


def field_map() -> str:
    """The elements that the script of the map draws on."""
    return asset("map.html")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
