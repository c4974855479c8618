"""Threads of OpenCL join values by shuffles, which PoCL has none of: they are emulated in shared memory here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr

pytest.importorskip("pyopencl")

import pyopencl as cl

from tensorframe.backends.opencl import subgroups
from tensorframe.backends.opencl.compiler import Compiler
from tensorframe.backends.opencl.queue import OpenClQueue
from tensorframe.backends.registry import backend_of
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.opencl import dialect
from tensorframe.codegen.text import Text
from tests.backends.test_joining import LANES, interpreted, kernel_of, run_on
from tests.builds import forget_builds

pytestmark = pytest.mark.skipif(
    "opencl" not in tfr.backends.available(), reason="there is no OpenCL device"
)
# a statement in parentheses is an expression of Clang's, which PoCL compiles with
_EMULATION = """
#define get_sub_group_local_id() ((uint)({own}))
#define sub_group_shuffle(x, lane) ({{ \\
    __local __typeof__(x)* all_values = (__local __typeof__(x)*)shuffle_memory; \\
    barrier(CLK_LOCAL_MEM_FENCE); \\
    all_values[get_local_id(0)] = (x); \\
    barrier(CLK_LOCAL_MEM_FENCE); \\
    all_values[{place}]; }})
"""
_OWN = "get_local_id(0) % {size}u"
_NEIGHBOUR = "get_local_id(0) / {size}u * {size}u + (lane)"


def emulating(monkeypatch: pytest.MonkeyPatch, size: int, place: str = _NEIGHBOUR) -> None:
    """Have drivers compile shuffles among so many neighbours; elements come from a `place` in memory."""
    compiled = Compiler.compiled
    emulation = _EMULATION.format(own=_OWN.format(size=size), place=place.format(size=size))

    def with_shuffles(compiler: Compiler, source: str, *options: str) -> Any:
        if "sub_group_shuffle(" in source:
            memory = f")\n{{\n    __local ulong shuffle_memory[{compiler.lanes}];\n"
            source = emulation + source.replace(")\n{\n", memory)
        return compiled(compiler, source, *options)

    monkeypatch.setattr(Compiler, "compiled", with_shuffles)
    monkeypatch.setattr(subgroups, "size_in", lambda *_: size)


def opened(monkeypatch: pytest.MonkeyPatch) -> OpenClQueue:
    """A queue of a device that says that it has shuffles."""
    monkeypatch.setattr(subgroups, "language", lambda _: "CL1.2")
    (device, *_) = [one for platform in cl.get_platforms() for one in platform.get_devices()]
    return OpenClQueue(device)


@pytest.mark.parametrize(
    ("size", "place", "among"),
    [
        (32, _NEIGHBOUR, 32),
        (64, _NEIGHBOUR, 32),
        (16, _NEIGHBOUR, 8),
        (4, _NEIGHBOUR, 0),
        (32, "(get_local_id(0) / {size}u * {size}u + (lane) + 1u) % 256u", 0),
    ],
)
def test_a_trial_finds_among_how_many_threads_there_are_shuffles(
    monkeypatch: pytest.MonkeyPatch, size: int, place: str, among: int
) -> None:
    emulating(monkeypatch, size, place)
    assert opened(monkeypatch)._compiler.dialect.subgroup == among


def test_what_a_driver_does_not_compile_is_joined_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subgroups, "size_in", lambda *_: 32)
    queue = opened(monkeypatch)
    assert queue._compiler.dialect.subgroup == 0
    x = np.arange(LANES, dtype=np.float32)
    kernel = kernel_of(x.dtype, 0)
    np.testing.assert_array_equal(run_on(queue, kernel, x), interpreted(kernel, x))


def test_kernels_of_smaller_subgroups_join_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers choose how many threads those of a kernel have."""
    emulating(monkeypatch, 32)
    queue = opened(monkeypatch)
    sizes = [16, 0]
    monkeypatch.setattr(subgroups, "size_in", lambda *_: sizes.pop())
    texts: list[str] = []
    compiled = queue._compiler.compile

    def noting(text: Text) -> Any:
        texts.append(text.source)
        return compiled(text)

    monkeypatch.setattr(queue._compiler, "compile", noting)
    for dtype in ("float32", "int32"):
        x = np.arange(LANES).astype(dtype)
        kernel = kernel_of(x.dtype, 0)
        np.testing.assert_array_equal(run_on(queue, kernel, x), interpreted(kernel, x))
    assert ["sub_group_shuffle(" in text for text in texts] == [True, False] * 2


