"""The report: a page in Markdown with pictures, made from the records alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pinnbo.bench import names, pictures
from pinnbo.bench.measures import THRESHOLDS, Traces, saving, standard_error
from pinnbo.bench.presets import PAPER
from pinnbo.bench.records import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PERCENT = [f"{100 * threshold:g}%" for threshold in THRESHOLDS]


def write(records: Sequence[Record], folder: Path) -> Path:
    """Write README.md and its pictures into the folder, and return the page."""
    traces = Traces(records)
    if not traces.problems():
        raise ValueError("bench: nothing has been recorded yet, so there is nothing to report")
    folder.mkdir(parents=True, exist_ok=True)
    page = Page(folder, traces)
    page.text(*_introduction(traces))
    _failures(page, records)
    _ranks(page)
    _savings(page)
    _claim(page)
    _evaluations(page)
    _regret(page)
    _fields(page)
    _times(page)
    _provenance(page, records)
    path = folder / "README.md"
    path.write_text("\n".join(page.lines).rstrip() + "\n")
    return path


class Page:
    """Lines of Markdown, and the pictures beside them."""

    def __init__(self, folder: Path, traces: Traces) -> None:
        self.folder, self.traces = folder, traces
        self.lines: list[str] = []
        self.look = pictures.styles(traces.methods())

    def text(self, *paragraphs: str) -> None:
        """Paragraphs."""
        for paragraph in paragraphs:
            self.lines += [paragraph, ""]

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table."""
        self.lines.append("| " + " | ".join(head) + " |")
        self.lines.append("|" + "|".join(["---"] * len(head)) + "|")
        self.lines += ["| " + " | ".join(row) + " |" for row in rows]
        self.lines.append("")

    def picture(self, figure: Figure, name: str, title: str) -> None:
        """A picture, saved beside the page."""
        figure.savefig(self.folder / f"{name}.png")
        self.text(f"![{title}]({name}.png)")


def _introduction(traces: Traces) -> list[str]:
    runs = sum(len(traces.of(p, m)) for p in traces.problems() for m in traces.methods(p))
    evaluations = sum(
        len(trace.regret) for p in traces.problems() for m in traces.methods(p) for trace in traces.of(p, m)
    )
    return [
        "# Benchmark",
        f"{runs} runs, {evaluations} evaluations. Regret is that of the true values, without noise, as a "
        "share of the problem's range; all methods see the same noise, and n counts every evaluation, the initial "
        "ones included. "
        "All methods of a seed begin with the same points, except `auto` where it knows the PDE: it chooses its first "
        "points itself (`auto:design` takes the common ones). `:plain` is without the PDE, `:printed` with the PDE "
        "that the paper prints, `:shifted` on a box that is moved per seed, `:noise=` with another noise than "
        "the paper's.",
    ]


def _failures(page: Page, records: Sequence[Record]) -> None:
    failures = [(record.case, record.error) for record in records if record.error]
    if not failures:
        page.text("No run failed.")
        return
    page.text("## Failed runs", "They cost themselves only, and are left out below.")
    page.table(
        ["problem", "method", "seed", "error"],
        [[c["problem"], c["method"], str(c["seed"]), _cell(error)] for c, error in failures],
    )


def _ranks(page: Page) -> None:
    traces = page.traces
    everywhere = [p for p in traces.problems() if ":" not in p]
    methods = [m for m in traces.methods() if all(traces.of(p, m) for p in everywhere)]
    ranking = traces.ranking(everywhere, methods)
    if not ranking.ranks:
        return
    page.text(
        "## Average rank",
        "By the mean simple regret over the seeds, at the evaluations that all methods have on a problem "
        f"({', '.join(f'{p}: {traces.common_budget(p, methods)}' for p in ranking.problems)}). Friedman's test that "
        f"all are alike: p = {ranking.p:.2g}. By Nemenyi's test at 5%, methods differ whose ranks are more than "
        f"{ranking.critical_difference:.2f} apart; a bar joins those that do not.",
    )
    page.picture(pictures.critical_differences(ranking), "ranks", "Average ranks with critical difference")


def _savings(page: Page) -> None:
    traces = page.traces
    ours = [m for m in ("auto", "auto:design", "pinn-bo") if m in traces.methods()]
    rows = []
    for problem in traces.problems():
        blind = [m for m in traces.methods(_twin(problem)) if not _physical(m)]
        for method in ours:
            if traces.of(problem, method) and blind:
                cells = [
                    saving(
                        traces.reached(problem, method, t),
                        {m: traces.reached(_twin(problem), m, t) for m in blind},
                    )
                    for t in THRESHOLDS
                ]
                rows.append([problem, method, *cells])
    if not rows:
        return
    page.text(
        "## How many times fewer evaluations with the physics",
        "Median evaluations of the best method without physics, divided by those of a method with it. *At least*: no "
        "method without physics got there with half of its seeds, and the largest budget stands for it. A dash: the "
        "method with physics did not get there.",
    )
    page.table(["problem", "method", *(f"to {p}" for p in _PERCENT)], rows)


