"""Comparisons with whatever Python holds: equality is elementwise, as in NumPy, and has an answer for all objects."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import operator
from array import array
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, ShapeError
from tests.backends.devices import holds

ORDER = ("lt", "le", "gt", "ge")
DEVICES = [name for name in ("cpu", "opencl", "wgpu", "cuda") if name in tfr.backends.available()]


class Thing:
    """An object that equals nothing else."""


class One(enum.IntEnum):
    """An integer by another name."""

    ONE = 1


class Elements:
    """An object of another library that hands its elements to NumPy."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray([1.0, 9.0], dtype)


OBJECTS: dict[str, Any] = {
    "None": None,
    "text": "a",
    "text as long": "ab",
    "bytes": b"ab",
    "object": Thing(),
    "class": Thing,
    "dict": {},
    "set": {1.0},
    "ellipsis": ...,
    "slice": slice(1),
    "date": datetime.date(2026, 1, 1),
    "NumPy's text": np.str_("a"),
    "NumPy's date": np.datetime64("2026"),
    "fraction": fractions.Fraction(1),
    "fraction beyond": fractions.Fraction(10**400),
    "fraction between": fractions.Fraction(1, 3),
    "decimal": decimal.Decimal(1),
    "no number": decimal.Decimal("nan"),
    "enum": One.ONE,
    "Nones": [None, None],
    "texts": ["a", "b"],
    "array of texts": np.asarray(["a", "b"]),
    "array of dates": np.asarray(["2026", "2027"], "M8[D]"),
    "array of objects": np.asarray([None, "a"], object),
    "column of texts": [["a"], ["b"], ["c"]],
    "list": [1.0, 3.0],
    "nested list": [[1.0], [2.0], [4.0]],
    "buffer": array("d", [1.0, 3.0]),
    "memory": memoryview(b"\x01\x03"),
    "bytearray": bytearray(b"\x01\x03"),
    "Elements": Elements(),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_equality_is_numpys(name):
    other = OBJECTS[name]
    elements = np.asarray([1.0, 2.0])
    x = tfr.asarray(elements)
    for compare in (operator.eq, operator.ne):
        expected = compare(elements, other)
        for found in (compare(x, other), compare(other, x)):
            assert isinstance(found, tfr.Tensor)
            assert found.dtype == tfr.bool
            assert found.tolist() == expected.tolist()
    assert (other in x) is (other in elements)


@pytest.mark.parametrize("device", DEVICES)
def test_equality_with_objects_stays_on_the_device(device):
    x = tfr.asarray([[1.0, 2.0], [3.0, 4.0]], dtype="float32", device=device)
    found = x == None  # noqa: E711 - the comparison itself is tested
    assert found.device == x.device
    assert found.tolist() == [[False, False], [False, False]]
    assert None not in x
    assert [3.0, 4.0] in x
    assert [9.0, 9.0] not in x


def test_objects_with_an_answer_of_their_own_are_asked():
    x = tfr.asarray([1.0, 2.0])
    assert (x == mock.ANY) is True
    assert (x != mock.ANY) is False
    assert mock.ANY in x

    class Knows:
        def __eq__(self, other: object) -> Any:
            return "asked"

        __hash__ = None

    assert (x == Knows()) == "asked"


def test_texts_of_another_shape_are_refused():
    with pytest.raises(ShapeError):
        tfr.asarray([1.0, 2.0]) == ["a", "b", "c"]  # noqa: B015 - the comparison itself is tested


def test_numbers_among_objects_are_not_passed_over():
    x = tfr.asarray([1.0, 2.0])
    for other in ([1.0, None], np.asarray([1.0, None], object)):
        with pytest.raises(DTypeError):
            x == other  # noqa: B015 - as above


@pytest.mark.parametrize("other", [None, "a", Thing(), {}])
def test_objects_have_no_order_and_no_sum(other):
    x = tfr.asarray([1.0, 2.0])
    for name in (*ORDER, "add", "mul", "matmul", "iadd"):
        with pytest.raises(TypeError):
            getattr(operator, name)(x, other)
    assert x.tolist() == [1.0, 2.0]


def test_functions_say_that_objects_are_no_operands():
    x = tfr.asarray([1.0, 2.0])
    for other in (None, "a", Thing()):
        with pytest.raises(DTypeError, match="not an operand"):
            tfr.equal(x, other)


@pytest.mark.parametrize("dtype", sorted(tfr.dtypes.INTEGER, key=str), ids=str)
def test_integers_outside_a_dtypes_range_compare_as_integers(dtype):
    info = np.iinfo(dtype)
    elements = np.asarray([info.min, 0, info.max], dtype)
    x = tfr.asarray(elements)
    functions = {
        "eq": tfr.equal,
        "ne": tfr.not_equal,
        "lt": tfr.less,
        "le": tfr.less_equal,
        "gt": tfr.greater,
        "ge": tfr.greater_equal,
    }
    for name, function in functions.items():
        symbol = getattr(operator, name)
        for number in (info.max + 1, info.min - 1, 10**30, -(10**30)):
            expected = symbol(elements, number).tolist()
            assert symbol(x, number).tolist() == expected
            assert function(x, number).tolist() == expected
            assert function(number, x).tolist() == symbol(number, elements).tolist()
    assert info.max + 1 not in x


@pytest.mark.parametrize(
    ("dtype", "device", "names"),
    [
        ("int8", "cpu", ("eq", "ne", *ORDER)),
        ("int64", "cpu", ("eq", "ne", *ORDER)),
        *[("int64", name, ("lt",)) for name in DEVICES if holds(name, "uint64") and name != "cpu"],
    ],
)
def test_signed_integers_and_uint64_compare_as_integers(dtype, device, names):
    info = np.iinfo(dtype)
    signed = np.asarray([info.min, -1, 0, 1, info.max - 1, info.max], dtype)
    unsigned = np.asarray([0, 1, 2**63 - 2, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)[:, None]
    x, y = tfr.asarray(signed, device=device), tfr.asarray(unsigned, device=device)
    results = [getattr(operator, name)(x, y) for name in names]
    results += [getattr(operator, name)(y, x) for name in names]
    expected = [getattr(operator, name)(signed, unsigned) for name in names]
    expected += [getattr(operator, name)(unsigned, signed) for name in names]
    # together, since building a kernel for each takes seconds
    np.testing.assert_array_equal(tfr.stack(results).numpy(), expected)
    assert (x < unsigned).tolist() == (signed < unsigned).tolist()


def test_numbers_of_subclasses_are_weak():
    x = tfr.asarray([1, 2], dtype="int8")

    class Half(float):
        pass

    assert (x + One.ONE).dtype == tfr.int8
    assert (One.ONE - x).tolist() == [0, -1]
    assert (x * Half(0.5)).dtype == tfr.float32
    assert tfr.maximum(x, One.ONE).tolist() == [1, 2]
    assert tfr.append(x, One.ONE).dtype == tfr.int8
    x[0] = One.ONE
    x += One.ONE
    assert x.tolist() == [2, 3]