@pytest.mark.parametrize("size", [8, 32])
@pytest.mark.parametrize("width", [0, 8, 32, 64])
def test_every_width_has_the_bits_of_the_interpreter(
    monkeypatch: pytest.MonkeyPatch, size: int, width: int
) -> None:
    emulating(monkeypatch, size)
    queue = opened(monkeypatch)
    assert queue._compiler.dialect.subgroup == size
    rng = np.random.default_rng(width)
    for dtype in map(np.dtype, ("float32", "int32", "float64")):
        x = (rng.standard_normal(LANES) * 10.0 ** rng.integers(0, 6, LANES)).astype(dtype)
        kernel = kernel_of(dtype, width)
        np.testing.assert_array_equal(run_on(queue, kernel, x), interpreted(kernel, x))


@pytest.mark.parametrize(
    ("width", "subgroup", "barriers"), [(0, 32, 2), (32, 32, 0), (0, 8, 3), (32, 8, 2), (0, 0, 4)]
)
def test_what_subgroups_have_does_not_go_through_memory(
    width: int, subgroup: int, barriers: int
) -> None:
    kernel = kernel_of(np.dtype(np.float32), width)
    text = print_kernel(kernel, dialect(double=True, subgroup=subgroup)).source
    assert text.count("barrier(CLK_LOCAL_MEM_FENCE);") == barriers
    assert ("sub_group_shuffle(" in text) == (subgroup > 0)


@pytest.fixture
def shuffling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Has the device's own queue shuffle among so many threads, or not at all."""
    emulating(monkeypatch, 32)
    home = tfr.Device("opencl")
    queue = backend_of(home).open_device(home).queue  # type: ignore[attr-defined]
    own = queue._compiler.dialect

    def among(size: int) -> None:
        queue._compiler.dialect = dialect(double=queue.traits.widest == np.float64, subgroup=size)
        forget_builds()

    with tfr.config.override(small_size=0, small_nodes=0):
        yield among
    queue._compiler.dialect = own
    forget_builds()


PROGRAMS: dict[str, Callable[[tfr.Tensor], tfr.Tensor]] = {
    "sum": tfr.sum,
    "softmax": partial(tfr.softmax, axis=1),
    "variance": partial(tfr.var, axis=1),
    "argmax": partial(tfr.argmax, axis=1),
    "any": lambda x: tfr.any(x > 2.5, axis=1),
    "least byte": lambda x: tfr.min(tfr.astype(x * 9, "int8"), axis=1),
    "sum of float64": lambda x: tfr.sum(tfr.astype(x, "float64"), axis=1),
    "median": partial(tfr.median, axis=1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_bits_that_they_have_without(
    shuffling: Callable[[int], None], name: str
) -> None:
    x = np.random.default_rng(1).standard_normal((5, 3000)).astype(np.float32)
    found = []
    for size in (0, 32, 8):
        shuffling(size)
        result = PROGRAMS[name](tfr.asarray(x, device="opencl"))
        text = str(tfr.explain(result, source=True))
        assert ("sub_group_shuffle(" in text) == (size > 0)
        found.append(result.numpy())
    for other in found[1:]:
        assert other.tobytes() == found[0].tobytes()


@pytest.mark.parametrize(
    ("kind", "version", "extensions", "language"),
    [
        (cl.device_type.GPU, "OpenCL 3.0 NEO", "cl_khr_subgroups cl_khr_subgroup_shuffle", "CL3.0"),
        (cl.device_type.GPU, "OpenCL 2.1 x", "cl_khr_subgroups cl_khr_subgroup_shuffle", "CL2.0"),
        (cl.device_type.GPU, "OpenCL 1.2 x", "cl_khr_subgroups cl_khr_subgroup_shuffle", None),
        (cl.device_type.GPU, "OpenCL 3.0 CUDA", "cl_khr_subgroups", None),
        (cl.device_type.CPU, "OpenCL 3.0 PoCL", "cl_khr_subgroups cl_khr_subgroup_shuffle", None),
    ],
)
def test_devices_are_asked_for_both_extensions(
    kind: int, version: str, extensions: str, language: str | None
) -> None:
    device = SimpleNamespace(type=kind, version=version, extensions=extensions)
    assert subgroups.language(device) == language
