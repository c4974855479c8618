"""Fusion never costs more than its parts: every costly producer before everything that may take it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

import tensorframe as tfr
from tests.kernel.counted import loops_of

Shape = tuple[int, ...]

# operations that a processor does while it waits for a sum anyway, and from which loops should be long
HIDDEN, COSTLY, VECTORS = 24, 40, 16


@pytest.fixture(autouse=True)
def compiled() -> Iterator[None]:
    with tfr.use_backend("llvm"):
        yield


@cache
def stored(shape: Shape) -> tfr.Tensor:
    return tfr.asarray(np.ones(shape, np.float32), device="llvm")


PRODUCERS: dict[str, Callable[[Shape], tfr.Tensor]] = {
    "normal": lambda shape: tfr.random.normal(shape, key=tfr.random.key(1)),
    "chain": lambda shape: tfr.erf(tfr.exp(tfr.sin(stored(shape)) * 2)),
    "gather": lambda shape: tfr.log1p(
        tfr.sin(tfr.take(stored(shape), tfr.arange(shape[0])[::-1], axis=0)) + 2
    ),
}
Consumer = Callable[[tfr.Tensor, int], tfr.Tensor]
CONSUMERS: dict[str, Consumer] = {
    "sum": lambda y, axis: tfr.sum(y, axis=axis),
    "scan": lambda y, axis: tfr.cumulative_sum(y, axis=axis),
    "scan, then costly": lambda y, axis: tfr.exp(tfr.cumulative_sum(y, axis=axis) * 0.1),
    "scan beside": lambda y, axis: tfr.cumulative_sum(y, axis=axis) / (y * y + 1),
    "scan and reduction": lambda y, axis: tfr.max(tfr.cumulative_sum(y, axis=axis), axis=axis),
    "softmax": lambda y, axis: tfr.softmax(y, axis=axis),
    "centred": lambda y, axis: y - tfr.max(y, axis=axis, keepdims=True),
    "position": lambda y, axis: tfr.argmax(y, axis=axis),
    "deviation": lambda y, axis: tfr.std(y, axis=axis),
    "two results": lambda y, axis: tfr.mean(y, axis=axis) + tfr.max(y, axis=axis),
    "sorted": lambda y, axis: tfr.sort(y, axis=axis),
    "stencil": lambda y, axis: tfr.diff(y, axis=axis, n=2),
    "broadcast": lambda y, axis: tfr.sum(y, axis=axis, keepdims=True) * stored(y.shape),
    "outer": lambda y, axis: y[..., None] + y[0],
}
SHAPES: list[tuple[Shape, int]] = [
    ((300, 70), 0),
    ((300, 70), 1),
    ((5000, 4), 0),
    ((5000, 4), 1),
    ((11_232, 70), 0),
    ((1 << 20,), 0),
]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_costly_producer_is_computed_once_in_long_loops_by_many_threads(producer, consumer):
    for shape, axis in SHAPES:
        if consumer == "outer" and shape != SHAPES[0][0]:
            continue  # a result of many times as many elements
        produce, consume = PRODUCERS[producer], CONSUMERS[consumer]
        apart = [*loops_of(produce(shape)), *loops_of(consume(stored(shape), axis))]
        shortest = min([one.length for one in apart if one.operations >= COSTLY])
        loops = loops_of(consume(produce(shape), axis))
        where = f"{producer} into {consumer} of {shape} along {axis}: {loops}"
        assert sum(loop.total for loop in loops) <= 1.2 * sum(loop.total for loop in apart), where
        for loop in loops:
            if loop.waits:
                assert loop.operations <= HIDDEN, where
            if loop.operations >= COSTLY and loop.begun * loop.length >= 1000:
                assert loop.length >= min(VECTORS, shortest), where
            if loop.operations >= COSTLY and loop.begun * loop.length > 1 << 19:
                assert loop.units > 1, where


def test_what_is_shared_is_stored_where_that_takes_one_tensor_instead_of_several():
    """Normal numbers are a cheap product of two costly factors: these are not stored for the sake of its consumers."""
    y = tfr.random.normal((1 << 20,), key=tfr.random.key(1))
    plan = tfr.explain(tfr.cumulative_sum(y) / (y * y + 1))
    assert plan.bytes_written == 3 * 4 << 20


@pytest.mark.parametrize("device", ["dry:1"])
def test_devices_that_keep_nothing_between_passes_store_what_is_costly(device):
    with tfr.use_backend(device):
        y = tfr.random.normal((2000, 500), key=tfr.random.key(1))
        plan = tfr.explain(tfr.softmax(y, axis=1))
    assert plan.kernels == 2
    assert "each of 3 passes would compute it again" in str(plan)
