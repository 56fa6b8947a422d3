"""List every number that decides something on the path of `auto`, so that they can be counted.

    python scripts/count_thresholds.py                 # the list, the counts, and the lines of code
    python scripts/count_thresholds.py --counts        # only the counts

The path of `auto` is `pinnbo.methods.auto` and every module of the package that it imports, directly or not, also
inside functions; imports for type checking only do not count. A number decides something where it stands

- in the test of an `if`, `while`, conditional expression, `assert` or comprehension, or in a comparison,
- in a call of clip, minimum, maximum, min, max or where,

written there or as a name that its module, or the one it is imported from, gives a number to. Most are settings:
another value would choose other models or other points. A constant is counted once, however often it is used. Counted
apart are

- guards against rounding: at most 1e-6 in size, and not a name;
- numerical precision and effort: more of it would give the same answer, later (`PRECISION`);
- limits of what is accepted or shown: beyond them a sentence says so (`LIMITS`);
- plain arithmetic: 0, 1, -1 and 2 in tests and comparisons (empty, single, a sign, a plane), indices, exponents,
  keywords such as axis=1, and 0, 1 and -1 as bounds (a variance is not negative, a probability at most one).
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
CLIPS = {"clip", "minimum", "maximum", "min", "max", "where", "fmin", "fmax"}
GUARD = 1e-6
PLAIN = {"test": {0, 1, -1, 2}, "clip": {0, 1, -1}}


# files whose numbers say how accurately something is computed, and constants elsewhere that do
PRECISION = {
    "pinnbo/acquisition/choice.py": None,
    "pinnbo/acquisition/functional.py": {"_N_DRAWS", "_LEAST_DRAWS"},
    "pinnbo/acquisition/feasibility.py": None,
    "pinnbo/acquisition/improvement.py": None,
    "pinnbo/acquisition/search.py": None,
    "pinnbo/data.py": {16},  # of rounding errors
    "pinnbo/boundary.py": None,
    "pinnbo/ensemble/belief.py": {"MANY"},
    "pinnbo/ensemble/coefficient_search.py": {"_TRIED_WITH_ALL", "_RULED_OUT", "_MOST_LOOKED_AT"},
    "pinnbo/ensemble/coefficients.py": None,
    # FEW: below it the exact algebra is quicker than that of places that tell the others
    "pinnbo/ensemble/hypotheses.py": {"MANY", "FEW", "LEAST_KEPT", "_MOST_KEPT", "_ALIKE"},
    # _HOPELESS: where more than that is left, twice as many rows bind no more than once as many
    "pinnbo/ensemble/kernel_family.py": {"_HOPELESS"},
    "pinnbo/ensemble/mixture.py": None,
    "pinnbo/ensemble/sum_family.py": {"_EXACT", "_WITHOUT_SOURCE", 0.05, 0.1, 0.5, 1e-4},
    "pinnbo/gp/additive.py": None,
    "pinnbo/gp/conditioning.py": None,
    "pinnbo/gp/invariant.py": None,
    "pinnbo/gp/kernels.py": None,
    "pinnbo/gp/nonlinear.py": {"_SETTLED", "_N_DOUBT", 1e-3, 2},
    "pinnbo/gp/particular.py": None,
    "pinnbo/gp/posterior.py": None,
    "pinnbo/gp/process.py": None,
    # the derivatives that a cubic spline has; whether a simulation varies at all
    "pinnbo/gp/simulation.py": {"_DEGREE", "spread"},
    "pinnbo/gp/sines.py": None,
    "pinnbo/gp/statistics.py": None,
    "pinnbo/gp/waves.py": None,
    "pinnbo/methods/auto.py": {"_SEARCHED"},
    "pinnbo/methods/robust.py": {"MANY"},
    "pinnbo/methods/setup.py": {"_SAME"},
    "pinnbo/physics/averages.py": None,
    "pinnbo/physics/axes.py": None,
    "pinnbo/physics/curves.py": None,
    "pinnbo/physics/jets.py": {"_FEW"},
    "pinnbo/physics/particular.py": None,
    "pinnbo/physics/rotation.py": None,
    "pinnbo/physics/symbol.py": None,
    "pinnbo/region.py": None,
}
# the same for what is accepted from the user, or shown
LIMITS = {
    "pinnbo/axis.py": None,
    "pinnbo/equations/analysis.py": None,
    "pinnbo/equations/check.py": None,
    "pinnbo/equations/compiled.py": None,
    "pinnbo/equations/dimensions.py": None,
    "pinnbo/equations/errors.py": None,
    "pinnbo/equations/grammar.py": None,
    "pinnbo/equations/kinds.py": None,
    "pinnbo/equations/lexer.py": None,
    "pinnbo/equations/printer.py": None,
    "pinnbo/equations/scope.py": None,
    "pinnbo/equations/sizes.py": None,  # only `pinnbo check` uses it
    "pinnbo/equations/symbolic.py": None,
    "pinnbo/equations/tables.py": None,
    "pinnbo/equations/text.py": None,
    "pinnbo/equations/units.py": None,
    "pinnbo/gp/simulation.py": {"MOST_AXES"},
    "pinnbo/knowledge.py": None,
    "pinnbo/methods/auto.py": {"collocation"},
    "pinnbo/methods/explanation.py": None,
    "pinnbo/notebook.py": None,
    "pinnbo/objective.py": None,
    "pinnbo/operators.py": None,
    "pinnbo/pde.py": None,
    "pinnbo/physics/jets.py": {"_MOST_INDICES"},
    "pinnbo/shapes.py": None,
    "pinnbo/sources.py": None,
    "pinnbo/space.py": None,
    "pinnbo/values.py": None,
}


class Number(NamedTuple):
    """A number where it stands, ``name`` if it is a constant, and its rank: 0 decides, 1 guards, 2 is arithmetic."""

    file: str
    line: int
    kind: str
    value: float
    name: str
    rank: int
    text: str

    def belongs(self, table: dict[str, set | None]) -> bool:
        """Whether its file, or it by name or value, is in a table."""
        if self.file not in table:
            return False
        some = table[self.file]
        return some is None or self.name in some or (not self.name and self.value in some)


def path_of(module: str) -> Path | None:
    """Where a module of the package is; None for one that is not there."""
    base = SOURCE.joinpath(*module.split("."))
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)


def imported(tree: ast.Module, module: str, package: bool) -> Iterator[str]:
    """Names of modules that are imported when the code runs, and of what is imported from them."""
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for part in node.body
        for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".") if package else module.split(".")[:-1]
            above = ".".join(parts[: len(parts) - node.level + 1]) + "." if node.level else ""
            origin = (above + (node.module or "")).rstrip(".")
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def reachable(start: str) -> dict[str, Path]:
    """Modules of the package on the path of one of them. What a package's __init__ loads is followed only if it is
    named: a user of `pinnbo.methods.auto` does not run the baselines.
    """
    found: dict[str, Path] = {}
    waiting = [start]
    while waiting:
        module = waiting.pop()
        path = path_of(module)
        if path is None or module in found or not module.startswith("pinnbo"):
            continue
        found[module] = path
        waiting += imported(ast.parse(path.read_text()), module, path.name == "__init__.py")
    return dict(sorted(found.items()))


def number(node: ast.AST) -> float | None:
    """The value of a literal, with a sign, or None."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(node.operand)
        return None if inner is None else -inner
    return None


