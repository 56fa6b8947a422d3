"""Computing the cases that are missing from a file of records, here, in processes of this machine or on a cluster.

Every case is recorded as soon as it is computed: what a kill costs are the cases under way, and the same
command goes on with the rest. An error costs the case that raised it and is recorded, too.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm.auto import tqdm

from pinnbo.bench import provenance, records
from pinnbo.bench.records import Case, Record

Compute = Callable[[Case], dict[str, Any]]

# libraries read these when they are loaded; sums of one thread are the same everywhere, and cases share the processors
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


class Outcome(NamedTuple):
    """What came of a case: a result or an error, and the seconds it took."""

    case: Case
    result: dict[str, Any] | None
    error: str | None
    seconds: float


Backend = Callable[[Compute, Sequence[Case]], Iterator[Outcome]]


def attempt(compute: Compute, case: Case) -> Outcome:
    """Compute a case with one thread; an error is an outcome."""
    from threadpoolctl import threadpool_limits

    began, result, error = time.perf_counter(), None, None
    try:
        with threadpool_limits(1):
            result = compute(case)
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    return Outcome(case, result, error, time.perf_counter() - began)


def here(compute: Compute, cases: Sequence[Case]) -> Iterator[Outcome]:
    """One case after the other in this process."""
    return map(functools.partial(attempt, compute), cases)


def complete(
    path: Path, cases: Sequence[Case], compute: Compute, backend: Backend = here, retry: bool = False
) -> list[Record]:
    """Compute and record the cases that the file does not have; ``retry`` includes those that failed.

    Returns the new records.
    """
    with records.only_writer(path):
        done = {records.key(r.case) for r in records.read(path) if not (retry and r.error)}
        missing = [case for case in cases if records.key(case) not in done]
        print(f"{len(cases)} cases, {len(missing)} of them to compute; records in {path}", flush=True)
        stamp = provenance.commit(), provenance.versions()
        made: list[Record] = []
        total = sum(map(_evaluations, missing))
        outcomes = backend(compute, missing)
        with tqdm(total=total, file=sys.stderr, unit="evaluation", disable=not missing) as bar:
            for outcome in outcomes:
                made.append(Record(*outcome, *stamp))
                records.append(path, made[-1])
                if outcome.error:
                    bar.write(f"{records.label(outcome.case)} failed: {outcome.error}", file=sys.stderr)
                bar.update(_evaluations(outcome.case))
    return made


def _evaluations(case: Case) -> int:
    """How much of the whole a case is."""
    return case.get("n", 1)
