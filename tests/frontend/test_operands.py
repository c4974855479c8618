"""Python numbers are weak beside tensors in every function, not only in elementwise ones."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.dtypes import LIMITS, as_dtype
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError

WITH_A_NUMBER = {
    "append": lambda x: tfr.append(x, 0.1),
    "insert": lambda x: tfr.insert(x, 0, 0.1),
    "ediff1d": lambda x: tfr.ediff1d(x, to_end=0.1),
    "diff": lambda x: tfr.diff(x, prepend=0.1),
    "union1d": lambda x: tfr.union1d(x, 0.1),
    "block": lambda x: tfr.block([x, 0.1]),
    "interp": lambda x: tfr.interp(0.1, x, x),
    "hstack": lambda x: tfr.hstack([x, 0.1]),
    "outer": lambda x: tfr.outer(x, 0.1),
}


@pytest.mark.parametrize("name", WITH_A_NUMBER)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_number_takes_the_dtype_of_the_tensor_beside_it(name, dtype):
    x = tfr.asarray([0.0, 1.0], dtype=dtype)
    result = WITH_A_NUMBER[name](x)
    assert result.dtype == dtype
    # of the dtype's own precision: float64's 0.1 is not float32's
    assert x.dtype.type(0.1) in np.abs(result.numpy()).ravel()


def test_comparisons_with_a_number_are_as_exact_as_the_tensor():
    x = tfr.asarray([0.1], dtype="float64")
    assert tfr.isclose(x, 0.1, rtol=0, atol=1e-12).tolist() == [True]
    assert tfr.array_equiv(x, 0.1).item()
    assert tfr.isin(x, 0.1).tolist() == [True]
    assert tfr.searchsorted(x, 0.1).item() == 0
    assert tfr.setdiff1d(x, 0.1).tolist() == []


def test_a_number_beyond_a_dtype_is_none_of_its_elements():
    x = tfr.asarray([1, 2], dtype="int8")
    assert tfr.isin(x, 300).tolist() == [False, False]
    assert tfr.isin(300, x).tolist() is False
    assert tfr.setdiff1d(x, 300).tolist() == [1, 2]
    assert tfr.setdiff1d(x, 300).dtype == tfr.int8
    assert tfr.searchsorted(x, 300).item() == 2
    assert tfr.searchsorted(x, -300).item() == 0
    assert not tfr.array_equal(x, 300)
    assert not tfr.array_equiv(x, 300)
    assert tfr.isclose(x, 300).tolist() == [False, False]


def test_a_floating_number_beside_integers_gives_the_default_real_dtype():
    assert tfr.append(tfr.asarray([1, 2]), 0.5).dtype == tfr.float32
    assert tfr.append(tfr.asarray([1, 2], dtype="int8"), 3).dtype == tfr.int8


def test_a_number_that_an_integer_dtype_cannot_hold_is_refused():
    with pytest.raises(OutOfRangeError):
        tfr.append(tfr.asarray([1], dtype="int8"), 300)


@pytest.mark.parametrize("name", sorted(dtype.name for dtype in LIMITS))
def test_what_is_suggested_for_a_number_that_does_not_fit_works(name):
    """The smallest dtype that holds the number and all that the tensor's dtype holds; floats where there is none."""
    low, high = LIMITS[as_dtype(name)]
    x = tfr.asarray(np.array([low, high], name))
    for number in {low - 1, high + 1, -1, -200, 300, -70_000, 70_000, -(2**40), 2**40, 2**63}:
        if low <= number <= high:
            continue
        with pytest.raises(OutOfRangeError) as caught:
            x + number
        (hint,) = caught.value.suggestions
        suggested = eval(hint.partition(" before")[0], {"x": x, "tfr": tfr})
        holds_both = [
            other
            for other, (least, most) in LIMITS.items()
            if least <= min(low, number) and max(high, number) <= most
        ]
        if holds_both:
            assert suggested.tolist() == [low, high]
            assert suggested.dtype in holds_both
            assert suggested.dtype.kind == ("i" if number < 0 else x.dtype.kind)
            assert suggested.dtype.itemsize == min(dtype.itemsize for dtype in holds_both)
        else:
            assert suggested.dtype == tfr.float64
            assert "no integer dtype holds both" in hint
        assert (suggested - number).dtype == suggested.dtype


def test_a_dtype_is_suggested_where_there_is_no_tensor_beside_the_number():
    for make in (
        lambda: tfr.asarray(300, dtype="int8"),
        lambda: tfr.full(3, -200, dtype="int8"),
        lambda: tfr.arange(300, dtype="int8"),
    ):
        with pytest.raises(OutOfRangeError) as caught:
            make()
        assert caught.value.suggestions == ("dtype=tfr.int16",)


