"""Lists, tuples and ranges of numbers are operands everywhere, as arrays are."""

from __future__ import annotations

import operator
from array import array
from inspect import signature
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import unregister
from tensorframe.errors import DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.elementwise.functions import FUNCTIONS
from tensorframe.testing.boxed import BoxedBackend

DEVICES = [
    name
    for name in ("numpy", "llvm", "cpu", "opencl", "wgpu", "cuda")
    if name in tfr.backends.available()
]
VALUES = np.asarray([0.1, 0.25, 0.7])
SQUARE = np.asarray([[1.1, 0.2, 0.7], [0.3, 1.1, 0.9], [0.5, 0.6, 2.1]])
# 0.1 in float64 is another number than in float32
SEQUENCES = {
    "floats": [0.1, 0.2, 0.7],
    "tuple": (0.1, 0.2, 0.7),
    "integers": [0, 2, 1],
    "range": range(3),
    "bools": [True, False, True],
    "NumPy's numbers": [np.float64(0.1), 0.2, 0.7],
}

BINARY = {
    name: function
    for name, function in FUNCTIONS.items()
    if len(signature(function).parameters) == 2
}
OPERATORS = {
    name: getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
        *("eq", "ne", "lt", "le", "gt", "ge"),
    )
} | {"divmod": lambda x, y: divmod(x, y)[1]}
KEY = tfr.random.key(0)


def repeated(x: Any, count: int = 3) -> Any:
    return tfr.stack([x] * count)


def square(x: Any) -> Any:
    return tfr.asarray(SQUARE, dtype=x.dtype)


def assigned(x: Any, key: Any, values: Any) -> Any:
    target = tfr.asarray(x, copy=True)
    target[key] = values
    return target


def put(x: Any, values: Any) -> Any:
    target = tfr.asarray(x, copy=True)
    tfr.put_along_axis(target, np.asarray([2, 0, 1]), values)
    return target


