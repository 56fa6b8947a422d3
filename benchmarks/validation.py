"""The validation set: problems for an ablation of `auto`, on which nothing is ever chosen.

    python benchmarks/validation.py                            # seeds 1000 to 1004, 25 evaluations each; resumes
    python benchmarks/validation.py --ablation                 # and with every rule and family switched off
    python benchmarks/validation.py --report                   # what that came to: docs/benchmarks/ablation.md
    python benchmarks/compare.py benchmarks/records/ablation.jsonl benchmarks/records/ablation.jsonl \
        --methods auto auto:without=RULE                       # one of them in detail

docs/notes/validation.md says what they are and how it is decided, and was written before any of them was run. All
truths are closed forms; what is drawn (coefficients, phases, places) depends on the seed. tests/test_validation.py
holds every truth against its equation. A search in which a rule never decided anything, or for which a family was not
built, is the same without it: it is not repeated, and counts as no difference.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from unittest import mock

import compare
import jax.numpy as jnp
import numpy as np
import script
from fields import Factory, make
from scipy.stats import wilcoxon

from pinnbo import PDE, Space
from pinnbo.acquisition.policy import default_policy
from pinnbo.bench import names, records
from pinnbo.bench.records import Case, Record
from pinnbo.bench.search import case, search
from pinnbo.ensemble.registry import FAMILIES, Entry
from pinnbo.operators import biharmonic, gradient, laplacian, partial
from pinnbo.problems import Problem

NAME = "ablation"
FIRST_SEED, SEEDS, N = 1000, 5, 25


def drawn(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, 700 + number])


def heated_rod(seed: int) -> Problem:
    """f_t = 0.05 f_xx + s with a source that is known, a decaying state that is not."""
    rng = drawn(seed, 1)
    a, phase = rng.normal(size=3), rng.uniform(0.0, 6.0, 3)
    k, rate = np.array([2.0, 3.0, 5.0]), 0.05

    def pushed(x):
        return 0.8 * jnp.sin(3.0 * x[0]) * x[1] ** 2

    def field(x):
        waves = jnp.exp(-rate * k**2 * x[1]) * jnp.cos(k * x[0] + phase)
        return jnp.sum(a * waves) + pushed(x)

    def operator(f):
        return lambda x: partial(f, 1)(x) - rate * partial(f, 0, order=2)(x)

    pde = PDE(operator, source=lambda x: operator(pushed)(x))
    return make("heated rod", Space(x=(0.0, 2.0), t=(0.0, 1.5)), field, pde)


def river(seed: int) -> Problem:
    """f_t + 0.7 f_x = 0.03 f_xx: what was put into a river is carried along and spreads."""
    rng = drawn(seed, 2)
    place, size = rng.uniform(-1.0, 0.6, 3), rng.uniform(0.4, 1.0, 3)

    def field(x):
        t = x[1] + 0.4
        return jnp.sum(size / jnp.sqrt(t) * jnp.exp(-((x[0] - 0.7 * x[1] - place) ** 2) / (4 * 0.03 * t)))

    def operator(f):
        return lambda x: partial(f, 1)(x) + 0.7 * partial(f, 0)(x) - 0.03 * partial(f, 0, order=2)(x)

    return make("river", Space(x=(-1.0, 1.5), t=(0.0, 1.0)), field, PDE(operator))


def bent_strip(seed: int) -> Problem:
    """Biharmonic: (a + b y) cosh and sinh of k y times cosines of k x, two wave numbers."""
    rng = drawn(seed, 3)
    c, phase = rng.normal(size=(2, 4)), rng.uniform(0.0, 6.0, 2)
    k = np.array([1.5, 2.5])

    def field(x):
        u, v = x
        even, odd = jnp.cosh(k * v), jnp.sinh(k * v)
        profile = (c[:, 0] + c[:, 1] * v) * even + (c[:, 2] + c[:, 3] * v) * odd
        return jnp.sum(jnp.cos(k * u + phase) * profile / jnp.cosh(k))

    return make("bent strip", Space(x=(0.0, 3.0), y=(-1.0, 1.0)), field, PDE(biharmonic))


def cavity(seed: int) -> Problem:
    """laplacian f + k^2 f = 0 with k = 4.5 on a long box: a few plane waves."""
    rng = drawn(seed, 4)
    angle, phase, size = rng.uniform(0.0, np.pi, 6), rng.uniform(0.0, 6.0, 6), rng.normal(size=6)
    waves = 4.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def field(x):
        return jnp.sum(size * jnp.cos(waves @ x + phase))

    def operator(f):
        return lambda x: laplacian(f)(x) + 4.5**2 * f(x)

    return make("cavity", Space(x=(0.0, 2.5), y=(0.0, 1.0)), field, PDE(operator))


def massive_wave(seed: int) -> Problem:
    """Klein-Gordon, f_tt - f_xx + 9 f = 0: waves whose speed depends on their length."""
    rng = drawn(seed, 5)
    k, phase, size = rng.uniform(-4.0, 4.0, 5), rng.uniform(0.0, 6.0, 5), rng.normal(size=5)
    omega = np.sqrt(9.0 + k**2)

    def field(x):
        return jnp.sum(size * jnp.cos(k * x[0] - omega * x[1] + phase))

    def operator(f):
        return lambda x: partial(f, 1, order=2)(x) - partial(f, 0, order=2)(x) + 9.0 * f(x)

    return make("massive wave", Space(x=(-1.0, 1.0), t=(0.0, 1.0)), field, PDE(operator))


def warm_conductor(seed: int) -> Problem:
    """div((1 + f) grad f) = 0: conductivity that grows with temperature; (1 + f)^2 is harmonic."""
    rng = drawn(seed, 6)
    c, phase = rng.uniform(-1.0, 1.0, 3), rng.uniform(0.0, 6.0, 3)
    k = np.array([1.0, 2.0, 3.0])

    def field(x):
        harmonic = jnp.sum(c * jnp.exp(k * (x[0] - 1.0)) * jnp.cos(k * x[1] + phase))
        return jnp.sqrt(6.0 + harmonic) - 1.0

    def operator(f):
        return lambda x: (1.0 + f(x)) * laplacian(f)(x) + jnp.sum(gradient(f)(x) ** 2)

    return make("warm conductor", Space(x=(-1.0, 1.0), y=(-1.0, 1.0)), field, PDE(operator))


def radial(seed: int) -> Problem:
    """A function of the distance from a centre that lies outside the box."""
    rng = drawn(seed, 7)
    centre, width = np.array([-0.5, 1.6]) + rng.uniform(-0.2, 0.2, 2), rng.uniform(0.25, 0.45)
    peak = rng.uniform(1.0, 1.6)

    def field(x):
        r = jnp.sqrt(jnp.sum((x - centre) ** 2))
        return jnp.exp(-(((r - peak) / width) ** 2)) + 0.3 * jnp.sin(5.0 * r)

    def operator(f):
        def row(x):
            u, slope = x - centre, gradient(f)(x)
            return u[0] * slope[1] - u[1] * slope[0]

        return row

    return make("radial, centre outside", Space(x=(-1.0, 1.0), y=(-1.0, 1.0)), field, PDE(operator))


def sum_of_eight(seed: int) -> Problem:
    """A sum of functions of one coordinate each, in eight dimensions; its Laplacian is known."""
    rng = drawn(seed, 8)
    a, b, place = rng.uniform(0.5, 1.5, 8), rng.uniform(2.0, 4.0, 8), rng.uniform(-0.5, 0.5, 8)

    def field(x):
        return jnp.sum(a * (x - place) ** 2 + 0.4 * jnp.cos(b * x))

    pde = PDE(laplacian, source=laplacian(field))
    found = make("sum of eight", Space.box(np.full(8, -1.0), np.full(8, 1.0)), field, pde, "minimize")
    # one coordinate at a time, each on a grid: the search in eight dimensions only polishes what it happens to meet
    axis = np.linspace(-1.0, 1.0, 20_001)[:, None]
    each = a * (axis - place) ** 2 + 0.4 * np.cos(b * axis)
    low, high = float(each.min(axis=0).sum()), float(each.max(axis=0).sum())
    return dataclasses.replace(found, optimum=low, x_best=axis[each.argmin(axis=0), 0], range=high - low)


def oscillator(seed: int) -> Problem:
    """f'' + 1.2 f' + 40 f = 0 on a line: a damped oscillation of unknown start."""
    phase, offset = drawn(seed, 9).uniform(0.0, 6.0), drawn(seed, 90).uniform(0.5, 1.5)
    omega = np.sqrt(40.0 - 0.36)

    def field(x):
        return offset * jnp.exp(-0.6 * x[0]) * jnp.cos(omega * x[0] + phase)

    def operator(f):
        return lambda x: partial(f, 0, order=2)(x) + 1.2 * partial(f, 0)(x) + 40.0 * f(x)

    return make("oscillator", Space(t=(0.0, 3.0)), field, PDE(operator))