class Constant(NamedTuple):
    """A number, and the name that it was given first: a setting whose default is a constant is that constant."""

    name: str
    value: float


def constants(tree: ast.Module, follow: bool = True) -> dict[str, Constant]:
    """Names that the module, a class of it, or a module of the package that it imports them from, gives a number to."""
    found: dict[str, Constant] = {}
    for node in ast.walk(tree) if follow else ():
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            path = path_of(node.module or "")
            there = constants(ast.parse(path.read_text()), follow=False) if path else {}
            found |= {a.asname or a.name: there[a.name] for a in node.names if a.name in there}
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for node in (node for body in bodies for node in body):
        targets, value = [], None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        for target in targets:
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            for name, given in pairs:
                if not isinstance(name, ast.Name) or given is None:
                    continue
                value_of, known = number(given), [n.id for n in ast.walk(given) if isinstance(n, ast.Name)]
                if value_of is not None:
                    found[name.id] = Constant(name.id, value_of)
                elif len(known) == 1 and known[0] in found and not any(map(is_computed, ast.walk(given))):
                    found[name.id] = found[known[0]]
    return found


def is_computed(node: ast.AST) -> bool:
    """Whether more than arithmetic is done."""
    return isinstance(node, ast.Call | ast.Attribute | ast.Subscript | ast.Lambda | ast.IfExp)