# what computes with a tensor and another operand
WITH_AN_OPERAND = {
    **{f"{name}(x, v)": function for name, function in BINARY.items()},
    **{f"{name}(v, x)": lambda x, v, f=function: f(v, x) for name, function in BINARY.items()},
    **{f"operator {name}": function for name, function in OPERATORS.items()},
    **{f"{name} reflected": lambda x, v, f=one: f(v, x) for name, one in OPERATORS.items()},
    "append": tfr.append,
    "array_equal": tfr.array_equal,
    "array_equiv": tfr.array_equiv,
    "asarray": lambda x, v: tfr.asarray([x, v]),
    "average": lambda x, v: tfr.average(x, weights=v),
    "bernoulli": lambda x, v: tfr.random.bernoulli(3, v, key=KEY),
    "choice": lambda x, v: tfr.random.choice(3, 5, p=v, key=KEY),
    "clip above": lambda x, v: tfr.clip(x, None, v),
    "clip below": lambda x, v: tfr.clip(x, v, None),
    "column_stack": lambda x, v: tfr.column_stack([x, v]),
    "concat": lambda x, v: tfr.concat([v, x]),
    "convolve": tfr.convolve,
    "corrcoef": tfr.corrcoef,
    "cov": tfr.cov,
    "cov weights": lambda x, v: tfr.cov(square(x), aweights=v),
    "cross": tfr.cross,
    "diff": lambda x, v: tfr.diff(x, prepend=v, append=v),
    "digitize": tfr.digitize,
    "digitize values": lambda x, v: tfr.digitize(v, x),
    "dot": tfr.dot,
    "dstack": lambda x, v: tfr.dstack([x, v]),
    "ediff1d": lambda x, v: tfr.ediff1d(x, to_end=v),
    "einsum": lambda x, v: tfr.einsum("i,j->ij", x, v),
    "full_like": tfr.full_like,
    "gradient": lambda x, v: tfr.gradient(x, v, axis=0),
    "histogram": lambda x, v: tfr.histogram(x, sorted(v))[0],
    "hstack": lambda x, v: tfr.hstack([x, v]),
    "inner": tfr.inner,
    "insert": lambda x, v: tfr.insert(x, 0, v),
    "interp at": lambda x, v: tfr.interp(v, x, x),
    "interp through": lambda x, v: tfr.interp(x, x, v),
    "interp outside": lambda x, v: tfr.interp(x + 9, x, x, right=v),
    "intersect1d": tfr.intersect1d,
    "isclose": lambda x, v: tfr.isclose(x, v, rtol=0, atol=1e-12),
    "isclose tolerance": lambda x, v: tfr.isclose(x, x * 1.1, rtol=v, atol=v),
    "isin": tfr.isin,
    "isin pool": lambda x, v: tfr.isin(v, x),
    "kron": tfr.kron,
    "lstsq": lambda x, v: tfr.linalg.lstsq(square(x), v)[0],
    "matmul": lambda x, v: tfr.matmul(square(x), v),
    "matrix_rank": lambda x, v: tfr.linalg.matrix_rank(repeated(square(x)), rtol=v),
    "multi_dot": lambda x, v: tfr.linalg.multi_dot([square(x), square(x), v]),
    "nan_to_num": lambda x, v: tfr.nan_to_num(x * tfr.nan, nan=v),
    "np.add": np.add,
    "np.add.outer": np.add.outer,
    "np.hypot": lambda x, v: np.hypot(v, x),
    "np.where": lambda x, v: np.where(x > 0.2, x, v),
    "outer": tfr.outer,
    "put_along_axis": put,
    "searchsorted": tfr.searchsorted,
    "searchsorted in": lambda x, v: tfr.searchsorted(sorted(v), x),
    "setdiff1d": tfr.setdiff1d,
    "setitem": lambda x, v: assigned(x, slice(None), v),
    "setitem mask": lambda x, v: assigned(x, x > 0, v),
    "solve": lambda x, v: tfr.linalg.solve(square(x), v),
    "stack": lambda x, v: tfr.stack([x, v]),
    "tensordot": lambda x, v: tfr.tensordot(x, v, axes=1),
    "trapezoid": tfr.trapezoid,
    "uniform": lambda x, v: tfr.random.uniform(None, v, 3, dtype=x.dtype, key=KEY),
    "union1d": tfr.union1d,
    "vdot": tfr.vdot,
    "vecdot": tfr.vecdot,
    "vstack": lambda x, v: tfr.vstack([v, x]),
    "where": lambda x, v: tfr.where([True, False, True], v, x),
}


def outcome(call: Any, x: Any, operand: Any) -> Any:
    """What a call gives: dtype and elements, or the class of its error."""
    try:
        result = call(x, operand)
        array = result.numpy() if isinstance(result, tfr.Tensor) else result
    except tfr.errors.TensorFrameError as error:
        return type(error)
    return array.dtype, array.shape, array.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", WITH_AN_OPERAND)
def test_a_sequence_is_the_array_of_its_numbers(name, dtype):
    call = WITH_AN_OPERAND[name]
    for sequence in SEQUENCES.values():
        array = np.asarray(sequence)
        if array.dtype == np.float64 and not isinstance(sequence[0], np.generic):
            # Python's floats are as exact as what they meet, and float32 by themselves
            array = array.astype(dtype)
        with tfr.use_backend("cpu"):  # where operands that are arrays lie
            x = tfr.asarray(VALUES, dtype=dtype)
            assert outcome(call, x, sequence) == outcome(call, x, array), sequence


@pytest.mark.parametrize(
    ("dtype", "sequence", "expected"),
    [
        ("float64", [0.5], "float64"),
        ("float32", [0.5], "float32"),
        ("float16", [0.5], "float32"),
        ("int64", [0.5], "float32"),
        ("int8", [1], "int64"),
        ("float16", [1], "float16"),
        ("bool", [1], "int64"),
        ("uint8", [True], "uint8"),
        ("float32", [1j], "complex64"),
        ("float64", [1j], "complex128"),
        ("int64", [2**63], "float64"),
    ],
)
def test_a_sequence_has_the_dtype_that_asarray_gives_it(dtype, sequence, expected):
    x = tfr.ones(1, dtype=dtype)
    assert (x + sequence).dtype == expected
    assert tfr.result_type(x, tfr.asarray(sequence)) == expected
    assert tfr.concat([x, sequence]).dtype == expected