def screened(seed: int) -> Problem:
    """laplacian f = 4 f in three dimensions: what leaks away while it spreads."""
    rng = drawn(seed, 10)
    direction = rng.normal(size=(5, 3))
    direction = 2.0 * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    size = rng.normal(size=5)

    def field(x):
        return jnp.sum(size * jnp.exp(direction @ x - 2.0))

    def operator(f):
        return lambda x: laplacian(f)(x) - 4.0 * f(x)

    return make("screened", Space.box(np.full(3, -1.0), np.full(3, 1.0)), field, PDE(operator))


def river_reversed(seed: int) -> Problem:
    """False: the river is said to flow the other way."""

    def operator(f):
        return lambda x: partial(f, 1)(x) - 0.7 * partial(f, 0)(x) - 0.03 * partial(f, 0, order=2)(x)

    return dataclasses.replace(river(seed), name="river, reversed", pde=PDE(operator))


def oscillator_undamped(seed: int) -> Problem:
    """False: the damping is forgotten and the stiffness wrong by a quarter."""

    def operator(f):
        return lambda x: partial(f, 0, order=2)(x) + 50.0 * f(x)

    return dataclasses.replace(oscillator(seed), name="oscillator, undamped", pde=PDE(operator))


TRUE: dict[str, Factory] = {
    "heated rod": heated_rod,
    "river": river,
    "bent strip": bent_strip,
    "cavity": cavity,
    "massive wave": massive_wave,
    "warm conductor": warm_conductor,
    "radial, centre outside": radial,
    "sum of eight": sum_of_eight,
    "oscillator": oscillator,
    "screened": screened,
}
FALSE: dict[str, Factory] = {"river, reversed": river_reversed, "oscillator, undamped": oscillator_undamped}
names.add(TRUE | FALSE)

