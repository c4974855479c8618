"""Remembered calls: the second one records the nodes of the first, on other operands, by its own line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import TensorFrameError
from tensorframe.graph.node import Node, discover
from tensorframe.site import line_of
from tests.frontend.every_function import CALLS_OF, operands
from tests.frontend.test_sharing import evaluated
from tests.runtime.small_calls import frames

Call = Callable[[tfr.Tensor], Any]

ONE_TENSOR: dict[str, Call] = {
    "median": tfr.median,
    "quantile": lambda x: tfr.quantile(x, 0.3),
    "nanmedian": tfr.nanmedian,
    "nanquantile": lambda x: tfr.nanquantile(x, 0.3, axis=1),
    "trace": tfr.trace,
    "pad": lambda x: tfr.pad(x, (1, 2), mode="edge"),
    "std": lambda x: tfr.std(x, axis=0, keepdims=True),
    "tile": lambda x: tfr.tile(x, (2, 1)),
    "diff": tfr.diff,
    "count_nonzero": tfr.count_nonzero,
    "corrcoef": tfr.corrcoef,
    "sum": lambda x: tfr.sum(x, axis=1),
    "tril": lambda x: tfr.tril(x, -1),
}


def _as_text(root: Node) -> list[str]:
    """Return the graph of a node, without serial numbers."""
    nodes = discover([root])
    places = {node: place for place, node in enumerate(nodes)}
    return [
        f"{node.op} {[places[source] for source in node.inputs]} {node.attrs} {node.shape} {node.dtype} {node.device}"
        for node in nodes
    ]


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("name", ONE_TENSOR)
def test_the_second_call_records_what_the_first_did(name: str, dtype: str) -> None:
    call = ONE_TENSOR[name]
    values = (np.random.default_rng(0).normal(size=(2, 4, 5)) * 9).astype(dtype)
    first, second = (call(tfr.asarray(part)) for part in values)
    assert _as_text(first.node) == _as_text(second.node)
    other = {"float32": np.float64, "int64": np.int16}[dtype]
    fresh = call(tfr.asarray(values[1].astype(other)))  # of another dtype, so by itself
    np.testing.assert_allclose(second.numpy(), fresh.numpy(), rtol=2e-6, atol=1e-6)


def test_functions_of_integers_are_recorded_again_in_few_frames() -> None:
    x = tfr.asarray(np.arange(12).reshape(3, 4))
    assert frames(lambda: tfr.tile(x, (2, 1))) <= 12
    assert frames(lambda: tfr.diff(x)) <= 12
    assert frames(lambda: tfr.stack([x, x])) <= 14


def test_places_of_quantiles_are_made_once() -> None:
    """They are values, not numbers, and the second call has those of the first."""
    x = tfr.asarray(np.asarray([[3.0, 1.0, np.nan], [2.0, 7.0, 5.0]], np.float32))
    values: list[set[Node]] = []
    for _ in range(2):
        needed = discover([tfr.nanquantile(x, 0.25, axis=1).node])
        values.append({node for node in needed if node.storage is not None} - {x.node})
    assert values[0]
    assert values[0] == values[1]
    other = tfr.nanquantile(x, 0.75, axis=1).numpy()
    np.testing.assert_allclose(other, np.nanquantile(x.numpy(), 0.75, axis=1))


def test_each_call_has_its_own_line() -> None:
    x = tfr.asarray(np.ones((3, 3), np.float32))
    lines = []
    for _ in range(2):
        lines.append(tfr.trace(x).node.site)
        lines.append(tfr.trace(x).node.site)
    numbers = [line_of(site)[1] for site in lines if site is not None]
    assert numbers[:2] == numbers[2:] == [numbers[0], numbers[0] + 1]


def test_arguments_that_are_equal_and_not_the_same_are_told_apart() -> None:
    for first in (0.0, -0.0, 0):
        again = tfr.linspace.__wrapped__(first, first, 2)  # type: ignore[attr-defined]
        assert str(tfr.linspace(first, first, 2).numpy()) == str(again.numpy())


def test_two_tensors_that_are_one_are_another_call() -> None:
    x, y = (
        tfr.asarray(np.asarray([[1.0, 2.0, 3.0], values], np.float32))
        for values in ([4.0, 5.0, 7.0], [1.0, 0, 2])
    )
    for left, right in ((x, x), (x, y), (y, x), (y, y)):
        np.testing.assert_array_equal(
            tfr.cross(left, right).numpy(), np.cross(left.numpy(), right.numpy())
        )


def test_outputs_are_filled_each_time() -> None:
    x = tfr.asarray(np.asarray([3.0, 1.0, 2.0], np.float32))
    for _ in range(2):
        out = tfr.zeros(())
        assert tfr.median(x, None, out) is out
        assert out.item() == 2.0


def test_numbers_are_computed_with_at_once_in_every_call() -> None:
    for value in (2.0, 3.0):
        assert tfr.sum(tfr.asarray(value)).item() == value
        assert tfr.median(tfr.asarray(value)).item() == value


def test_a_range_has_the_default_dtype_of_its_call() -> None:
    assert tfr.linspace(0.0, 1.0, 5).dtype == tfr.float32
    tfr.set_default_dtype("float64")
    try:
        assert tfr.linspace(0.0, 1.0, 5).dtype == tfr.float64
    finally:
        tfr.set_default_dtype("float32")
    assert tfr.linspace(0.0, 1.0, 5).dtype == tfr.float32


def test_calls_inside_autocast_are_calls_of_their_own() -> None:
    x = tfr.asarray(np.ones((3, 4), np.float32))
    before = tfr.tensordot(x, x.T, 1).dtype
    with tfr.autocast("bfloat16"):
        inside = tfr.tensordot(x, x.T, 1).dtype
    after = tfr.tensordot(x, x.T, 1).dtype
    assert [str(dtype) for dtype in (before, inside, after)] == ["float32", "bfloat16", "float32"]


def test_the_device_that_auto_is_may_change_between_calls() -> None:
    try:
        for name in ("cpu", "numpy", "cpu"):
            tfr.set_backend_priority([name])
            assert tfr.eye(2, device="auto").device == name
            assert tfr.zeros_like(tfr.asarray([1.0]), device="auto").device == name
    finally:
        tfr.set_backend_priority(None)


@pytest.mark.parametrize("name", ["concat", "stack", "hstack", "vstack", "dstack", "column_stack"])
def test_joined_sequences_are_remembered_by_their_tensors(name: str) -> None:
    ours, theirs = getattr(tfr, name), getattr(np, name)
    values = [np.arange(3.0) + start for start in (0, 5, 9)]
    x, y, z = map(tfr.asarray, values)
    calls: list[Any] = [
        ([0, 1], (x, y)),
        ([1, 2], (y, z)),
        ([0, 0], (x, x)),
        ([0, 1, 2], [x, y, z]),
    ]
    for _ in range(2):
        for places, tensors in calls:
            expected = theirs([values[place] for place in places])
            np.testing.assert_array_equal(ours(tensors).numpy(), expected)
    assert _as_text(ours((x, y)).node) == _as_text(ours([y, z]).node)
    mixed = theirs((values[0], [1.0, 2.0, 3.0]))  # a list among tensors goes the long way
    np.testing.assert_array_equal(ours((x, [1.0, 2.0, 3.0])).numpy(), mixed)


def _computed(call: str, factor: float, device: str) -> list[np.ndarray[Any, Any]]:
    """Return the results of a call of small computed tensors, whose floats are those of `operands` times a factor."""
    named = {
        name: tfr.asarray(array * array.dtype.type(factor) if array.dtype == "float32" else array)
        for name, array in operands().items()
    }
    with tfr.use_backend(device):
        on_it = {name: tensor.to_device(device) for name, tensor in named.items()}
        return [np.asarray(part) for part in evaluated(call, on_it)]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("function", sorted(CALLS_OF))
def test_a_later_call_has_its_own_values(function: str) -> None:
    """What a function sees of a small computed tensor is a view at once, and must not be remembered as a number."""
    for call in CALLS_OF[function]:
        try:
            expected = _computed(call, 0.5, "numpy")  # the first call there
        except (TensorFrameError, ArithmeticError):
            continue  # a factor may leave the domain
        _computed(call, 1.0, "cpu")
        found = _computed(call, 0.5, "cpu")
        for part, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(part, wanted, rtol=2e-3, atol=2e-4)


def test_views_of_operands_are_no_numbers() -> None:
    asked = np.linspace(-3, 6, 11)
    for start in (0.0, 2.0, -1.5):
        points, values = np.arange(3.0) + start, np.array([5.0, -start, 2.0])
        x, p, v = map(tfr.asarray, (asked, points, values))
        found = tfr.interp(x, p, v, left=-1.0, right=7.0).numpy()
        expected = np.interp(asked, points, values, left=-1.0, right=7.0)
        np.testing.assert_array_equal(found, expected)


def test_a_list_that_changed_between_calls_is_read_again() -> None:
    x = tfr.asarray(np.ones((2, 3, 4), np.float32))
    axes = [2, 0, 1]
    assert [tfr.permute_dims(x, axes).shape for _ in range(3)] == [(4, 2, 3)] * 3
    axes[:] = [1, 0, 2]
    assert tfr.permute_dims(x, axes).shape == (3, 2, 4)


def test_calls_by_turns_keep_their_own_arguments() -> None:
    x, y = tfr.asarray(np.ones((2, 3), np.float32)), tfr.asarray(np.ones((2, 3), np.float64))
    for _ in range(4):
        assert tfr.swapaxes(x, 0, 1).shape == (3, 2)
        assert tfr.swapaxes(x, 0, 0).shape == (2, 3)
        assert tfr.swapaxes(y, 0, 1).dtype == tfr.float64
        assert tfr.swapaxes(x, axis1=0, axis2=1).shape == (3, 2)
        with pytest.raises(TensorFrameError):
            tfr.swapaxes(x, 0, 2)


_OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "ifftn": tfr.fft.ifftn,
    "nanmin": tfr.nanmin,
    "vector_norm": tfr.linalg.vector_norm,
    "mean": tfr.mean,
    "kron": lambda x: tfr.kron(tfr.asarray([1.0, 2.0], dtype="complex64"), x),
}


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32"])
@pytest.mark.parametrize("name", _OF_NUMBERS)
def test_a_computed_number_is_not_the_number_of_later_calls(name: str, dtype: str) -> None:
    function = _OF_NUMBERS[name]
    for value in (2, 3, 4, 3):
        x = tfr.asarray(value, dtype=dtype).compute()
        assert function(x).tolist() == function(x + 0).tolist()
        assert np.abs(function(x).numpy()).max() == (2 if name == "kron" else 1) * value