@pytest.mark.parametrize("device", DEVICES)
def test_sequences_are_operands_on_every_device(device):
    x = tfr.asarray([1.0, 2.0, 4.0], dtype="float32", device=device)
    expected = {
        x + [1.0, 2.0, 3.0]: [2.0, 4.0, 7.0],
        (1, 2, 3) - x: [0.0, 0.0, -1.0],
        x == [1.0, 9.0, 4.0]: [1.0, 0.0, 1.0],
        operator.ne([1.0, 9.0, 4.0], x): [0.0, 1.0, 0.0],
        x < range(3): [0.0, 0.0, 0.0],
        tfr.maximum([3.0, 0.0, 5.0], x): [3.0, 2.0, 5.0],
        tfr.where([True, False, True], x, [7.0, 8.0, 9.0]): [1.0, 8.0, 4.0],
        [[1.0, 1.0, 1.0]] @ x * [1.0, 1.0, 1.0]: [7.0, 7.0, 7.0],
        x != None: [1.0, 1.0, 1.0],  # noqa: E711 - the comparison itself is tested
    }
    assert {one.device for one in expected} == {x.device}
    # together, since building a kernel for each takes seconds
    assert tfr.stack([one.astype("float32") for one in expected]).tolist() == [*expected.values()]


def test_sequences_on_a_device_without_wide_dtypes():
    dtypes = {one for one in tfr.dtypes.ANY if one.name not in ("int64", "uint64", "float64")}
    tfr.backends.register(BoxedBackend("narrow", dtypes=frozenset(dtypes)))
    try:
        x = tfr.asarray([1, 2], device="narrow")
        for result, dtype, expected in (
            (x + [1, 1], "int32", [2, 3]),
            (x * [0.5, 1.5], "float32", [0.5, 3.0]),
            (x == [1.0, 0.0], "bool", [True, False]),
            (tfr.where([True, False], x, 7), "int32", [1, 7]),
            (assigned(x, slice(None), [3, 4]), "int32", [3, 4]),
        ):
            assert (result.dtype, str(result.device)) == (dtype, "narrow")
            assert result.tolist() == expected
    finally:
        unregister("narrow")


def test_sequences_in_place():
    x = tfr.asarray([1.0, 2.0])
    same = x
    x += [1.0, 1.0]
    x *= (2, 3)
    assert same is x
    assert x.tolist() == [4.0, 9.0]
    integers = tfr.asarray([1, 2])
    for wrong, error in (
        ([0.5, 0.5], DTypeError),
        ([1, 2, 3], ShapeError),
        ([[1], [1, 2]], ShapeError),
    ):
        with pytest.raises(error):
            integers += wrong
    assert integers.tolist() == [1, 2]


def test_functions_of_one_operand_take_sequences():
    assert tfr.sin([0.0, 0.0]).tolist() == [0.0, 0.0]
    assert tfr.negative(range(3)).tolist() == [0, -1, -2]
    x = tfr.asarray([1.0, 2.0])
    assert (x * [[1.0], [2.0]]).tolist() == [[1.0, 2.0], [2.0, 4.0]]
    assert tfr.sqrt(((1.0, 4.0), (9.0, 16.0))).tolist() == [[1.0, 2.0], [3.0, 4.0]]


