"""Symmetries as a map of functions, and of functionals: f is replaced by the part of it that has them.

Reflections x_i -> 2 c_i - x_i of some axes generate a group of 2^m maps g. A symmetry says f(g x) = sigma(g) f(x) with
signs sigma, +1 for even and -1 for odd; every function has a part that obeys,

    (P f)(x) = 1/|G| sum over g of sigma(g) f(g x).

A functional of P f is one of f at the reflected places: with a the order of a derivative,

    L[P f] = 1/|G| sum over g, places p, derivatives a of  sigma(g) g^a c_pa (d/ds)^a f(g s_p),   g^a = prod g_i^a_i.

So nothing is approximated, and rows, sensors and conditions are as before. A kernel that depends on distances does not
change when both points are reflected; of a process h with such a kernel P h and h - P h are therefore independent, and
the process given its symmetries, h - P h = 0, is P h, with the covariance of functionals

    cov(L[P h], L'[P h]) = cov(L[h], L'[P h]).

A symmetry that is nearly true: (1 - e^2) P + e^2 in place of P, which gives the rest h - P h a share e of its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.physics.functionals import Functionals

if TYPE_CHECKING:
    from pinnbo.pde import PDE
    from pinnbo.space import Space

_MOST_AXES = 6  # 2^6 places for every one


@dataclass(frozen=True, eq=False)
class Images:
    """The places that a place is reflected to, and how much f there counts, in scaled coordinates."""

    centre: Float[ndarray, " d"]
    flips: Float[ndarray, "g d"]  # +1 and -1
    weights: Float[ndarray, "g f"]  # of every field; of the first place, which is the place itself, too

    @classmethod
    def of(cls, space: Space, physics: Sequence[PDE]) -> Images | None:
        """All reflections that are stated; None where there are none."""
        centre: dict[int, float] = {}
        signs: dict[tuple[int, int], float] = {}
        for pde in physics:
            for one in pde.reflections:
                axis, owner = space.names.index(one.axis), pde.indices[0]
                middle = space.centre.copy()
                middle[axis] = one.about
                s = float(space.scale(middle[None])[0, axis])
                if abs(centre.setdefault(axis, s) - s) > 1e-9:
                    raise ValueError(
                        f"{pde.name}: expected one place to reflect {one.axis} about, got two; what is symmetric about "
                        f"two is periodic: Space({one.axis}=Axis(..., periodic=True))"
                    )
                if signs.setdefault((owner, axis), one.sign) != one.sign:
                    raise ValueError(f"{pde.name}: a field that is even and odd in {one.axis} is zero")
        if not centre:
            return None
        if len(centre) > _MOST_AXES:
            raise ValueError(f"even, odd: expected at most {_MOST_AXES} axes, got {len(centre)}")
        n_fields = 1 + max(index for pde in physics for index in pde.indices)
        axes = sorted(centre)
        flips, weights = [], []
        for chosen in product((1.0, -1.0), repeat=len(axes)):
            flip = np.ones(space.dim)
            flip[axes] = chosen
            flips.append(flip)
            weights.append([_weight(flip, field, signs) for field in range(n_fields)])
        middle = np.array([centre.get(axis, 0.0) for axis in range(space.dim)])
        return cls(middle, np.array(flips), np.array(weights))

    def loosened(self, misfit: float) -> Images:
        """Symmetries that hold but for a share of the size of f."""
        maps = np.count_nonzero(self.weights, axis=0)
        # h - P h is |G| - 1 times as large as P h in variance
        free = np.where(maps > 1, misfit**2 / np.maximum(maps - 1, 1), 0.0)
        weights = (1.0 - free) * self.weights
        weights[0] += free
        return replace(self, weights=weights)

    @property
    def is_central(self) -> bool:
        """Whether the box is reflected onto itself."""
        return not self.centre.any()

    @property
    def of_one(self) -> float:
        """What is left of a constant, for the first field: all of it if that is even, nothing if it is odd."""
        return float(np.sum(self.weights[:, 0]))

    def places(self, points: Float[ndarray, "n d"]) -> Float[ndarray, "g n d"]:
        """All that points are reflected to, themselves first."""
        return self.centre + self.flips[:, None] * (points - self.centre)

    def weight_of(self, field: int) -> Float[ndarray, " g"]:
        """Of a field; one of which no symmetry is stated stays as it is."""
        if field < self.weights.shape[1]:
            return np.asarray(self.weights[:, field])
        return np.asarray(np.eye(1, len(self.flips))[0])

    def applied(self, functionals: Functionals) -> Functionals:
        """L P."""
        g, (p, a) = len(self.flips), functionals.coefficients.shape
        weights = np.stack([self.weight_of(int(field)) for field in functionals.field_of], axis=1)
        turned = np.prod(self.flips[:, None] ** functionals.derivatives, axis=2)
        coefficients = functionals.coefficients[:, None] * (weights * turned)
        starts = np.arange(p) if functionals.starts is None else functionals.starts
        return replace(
            functionals,
            points=np.moveaxis(self.places(functionals.points), 0, 1).reshape(p * g, -1),
            coefficients=coefficients.reshape(p * g, a),
            starts=g * starts,
        )


def _weight(flip: Float[ndarray, " d"], field: int, signs: dict[tuple[int, int], float]) -> float:
    """sigma(g) / |G| of one field, whose group is made by its own axes."""
    own = {axis: sign for (owner, axis), sign in signs.items() if owner == field}
    turned = np.flatnonzero(flip < 0).tolist()
    if any(axis not in own for axis in turned):
        return 0.0
    return float(np.prod(np.array([own[axis] for axis in turned]))) / 2.0 ** len(own)
