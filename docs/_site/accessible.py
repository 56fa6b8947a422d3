"""Captions of the navigation get their level, which a screen reader needs and Sphinx leaves out."""

from __future__ import annotations

from typing import Any

_TREE = "furo_navigation_tree"


def _complete(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if _TREE in context:
        context[_TREE] = context[_TREE].replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    # after the theme, which makes the tree at the usual priority of 500
    app.connect("html-page-context", _complete, priority=900)
    return {"parallel_read_safe": True}
