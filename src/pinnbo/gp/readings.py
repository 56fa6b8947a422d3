"""Sensors on a problem: readings as functionals of the fields, and how large they are expected to be.

A reading of a sensor is L[f] + noise with the functional L of `pinnbo.sensors`. What the posterior needs of it besides
is a size: the standard deviation of L[h] for a field h of unit size with a length scale of half the box' half diagonal.
Sizes tell how large a field is that is known by its fluxes only, and how noisy a sensor without a stated noise may be.
They need to be right to a factor of a few: amplitude and noise are averaged over (`pinnbo.gp.posterior`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.gp.kernels import RBF
from pinnbo.pde import PDE
from pinnbo.physics.coordinates import BOX, Coordinates
from pinnbo.physics.functionals import Functionals
from pinnbo.physics.jets import JetPDE
from pinnbo.sensors import Sensor
from pinnbo.space import Space

_TYPICAL = 0.5  # length scale, times the root of the dimension
_N_TYPICAL = 16
_MARGIN = 1e-9  # of the box: places beyond it by rounding are moved onto it


class Instrument:
    """A sensor by name, on a box, for a problem with these fields (the measured one first)."""

    def __init__(self, name: str, sensor: Sensor, space: Space, fields: Sequence[str]) -> None:
        self.name, self.sensor, self._space = name, sensor, space
        self._fields = tuple(fields)
        sensor.over.refuse(space.dim)
        if sensor.minus is not None and np.shape(sensor.minus) != (space.dim,):
            raise ValueError(
                f"sensor {name!r}: minus must be a point of {space.dim} coordinates, got {sensor.minus!r:.60}"
            )
        self._field = self._number(sensor.of)
        self._pde = None if sensor.operator is None else self._operator(sensor)
        self._jets: dict[Coordinates, JetPDE] = {}
        self._latest: dict[Coordinates, tuple[bytes, Functionals]] = {}
        self._describe()

    def _number(self, of: str | None) -> int:
        if of is not None and of not in self._fields:
            raise ValueError(
                f"sensor {self.name!r}: of must be one of the fields {', '.join(self._fields)}, got {of!r:.60}"
            )
        return 0 if of is None else self._fields.index(of)

    def _operator(self, sensor: Sensor) -> PDE:
        """Of the fields by name; linear, at x alone, one number."""
        assert sensor.operator is not None
        pde = PDE(sensor.operator, name=f"sensor {self.name!r}")
        if pde.coefficients:
            raise ValueError(
                f"{pde.name}: expected an operator without unknown coefficients, got {', '.join(pde.coefficients)}"
            )
        for field in pde.fields or ():
            self._number(field)
        pde = pde.among(self._fields, ())
        pde.validate(self._space)
        pde.check_local(self._space)
        if pde.n_equations(self._space) != 1:
            raise ValueError(f"{pde.name}: expected one number at x, got {pde.n_equations(self._space)}")
        if not pde.is_linear(self._space):
            raise ValueError(f"{pde.name}: expected an operator that is linear in the fields")
        return pde

    def _describe(self) -> None:
        """Which fields it sees, whether it reads the level of the measured one, and its size."""
        points = self._anywhere()
        if len(points) == 0:
            raise ValueError(
                f"sensor {self.name!r}: larger than the domain: its places are in {self._space} for no x"
            )
        typical = self.functionals(points)
        seen = {owner for owner, _, _ in typical.terms}
        if not seen:
            raise ValueError(f"sensor {self.name!r}: expected a reading that depends on the fields")
        self.sees: tuple[int, ...] = tuple(sorted(seen))
        self.is_level: bool = self.sees == (0,) and bool(np.allclose(typical.constant, 1.0, atol=1e-9))
        self.has_derivatives: bool = any(any(index) for _, index, _ in typical.terms)
        dim, n_fields = self._space.dim, len(self._fields)
        kernel = RBF(np.full(dim, _TYPICAL * np.sqrt(dim)), constant=0.0, amplitudes=(1.0,) * n_fields)
        variances = np.diag(kernel.covariance(typical, typical))
        self.size: float = float(np.sqrt(np.mean(np.maximum(variances, 0.0))))

    def _anywhere(self) -> Float[ndarray, "n d"]:
        """Points at which it fits into the space: spread over it, or its centre alone."""
        spread = np.concatenate([self._space.sobol(16 * _N_TYPICAL, seed=23), self._space.centre[None]])
        return spread[self.fits(spread)][:_N_TYPICAL]

    def places(self, points: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n q d"], Float[ndarray, " q"]]:
        """All places of a sensor at points, in user units, and their weights."""
        at, weights = self.sensor.over.places(points)
        if self.sensor.minus is None:
            return at, weights
        fixed, _ = self.sensor.over.places(np.asarray(self.sensor.minus)[None])
        other = np.broadcast_to(fixed, at.shape)
        return np.concatenate([at, other], axis=1), np.append(weights, -weights)

    def fits(self, points: Float[ndarray, "n d"]) -> ndarray:
        """Whether all places are in the space, for each point."""
        at, _ = self.places(points)
        margin = _MARGIN * self._space.half_width
        inside = (at >= self._space.lower - margin) & (at <= self._space.upper + margin)
        in_box = np.asarray(inside.all(axis=(1, 2)))
        if self._space.is_box:
            return in_box
        n, q, d = at.shape
        flat = np.clip(at.reshape(-1, d), self._space.lower, self._space.upper)
        return in_box & self._space.is_inside(flat).reshape(n, q).all(axis=1)

    def refuse(self, points: Float[ndarray, "n d"], who: str) -> None:
        """Raise if it reaches out of the space at a point."""
        fits = self.fits(points)
        if not fits.all():
            x = points[int(np.flatnonzero(~fits)[0])].tolist()
            raise ValueError(f"{who}: sensor {self.name!r} at {x} reaches out of {self._space}")

    def functionals(self, points: Float[ndarray, "n d"], coordinates: Coordinates = BOX) -> Functionals:
        """Readings at points in user units; ``values`` are what a reading is more than linear: -A[0]."""
        known = self._latest.get(coordinates)
        key = points.tobytes()
        if known is None or known[0] != key:
            known = self._latest[coordinates] = key, self._functionals(points, coordinates)
        return known[1]

    def _functionals(self, points: Float[ndarray, "n d"], coordinates: Coordinates) -> Functionals:
        at, weights = self.places(points)
        n, q, d = at.shape
        flat = coordinates.of(np.clip(self._space.scale(at.reshape(-1, d)), -1.0, 1.0))
        each = np.tile(weights, n)
        if self._pde is None:
            rows = Functionals.at(flat, self._field)
        else:
            if coordinates not in self._jets:
                self._jets[coordinates] = JetPDE(self._space, self._pde, coordinates)
            rows = self._jets[coordinates].rows(flat, np.zeros((len(flat), 1)))
        return Functionals(
            flat,
            each[:, None] * rows.coefficients,
            rows.derivatives,
            np.sum((each * rows.values).reshape(n, q), axis=1),
            np.zeros(n),
            rows.fields,
            q * np.arange(n) if q > 1 else None,
        )

    def fingerprint(self) -> list[float]:
        """What it is recognised by after a restart."""
        found = self.functionals(self._anywhere()[:4])
        numbers = [found.points, found.coefficients, found.derivatives, found.field_of, found.values]
        return np.concatenate([np.ravel(part).astype(float) for part in numbers]).tolist()
