"""Where a figure comes from: the commit that made it."""

from pinnbo.bench.provenance import commit

__all__ = ["commit"]