# what a rule or family was made for (docs/notes/validation.md); None: all of them
MADE_FOR: dict[str, tuple[str, ...] | None] = {
    "FillWhileNoisy": None,
    "FillWhileInDoubt": tuple(FALSE),
    "Explore": None,
    "CheckPhysics": tuple(FALSE),
    "Hedge": tuple(FALSE),
    "CheckStructure": ("sum of eight",),
    "kernel": ("heated rod", "river", "bent strip", "screened"),
    "sum": ("sum of eight",),
    "curves": ("radial, centre outside",),
    "waves": ("cavity", "massive wave", "oscillator"),
}
LEAST_SEEDS = 3


def noted(case: Case) -> dict[str, Any]:
    """A search, with the rules that decided something in it and the families that were built for it."""
    spoke: set[str] = set()

    def listening(owner: type, method: str, name_of: Callable[[Any], str]) -> Any:
        plain = getattr(owner, method)

        def noting(self: Any, *given: Any) -> Any:
            found = plain(self, *given)
            if found is not None and found != []:
                spoke.add(name_of(self))
            return found

        return mock.patch.object(owner, method, noting)

    with contextlib.ExitStack() as stack:
        for rule in default_policy():
            for method in ("choose", "reconsider"):
                stack.enter_context(listening(type(rule), method, lambda rule: type(rule).__name__))
        kinds = {entry.build: name for name, entry in FAMILIES.items()}
        stack.enter_context(listening(Entry, "built", lambda entry: kinds[entry.build]))
        return {**search(case), "spoke": sorted(spoke)}


def searches(seeds: Sequence[int], method: str) -> list[Case]:
    return [case(f"{name}:noise=0.01", method, seed, N) for seed in seeds for name in TRUE | FALSE]


def without(baseline: Sequence[Record]) -> list[Case]:
    """The searches that are not the same with something switched off."""
    made = []
    for record in baseline:
        problem, seed = record.case["problem"], record.case["seed"]
        spoke = [name for name in MADE_FOR if record.result is not None and name in record.result["spoke"]]
        made += [case(problem, f"auto:without={name}", seed, N) for name in spoke]
    return made


class Verdict(NamedTuple):
    """What switching something off came to."""

    pairs: int
    better: int
    worse: int
    loss: float
    mean: float
    for_all: list[str]  # problems it was made for that got worse with every seed
    coverage: list[str]  # problems whose coverage fell below 90%
    stays: bool


