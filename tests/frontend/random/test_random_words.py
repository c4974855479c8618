"""Random words: computed where they are used, the same ones on every engine, whatever part of a draw is asked for."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import random
from tensorframe.backends.numpy.random import random_words
from tensorframe.backends.registry import devices
from tensorframe.frontend.random.keys import Stream
from tensorframe.frontend.random.words import lanes, positions
from tensorframe.runtime.plan_cache import PLANS
from tests.frontend.philox import block, word

# one device of each backend: words depend on the text of kernels, not on what runs it
ENGINES = [
    str(info.device) for info in devices() if info.capabilities.executes and not info.device.index
]
compiled = pytest.mark.skipif("llvm" not in ENGINES, reason="kernels are compiled by LLVM")

KEY = 0x0123456789ABCDEF
SHARES = [(1, 1), (1, 2), (1, 4), (2, 2), (2, 4)]  # positions that share, and words that they share


def stream(counter):
    """A stream of KEY that has drawn `counter` blocks."""
    found = Stream(random.key(KEY))
    found.reserve(4 * counter)
    return found


def expected(counter, size, every, width, first=0):
    """The words of positions from `first` on, a column for each of them."""
    return np.array(
        [
            [word(KEY, counter, index // every * width + lane) for lane in range(width)]
            for index in range(first, first + size)
        ],
        np.uint32,
    ).reshape(size, width)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("every", "width"), SHARES)
@pytest.mark.parametrize("shape", [(), (13,), (3, 5)])
def test_words_are_those_of_the_paper(engine, every, width, shape):
    for counter in (0, 5, 2**32 - 3, 2**64 - 40):
        drawn = lanes(positions(shape, engine), width, stream(counter), every=every)
        found = [one.numpy() for one in tfr.compute(*drawn)]
        size = int(np.prod(shape))
        for one, column in zip(found, expected(counter, size, every, width).T, strict=True):
            assert one.dtype == np.uint32
            np.testing.assert_array_equal(one, column.reshape(shape))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("every", "width"), SHARES)
def test_any_part_of_a_draw_has_the_words_of_the_whole(engine, every, width):
    whole = expected(7, 90, every, width).T.reshape(width, 9, 10)
    parts = [
        lambda x: x[1:4],
        lambda x: x[:, 3:8],
        lambda x: x[2:7:2, 1::3],
        lambda x: x[::-1],
        lambda x: x[:, ::-1],
        lambda x: x.T,
        lambda x: x.reshape(-1)[37:52],
        lambda x: x.reshape(-1)[::-7],
    ]
    for part in parts:
        drawn = lanes(positions((9, 10), engine), width, stream(7), every=every)
        for one, known in zip(drawn, whole, strict=True):
            np.testing.assert_array_equal(part(one).numpy(), part(known))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_order_of_memory_does_not_matter(engine):
    count = 600
    known = random_words(KEY, 0, count * count).reshape(count, count)
    turned = tfr.asarray(np.arange(count * count, dtype=np.uint32).reshape(count, count).T)
    (drawn,) = lanes(positions((count, count), engine), 1, random.key(KEY))
    found = (drawn ^ turned.to_device(engine)).numpy()
    np.testing.assert_array_equal(found, known ^ turned.numpy())


@pytest.mark.parametrize("engine", ENGINES)
def test_counters_and_keys_may_be_tensors(engine):
    numbers = np.array([0, 1, 2**32 - 1, 5], np.uint32)
    (drawn,) = lanes(positions((4,), engine), 4, random.key(KEY))[:1]
    node = drawn.node
    place = tfr.asarray(numbers).to_device(engine).node
    inputs = (node.inputs[0], place, *node.inputs[2:4], place)
    found = type(drawn)(type(node)(node.op, inputs, node.attrs, (4,), *_of(node))).numpy()
    known = [
        block((KEY & 0xFFFFFFFF) | int(number) << 32, int(number) + index)[0]
        for index, number in enumerate(numbers)
    ]
    assert found.tolist() == known


def _of(node):
    return node.dtype, node.device, node.site


DRAWS = {
    "uniform": lambda shape, **rest: random.uniform(shape, dtype="float32", **rest),
    "uniform of float64": lambda shape, **rest: random.uniform(shape, dtype="float64", **rest),
    "normal": lambda shape, **rest: random.normal(shape, dtype="float32", **rest),
    "normal of float64": lambda shape, **rest: random.normal(shape, dtype="float64", **rest),
    "normal of float16": lambda shape, **rest: random.normal(shape, dtype="float16", **rest),
    "exponential": lambda shape, **rest: random.exponential(shape, dtype="float32", **rest),
    "bernoulli": lambda shape, **rest: random.bernoulli(shape, 0.3, **rest),
    "integers": lambda shape, **rest: random.integers(0, 6, shape, **rest),
    "integers of 64 bits": lambda shape, **rest: random.integers(0, 2**40, shape, **rest),
}
NUMBERS = 256  # bytes: counters, keys and the like


@compiled
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("shape", [(10_000,), (101, 77)])
def test_a_draw_is_one_kernel_that_reads_no_words(name, shape):
    drawn = DRAWS[name](shape, device="llvm", key=random.key(3))
    plan = tfr.explain(drawn)
    assert (plan.kernels, plan.bytes_written) == (1, drawn.nbytes)
    assert plan.bytes_read < NUMBERS
    assert [step for step in plan.steps if len(step.outputs) > 1] == []


@compiled
@pytest.mark.parametrize("shape", [(10_001,), (101, 77)])
def test_what_becomes_of_a_draw_is_in_its_kernel(shape):
    x, y = (tfr.asarray(np.ones(shape, np.float32)).to_device("llvm") for _ in range(2))
    plan = tfr.explain(random.normal(shape, device="llvm") * x + y)
    assert plan.kernels == 1
    assert x.nbytes + y.nbytes <= plan.bytes_read < x.nbytes + y.nbytes + NUMBERS
    plan = tfr.explain(tfr.mean(random.normal(shape, device="llvm") * x))
    assert plan.kernels == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_slice_of_a_draw_computes_what_it_shows(engine):
    for draw in (random.uniform, random.normal, random.exponential):
        whole = draw(100_000, dtype="float32", device=engine, key=random.key(3))
        part = whole[5:9]
        few = draw(4, dtype="float32", device=engine, key=random.key(3))
        assert tfr.explain(part).flops == tfr.explain(few).flops
        found = part.numpy()
        assert found.tolist() == whole.numpy()[5:9].tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_other_keys_and_counters_need_no_other_plan(engine):
    PLANS.clear()
    generator = random.default_rng(9)
    found = set()
    for seed in (0, 1, 2, 3, 2**32, 2**64 - 1):
        key = random.key(seed)
        found.add((random.uniform(5000, device=engine, dtype="float32", key=key) * 2)[0].item())
    for _ in range(3):
        drawn = random.uniform(5000, device=engine, dtype="float32", key=generator._stream) * 2
        found.add(drawn[0].item())
    assert len(PLANS) == 1
    assert len(found) == 9


@compiled
def test_other_keys_counters_and_sizes_need_no_other_kernel():
    def draw(size, key):
        return random.normal(size, device="llvm", key=key).compute()

    draw(5000, random.key(0))
    compilations = tfr.cache.info().compilations
    for seed in (1, 2, 2**64 - 1):
        draw(5000, random.key(seed))
        draw(5001 + seed % 7, random.default_rng(seed)._stream)
    assert tfr.cache.info().compilations == compilations


@pytest.mark.sweep(3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("every", "width"), SHARES)
def test_draws_of_more_than_two_to_the_32_elements(engine, every, width):
    size, first, counter = 2**32 + 1000, 2**32 - 3, 2**32 - 5
    drawn = lanes(positions((size,), engine), width, stream(counter), every=every)
    known = expected(counter, 8, every, width, first).T
    for one, column in zip(drawn, known, strict=True):
        assert one[first : first + 8].numpy().tolist() == column.tolist()


def test_a_recorded_draw_of_more_than_two_to_the_32_elements():
    @tfr.jit
    def few(key):
        return random.uniform(2**32 + 8, key=key)[2**32 - 2 :]

    for seed in (1, 2):
        drawn = random.uniform(2**32 + 8, key=random.key(seed))[2**32 - 2 :]
        assert few(random.key(seed)).tolist() == drawn.tolist()


def test_a_result_stays_when_others_are_drawn():
    def draw(seed):
        return lanes(positions((1000,), "numpy"), 4, random.key(seed))[1].numpy()

    found = draw(1)
    kept = found.copy()
    draw(2)
    np.testing.assert_array_equal(found, kept)


@pytest.mark.parametrize("threads", [1, 4])
def test_blocks_of_several_threads_are_those_of_one(threads):
    known = random_words(KEY, 0, 1_500_001)
    with tfr.config.override(threads=threads):
        for _ in range(3):
            (drawn,) = lanes(positions((1_500_001,), "numpy"), 1, random.key(KEY))
            np.testing.assert_array_equal(drawn.numpy(), known)
