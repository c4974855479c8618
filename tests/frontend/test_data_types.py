"""Data types: conversion against NumPy, promotion, categories and limits."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError

DTYPES = [dtype for _, dtype in sorted(tfr.dtypes.BY_NAME.items())]
NUMBERS = {bool: True, int: 3, float: 2.5, complex: 1j}
dtypes = st.sampled_from(DTYPES)


def is_complex(dtype):
    return dtype.kind == "c"


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_conversion_is_numpys(dtype, target):
    values = np.asarray([[0, 1, 3], [7, 2, 100]]).astype(dtype)
    for x in (
        tfr.asarray(values),
        tfr.asarray(values[1, 1].item(), dtype=dtype),
        tfr.zeros(2, dtype=dtype),
    ):
        if is_complex(dtype) and not is_complex(target) and target != tfr.bool:
            with pytest.raises(DTypeError, match="real"):
                tfr.astype(x, target)
            continue
        found = tfr.astype(x, target)
        assert found.dtype == target
        np.testing.assert_array_equal(found.numpy(), x.numpy().astype(target))


@pytest.mark.parametrize(
    ("value", "dtype", "target"),
    [
        (300, "int64", "uint8"),
        (-1, "int8", "uint64"),
        (0.1, "float16", "float64"),
        (0.1, "bfloat16", "float32"),
        (1e300, "float64", "float32"),
        (-2.7, "float32", "int32"),
        (True, "bool", "complex64"),
    ],
)
def test_numbers_convert_like_elements(value, dtype, target):
    number = tfr.astype(tfr.asarray(value, dtype=dtype), target)
    element = tfr.astype(tfr.asarray([value], dtype=dtype), target)
    assert number.item() == element.item()


def test_conversion_is_recorded_and_copies_only_on_request():
    x = tfr.asarray([1, 2]) + 1
    y = x.astype("float64")
    assert not x.is_computed
    assert not y.is_computed
    assert tfr.astype(x, "int64", copy=False) is x
    z = tfr.astype(x, "int64")
    z[0] = 9
    assert x.tolist() == [2, 3]
    assert str(tfr.astype(x, "float32", device="numpy").device) == "numpy"


@settings(deadline=None)
@given(dtypes, dtypes)
def test_promotion_does_not_depend_on_the_order(one, other):
    both = tfr.result_type(one, other)
    assert both == tfr.result_type(other, one) == tfr.promote_types(one, other)
    assert tfr.can_cast(one, both)
    assert tfr.can_cast(other, both)
    assert tfr.result_type(tfr.zeros(2, dtype=one), np.zeros(2, other)) == both


@settings(deadline=None)
@given(st.lists(dtypes, min_size=1, max_size=3), st.sampled_from(list(NUMBERS)))
def test_result_type_is_what_operators_give(operands, kind):
    tensors = [tfr.ones((), dtype=dtype) for dtype in operands]
    expected = tensors[0]
    for tensor in tensors[1:]:
        expected = expected + tensor
    assert tfr.result_type(*operands, NUMBERS[kind]) == (expected + NUMBERS[kind]).dtype


def test_numbers_are_weak():
    assert tfr.result_type(tfr.int8, 1000) == tfr.int8
    assert tfr.result_type(tfr.bfloat16, 1.5, 2) == tfr.bfloat16
    assert tfr.result_type(tfr.int8, 1.5) == tfr.float32
    assert tfr.result_type(tfr.float64, 1j) == tfr.complex128
    assert tfr.result_type(1, 1.5) == tfr.float32
    assert tfr.result_type(np.float64(1), tfr.float32) == tfr.float64
    with pytest.raises(ArgumentError):
        tfr.result_type()


def test_casting_follows_promotion():
    assert tfr.can_cast("int8", "int64")
    assert not tfr.can_cast("int64", "int8")
    assert not tfr.can_cast("float32", "int64")
    assert tfr.can_cast(tfr.zeros(1), tfr.complex64)
    with pytest.raises(DTypeError, match="not a dtype"):
        tfr.can_cast("int8", "nothing")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_has_its_kinds(dtype):
    kinds = {
        "b": {"bool"},
        "i": {"signed integer", "integral", "numeric"},
        "u": {"unsigned integer", "integral", "numeric"},
        "f": {"real floating", "numeric"},
        "c": {"complex floating", "numeric"},
    }["f" if dtype == tfr.bfloat16 else dtype.kind]
    everything = (
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "real floating",
        "complex floating",
    )
    for kind in (*everything, "numeric"):
        assert tfr.isdtype(dtype, kind) is (kind in kinds)
    assert tfr.isdtype(dtype, everything)
    assert tfr.isdtype(dtype, dtype)
    assert tfr.isdtype(dtype, ()) is False


def test_unknown_kinds_are_refused():
    with pytest.raises(ArgumentError, match="integer") as caught:
        tfr.isdtype(tfr.int8, "integer")
    assert "signed integer" in caught.value.suggestions[0]


@pytest.mark.parametrize("dtype", sorted(tfr.dtypes.FLOATING, key=str), ids=str)
def test_floating_limits_are_those_of_the_format(dtype):
    found = tfr.finfo(dtype)
    real = tfr.dtypes.real_of(dtype)
    expected = ml_dtypes.finfo(real)
    assert found.dtype == real
    assert found.bits == 8 * real.itemsize
    for name in ("eps", "max", "min", "smallest_normal", "smallest_subnormal", "tiny"):
        assert type(getattr(found, name)) is float
        assert getattr(found, name) == float(getattr(expected, name))
    assert tfr.finfo(tfr.zeros(1, dtype=dtype)) == found
    one = tfr.asarray([1.0, found.eps], dtype=real)
    assert tfr.sum(one).item() == 1.0 + found.eps
    assert math.isinf(tfr.astype(tfr.asarray([found.max], dtype="float64") * 2, real).item())


@pytest.mark.parametrize("dtype", sorted(tfr.dtypes.INTEGER, key=str), ids=str)
def test_integer_limits_are_those_of_the_format(dtype):
    found = tfr.iinfo(tfr.zeros(1, dtype=dtype))
    assert (found.bits, found.dtype) == (8 * dtype.itemsize, dtype)
    assert found.max - found.min == 2**found.bits - 1
    assert type(found.max) is type(found.min) is int
    assert found == tfr.iinfo(dtype.name)


def test_limits_of_the_wrong_kind_are_refused():
    with pytest.raises(DTypeError, match="iinfo") as caught:
        tfr.iinfo(tfr.float32)
    assert "finfo" in caught.value.suggestions
    with pytest.raises(DTypeError, match="finfo"):
        tfr.finfo(tfr.int8)
