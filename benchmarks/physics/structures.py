"""Plates and beams under loads with sharp edges; how they are held is not known to the optimiser."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from scipy.interpolate import RectBivariateSpline

from physics.case import Case, Stated
from physics.conduction import SQUARE, away_from
from pinnbo import PDE, Space
from pinnbo.operators import biharmonic, partial


def _plate(patch_of, pressure: float):
    """lap lap w = pressure on a patch: Bogner-Fox-Schmit finite elements, whose edges are those of the patch."""

    def build(seed: int, finer: float) -> Stated:
        from skfem import Basis, BilinearForm, ElementQuadBFS, LinearForm, MeshQuad, condense, solve
        from skfem.helpers import dd, ddot

        (left, right), (low, high) = patch_of(seed)
        rng = np.random.default_rng([seed, 171])
        lift = 0.004 * pressure * (right - left) * (high - low) * rng.normal(size=3)
        n = round(60 * finer)
        nodes = np.linspace(0.0, 1.0, n + 1)
        basis = Basis(MeshQuad.init_tensor(nodes, nodes), ElementQuadBFS(), intorder=8)

        @BilinearForm
        def bending(u, v, w):
            return ddot(dd(u), dd(v))

        @LinearForm
        def load(v, w):
            x, y = w.x
            return pressure * ((x > left) & (x < right) & (y > low) & (y < high)) * v

        # clamped on the left, resting on the other sides, which have settled by w = x^2 (lift0 + lift1 y + lift2 x)
        known = np.zeros(basis.N)
        values = {
            "u": lambda x, y: x**2 * (lift[0] + lift[1] * y + lift[2] * x),
            "u_x": lambda x, y: 2 * x * (lift[0] + lift[1] * y) + 3 * lift[2] * x**2,
            "u_y": lambda x, y: lift[1] * x**2,
        }
        held = [basis.get_dofs(lambda x: np.isclose(x[0], 0.0)).all(["u", "u_x", "u_y", "u_xy"])]
        for side, along in ((0, "u_y"), (1, "u_x")):
            for end in (0.0, 1.0):
                dofs = basis.get_dofs(lambda x, side=side, end=end: np.isclose(x[side], end))
                for name in ("u", along):
                    index = dofs.all([name])
                    known[index] = values[name](*basis.doflocs[:, index])
                    held.append(index)
        fixed = np.unique(np.concatenate(held))
        deflection = solve(*condense(bending.assemble(basis), load.assemble(basis), x=known, D=fixed))
        index = basis.nodal_dofs[0]
        place = np.lexsort(basis.doflocs[::-1, index])
        table = deflection[index[place]].reshape(n + 1, n + 1)
        spline = RectBivariateSpline(nodes, nodes, table, kx=5, ky=5)

        def source(x):
            inside = (x[0] > left) & (x[0] < right) & (x[1] > low) & (x[1] < high)
            return jnp.where(inside, pressure, 0.0)

        return Stated(
            SQUARE,
            PDE(biharmonic, source=source),
            lambda points: spline.ev(points[:, 0], points[:, 1]),
            smooth=away_from((left, right, 0.0, 1.0), (low, high, 0.0, 1.0), 0.12),
            reach=0.1,
        )

    return build


def _patch(seed: int):
    a, b = np.random.default_rng([seed, 172]).integers(2, 5, 2) / 10
    return (a, a + 0.4), (b, b + 0.3)


def _point(seed: int):
    a, b = np.random.default_rng([seed, 173]).integers(9, 20, 2) / 30
    return (a, a + 1 / 30), (b, b + 1 / 30)


def _beam(load_of):
    """w'''' = q(x) for a beam that is clamped at one end and rests on a spring and on a wall that turns at the other.

    q is constant on one stretch: each of its ends contributes a Macaulay bracket to the fourth order.
    """

    def build(seed: int, finer: float) -> Stated:
        (left, right), pressure = load_of(seed)
        rng = np.random.default_rng([seed, 174])
        spring, turning, settled = rng.uniform(20, 200), rng.uniform(0.5, 5.0), 0.002 * rng.normal()

        def bracket(x, order):
            """The derivative of that order of the deflection that the load alone would cause."""
            factor = pressure / np.prod(np.arange(1, 5 - order)) if order < 4 else pressure
            return factor * (np.maximum(x - left, 0) ** (4 - order) - np.maximum(x - right, 0) ** (4 - order))

        # w = bracket + c x^2 / 2 + d x^3 / 6; at x = 1: w'' = -turning w', w''' = spring (w - settled)
        end = np.array([1.0])
        w = [bracket(end, k)[0] for k in range(4)]
        matrix = np.array([[1 + turning, 1 + turning / 2], [-spring / 2, 1 - spring / 6]])
        rhs = np.array([-w[2] - turning * w[1], spring * (w[0] - settled) - w[3]])
        c, d = np.linalg.solve(matrix, rhs)

        def evaluate(points):
            x = points[:, 0]
            return bracket(x, 0) + c * x**2 / 2 + d * x**3 / 6

        def source(x):
            return jnp.where((x[0] > left) & (x[0] < right), pressure, 0.0)

        def smooth(points):
            return np.all(np.abs(points - np.array([left, right])) > 0.005, axis=1)

        pde = PDE(lambda f: lambda x: partial(f, 0, order=4)(x), source=source)
        return Stated(Space(x=(0.0, 1.0)), pde, evaluate, smooth=smooth, reach=0.004)

    return build


def _step(seed: int):
    start = np.random.default_rng([seed, 175]).uniform(0.3, 0.6)
    return (start, 1.0), 10.0


def _narrow(seed: int):
    centre = np.random.default_rng([seed, 176]).uniform(0.3, 0.7)
    return (centre - 0.01, centre + 0.01), 250.0


CASES = (
    Case("plate-patch", "finite elements", _plate(_patch, 100.0)),
    Case("plate-point", "finite elements", _plate(_point, 9000.0)),
    Case("beam-step", "closed form", _beam(_step)),
    Case("beam-point", "closed form", _beam(_narrow)),
)
