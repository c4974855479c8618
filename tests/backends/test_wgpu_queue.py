"""The queue of WebGPU: what is submitted together, writes among kernels, windows of large operands, errors."""

import gc
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.backends.wgpu import engine
from tensorframe.errors import KernelError, OutOfMemoryError
from tensorframe.graph.device import Device
from tensorframe.kernel.ir import (
    START,
    STOP,
    Buffer,
    Kernel,
    Loop,
    ParallelAxis,
    Role,
    Store,
    argument,
    index,
    load,
)
from tests.backends.webgpu import DEVICE, needs_adapter
from tests.builds import forget_builds

pytest.importorskip("wgpu")
import wgpu

from tensorframe.backends.wgpu import modules
from tensorframe.backends.wgpu.adapters import adapters
from tensorframe.backends.wgpu.queue import WgpuQueue

pytestmark = needs_adapter

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32"]


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.fixture
def place():
    return backend_of(Device(DEVICE)).open_device(Device(DEVICE))


@pytest.fixture
def queue(place):
    return place.queue


@pytest.fixture
def narrow(queue):
    """The queue, on which a kernel sees 64 KiB of an operand at most."""
    before = queue.traits
    queue.traits = replace(before, max_block=1 << 16)
    yield queue
    queue.traits = before


def on_device(x):
    return tfr.asarray(x, device=DEVICE)


def numbers(count=100_003):
    return np.random.default_rng(0).integers(-50, 50, count).astype(np.float32)


def test_fifty_ops_are_one_submission(queue):
    x = numbers(1000)
    y = on_device(x)
    y.compute()
    before = queue.submissions
    result = reduce(lambda total, step: tfr.abs(total) - step, range(25), y)
    assert np.array_equal(
        result.numpy(), reduce(lambda total, step: abs(total) - step, range(25), x)
    )
    assert queue.submissions == before + 1


def test_kernels_that_wait_for_each_other_are_one_submission(queue):
    x = numbers(64 * 1000).reshape(64, 1000)
    y = on_device(x)
    y.compute()
    before = queue.submissions
    total = tfr.sum(y - tfr.sum(y, axis=0))
    launches = len(queue._recording._commands)
    assert total.numpy() == np.sum(x.astype(np.float64) - np.sum(x, axis=0))
    assert queue.submissions == before + 1, launches


def test_many_launches_are_several_submissions(queue):
    """The device begins before the last launch is recorded."""
    x = numbers(100)
    y = on_device(x)
    y.compute()
    before = queue.submissions
    with tfr.config.override(fuse=False):
        result = reduce(lambda total, step: tfr.abs(total) - step, range(150), y).numpy()
    assert np.array_equal(result, reduce(lambda total, step: abs(total) - step, range(150), x))
    assert queue.submissions == before + 3


def test_what_somebody_has_waited_for_is_not_waited_for_again(queue):
    x = on_device(numbers(100)).compute()
    tfr.synchronize(DEVICE)
    before = queue.submissions
    tfr.synchronize(DEVICE)
    assert queue.submissions == before
    (x + 1).compute()  # waits for a mark, behind the kernel in its submission
    tfr.synchronize(DEVICE)
    assert queue.submissions == before + 1


def test_what_was_given_since_is_waited_for(queue):
    buffer = queue.allocate(4)
    for give in (
        lambda: queue.write(buffer, 0, np.zeros(4, np.uint8)),
        lambda: queue.copy(buffer, 0, queue.allocate(4), 0, 4),
    ):
        queue.synchronize()
        before = queue.submissions
        give()
        queue.synchronize()
        assert queue.submissions == before + 1


def test_marks_use_what_earlier_ones_were_copied_to(queue):
    queue.mark().wait()
    stage = queue._stages[-1]
    queue.mark().wait()
    assert queue._stages[-1] is stage
    marks = [queue.mark() for _ in range(20)]
    for mark in reversed(marks):
        mark.wait()
    assert all(mark.is_done() for mark in marks)
    assert len(queue._stages) < len(marks)


