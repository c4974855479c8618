"""PoCL builds our kernels without reading the declarations of all of OpenCL C, and with them where something lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tensorframe as tfr

pytest.importorskip("pyopencl")

import pyopencl as cl

from tensorframe.backends.opencl.declarations import is_needed
from tensorframe.backends.opencl.queue import OpenClQueue
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.opencl import dialect

if TYPE_CHECKING:
    from tensorframe.kernel.ir import Kernel

POCL = [
    device
    for platform in cl.get_platforms()
    for device in platform.get_devices()
    if is_needed(device)
]
pytestmark = pytest.mark.skipif(
    not POCL or "opencl" not in tfr.backends.available(), reason="there is no PoCL"
)


@pytest.fixture(scope="module")
def kernels() -> list[Kernel]:
    """Kernels with halves, doubles and bytes, with groups that wait, and all functions of the language."""
    found: list[Kernel] = []
    build = OpenClQueue.build

    def recording(queue: OpenClQueue, kernel: Kernel) -> Any:
        found.append(kernel)
        return build(queue, kernel)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OpenClQueue, "build", recording)
        x = tfr.asarray(np.linspace(-2, 2, 60, dtype=np.float32).reshape(3, 20), device="opencl")
        half, double, whole = (
            tfr.astype(x, "float16"),
            tfr.astype(x, "float64"),
            tfr.astype(x, "int8"),
        )
        tfr.compute(
            tfr.sum(tfr.exp(x), axis=1),
            tfr.round(half) + tfr.sqrt(tfr.abs(half)),
            tfr.floor(double) * tfr.ceil(double) + tfr.trunc(tfr.sin(double)),
            tfr.copysign(x, double) // 3,
            whole @ whole.T,
            tfr.sort(x, axis=1),
            tfr.cumulative_sum(double, axis=1),
        )
        for length in (160, 1000):  # which no loop of a thread goes through, and which one does
            ones = tfr.asarray(np.ones((2, length), np.float16), device="opencl")
            tfr.sum(ones * 2, axis=1).compute()
    assert len(found) > 8
    return found


@pytest.mark.parametrize("processor", [True, False])
def test_all_that_kernels_use_is_declared(
    kernels: list[Kernel], processor: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = OpenClQueue(POCL[0])
    declared = queue._compiler.declared
    assert declared is not None
    if not processor:
        monkeypatch.setattr(queue._compiler, "dialect", dialect(double=True))
    for kernel in kernels:
        queue.build(kernel)
    assert queue._compiler.declared == declared


def test_processors_convert_halves_by_bits_and_read_vectors_only_in_loops(
    kernels: list[Kernel],
) -> None:
    short, long = kernels[-2:]
    for kernel, is_repeated in ((short, False), (long, True)):
        own = print_kernel(kernel, dialect(double=True, processor=True)).source
        of_gpus = print_kernel(kernel, dialect(double=True)).source
        assert "vload_half" in of_gpus
        assert "half" not in own
        assert "half_x8" in of_gpus
        assert ("ushort_x8" in own) == is_repeated


def test_what_is_not_declared_is_built_with_everything(
    kernels: list[Kernel], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = OpenClQueue(POCL[0])
    monkeypatch.setattr(queue._compiler, "declared", "void barrier(uint);")
    with caplog.at_level("INFO", "tensorframe"):
        for kernel in kernels[:2]:
            queue.build(kernel)
    assert queue._compiler.declared is None
    assert caplog.text.count("no kernel without the declarations of everything") == 1