class Elements:
    """An object of another library that hands its elements to NumPy."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray([0.1, 0.2], dtype)


@pytest.mark.parametrize("values", [Elements(), array("d", [0.1, 0.2])], ids=["Elements", "array"])
def test_functions_and_assignments_take_arrays_of_other_libraries(values):
    x = tfr.zeros(2)
    assert tfr.negative(values).tolist() == [-0.1, -0.2]
    assert tfr.maximum(values, x).tolist() == [0.1, 0.2]
    assert tfr.where([True, False], values, 1.0).tolist() == [0.1, 1.0]
    x = x.astype(float)
    x[:] = values
    assert x.tolist() == [0.1, 0.2]


@pytest.mark.parametrize("wrong", [[[1.0], [1.0, 2.0]], [[1.0, 2.0], 3.0]])
def test_ragged_sequences_are_refused(wrong):
    x = tfr.asarray([1.0, 2.0])
    for call in (
        lambda: x + wrong,
        lambda: wrong * x,
        lambda: x == wrong,
        lambda: wrong in x,
        lambda: x < wrong,
        lambda: tfr.maximum(wrong, x),
        lambda: x.__setitem__(slice(None), wrong),
    ):
        with pytest.raises(ShapeError, match="ragged"):
            call()
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("wrong", [["a", "b"], [None, None], [1.0, "a"], [{}, 1]])
def test_sequences_of_something_else_are_refused(wrong):
    x = tfr.asarray([1.0, 2.0])
    for call in (lambda: x + wrong, lambda: wrong * x, lambda: x < wrong, lambda: tfr.sin(wrong)):
        with pytest.raises(TypeError, match="numbers"):
            call()


def test_sequences_of_tensors_are_stacked_without_computing_them():
    x = tfr.asarray([1.0, 2.0])
    pair = [tfr.sum(x), tfr.min(x) * 3]
    result = x + pair
    assert not any(one.is_computed for one in (*pair, result))
    assert result.tolist() == [4.0, 5.0]
    x[...] = pair
    assert x.tolist() == [3.0, 3.0]


def test_sequences_inside_of_a_jitted_function():
    @tfr.jit
    def f(x):
        y = x + [1.0, 2.0]
        y[:] = [y[1], 5.0]
        return y, y == [4.0, 5.0], y == None, tfr.where([True, False], x, y)  # noqa: E711

    x = tfr.asarray([1.0, 2.0])
    assert [one.tolist() for one in f(x)] == [
        [4.0, 5.0],
        [True, True],
        [False, False],
        [1.0, 5.0],
    ]


@pytest.mark.parametrize(
    ("function", "number", "expected"),
    [
        (lambda x, n: x + [n, 2.0], 3.0, [4.0, 4.0]),
        (lambda x, n: x == [n, 2], 1, [True, True]),
        (lambda x, n: x * (n, x[1]), 4, [4.0, 4.0]),
        (lambda x, n: tfr.asarray([n, True]), 5, [5, 1]),
        (lambda x, n: tfr.asarray([[n, 1.0], [2.0, n]]), 0.5, [[0.5, 1.0], [2.0, 0.5]]),
        (lambda x, n: x[[n, 0, -n]], 1, [2.0, 1.0, 2.0]),
        (lambda x, n: assigned(x, slice(None), [n, n]), 7, [7.0, 7.0]),
    ],
)
def test_sequences_hold_numbers_that_jit_does_not_know_yet(function, number, expected):
    x = tfr.asarray([1.0, 2.0])
    assert tfr.jit(function)(x, number).tolist() == function(x, number).tolist() == expected


def test_a_jitted_function_takes_a_sequence():
    add = tfr.jit(lambda x, values: x + values)
    x = tfr.asarray([0.1, 0.2], dtype="float64")
    assert add(x, [0.1, 0.2]).tolist() == (x + [0.1, 0.2]).tolist()
    assert add(x, (1, 2)).tolist() == [1.1, 2.2]


def test_assigned_sequences_lose_no_digit_and_no_bit():
    x = tfr.zeros(2, dtype="float64")
    x[:] = [0.1, 0.2]
    assert x.tolist() == [0.1, 0.2]
    small = tfr.zeros(2, dtype="int8")
    with pytest.raises(OutOfRangeError, match="300"):
        small[:] = [300, 1]
    with pytest.raises(DTypeError, match="not assigned"):
        small[:] = [0.5, 1]
    small[:] = range(2)
    assert small.tolist() == [0, 1]


def test_a_sequence_times_a_tensor_is_no_longer_sequence():
    # Python would repeat the list, as it does for integers
    assert ([1, 2] * tfr.asarray(3)).tolist() == [3, 6]
