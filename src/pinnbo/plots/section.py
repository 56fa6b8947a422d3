"""A line or a plane through a point of the box: what a picture of a function of many parameters can show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from pinnbo.equations.names import TIMES
from pinnbo.methods import Prediction
from pinnbo.optimizer import Optimizer
from pinnbo.space import Space

# rows of a surrogate are as long as its weights are many: predict in batches
_BATCH = 500
_LINE, _PLANE = 241, 60
_PROBES = 33
_NAMED = 6  # fixed values that a reader takes in


@dataclass(frozen=True)
class Section:
    """A grid over one or two axes of the box; the other parameters keep their values at ``through``."""

    space: Space
    axes: tuple[int, ...]
    through: Float[ndarray, " d"]
    resolution: int
    margin: float = 0.0  # left out at each end, as a share of the axis

    @property
    def grids(self) -> list[Float[ndarray, " r"]]:
        """The grid along each axis, even in the scaled coordinate."""
        end = 1.0 - 2.0 * self.margin
        even = np.linspace(-end, end, self.resolution)[:, None]
        along = self.space.unscale(np.repeat(even, self.space.dim, axis=1))
        return [along[:, i] for i in self.axes]

    @property
    def points(self) -> Float[ndarray, "n d"]:
        """All points of the grid, the first axis running fastest."""
        mesh = np.meshgrid(*self.grids, indexing="xy")
        points = np.tile(self.through, (mesh[0].size, 1))
        for axis, values in zip(self.axes, mesh, strict=True):
            points[:, axis] = values.ravel()
        return points

    @property
    def inside(self) -> Bool[ndarray, ...]:
        """Which points of the grid belong to the space, as a line or a map."""
        return self.shaped(self.space.is_inside(self.points))

    def shaped(self, values: Float[ndarray, " n"]) -> ndarray:
        """Values at the points as a line or a map."""
        return np.asarray(values).reshape([self.resolution] * len(self.axes))

    @property
    def fixed(self) -> str:
        """The values that the other parameters keep, in words; empty where there are none."""
        others = [i for i in range(self.space.dim) if i not in self.axes]
        named = ", ".join(f"{self.space.names[i]} = {self.through[i]:.4g}" for i in others[:_NAMED])
        more = len(others) - _NAMED
        return named + (f" and {more} more as at that point" if more > 0 else "")


def section_through(
    optimizer: Optimizer,
    through: Float[ndarray, " d"],
    resolution: int | None = None,
    margin: float = 0.0,
    without: int | None = None,
) -> Section:
    """All of a box of one or two parameters; otherwise the plane of the two over which the mean varies most.

    An axis ``without`` which the section has to do is left out.
    """
    dim = optimizer.space.dim
    axes = [i for i in range(dim) if i != without]
    if len(axes) > 2:
        axes = sorted([i for i in strongest_axes(optimizer, through) if i != without][:2])
    resolution = resolution or (_LINE if len(axes) == 1 else _PLANE)
    return Section(optimizer.space, tuple(axes), through, resolution, margin)


def strongest_axes(optimizer: Optimizer, through: Float[ndarray, " d"]) -> list[int]:
    """The axes, those first over which the mean varies most on the line through the point."""
    lines = [Section(optimizer.space, (i,), through, _PROBES).points for i in range(optimizer.space.dim)]
    means = predict(optimizer, np.concatenate(lines)).mean.reshape(optimizer.space.dim, -1)
    return [int(i) for i in np.argsort(-np.ptp(means, axis=1), kind="stable")]


def time_axis(space: Space) -> int | None:
    """The axis that is called t or time; None where there is none."""
    return next((i for i, name in enumerate(space.names) if name in TIMES), None)


def predict(optimizer: Optimizer, points: Float[ndarray, "n d"], of: str | None = None) -> Prediction:
    """Mean and standard deviation in bounded memory; ``of`` another field than the measured one."""
    parts = [optimizer.predict(points[start : start + _BATCH], of) for start in range(0, len(points), _BATCH)]
    return Prediction(np.concatenate([p.mean for p in parts]), np.concatenate([p.std for p in parts]))