def _claim(page: Page) -> None:
    traces = page.traces
    rows = []
    for problem in traces.problems():
        baselines = [m for m in PAPER if traces.of(_twin(problem), m)]
        for method in ("pinn-bo", "pinn-bo:paper"):
            if not traces.of(problem, method) or not baselines:
                continue
            cells = []
            for baseline in PAPER:
                if baseline not in baselines:
                    cells.append("-")
                    continue
                verdict, n = traces.compared(problem, method, baseline, _twin(problem))
                cells.append(f"{verdict} (n = {n})")
            rows.append([problem, method, *cells])
    if not rows:
        return
    page.text(
        "## The paper's claim",
        "The trained network with the PDE against each baseline of the paper at equal evaluations: *better* or *worse* "
        "where the means of the simple regret differ by more than two standard errors, *even* otherwise.",
    )
    page.table(["problem", "method", *PAPER], rows)


def _evaluations(page: Page) -> None:
    traces = page.traces
    page.text(
        "## Evaluations to a share of the range",
        "Median over the seeds, and how many of them got there. `> 60` means that at least half of the seeds had not "
        "got there when the budget of 60 was spent.",
    )
    rows = [
        [
            problem,
            method,
            *(str(traces.reached(problem, method, t)) for t in THRESHOLDS),
            _final(page, problem, method),
        ]
        for problem in traces.problems()
        for method in traces.methods(problem)
    ]
    page.table(["problem", "method", *(f"to {p}" for p in _PERCENT), "regret at the end"], rows)


def _regret(page: Page) -> None:
    page.text(
        "## Regret against evaluations",
        "Mean over the seeds and standard error. A bar marks where a method stopped, and a thin line goes on from it.",
    )
    for problem in page.traces.problems():
        figure = pictures.regret(page.traces, problem, page.look)
        page.picture(figure, f"regret-{_file(problem)}", f"Regret on {problem}")


def _fields(page: Page) -> None:
    traces = page.traces
    heats = [p for p in ("heat-1", "heat-2", "heat-3") if p in traces.problems()]
    if heats:
        page.text("## The temperatures", "And the best point that each method found with its first seed.")
        page.picture(pictures.temperatures(traces, heats, page.look), "temperatures", "Temperature maps")
    if "beam-1" in traces.problems():
        wanted = ("auto", "pinn-bo", "gp-logei", "gp-ei", "random")
        shown = [m for m in wanted if traces.of("beam-1", m)][:4]
        page.text(
            "## The beam",
            "Its deflection, and where methods measured with their first seed; filled: the best.",
        )
        page.picture(pictures.beam(traces, "beam-1", shown, page.look), "beam", "The beam")


def _times(page: Page) -> None:
    traces = page.traces
    page.text(
        "## Time of a suggestion", "Median of ask and tell after the initial points, in seconds, one thread."
    )
    problems = traces.problems()
    rows = [
        [
            method,
            *(
                _short(traces.suggestion_seconds(p, method)) if traces.of(p, method) else "-"
                for p in problems
            ),
        ]
        for method in traces.methods()
    ]
    page.table(["method", *problems], rows)


def _provenance(page: Page, records: Sequence[Record]) -> None:
    made = Counter((record.commit, record.versions) for record in records)
    page.text("## Where this comes from")
    page.table(
        ["commit", "runs", "versions"], [[*stamp[:1], str(n), *stamp[1:]] for stamp, n in made.items()]
    )
    page.text("This page: `pinnbo bench report`.")


def _final(page: Page, problem: str, method: str) -> str:
    last = 100 * page.traces.stacked(problem, method, "simple")[:, -1]
    error = f" ± {_short(float(standard_error(last)))}" if len(last) > 1 else ""
    return f"{_short(last.mean())}{error}%"


def _short(number: float) -> str:
    """Two digits, without an exponent where that is readable."""
    return f"{float(f'{number:.2g}'):g}"


def _physical(method: str) -> bool:
    """Whether a method makes use of a PDE."""
    return method.split(":")[0] in ("auto", "ntk", "pinn-bo") and names.contender(method).physics


def _twin(problem: str) -> str:
    """The problem on which methods without physics do the same."""
    return problem.replace(":printed", "")


def _file(problem: str) -> str:
    return problem.replace(":", "-").replace("=", "-")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
