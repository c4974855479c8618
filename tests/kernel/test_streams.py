"""Large outputs: made in scratch memory, a block at a time, and written past the caches."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.llvm.program import KernelProgram
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.forms import builder
from tensorframe.kernel.ir import Loop, StreamingStore
from tensorframe.machine import HOST
from tensorframe.ops.elementwise import ADD
from tests.kernel.interpreted import interpreted, kernels_of


@pytest.fixture
def everything_is_large(monkeypatch):
    """Blocks are of 128 float32, and rows of 32 elements long enough."""
    monkeypatch.setattr(builder, "HOST", HOST._replace(streamed=range(1, 1 << 40)))
    monkeypatch.setattr(builder, "STREAM", 512)


def on_llvm(values):
    return tfr.asarray(values, device="llvm")


def numbers(*shape, dtype="float32"):
    return (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)


def streams(kernel):
    loops = [statement for statement in kernel.body if isinstance(statement, Loop)]
    return [
        statement
        for loop in loops
        for statement in loop.body
        if isinstance(statement, StreamingStore)
    ]


def check(tensors, expected, count=1):
    (kernel,) = kernels_of(*tensors)
    assert len(streams(kernel)) == count
    for found, tensor, wanted in zip(interpreted(*tensors), tensors, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(tensor.numpy(), wanted)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "uint64"])
@pytest.mark.parametrize("size", [32, 127, 128, 129, 1000])
def test_vectors(everything_is_large, dtype, size):
    x = numbers(size, dtype="float32").astype(dtype)
    check([on_llvm(x) + on_llvm(x)], [x + x])


def test_answers(everything_is_large):
    x = numbers(300)
    check([on_llvm(x) > 1], [x > 1])


@pytest.mark.parametrize(("columns", "on_line"), [(32, True), (48, True), (77, False)])
def test_rows_begin_with_lines_where_they_are_whole_ones(everything_is_large, columns, on_line):
    x = on_llvm(numbers(9, columns))
    (kernel,) = kernels_of(x - tfr.max(x, axis=1, keepdims=True))
    assert [stream.on_line for stream in streams(kernel)] == [on_line]


@pytest.mark.parametrize("columns", [48, 160, 304])
def test_rows_of_whole_lines(everything_is_large, columns):
    x, y = numbers(7, columns + 9), numbers(columns)
    check([on_llvm(x)[:, 3 : columns + 3] * on_llvm(y)], [x[:, 3 : columns + 3] * y])


def test_a_transposed_result_is_written_along_its_memory(everything_is_large):
    x, y = numbers(60, 80), numbers(80)
    tensor = on_llvm(x).T * 2 + on_llvm(y)[:, None]
    check([tensor], [x.T * np.float32(2) + y[:, None]])
    assert tensor.numpy().flags.f_contiguous


def test_two_results_of_different_dtypes(everything_is_large):
    x = numbers(500)
    y = on_llvm(x) * 3
    check([y, y > 0], [x * np.float32(3), x > 0], count=2)


def test_rare_sides(everything_is_large):
    x = np.linspace(0, 1e6, 400, dtype=np.float32)
    tensor = tfr.sin(on_llvm(x))
    np.testing.assert_allclose(tensor.numpy(), np.sin(x.astype(np.float64)), atol=2e-7)
    (kernel,) = kernels_of(tfr.sin(on_llvm(x)))
    assert len(streams(kernel)) == 1


OTHERS = {
    "rows that begin anywhere in a line": lambda x: x[:, :50] * 2.0 + x[:, :1],
    "short rows": lambda x: x[:, :8] * 2.0 + x[:, :1],
    "tiles": lambda x: x + x.T,
    "complex numbers": lambda x: tfr.astype(x * 2.0, tfr.complex64) * 1j,
    "pieces": lambda x: tfr.concat([x, x * 2.0]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_stored_as_they_are_made(everything_is_large, name):
    (kernel,) = kernels_of(OTHERS[name](on_llvm(numbers(64, 64))))
    assert not streams(kernel)


def test_only_large_outputs_are_streamed():
    bytes_of = {False: 1 << 20, True: 16 << 20}
    for large, size in bytes_of.items():
        source = str((on_llvm(np.ones(size // 4, np.float32)) + 1).explain(source=True))
        assert ("stream_float32" in source, "fence()" in source) == (large, large)


def test_large_results_begin_with_a_line_of_the_cache():
    x = on_llvm(np.ones((1000, 999), np.float32))
    for result in ((x + 1).numpy(), (x.T * 2).numpy()):
        assert result.ctypes.data % 64 == 0
    assert (x.T * 2).numpy().strides == (4, 4 * 999)


@pytest.mark.parametrize("bound", [False, True])
def test_buffers_that_begin_within_a_line_are_not_taken_over(bound):
    """What is streamed there would take three times as long."""
    size, dtype = HOST.streamed.start // 4, np.dtype("float32")
    op = RegionOp(ADD, (), (0, 0), (size,), dtype)
    program = KernelProgram(Region((((size,), dtype),), (op,), (1,)))
    x, memory = np.ones(size, dtype), np.empty(size + 32, dtype)
    first = -memory.ctypes.data // 4 % 16
    for shift in (0, 1, 16):
        buffer = memory[first + shift :][:size]
        if bound:
            (result,) = program.bind([x], [buffer]).outputs
        else:
            (result,) = program([x], [buffer])
            assert result.sum() == 2 * size
        assert (result is buffer) == (shift != 1)


def test_threads_do_not_matter(everything_is_large):
    x = numbers(100_003)
    found = []
    for threads in (1, 2, 5):
        with tfr.config.override(threads=threads):
            found.append((tfr.exp(on_llvm(x) / 50) + 1).numpy())
    assert all(np.array_equal(found[0], one) for one in found[1:])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("columns", [32, 77, 300])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_rows_that_need_several_passes(everything_is_large, columns, dtype):
    x = np.random.default_rng(0).integers(-4, 5, (9, columns)).astype(dtype)
    t = on_llvm(x)
    largest = x.max(axis=1, keepdims=True)
    check([t - tfr.max(t, axis=1, keepdims=True)], [x - largest])
    check([(t - tfr.max(t, axis=1, keepdims=True)) * 2 + t[:1]], [(x - largest) * 2 + x[:1]])


def test_rows_of_several_results(everything_is_large):
    """One with an element for each row, one of each pass."""
    x = np.random.default_rng(0).integers(-4, 5, (9, 50)).astype("float32")
    t = on_llvm(x)
    largest = tfr.max(t, axis=1)
    values = [t * 2, largest, t - tfr.expand_dims(largest, 1)]
    tfr.compute(*values)
    for found, wanted in zip(values, [x * 2, x.max(1), x - x.max(1)[:, None]], strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_columns_are_stored_as_ever(everything_is_large):
    x = np.random.default_rng(0).integers(-4, 5, (50, 60)).astype("float32")
    t = on_llvm(x)
    check([t - tfr.max(t, axis=0)], [x - x.max(0)], count=0)
