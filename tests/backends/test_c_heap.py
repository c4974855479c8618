"""The C library's heap: what arrays of a few hundred KiB leave free there stays, until memory is limited."""

import os
import subprocess
import sys

import pytest

from tensorframe.backends import c_heap

# pages that some turns of a loop take: each has arrays of less than a mapped block, all of them freed at its end
TURNS = """
import resource
import numpy as np
from tensorframe.backends import c_heap

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        arrays = [np.ones(384 * 1024, np.uint8) for _ in range(12)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

np.empty(1 << 19, np.uint8)  # glibc has its bounds from a block like this
pages()
print(pages())
c_heap.retain()
pages()
print(pages())
c_heap.give_back_early()
pages()
print(pages())
"""


@pytest.mark.skipif(c_heap._library() is None, reason="a C library without these bounds")
def test_the_end_of_the_heap_stays_where_memory_is_not_limited() -> None:
    # Dask sets one of these in the process that starts workers; any of them keeps glibc from raising its bounds
    usual = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    run = subprocess.run(
        [sys.executable, "-c", TURNS],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=usual,
    )
    as_it_is, retained, given_back = map(int, run.stdout.split())
    assert as_it_is > 1000 < given_back
    assert retained < 100
