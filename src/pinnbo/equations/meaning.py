"""Which names of a text are fields, constants, helper functions and unknown coefficients."""

from __future__ import annotations

import contextlib
import keyword
import re
from collections.abc import Collection, Mapping, Sequence

from pinnbo.equations.errors import EquationError, nearest
from pinnbo.equations.names import BUILT_IN, CONSTANTS, OF_A_FIELD
from pinnbo.equations.nodes import (
    Call,
    Definition,
    Derivative,
    Fixed,
    Item,
    Name,
    Node,
    Statement,
)
from pinnbo.equations.scope import Scope, called


def find_fields(
    statements: Sequence[Statement],
    axes: Collection[str],
    given: Sequence[str] | None,
    known: Collection[str],
) -> tuple[tuple[str, ...], dict[str, Definition], list[Statement]]:
    """Tell fields, definitions and equations apart; ``known`` are names of constants and tables."""
    functions: dict[str, Definition] = {}
    plain: dict[str, Statement] = {}
    rest: list[Statement] = []
    for statement in statements:
        left = statement.left
        if statement.on is None and isinstance(left, Call) and left.function not in BUILT_IN:
            definition = _function(left, statement.right, axes, given)
            if definition is not None:
                _refuse_twice(definition.name, functions, left)
                functions[definition.name] = definition
                continue
        if (
            statement.on is None
            and isinstance(left, Name)
            and left.id not in axes
            and left.id not in (given or ())
        ):
            _refuse_twice(left.id, plain, left)
            plain[left.id] = statement
        rest.append(statement)
    if given is not None:
        fields = dict.fromkeys(given)
    else:
        fields = _differentiated([*rest, *functions.values()], axes, {*functions, *known})
    # a name that is set to an expression of fields stands for it, unless derivatives are taken of the name too: then it
    # is a field of its own, as in a system of first order
    definitions = dict(plain)
    changed = True
    while changed:
        changed = False
        certain = {name for name in fields if name not in definitions}
        for name, statement in list(definitions.items()):
            if name in fields and _names(statement.right, functions) & certain:
                del definitions[name]
                changed = True
    if len(definitions) == len(rest):
        # nothing else is said: u = d(psi, y) is the equation
        for name, statement in plain.items():
            if name in definitions and _names(statement.right, functions) & set(fields):
                del definitions[name]
                fields.setdefault(name)
    equations = [s for s in rest if not (isinstance(s.left, Name) and definitions.get(s.left.id) is s)]
    if given is None:
        fields = {name: None for name in fields if name not in definitions}
        if not fields and equations:
            fields = _only_name(equations, axes, {*functions, *definitions, *known})
    found = {name: Definition(name, (), s.right) for name, s in definitions.items()}
    return tuple(fields), {**found, **functions}, equations


def _refuse_twice(name: str, among: Collection[str], at: Node) -> None:
    if name in among:
        raise EquationError(f"{name} is defined twice", at.at)


def _function(
    left: Call, body: Node, axes: Collection[str], given: Sequence[str] | None
) -> Definition | None:
    if left.function in axes or left.function in (given or ()):
        return None
    parameters = [a.id if isinstance(a, Name) else "" for a in left.arguments]
    if not parameters or "" in parameters or len(set(parameters)) < len(parameters):
        raise EquationError(
            f"{left.function}(...) = ...: expected names in the brackets of a helper function; "
            f"for a value at a wall write {left.function} = 20 on y = 0",
            left.at,
        )
    return Definition(left.function, tuple(parameters), body)


def _differentiated(
    parts: Sequence[Statement | Definition], axes: Collection[str], known: Collection[str]
) -> dict[str, None]:
    """The names of which derivatives are taken, in the order of the text."""
    found: dict[str, None] = {}
    for part in parts:
        sides = (part.body,) if isinstance(part, Definition) else (part.left, part.right)
        own = part.parameters if isinstance(part, Definition) else ()
        for side in sides:
            for node in side.walk():
                inner: tuple[Node, ...] = ()
                if isinstance(node, Derivative):
                    inner = (node.of,)
                elif isinstance(node, Call) and node.function in (*OF_A_FIELD, "div", "curl"):
                    inner = node.arguments
                    if len(inner) == 1 and isinstance(inner[0], Call) and inner[0].function == "vector":
                        inner = inner[0].arguments
                for argument in inner:
                    name = _field_name(argument, axes)
                    if name is not None and name not in axes and name not in own and name not in known:
                        found[name] = None
    return found


def _field_name(node: Node, axes: Collection[str]) -> str | None:
    if isinstance(node, Name) and node.id not in CONSTANTS:
        return node.id
    if not isinstance(node, Call) or node.function in BUILT_IN or not node.arguments:
        return None
    return node.function if all(isinstance(a, Name) and a.id in axes for a in node.arguments) else None


def _names(node: Node, functions: Mapping[str, Definition]) -> set[str]:
    found: set[str] = set()
    waiting, seen = [node], set()
    while waiting:
        for part in waiting.pop().walk():
            name = called(part)
            if name is not None:
                found.add(name)
            if name is not None and name in functions and name not in seen:
                seen.add(name)
                waiting.append(functions[name].body)
    return found


