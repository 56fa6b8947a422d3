"""What a problem file would run, for somebody who got it from elsewhere; nothing of it is run."""

from __future__ import annotations

from pinnbo.studies import references, storage
from pinnbo.studies.evaluation import CommandEvaluation
from pinnbo.studies.problem_file import Formula, ProblemFile


def as_text(problem: ProblemFile) -> str:
    """Lines for the terminal."""
    folder = problem.path.resolve().parent
    lines = [
        ("study", f"{problem.name}, {problem.goal}, {problem.budget} evaluations"),
        ("space", repr(problem.box)),
        ("method", problem.method),
        ("storage", storage.shown(problem.storage)),
    ]
    if problem.equation is not None:
        for i, line in enumerate(problem.equation.text.strip().splitlines()):
            lines.append(("equation" if i == 0 else "", line.strip()))
    if isinstance(problem.evaluate, CommandEvaluation):
        how = "by a shell" if problem.evaluate.shell else "without a shell"
        lines.append(("runs a command", f"{problem.evaluate.command} ({how}, in {folder})"))
    elif isinstance(problem.evaluate, Formula):
        lines.append(("evaluated", f"by the formula {problem.evaluate.text}"))
    for key, reference in problem.programs.items():
        place, name, path = references.located(reference, folder)
        where = f"all of {path}" if path is not None else f"the Python module {place}"
        lines.append((f"runs Python, {key}", f"{where}, then {name}"))
    if problem.evaluate is None:
        lines.append(("evaluated", "by hand"))
    return "\n".join(f"{name:24}{text}" for name, text in lines)