def deciding(tree: ast.Module) -> Iterator[tuple[str, ast.AST, set[int]]]:
    """Expressions that decide, as (kind, expression, nodes that only count or compute inside it)."""
    for node in ast.walk(tree):
        tests: list[ast.AST] = []
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            tests = [node.test]
        elif isinstance(node, ast.comprehension):
            tests = list(node.ifs)
        elif isinstance(node, ast.Compare):
            tests = [node]
        for test in tests:
            yield "test", test, arithmetic(test)
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in CLIPS:
                for argument in (
                    *node.args,
                    *(k.value for k in node.keywords if k.arg in ("a_min", "a_max")),
                ):
                    yield "clip", argument, arithmetic(argument)


def arithmetic(expression: ast.AST) -> set[int]:
    """Nodes inside an index, an exponent or the keywords of a call (axis=1 and the like)."""
    plain: set[int] = set()
    for node in ast.walk(expression):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Subscript):
            parts = [node.slice]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            parts = [node.right]
        elif isinstance(node, ast.Call):
            parts = list(node.keywords)
        plain |= {id(inner) for part in parts for inner in ast.walk(part)}
    return plain


def numbers(path: Path) -> list[Number]:
    """Every number of a file that decides, once for each place."""
    source = path.read_text()
    tree, lines = ast.parse(source), source.splitlines()
    named = constants(tree)
    found: dict[tuple[int, int], Number] = {}
    for kind, expression, plain in deciding(tree):
        inside_negation = {id(node.operand) for node in ast.walk(expression) if isinstance(node, ast.UnaryOp)}
        for node in ast.walk(expression):
            name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
            if name:
                name, value = named.get(name, Constant("", None))
            else:
                value = number(node)
            if value is None or id(node) in inside_negation:
                continue
            place = node.lineno, node.col_offset
            rank = 0
            if not name:
                rank = 2 if id(node) in plain or value in PLAIN[kind] else int(abs(value) <= GUARD)
            if place not in found or found[place].rank > rank:
                text = lines[node.lineno - 1].strip()
                file = str(path.relative_to(SOURCE))
                found[place] = Number(file, node.lineno, kind, value, name, rank, text)
    return sorted(found.values())


def code_lines() -> int:
    """Lines of the package without benchmarks and baselines."""
    skipped = (SOURCE / "pinnbo" / "bench", SOURCE / "pinnbo" / "baselines")
    files = [p for p in (SOURCE / "pinnbo").rglob("*.py") if not any(p.is_relative_to(s) for s in skipped)]
    return sum(len(p.read_text().splitlines()) for p in files)


def main() -> None:
    """List and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--module", default="pinnbo.methods.auto")
    arguments = parser.parse_args()
    modules = reachable(arguments.module)
    if not modules:
        parser.error(f"expected a module under src, got {arguments.module!r}")
    found = [n for path in modules.values() for n in numbers(path)]
    decide, guards, plain = ([n for n in found if n.rank == rank] for rank in range(3))
    precision = [n for n in decide if n.belongs(PRECISION)]
    limits = [n for n in decide if n.belongs(LIMITS)]
    settings = [n for n in decide if n not in precision and n not in limits]
    lists = {
        "settings: another value would choose other models or points": settings,
        "numerical precision and effort": precision,
        "limits of what is accepted or shown": limits,
        "guards against rounding": guards,
    }
    print(f"{len(modules)} modules on the path of {arguments.module}")
    for title, numbers_of in lists.items():
        once = {
            (n.name, n.value) if n.name.isupper() else (n.file, n.name or n.line, n.value) for n in numbers_of
        }
        print(f"{len(once)} {title}, in {len(numbers_of)} places")
        for n in () if arguments.counts else numbers_of:
            print(f"  {n.file}:{n.line}: {n.name + ' = ' if n.name else ''}{n.value:g}    {n.text}")
    print(f"{len(plain)} numbers of plain arithmetic")
    print(f"{code_lines()} lines of src/pinnbo without bench and baselines")


if __name__ == "__main__":
    main()