def test_a_write_comes_after_what_is_recorded(place):
    queue, pool = place.queue, place.pool
    results = []
    for step in range(6):
        x = np.full(500, step, np.float32)
        results.append(
            tfr.compute(on_device(x) * 3)
        )  # the operand's block is free for the next one
    for step, result in enumerate(results):
        (found,) = result if isinstance(result, tuple) else (result,)
        assert np.array_equal(found.numpy(), np.full(500, 3 * step, np.float32))
    assert pool.statistics.in_use >= 0
    assert queue.submissions > 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_anywhere_in_a_buffer_are_read(dtype):
    x = (np.arange(101) % 7).astype(dtype)
    y = on_device(x)
    for first, last in ((0, 101), (1, 2), (3, 50), (99, 101), (100, 101)):
        assert np.array_equal(y[first:last].numpy(), x[first:last])


PROGRAMS = {
    "a map": lambda xp, x: (x * 2 + x)[5:],
    "an offset": lambda xp, x: x[77:99_000] * 3,
    "a few elements": lambda xp, x: x[50:70] * 3,
    "backwards": lambda xp, x: x[::-1] * 2,
    "a few backwards": lambda xp, x: x[::-1][5:200] + 0.5,
    "neighbours": lambda xp, x: x[3:] > x[:-3],
    "strides": lambda xp, x: x[::7] * 2,
    "half precision": lambda xp, x: xp.astype(x, xp.float16) * 2,
    "words for bytes": lambda xp, x: xp.astype(x, xp.int8) + xp.astype(x, xp.int8),
    "a total": lambda xp, x: xp.sum(x),
    "rows": lambda xp, x: xp.sum(xp.reshape(x[:100_000], (100, 1000)), axis=1),
    "rows of several passes": lambda xp, x: (
        xp.reshape(x[:100_000], (100, 1000))
        - xp.max(xp.reshape(x[:100_000], (100, 1000)), axis=1, keepdims=True)
    ),
    "generated": lambda xp, x: x * xp.arange(100_003, dtype=xp.float32),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operands_larger_than_a_kernel_may_see(narrow, name):
    x = numbers()
    with tfr.use_backend(DEVICE):
        found = PROGRAMS[name](tfr, tfr.asarray(x))
    expected = PROGRAMS[name](np, x)
    assert np.array_equal(found.numpy(), expected)


def test_factors_larger_than_a_kernel_may_see_are_read_ahead(narrow):
    """By windows, which begin between vectors."""
    narrow.traits = replace(narrow.traits, double_buffer=narrow.traits.max_shared)
    forget_builds()
    x, y = numbers(1600 * 50).reshape(1600, 50), numbers(50 * 30).reshape(50, 30)
    result = on_device(x) @ on_device(y)
    assert "next_left0_0_3" in str(tfr.explain(result, source=True))
    assert np.array_equal(result.numpy(), x @ y)
    forget_builds()


def test_what_needs_all_of_a_large_operand_names_the_limit(narrow):
    places = on_device(np.array([5, 100_000, 7]))
    with pytest.raises(KernelError, match=r"(?s)larger than the 65536 bytes .*recorded at"):
        tfr.take(on_device(numbers()), places).numpy()
    assert np.array_equal((on_device(numbers(10)) + 1).numpy(), numbers(10) + 1)


def test_a_buffer_survives_the_collector_of_cycles(place):
    """A block and wgpu's buffer in one cycle are finalised together, though the pool keeps the buffer."""
    array = on_device(numbers(777))
    array.compute()
    cycle = [array]
    cycle.append(cycle)
    del array, cycle
    gc.collect()
    assert np.array_equal((on_device(numbers(777)) * 2).numpy(), numbers(777) * 2)


def test_memory_has_an_end_and_is_usable_afterwards(place):
    x = on_device(numbers(10))
    x.compute()
    place.pool.trim()
    place.pool.budget.set(place.pool.statistics.in_use + (1 << 16))
    try:
        with pytest.raises(OutOfMemoryError):
            tfr.compute(on_device(numbers()) * 2)
    finally:
        place.pool.budget.set(None)
    assert np.array_equal((on_device(numbers()) * 2).numpy(), numbers() * 2)


def test_a_buffer_that_cannot_be_is_out_of_memory(queue):
    with pytest.raises(MemoryError, match="at most"):
        queue.allocate(1 << 50)


def test_words_that_are_no_immediates(queue):
    """Launches of one submission have their own words in a common buffer."""
    before = queue.compiler.dialect
    queue.compiler.dialect = replace(before, immediates=0)
    try:
        x = numbers(3000)
        y = on_device(x)
        found = [y * step + tfr.sum(y) for step in range(5)]
        tfr.compute(*found)
        for step, one in enumerate(found):
            assert np.array_equal(one.numpy(), x * step + np.sum(x, dtype=np.float64).astype("f4"))
    finally:
        queue.compiler.dialect = before


def test_wgpu_errors_are_told(queue):
    buffer = queue.allocate(256)
    with pytest.raises(KernelError, match="WebGPU: a copy on the device fails"):
        queue.copy(buffer, 0, buffer, 3, 5)
    assert np.array_equal((on_device(numbers(10)) + 1).numpy(), numbers(10) + 1)


def test_more_results_than_a_kernel_may_have_buffers(queue):
    x = numbers(20_000)
    before = queue.traits
    queue.traits = replace(before, max_buffers=5)
    try:
        with tfr.use_backend(DEVICE):
            y = tfr.asarray(x)
            found = [y * step for step in range(2, 12)] + [tfr.sum(y), tfr.max(y), tfr.min(y)]
            tfr.compute(*found)
    finally:
        queue.traits = before
    expected = [x * step for step in range(2, 12)] + [np.sum(x), np.max(x), np.min(x)]
    for one, value in zip(found, expected, strict=True):
        assert np.array_equal(one.numpy(), value)


def test_a_broken_driver_is_a_reason(monkeypatch):
    def broken():
        raise OSError("no driver")

    monkeypatch.setattr(engine, "_adapters", broken)
    assert engine.WgpuBackend().probe() == "wgpu finds nothing: OSError: no driver"


def test_bind_groups_are_forgotten_with_their_buffers(queue):
    buffers = [queue.allocate(256) for _ in range(3)]
    built = queue.build(addition())
    words = np.array([4, 0, 0], np.uint32)
    for _ in range(2):
        queue.launch(built, 1, buffers, words)
    assert len(built.pipeline.groups) >= 1
    known = len(built.pipeline.groups)
    for buffer in buffers:
        queue.release(buffer)
    assert len(built.pipeline.groups) == known - 1


def addition():
    """A kernel that adds two operands."""
    at = index("i", np.dtype(np.uint32))
    x, y = (Buffer(name, np.dtype(np.float32), Role.INPUT) for name in ("x0", "x1"))
    output = Buffer("y0", np.dtype(np.float32), Role.OUTPUT)
    store = Store(output, at, load(x, at) + load(y, at))
    first, last = (argument(name, at.dtype) for name in (START.name, STOP.name))
    loop = Loop(at, first, last, (store,), parallel=True, over=ParallelAxis.GRID)
    return Kernel((x, y), (output,), (), (), (loop,), lanes=64)


def test_modules_are_made_without_the_function_for_trusted_ones(queue, monkeypatch):
    made = []

    class Device:
        def create_shader_module(self, **passed):
            made.append(passed)
            return "module"

    assert modules.shader_module(Device(), "k", "text") == "module"  # it has no handle inside
    assert made == [{"label": "k", "code": "text"}]


def test_loops_are_not_counted(queue, monkeypatch):
    """Modules are made as trusted ones: the usual way is not taken."""
    monkeypatch.setattr(type(queue._device), "create_shader_module", None)
    x = on_device(numbers(10))
    assert np.array_equal(
        (x * 3 - x * x * 7 + 11).numpy(), numbers(10) * (3 - numbers(10) * 7) + 11
    )


def test_text_that_is_wrong_is_told(queue):
    with pytest.raises(wgpu.GPUError, match="expected"):
        modules.shader_module(queue._device, "k", "fn k( {")


def test_a_lost_device_is_told():
    lost = WgpuQueue(adapters()[0])
    buffer = lost.allocate(1024)
    lost.synchronize()
    lost._device.destroy()
    with pytest.raises(KernelError, match="the device is lost"):
        lost.read(buffer, 0, 1024)
    with pytest.raises(KernelError, match="the device is lost"):
        lost.allocate(1024)
