"""Kernels with accesses of 16 bytes compute what others do, with what is left over and where nothing is aligned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.codegen.pointer_vectors import alignment_of
from tensorframe.testing.compare import assert_close
from tests.backends.devices import FOUND

ON_PROCESSORS = [name for name in FOUND if name != "cuda"]


@pytest.fixture(params=["cuda", *ON_PROCESSORS])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """CUDA's text as C++ of the host, and devices that are processors, which do without wide accesses by themselves."""
    with ExitStack() as stack:
        stack.enter_context(tfr.config.override(small_size=0, small_nodes=0))
        if request.param == "cuda":
            pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")
            from tests.backends import host_gpu

            if host_gpu.COMPILER is None:
                pytest.skip("kernels are compiled by the system's C++ compiler here")
            stack.enter_context(host_gpu.host_gpu())
            yield "cuda"
            return
        home = tfr.Device(request.param)
        queue = backend_of(home).open_device(home).queue  # type: ignore[attr-defined]
        before = queue.traits
        queue.traits = replace(before, access=16)
        yield request.param
        queue.traits = before


@pytest.mark.parametrize("size", [1, 3, 4, 5, 4099])
@pytest.mark.parametrize("start", [0, 1, 4])
def test_every_end_and_beginning(device: str, size: int, start: int) -> None:
    x = np.linspace(-2, 2, size + start, dtype=np.float32)
    moved = tfr.asarray(x, device=device).compute()[start:]
    shifted = moved * 3 + 1
    assert size == 1 or "vectors" in shifted.explain(source=True)
    assert_close(shifted.numpy(), x[start:] * np.float32(3) + np.float32(1), ulp=0)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "int64", "bool"])
def test_every_size_of_element(device: str, dtype: str) -> None:
    values = np.arange(37) % 5
    wanted = tfr.asarray(values, device="cpu").astype(dtype)
    x = tfr.asarray(values, device=device).astype(dtype).compute()
    chosen = tfr.where(x == x, x, x)
    assert chosen.dtype == wanted.dtype
    assert chosen.astype("float32").tolist() == wanted.astype("float32").tolist()
    assert (x == x).tolist() == [True] * 37


def test_several_sizes_at_once(device: str) -> None:
    x = np.linspace(0, 9, 1003, dtype=np.float32)
    moved = tfr.asarray(x, device=device).compute()
    halves = moved.astype("float16").compute()
    assert_close((halves + moved).numpy(), x.astype(np.float16).astype(np.float32) + x, ulp=0)
    assert (moved > 4).tolist() == (x > 4).tolist()


@pytest.mark.sweep(3)
@pytest.mark.parametrize("length", [4, 8, 7, 12])
@pytest.mark.parametrize(
    "expression",
    [
        "x + x[0]",
        "x - x[:, :1]",
        "x[:, 1:] * 2 + x[:1, 1:]",
        "x[1:, :-3] + x[0, 3:]",
        "x[:, ::2] + x[0, ::2]",
        "x.reshape(3, 5, -1) + x[:5]",
        "tfr.take(x, i, axis=0) * x[1]",
        "tfr.where(x > x[2], x, i[:, None])",
        "tfr.stack([x, x + x[1]], axis=1)",
    ],
)
def test_rows(device: str, expression: str, length: int) -> None:
    """Neighbours in rows: of lengths and strides that are multiples of the width and others, sliced and broadcast."""
    x = (np.arange(15 * length, dtype=np.float32) ** 2 % 89).reshape(15, length)
    i = (np.arange(15) * 7 % 15).astype(np.int32)
    moved = {
        "tfr": tfr,
        **{name: tfr.asarray(array, device=device) for name, array in (("x", x), ("i", i))},
    }
    tfr.compute(moved["x"], moved["i"])
    got = eval(expression, moved)
    assert str(got.device) == device
    assert_close(
        got.numpy(), eval(expression, {"tfr": np, "x": x, "i": i}).astype(np.float32), ulp=0
    )


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "expression",
    [
        "tfr.sum(x, axis=1)",
        "tfr.max(x, axis=1)",
        "tfr.softmax(x, axis=1)",
        "tfr.sum(tfr.take(x, i, axis=0) * w, axis=1)",
        "x - tfr.mean(x, axis=1, keepdims=True)",
        "tfr.sum(tfr.concat([x[:, :8], x], axis=1), axis=1)",
    ],
)
def test_reductions_of_rows(device: str, expression: str, dtype: str) -> None:
    """Rows that begin at multiples of an access and others, and that end within a run, have the same bits."""
    rng = np.random.default_rng(7)

    def evaluated(where: str, first: int, *, copied: bool) -> np.ndarray[Any, Any]:
        arrays = {name: tfr.asarray(array, device=where) for name, array in operands.items()}
        tfr.compute(*arrays.values())
        cut = {name: array[..., first:] for name, array in arrays.items()}
        if copied:
            cut = {name: array.copy().compute() for name, array in cut.items()}
        rows = tfr.asarray(np.array([3, 0, 4], np.int32), device=where)
        result: tfr.Tensor = eval(expression, {"tfr": tfr, "i": rows, **cut})
        return result.numpy()

    for length, first in ((32, 4), (45, 0), (45, 3)):
        shapes = {"x": (5, length + first), "w": (length + first,)}
        operands = {
            name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()
        }
        got = evaluated(device, first, copied=False)
        np.testing.assert_array_equal(got, evaluated(device, first, copied=True))
        tolerance = 1e-5 if dtype == "float32" else 2e-2
        expected = evaluated("cpu", first, copied=False)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("length", [4, 8])
def test_rows_that_begin_one_element_after_each_other(device: str, length: int) -> None:
    """Windows of a vector: in a stack of them, too, the number of a row is what positions are made of."""
    x = np.arange(40, dtype=np.float32) ** 2 % 89
    moved = tfr.asarray(x, device=device).compute()
    windows = np.lib.stride_tricks.sliding_window_view(x, length)
    got = tfr.lib.stride_tricks.sliding_window_view(moved, length)
    assert_close((got * 3).numpy(), windows * 3, ulp=0)
    assert_close(
        (got[:30].reshape(5, 6, length) + 1).numpy(), windows[:30].reshape(5, 6, length) + 1, ulp=0
    )


def test_what_only_some_elements_read_is_not_read_for_the_others(device: str) -> None:
    """The second of two pieces would be read far before its beginning, and the first beyond its end."""
    x = np.arange(64, dtype=np.float32)
    moved = tfr.asarray(x, device=device).compute()
    joined = tfr.concat([moved, moved * 2, moved])
    assert joined.numpy().tolist() == np.concatenate([x, x * 2, x]).tolist()


def test_rare_paths_stay_with_their_elements(device: str) -> None:
    x = np.array([0.5, 1e30, -3.0, 2e5, 7.0, -1e10, 0.0, 1.0, 1e6], np.float32)
    wanted = np.sin(x.astype(float)).astype(np.float32)
    assert_close(tfr.sin(tfr.asarray(x, device=device)).numpy(), wanted, ulp=2)


@pytest.mark.parametrize(
    ("dtype", "width", "bytes_"), [("int8", 4, 4), ("float32", 4, 16), ("float64", 4, 16)]
)
def test_vectors_begin_at_multiples_of_an_access(dtype: str, width: int, bytes_: int) -> None:
    assert alignment_of(np.dtype(dtype), width) == bytes_
