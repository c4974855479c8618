"""Products whose tiles a GPU copies, or threads read by vectors: CUDA's text run as C++ on the processor."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.kernel.groups.algorithms import blocking

pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")

from tensorframe.backends.cuda import libraries
from tests.backends import host_gpu
from tests.builds import forget_builds

pytestmark = pytest.mark.skipif(
    host_gpu.COMPILER is None, reason="kernels are compiled by the system's C++ compiler here"
)


@pytest.fixture
def gpu(monkeypatch):
    """One GPU without libraries, for which few tiles are enough."""
    monkeypatch.setattr(blocking, "_ENOUGH_TILES", 1)
    monkeypatch.setattr(libraries, "CALLS", {})
    with tfr.config.override(small_size=0, small_nodes=0), host_gpu.host_gpu(lanes=16) as found:
        yield found


def drawn(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


WAYS = {"copies": "copy_neighbours", "neighbours": "together.at[", "elements": ""}


def result(x, y, way):
    """A product and what is done to it, made with copies, with reads of neighbours, or element by element."""
    place = tfr.Device("cuda")
    traits = backend_of(place).open_device(place).queue.traits
    assert traits.copies
    assert traits.neighbours
    try:
        object.__setattr__(traits, "copies", way == "copies")
        object.__setattr__(traits, "neighbours", way == "neighbours")
        forget_builds()
        expression = tfr.maximum(x @ y, 0) + 1
        text = str(tfr.explain(expression, source=True))
        for name, word in WAYS.items():
            assert not word or (word in text) == (name == way)
        return expression.numpy()
    finally:
        for name in ("copies", "neighbours"):
            object.__setattr__(traits, name, True)
        forget_builds()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_sums_are_those_of_tiles_that_threads_read(gpu, dtype, turned):
    """Whichever way factors lie, beyond the edges of tiles, of stacks, and where nothing is aligned."""
    del gpu
    left, right = drawn(2, 37, 50, dtype=dtype), drawn(51, 33, dtype=dtype, seed=1)
    x = tfr.asarray(left.swapaxes(1, 2).copy() if turned[0] else left, device="cuda")
    y = tfr.asarray(right.T.copy() if turned[1] else right, device="cuda")
    x, y = x.mT if turned[0] else x, (y.mT if turned[1] else y)[1:]  # an odd first element
    found = result(x, y, "copies")
    for way in ("neighbours", "elements"):
        assert found.tobytes() == result(x, y, way).tobytes()
    np.testing.assert_allclose(found, np.maximum(left @ right[1:], 0) + 1, rtol=1e-4, atol=1e-5)
