"""The values of a group's threads are joined in one order, by shuffles and in memory, on every device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.device.trials import joins
from tensorframe.backends.registry import backend_of
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.cuda import DIALECT
from tensorframe.codegen.wgsl import print_kernel as print_shader
from tensorframe.codegen.wgsl_functions import Wgsl
from tensorframe.kernel import ir
from tensorframe.kernel.ir.interpret import run_groups
from tests.backends.webgpu import DEVICE as WEBGPU

LANES = 128
U32 = np.dtype(np.uint32)


@pytest.fixture(params=["cuda", "opencl", WEBGPU])
def queue(request: pytest.FixtureRequest) -> Iterator[Any]:
    """CUDA's text as C++ of the host, which emulates shuffles; PoCL, which has none; and llvmpipe."""
    with ExitStack() as stack:
        if request.param == "cuda":
            pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")
            from tests.backends import host_gpu

            if host_gpu.COMPILER is None:
                pytest.skip("kernels are compiled by the system's C++ compiler here")
            stack.enter_context(host_gpu.host_gpu(lanes=LANES))
        try:
            home = tfr.Device(request.param)
            opened = backend_of(home).open_device(home)  # type: ignore[attr-defined]
        except tfr.errors.TensorFrameError as error:
            pytest.skip(str(error))
        yield opened.queue


def kernel_of(dtype: np.dtype[Any], width: int, *, least: bool = False) -> ir.Kernel:
    """A kernel of one group: each thread's element, joined with those of its neighbours."""
    lane = ir.index("lane", U32)
    source, output = ir.Buffer("x0", dtype, ir.Role.INPUT), ir.Buffer("y0", dtype, ir.Role.OUTPUT)
    total, other = ir.variable("r", dtype), ir.variable("r_other", dtype)
    joined = ir.apply("minimum", total, other) if least else total + other
    lanes = ir.literal(LANES, U32)

    def by_all(statement: ir.Statement) -> ir.Loop:
        return ir.Loop(lane, ir.literal(0, U32), lanes, (statement,), over=ir.ParallelAxis.LANES)

    body = (
        by_all(ir.Set(total, ir.load(source, lane))),
        ir.Combine(total, other, joined, width),
        by_all(ir.Store(output, lane, total)),
    )
    row = ir.index("row", U32)
    first, last = ir.argument(ir.START.name, U32), ir.argument(ir.STOP.name, U32)
    loop = ir.Loop(row, first, last, body, parallel=True, over=ir.ParallelAxis.GROUPS)
    return ir.Kernel((source,), (output,), (), (), (loop,), lanes=LANES)


def run_on(queue: Any, kernel: ir.Kernel, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    buffers = [queue.allocate(x.nbytes) for _ in range(2)]
    queue.write(buffers[0], 0, x.view(np.uint8))
    queue.launch(queue.build(kernel), 1, buffers, np.array([1, 0], np.uint32))
    result: np.ndarray[Any, Any] = queue.read(buffers[1], 0, x.nbytes).view(x.dtype).copy()
    for buffer in buffers:
        queue.release(buffer)
    return result


def interpreted(kernel: ir.Kernel, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    result = np.zeros_like(x)
    memory = {kernel.inputs[0]: x, kernel.outputs[0]: result}
    run_groups(kernel, 1, memory, {}, groups=1, lanes=LANES)
    return result


@pytest.mark.sweep(2)
@pytest.mark.parametrize("width", [0, 2, 8, 32, 64])
def test_every_width_has_the_bits_of_the_interpreter(queue: Any, width: int) -> None:
    rng = np.random.default_rng(width)
    for dtype in map(np.dtype, ("float32", "int32", "float64")):
        if dtype == np.float64 and queue.traits.widest != dtype:
            continue
        x = (rng.standard_normal(LANES) * 10.0 ** rng.integers(0, 6, LANES)).astype(dtype)
        for least in (False, True):
            kernel = kernel_of(dtype, width, least=least)
            np.testing.assert_array_equal(run_on(queue, kernel, x), interpreted(kernel, x))


@pytest.mark.parametrize(("width", "barriers"), [(0, 2), (32, 0), (8, 0), (64, 2)])
def test_only_what_warps_have_goes_through_memory(width: int, barriers: int) -> None:
    text = print_kernel(kernel_of(np.dtype(np.float32), width), DIALECT).source
    assert text.count("__syncthreads();") == barriers


@pytest.mark.parametrize(
    ("width", "subgroup", "barriers"), [(0, 32, 2), (32, 32, 0), (0, 8, 3), (32, 8, 2), (0, 0, 4)]
)
def test_what_subgroups_have_does_not_go_through_memory(
    width: int, subgroup: int, barriers: int
) -> None:
    dialect = Wgsl(half=False, double=False, immediates=128, subgroup=subgroup)
    text = print_shader(kernel_of(np.dtype(np.float32), width), dialect).source
    assert text.count("workgroupBarrier();") == barriers
    assert ("subgroupShuffle(" in text) == ("subgroup_invocation_id" in text) == (subgroup > 0)


def test_a_trial_tells_subgroups_of_other_threads() -> None:
    """Where values come from the thread beside, the sum is the same, and what is joined is not."""

    def run(by: int) -> Callable[..., list[np.ndarray[Any, Any]]]:
        def run(kernel: ir.Kernel, operands: list[np.ndarray[Any, Any]]) -> list[Any]:
            return [interpreted(kernel, np.roll(operands[0], by))]

        return run

    assert joins(LANES, run(0))
    assert not joins(LANES, run(1))
