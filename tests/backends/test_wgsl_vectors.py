"""Operands that WebGPU binds as vectors: how kernels declare them, and that others are launched where they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.codegen.wgsl import Shader, print_kernel
from tensorframe.codegen.wgsl_functions import Wgsl
from tensorframe.kernel import ir
from tensorframe.kernel.nest.passes.positions import with_positions
from tests.backends.webgpu import DEVICES, needs_adapter
from tests.builds import forget_builds

FULL = Wgsl(half=True, double=True, immediates=128)
WITHOUT_HALF = Wgsl(half=False, double=True, immediates=128)


def copied(dtype: str, dialect: Wgsl, width: int = 8, **options: Any) -> Shader:
    """The text of a kernel that copies elements, so many at once."""
    x, y = (
        ir.Buffer(name, np.dtype(dtype), role)
        for name, role in (("x0", ir.Role.INPUT), ("y0", ir.Role.OUTPUT))
    )
    i = ir.index("i")
    stores = (ir.Store(y, i, ir.load(x, i)), *options.pop("more", lambda *_: ())(x, y, i))
    grid = ir.ParallelAxis.GRID
    loop = ir.Loop(i, ir.START, ir.STOP, stores, parallel=True, over=grid, width=width)
    body = with_positions((loop,), (), np.dtype(np.uint32))
    return print_kernel(ir.Kernel((x,), (y,), (), (), body, lanes=64), dialect, **options)


@pytest.mark.parametrize(
    ("dtype", "dialect", "kind"),
    [
        ("float32", FULL, "vec4<f32>"),
        ("int8", FULL, "vec4<i32>"),
        ("bool", FULL, "vec4<u32>"),
        ("float16", FULL, "vec4<f16>"),
        ("float16", WITHOUT_HALF, "vec4<f32>"),
        ("float64", FULL, "vec2<f64>"),
        ("int64", FULL, "vec2<i64>"),
    ],
)
def test_accesses_have_16_bytes_where_elements_allow_it(
    dtype: str, dialect: Wgsl, kind: str
) -> None:
    shader = copied(dtype, dialect, vectors=True)
    assert f"<storage, read> x0: array<{kind}>" in shader.source
    assert f"<storage, read_write> y0: array<{kind}>" in shader.source
    # the operand begins with a vector; what is left over at the end is one thread's
    assert shader.multiples == ((1, int(kind[3])),)
    assert "vec" not in copied(dtype, dialect).source.partition("@compute")[0]


def test_few_elements_at_once_are_shorter_vectors() -> None:
    assert "x0: array<vec2<f32>>" in copied("float32", FULL, width=2, vectors=True).source


def test_threads_that_write_apart_write_elements() -> None:
    """A result that is written elsewhere, too, is no vector: another thread may write the one beside."""

    def twice(_x: ir.Buffer, y: ir.Buffer, i: ir.Index) -> tuple[ir.Statement, ...]:
        return (ir.Store(y, i * 2 + 1, ir.literal(1, np.dtype(np.float32))),)

    shader = copied("float32", FULL, vectors=True, more=twice)
    assert "x0: array<vec4<f32>>" in shader.source
    assert "y0: array<f32>" in shader.source


@pytest.fixture(params=DEVICES)
def queue(request: pytest.FixtureRequest) -> Iterator[Any]:
    """An adapter that takes 16 bytes at once in formulas, too, which those that are processors do not by themselves."""
    home = tfr.Device(request.param)
    queue = backend_of(home).open_device(home).queue  # type: ignore[attr-defined]
    before, queue.traits = queue.traits, replace(queue.traits, access=16)
    with tfr.config.override(small_size=0, small_nodes=0):
        yield request.param, queue
    queue.traits = before


@pytest.fixture
def watched(queue: Any, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the kernels that have been launched had vectors."""
    _, open_queue = queue
    with_vectors: list[bool] = []
    compiler = open_queue.compiler
    fitting = compiler.fitting

    def noted(built: Any, *given: Any) -> Any:
        pipeline = fitting(built, *given)
        with_vectors.append(pipeline is built.vectors)
        return pipeline

    monkeypatch.setattr(compiler, "fitting", noted)
    return with_vectors


@needs_adapter
def test_what_begins_between_vectors_is_taken_one_by_one(queue: Any, watched: list[bool]) -> None:
    device, _ = queue
    x = np.linspace(-3, 3, 8 * 320, dtype=np.float32).reshape(8, 320)
    moved = tfr.asarray(x, device=device).compute()
    for first, expected in ((0, True), (4, True), (1, False)):
        flat = moved.reshape(-1)[first:]
        rows = moved[:, first:]
        watched.clear()
        np.testing.assert_array_equal((flat * 3 - 1).numpy(), x.ravel()[first:] * 3 - 1)
        found = (rows - tfr.max(rows, axis=1, keepdims=True)).numpy()
        assert watched == [expected] * 2
        cut = x[:, first:]
        np.testing.assert_array_equal(found, cut - cut.max(axis=1, keepdims=True))


@needs_adapter
def test_a_buffer_that_ends_within_a_vector_is_read_to_its_end(queue: Any) -> None:
    wgpu = pytest.importorskip("wgpu")
    device, open_queue = queue
    x = np.arange(21, dtype=np.float32)
    uses = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    buffer = open_queue.native.create_buffer_with_data(data=x, usage=uses)
    shared = tfr.from_native(buffer, shape=(21,), dtype="float32", device=device)
    assert (shared * 2).tolist() == (x * 2).tolist()


@needs_adapter
def test_products_read_ahead_by_vectors_where_factors_begin_with_them(
    queue: Any, watched: list[bool]
) -> None:
    """Up to the edge of each factor; where rows or factors begin elsewhere, element by element."""
    device, open_queue = queue
    open_queue.traits = replace(open_queue.traits, double_buffer=open_queue.traits.max_shared)
    forget_builds()
    x = np.random.default_rng(0).integers(-9, 9, (70, 53)).astype(np.float32)
    moved = tfr.asarray(x, device=device).compute()
    aligned = tfr.asarray(x[:, :52].copy(), device=device).compute()
    for left, right, expected in (
        (aligned, aligned.mT, True),
        (aligned[4:].mT, aligned[4:, 8:], True),
        (aligned[:, 1:], aligned[:51], False),
        (moved, moved.mT, False),
    ):
        result = left @ right
        text = str(tfr.explain(result, source=True))
        assert "together = x0[first / 4u]" in text
        assert "x0: array<vec4<f32>>" in text
        watched.clear()
        found = result.numpy()
        assert watched == [expected]
        np.testing.assert_array_equal(found, left.numpy() @ right.numpy())
    forget_builds()
