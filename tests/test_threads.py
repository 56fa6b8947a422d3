"""One BLAS thread while a suggestion is computed, and as many as before afterwards."""

import threading

import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_info, threadpool_limits

from pinnbo import Optimizer, Space
from pinnbo.threads import _SAID, one_thread


def blas():
    """The threads of every BLAS that is loaded."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two(monkeypatch):
    """Two threads, whatever the tests were started with."""
    for name in _SAID:
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(limits=2, user_api="blas"):
        assert blas() == {2}
        yield


def test_one_inside_and_two_again_after_an_error():
    @one_thread
    def failing():
        assert blas() == {1}
        raise ValueError("after a while")

    with pytest.raises(ValueError, match="after a while"):
        failing()
    assert blas() == {2}


def test_nested_and_beside_another_thread():
    """Two at once leave as many threads as there were."""
    inside, leave = threading.Event(), threading.Event()

    @one_thread
    def outer():
        assert one_thread(blas)() == {1}
        assert blas() == {1}

    @one_thread
    def waiting():
        inside.set()
        leave.wait(10)

    thread = threading.Thread(target=waiting)
    thread.start()
    inside.wait(10)
    outer()
    leave.set()
    thread.join()
    assert blas() == {2}


def test_what_the_environment_says_is_left_alone(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    assert one_thread(blas)() == {2}


def test_every_question_takes_one():
    """Seen from within the engine."""
    seen, optimizer = [], Optimizer(Space(x=(0.0, 1.0)), noise=0.01, method="random")
    optimizer.tell([[0.2], [0.7]], [0.1, 0.4])

    class Watched:
        def __getattr__(self, name):
            seen.append(blas())
            return getattr(type(optimizer)(optimizer.space, method="random")._engine, name)

    optimizer._engine = Watched()
    optimizer.ask()
    optimizer.predict([[0.5]])
    assert optimizer.best is not None
    optimizer.diagnostics()
    assert seen == [{1}] * 4
    assert blas() == {2}
