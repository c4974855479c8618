"""Rows that are asked for before their turn: where that is done, and that nothing depends on it."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.forms import rows
from tensorframe.kernel.ir import Loop, Prefetch
from tests.kernel.interpreted import interpreted, kernels_of

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")


def on_llvm(*shape, dtype="float32"):
    return tfr.asarray(np.ones(shape, dtype), device="llvm")


def fetched(tensor):
    """The buffers that a row's kernel asks for, in loops of any depth."""
    (kernel,) = kernels_of(tensor)
    waiting, found = list(kernel.body), []
    for one in waiting:  # grows while it is walked
        waiting += one.body if isinstance(one, Loop) else ()
        found += [one.buffer.name] if isinstance(one, Prefetch) else []
    return found


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint64"])
def test_what_several_passes_read(dtype):
    t = on_llvm(9, 300, dtype=dtype)
    tensor = t - tfr.max(t, axis=1, keepdims=True)
    assert fetched(tensor) == ["x0"]
    (found,) = interpreted(tensor)
    np.testing.assert_array_equal(tensor.numpy(), found)
    assert not found.any()


def test_operands_that_are_the_same_for_all_rows_are_there():
    t, scale = on_llvm(9, 300), on_llvm(300)
    scaled = (t - tfr.max(t, axis=1, keepdims=True)) * scale
    assert len(fetched(scaled)) == 1


@pytest.mark.parametrize(
    ("shape", "program"),
    [
        ((9, 300), lambda t: tfr.sum(t, axis=1)),  # a single pass
        ((9, 100), lambda t: t - tfr.max(t, axis=1, keepdims=True)),  # short rows
        ((9, 5000), lambda t: t - tfr.max(t, axis=1, keepdims=True)),  # long ones
        ((300, 9), lambda t: t - tfr.max(t, axis=0, keepdims=True)),  # columns
        ((9, 600), lambda t: t[:, ::2] - tfr.max(t[:, ::2], axis=1, keepdims=True)),
    ],
)
def test_what_would_not_gain(shape, program):
    assert fetched(program(on_llvm(*shape))) == []


def test_the_last_row_has_none_after_it(monkeypatch):
    """A row of its own pages, and rows in the opposite order: what is asked for is no memory of ours."""
    monkeypatch.setattr(rows, "_SOON", (1, 1 << 20))
    x = np.random.default_rng(3).standard_normal((40, 1 << 16)).astype("float32")
    for one in (x, x[::-1], x[:1]):
        t = tfr.asarray(one, device="llvm")
        found = (t - tfr.max(t, axis=1, keepdims=True)).numpy()
        np.testing.assert_array_equal(found, one - one.max(1, keepdims=True))