WRITTEN = {
    "copyto": lambda x: tfr.copyto(x, 300),
    "fill": lambda x: x.fill(300),
    "fill_diagonal": lambda x: tfr.fill_diagonal(x, 300),
    "fill_diagonal by a list": lambda x: tfr.fill_diagonal(x, [300, 1]),
    "max": lambda x: tfr.max(x, initial=300),
    "min": lambda x: tfr.min(x, initial=-300, where=x > 0),
    "nanmax": lambda x: tfr.nanmax(x, initial=300),
    "piecewise": lambda x: tfr.piecewise(x, [x > 1], [300, 1]),
    "place": lambda x: tfr.place(x, x > 1, [300]),
    "put": lambda x: tfr.put(x, [0], 300),
    "put a list": lambda x: tfr.put(x, [0], [300]),
    "putmask": lambda x: tfr.putmask(x, x > 1, 300),
    "setitem": lambda x: x.__setitem__(0, [300]),
    "sum": lambda x: tfr.sum(x, dtype="int8", initial=300),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_no_number_wraps_around_where_it_is_written(name):
    x = tfr.asarray([[1, 2], [3, 4]], dtype="int8")
    with pytest.raises(OutOfRangeError, match="300"):
        WRITTEN[name](x)
    assert x.tolist() == [[1, 2], [3, 4]]


def test_numbers_alone_become_what_asarray_makes_of_them():
    assert tfr.hstack([1, 2.5]).dtype == tfr.float32
    assert tfr.isin(2, 2).item()


def test_where_takes_what_elementwise_functions_take():
    x = tfr.asarray([1.0, 2.0])
    assert tfr.where(np.asarray([1, 0]), x, 0.0).tolist() == [1.0, 0.0]
    assert tfr.where([True, False], 1, 2).tolist() == [1, 2]
    assert tfr.where([2, 0], x, [5.0, 6.0]).tolist() == [1.0, 6.0]
    with pytest.raises(DTypeError, match="asarray"):
        tfr.where({True: 1}, x, 0.0)


def test_no_parts_are_refused():
    with pytest.raises(ArgumentError, match="must be positive"):
        tfr.split(tfr.arange(4), 0)


BESIDE = {
    "hypot": tfr.hypot,
    "add": tfr.add,
    "equal": tfr.equal,
    "concat": lambda x, y: tfr.concat([x, y]),
    "stack": lambda x, y: tfr.stack([x, y]),
    "dot": tfr.dot,
    "outer": tfr.outer,
    "isclose": tfr.isclose,
    "searchsorted": tfr.searchsorted,
    "where": lambda x, y: tfr.where(np.array([True, False, True]), x, y),
    "clip": lambda x, y: tfr.clip(x, y, y),
    "operator": lambda x, y: x + y,
    "matmul": lambda x, y: x @ y,
}


@pytest.mark.parametrize("name", BESIDE)
def test_an_array_lies_beside_the_tensor_on_either_side_of_it(name):
    """Where arrays were on the cpu, the first operand of equals decided where the result lives."""
    array = np.array([1.0, 2.0, 4.0], np.float32)
    tensor = tfr.asarray(array, device="numpy")
    for operands in ((tensor, array), (array, tensor)):
        result = BESIDE[name](*operands)
        assert result.device == "numpy"
        np.testing.assert_array_equal(result.numpy(), BESIDE[name](tensor, tensor).numpy())


def test_indices_in_arrays_lie_beside_the_tensor():
    x = tfr.asarray(np.arange(3, dtype=np.float32), device="numpy")
    index = np.array([2, 0], np.int64)
    for result in (tfr.take(x, index), tfr.take_along_axis(x, index, 0), x[index]):
        assert result.device == "numpy"
        assert result.tolist() == [2, 0]


def set_to_2(x):
    element = x[0]
    element[...] = 2
    return element


COMPUTED = {
    "an element that is set": set_to_2,
    "elements that are compared": lambda x: tfr.setdiff1d(x, 2),
    "divisors": lambda x: tfr.gcd(tfr.astype(x, "int32"), 2),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_a_number_that_was_computed_stays_a_number_elsewhere(name):
    """Plans know a few by their value: `x**2` is `x * x` whether or not a tensor of 2 was computed before."""
    x = tfr.asarray(np.linspace(0.1, 3, 7, dtype=np.float32))
    for number in (2, 2.0):
        assert "square" in str((x**number).explain())
    COMPUTED[name](x).compute()
    for number in (2, 2.0):
        assert "square" in str((x**number).explain())
