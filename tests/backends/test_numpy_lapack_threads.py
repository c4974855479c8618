"""LAPACK of small matrices keeps BLAS to one thread: to wait for others takes longer than to do without them."""

from __future__ import annotations

import numpy as np
import pytest

from tensorframe.backends.numpy.functions import FUNCTIONS
from tensorframe.backends.numpy.linalg import decomposition
from tensorframe.backends.numpy.products import blas
from tensorframe.errors import LinAlgError


@pytest.fixture
def libraries(monkeypatch):
    """A BLAS library that is set to four threads, and counts how often it is set to another number."""

    class Library:
        per_thread = False
        count = 4
        changes = 0

        def threads(self):
            return self.count

        def set_threads(self, count):
            self.count = count
            self.changes += 1

    library = Library()
    monkeypatch.setattr(blas, "_libraries", lambda *, per_thread: () if per_thread else (library,))
    return library


@pytest.fixture
def threads_during(libraries):
    """A decomposition that returns how many threads BLAS has while it runs."""
    yield decomposition("threads")(lambda *arrays: libraries.count)
    del FUNCTIONS["threads"]


@pytest.mark.parametrize(
    ("shapes", "threads"),
    [
        ([(3, 3)], 4),  # BLAS shares nothing out
        ([(100, 5, 5)], 4),
        ([(2000, 32)], 1),
        ([(32, 2000)], 1),
        ([(256, 256)], 1),
        ([(1200, 1200)], 4),  # there is something to share out
        ([(64, 64), (64, 1000)], 1),
        ([(200, 200), (200, 8000)], 4),
    ],
)
def test_threads_of_blas(threads_during, libraries, shapes, threads):
    assert threads_during(*[np.ones(shape, np.float32) for shape in shapes]) == threads
    assert libraries.count == 4
    assert libraries.changes == (2 if threads == 1 else 0)


def test_what_fails_leaves_the_number_of_threads_as_it_was(libraries):
    def fail(x):
        raise np.linalg.LinAlgError("Singular matrix")

    run = decomposition("failing")(fail)
    try:
        with pytest.raises(LinAlgError, match=r"\(2000, 32\)"):
            run(np.ones((2000, 32)))
    finally:
        del FUNCTIONS["failing"]
    assert libraries.count == 4