def _only_name(
    equations: Sequence[Statement], axes: Collection[str], known: Collection[str]
) -> dict[str, None]:
    """The field of an equation without derivatives: its only unknown name."""
    found: dict[str, None] = {}
    for statement in equations:
        for side in (statement.left, statement.right):
            for node in side.walk():
                if isinstance(node, Name) and not (
                    node.id in axes or node.id in known or node.id in CONSTANTS
                ):
                    found[node.id] = None
    if len(found) == 1 or not found:
        if not found:
            at = equations[0].left.at if equations else None
            raise EquationError("expected a field such as T in d(T, x) or laplacian(T), found none", at)
        return found
    at = equations[0].left.at
    raise EquationError(
        f"cannot tell which of {', '.join(list(found)[:6])} is the field: no derivative is taken of any; "
        "name it with fields=",
        at,
    )


def find_unknowns(
    equations: Sequence[Statement],
    definitions: Mapping[str, Definition],
    meanings: Scope,
    allowed: Collection[str] | None,
) -> tuple[str, ...]:
    """The names that mean nothing else, in the order of the text."""
    found: dict[str, Name] = {}
    known = {*meanings.axes, *meanings.fields, *definitions, *meanings.tables, *CONSTANTS}
    parts: list[tuple[Node, tuple[str, ...]]] = [(d.body, d.parameters) for d in definitions.values()]
    for statement in equations:
        parts += [(statement.left, ()), (statement.right, ())]
        for alternative in statement.on.alternatives if statement.on else ():
            for constraint in alternative:
                if isinstance(constraint, Fixed):
                    parts.append((constraint.value, ()))
                elif not isinstance(constraint, Name):
                    parts.append((constraint, ()))
    for node, own in parts:
        _collect_unknowns(node, {*known, *own}, meanings, found)
    for name, node in found.items():
        derivative = re.fullmatch(r"[d∂]\d?(\w+)", name)
        if name in BUILT_IN:
            raise EquationError(f"{name} is a function: write {name}(...)", node.at)
        if derivative and derivative.group(1) in meanings.fields and (allowed is None or name not in allowed):
            axes = ", ".join(meanings.axes[:8])
            raise EquationError(
                f"{name} alone means nothing: write a derivative such as d{derivative.group(1)}/d{meanings.axes[0]}, "
                f"with one of the axes {axes} below",
                node.at,
            )
        if keyword.iskeyword(name):
            raise EquationError(
                f"{name} is a word of Python and cannot be a name; call it {name[:3]}", node.at
            )
        if allowed is not None and name not in allowed:
            names = [*meanings.axes, *meanings.fields, *definitions, *meanings.tables, *allowed, *BUILT_IN]
            raise EquationError(
                f"{name} is neither an axis, a field, a constant nor one of the unknown coefficients"
                f"{nearest(name, names)}",
                node.at,
            )
    return tuple(found)


def _collect_unknowns(node: Node, known: set[str], meanings: Scope, found: dict[str, Name]) -> None:
    if isinstance(node, Name):
        if node.id not in known:
            found.setdefault(node.id, node)
        return
    if isinstance(node, Derivative):
        _collect_unknowns(node.of, known, meanings, found)
        return
    if isinstance(node, Item):
        return
    if isinstance(node, Call) and node.function == "sum" and node.arguments:
        with contextlib.suppress(EquationError):  # said with the rest of what is wrong with it
            known = {*known, meanings.index_of(node, ())[0]}
    if isinstance(node, Call) and node.function in meanings.fields:
        return
    for child in node.children():
        _collect_unknowns(child, known, meanings, found)


def refuse_circles(definitions: Mapping[str, Definition]) -> None:
    """No definition may use itself, not even by way of others."""
    done: set[str] = set()
    for start in definitions:
        path: list[tuple[str, list[str]]] = [(start, _used_names(definitions[start], definitions))]
        while path:
            name, waiting = path[-1]
            if not waiting:
                done.add(name)
                path.pop()
                continue
            following = waiting.pop()
            if any(following == earlier for earlier, _ in path):
                raise EquationError(f"{following} is defined by itself", definitions[following].body.at)
            if following not in done:
                path.append((following, _used_names(definitions[following], definitions)))


def refuse_unused(definitions: Mapping[str, Definition], equations: Sequence[Statement]) -> None:
    """A helper function that nothing uses is a misspelt operator, and its line an equation that would be lost."""
    used = {called(part) for one in definitions.values() for part in one.body.walk()}
    for statement in equations:
        places = statement.on.alternatives if statement.on else ()
        sides = [statement.left, statement.right, *(part for place in places for part in place)]
        used |= {called(part) for side in sides for part in side.walk()}
    for name, definition in definitions.items():
        if definition.parameters and name not in used:
            raise EquationError(
                f"{name} is no function that is known, and as a helper function of yours it is used in no equation"
                f"{nearest(name, BUILT_IN)}"
            )


def _used_names(definition: Definition, definitions: Mapping[str, Definition]) -> list[str]:
    names = {called(part) for part in definition.body.walk()} - set(definition.parameters)
    return [name for name in definitions if name in names]