def verdict(name: str, before: Sequence[Record], after: dict[tuple[str, int], Record]) -> Verdict:
    """The decision as it was written down."""
    differences: dict[str, list[float]] = {}
    covered: dict[str, list[tuple[float, float]]] = {}
    for record in before:
        problem, seed = record.case["problem"], record.case["seed"]
        other = after.get((problem, seed), record)
        assert record.result is not None
        assert other.result is not None
        one, two = (compare.measured(r.result, 0.0, N) for r in (record, other))
        kind = problem.split(":")[0]
        differences.setdefault(kind, []).append(two[0] - one[0])
        covered.setdefault(kind, []).append((one[3], two[3]))
    each = np.concatenate(list(differences.values()))
    each[np.abs(each) < compare.SAME] = 0.0
    loss = wilcoxon(each, zero_method="pratt", alternative="greater").pvalue if np.any(each) else 1.0
    kinds = MADE_FOR[name] or tuple(differences)
    for_all = [kind for kind in kinds if min(differences[kind]) > compare.SAME]
    means = {kind: np.mean(found, axis=0) for kind, found in covered.items()}
    coverage = [kind for kind, (one, two) in means.items() if one >= 0.9 > two]
    stays = bool(loss < 0.05 or for_all or coverage)
    worse, better = int(np.sum(each > 0)), int(np.sum(each < 0))
    return Verdict(len(each), better, worse, float(loss), float(np.mean(each)), for_all, coverage, stays)


def page(found: Sequence[Record]) -> list[str]:
    """Every rule and family switched off, over the seeds that are complete."""
    baseline = [r for r in found if r.case["method"] == "auto"]
    done = {records.key(r.case) for r in found}
    complete = [
        seed
        for seed in sorted({r.case["seed"] for r in baseline})
        if sum(r.case["seed"] == seed for r in baseline) == len(TRUE | FALSE)
        and all(records.key(c) in done for c in without([r for r in baseline if r.case["seed"] == seed]))
    ]
    before = [r for r in baseline if r.case["seed"] in complete]
    lines = [
        "# The rules and families of `auto`, switched off in turn",
        "",
        "On [the validation set](../notes/validation.md). The decision was written down before anything was run: a",
        "rule or family stays if switching it off is a loss in the pooled mean log10 regret at 5%, if a problem it was",
        "made for gets worse with every seed, or if the coverage of a problem falls below 90%.",
        "",
        f"Command: `python benchmarks/validation.py --ablation`; commits {script.commits(found)}; complete seeds: "
        f"{', '.join(map(str, complete)) or 'none'}"
        + ("." if len(complete) >= LEAST_SEEDS else f" (**fewer than {LEAST_SEEDS}: nothing is decided**)."),
        "",
        "| without | repeated | better | worse | a loss, p | mean difference | worse in all | coverage lost | |",
        "|" + "---|" * 9,
    ]
    for name in MADE_FOR:
        method = f"auto:without={name}"
        after = {(r.case["problem"], r.case["seed"]): r for r in found if r.case["method"] == method}
        after = {key: record for key, record in after.items() if key[1] in complete}
        if not after or not before:
            lines.append(f"| {name} | 0 | | | | | | | never spoke |")
            continue
        v = verdict(name, before, after)
        lines.append(
            f"| {name} | {len(after)} of {v.pairs} | {v.better} | {v.worse} | {v.loss:.3g} | {v.mean:+.3f} "
            f"| {'; '.join(v.for_all)} | {'; '.join(v.coverage)} | {'stays' if v.stays else '**does not pay**'} |"
        )
    return lines


def main() -> None:
    parser = script.parser(__doc__, seeds=SEEDS)
    parser.set_defaults(first_seed=FIRST_SEED)
    parser.add_argument("--ablation", action="store_true")
    arguments = parser.parse_args()
    if arguments.report:
        script.run(arguments, NAME, [], noted, page)
        return
    path = arguments.records or script.path_of(NAME)
    for seed in script.seeds(arguments):  # a seed that is complete counts
        script.run(arguments, NAME, searches([seed], "auto"), noted)
        if arguments.ablation:
            plain = [r for r in records.read(path) if r.case["method"] == "auto" and r.case["seed"] == seed]
            script.run(arguments, NAME, without(plain), noted)


if __name__ == "__main__":
    main()
