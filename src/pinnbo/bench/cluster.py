"""Cases on a Dask cluster; one that Dask repeats because its worker has died comes out the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from pinnbo.baselines.library import require
from pinnbo.bench.records import Case
from pinnbo.bench.runner import Compute, Outcome, attempt

# one case at a time in a process: PyTorch has one random state for all threads, and so have warnings
_ALONE = threading.Lock()


def outcomes(compute: Compute, cases: Sequence[Case], address: str) -> Iterator[Outcome]:
    """What comes out of the cases, as it comes, from the workers of the cluster at the address."""
    require("--dask", "distributed")
    from distributed import Client

    try:
        client = Client(address, timeout=5)
    except OSError as error:
        raise ValueError(f"bench: no Dask scheduler answers at {address!r} ({error})") from None
    return _received(client, compute, cases)


def _received(client: Any, compute: Compute, cases: Sequence[Case]) -> Iterator[Outcome]:
    from distributed import as_completed

    with client:
        futures = {client.submit(_alone, compute, case, pure=False): case for case in cases}
        try:
            for future in as_completed(futures):
                if future.status == "finished":
                    yield Outcome(*future.result())
                else:
                    error = f"the task ended as {future.status}: {future.exception()}"
                    yield Outcome(futures[future], None, error, 0.0)
        finally:
            client.cancel(list(futures))


def _alone(compute: Compute, case: Case) -> Outcome:
    with _ALONE:
        return attempt(compute, case)
