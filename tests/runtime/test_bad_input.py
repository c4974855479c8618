"""Bad input of every kind: the error says what was asked, what to try and which line asked, and nothing else breaks."""

import pickle
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import errors


@pytest.fixture
def x():
    return tfr.asarray(np.arange(12.0, dtype=np.float32).reshape(3, 4))


@pytest.fixture
def w():
    return tfr.asarray(np.arange(5.0, dtype=np.float32))


@pytest.fixture
def n():
    return tfr.asarray(np.arange(4))


# of any type, as in a program without annotations
THING: Any = object()
FRACTION: Any = 1.5

ITSELF: list[Any] = [1]
ITSELF.append(ITSELF)


class NoPair:
    """An exporter whose device is not said as DLPack says it."""

    def __dlpack__(self, **_):
        raise AssertionError

    def __dlpack_device__(self):
        return 7


# what is asked, the error, the built-in error it is too, and facts that its message must hold
CASES = {
    # shapes
    "operator": (
        lambda x, w, n: x + w,
        errors.ShapeError,
        ValueError,
        ["add", "(3, 4)", "(5,)", "axis -1", "4 and 5"],
    ),
    "function": (
        lambda x, w, n: tfr.atan2(x, w),
        errors.ShapeError,
        ValueError,
        ["atan2", "(3, 4)", "(5,)"],
    ),
    "reflected": (
        lambda x, w, n: np.ones((2, 2), np.float32) * w,
        errors.ShapeError,
        ValueError,
        ["multiply", "(2, 2)", "(5,)"],
    ),
    "where": (
        lambda x, w, n: tfr.where(x > 0, w, 0),
        errors.ShapeError,
        ValueError,
        ["where", "(3, 4)", "(5,)"],
    ),
    "matmul": (
        lambda x, w, n: x @ w,
        errors.ShapeError,
        ValueError,
        ["matmul", "(3, 4)", "(5,)", "4 columns meet 5 rows"],
    ),
    "matmul of scalars": (
        lambda x, w, n: x @ tfr.asarray(1.0),
        errors.ShapeError,
        ValueError,
        ["matmul", "()"],
    ),
    "reshape": (
        lambda x, w, n: tfr.reshape(x, (5, 2)),
        errors.ShapeError,
        ValueError,
        ["(3, 4)", "12", "(5, 2)"],
    ),
    "two unknown sizes": (
        lambda x, w, n: tfr.reshape(x, (-1, -1)),
        errors.ShapeError,
        ValueError,
        ["(-1, -1)"],
    ),
    "broadcast_to": (
        lambda x, w, n: tfr.broadcast_to(w, (5, 3)),
        errors.ShapeError,
        ValueError,
        ["(5,)", "(5, 3)"],
    ),
    "concat": (
        lambda x, w, n: tfr.concat([x, x[:, :2]]),
        errors.ShapeError,
        ValueError,
        ["concat", "(3, 4)", "(3, 2)"],
    ),
    "stack": (
        lambda x, w, n: tfr.stack([w, w[1:]]),
        errors.ShapeError,
        ValueError,
        ["(5,)", "(4,)"],
    ),
    "squeeze": (
        lambda x, w, n: tfr.squeeze(x, axis=0),
        errors.ShapeError,
        ValueError,
        ["squeeze", "3"],
    ),
    "negative size": (
        lambda x, w, n: tfr.zeros((2, -1)),
        errors.ShapeError,
        ValueError,
        ["(2, -1)"],
    ),
    "assignment": (
        lambda x, w, n: x.__setitem__(0, w),
        errors.ShapeError,
        ValueError,
        ["(5,)", "(4,)"],
    ),
    "einsum": (
        lambda x, w, n: tfr.einsum("ij,j->i", x, w),
        errors.ShapeError,
        ValueError,
        ["4", "5"],
    ),
    "empty maximum": (
        lambda x, w, n: tfr.max(x[:0]),
        errors.ShapeError,
        ValueError,
        ["max", "(0, 4)"],
    ),
    "bool of many": (lambda x, w, n: bool(x), errors.ShapeError, ValueError, ["(3, 4)"]),
    # axes
    "axis": (
        lambda x, w, n: tfr.sum(x, axis=2),
        errors.AxisError,
        IndexError,
        ["sum", "axis 2", "2 dimensions"],
    ),
    "axis twice": (
        lambda x, w, n: tfr.sum(x, axis=(0, -2)),
        errors.AxisError,
        ValueError,
        ["(0, -2)", "twice"],
    ),
    "axis of cumulative": (
        lambda x, w, n: tfr.cumulative_sum(x, axis=-3),
        errors.AxisError,
        IndexError,
        ["axis -3"],
    ),
    "permutation": (
        lambda x, w, n: tfr.permute_dims(x, (0, 0)),
        errors.AxisError,
        ValueError,
        ["(0, 0)"],
    ),
    "expand_dims": (
        lambda x, w, n: tfr.expand_dims(x, axis=4),
        errors.AxisError,
        IndexError,
        ["4"],
    ),
    # dtypes
    "bits of floats": (
        lambda x, w, n: x & x,
        errors.DTypeError,
        TypeError,
        ["bitwise_and", "float32", "integer or bool"],
    ),
    "quotients of complex without a fraction": (
        lambda x, w, n: tfr.astype(x, tfr.complex64) // 1,
        errors.DTypeError,
        TypeError,
        ["floor_divide", "complex64"],
    ),
    "object": (lambda x, w, n: tfr.add(x, THING), errors.DTypeError, TypeError, ["object"]),
    "string": (lambda x, w, n: tfr.asarray(["a", "b"]), errors.DTypeError, TypeError, ["<U1"]),
    "no such dtype": (
        lambda x, w, n: tfr.astype(x, "float17"),
        errors.DTypeError,
        TypeError,
        ["float17"],
    ),
    "number too large": (
        lambda x, w, n: tfr.astype(n, tfr.int8) + 1000,
        errors.OutOfRangeError,
        OverflowError,
        ["1000", "int8"],
    ),
    "axis that is no integer": (
        lambda x, w, n: tfr.sum(x, axis=FRACTION),
        errors.DTypeError,
        TypeError,
        ["axis", "1.5"],
    ),
    "shift that is no integer": (
        lambda x, w, n: tfr.roll(x, "a"),
        errors.DTypeError,
        TypeError,
        ["roll", "shift", "'a'"],
    ),
    "list that contains itself": (
        lambda x, w, n: tfr.asarray(ITSELF),
        errors.ArgumentError,
        ValueError,
        ["asarray", "contains itself"],
    ),
    "dlpack device that is no pair": (
        lambda x, w, n: tfr.from_dlpack(NoPair()),
        errors.DeviceError,
        RuntimeError,
        ["__dlpack_device__", "NoPair"],
    ),
    "percentile": (
        lambda x, w, n: tfr.percentile(x, 101),
        errors.OutOfRangeError,
        ValueError,
        ["percentile", "100"],
    ),
    # sizes that no memory has
    "too many elements": (
        lambda x, w, n: tfr.zeros(10**19),
        errors.ShapeError,
        ValueError,
        ["10000000000000000000", "64-bit"],
    ),
    "too many elements of a product": (
        lambda x, w, n: tfr.zeros((10**10, 1)) * tfr.zeros((1, 10**10)),
        errors.ShapeError,
        ValueError,
        ["multiply", "(10000000000, 10000000000)"],
    ),
    "too many dimensions": (
        lambda x, w, n: tfr.reshape(w, (1,) * 64 + (5,)),
        errors.ShapeError,
        ValueError,
        ["reshape", "65", "64"],
    ),
    "outer of matrices": (
        lambda x, w, n: tfr.linalg.outer(x, w),
        errors.ShapeError,
        ValueError,
        ["linalg.outer", "(3, 4)", "tfr.outer"],
    ),
    "vsplit of a vector": (
        lambda x, w, n: tfr.vsplit(w, 5),
        errors.ShapeError,
        ValueError,
        ["vsplit", "(5,)"],
    ),
    "dsplit of a matrix": (
        lambda x, w, n: tfr.dsplit(x, 2),
        errors.ShapeError,
        ValueError,
        ["dsplit", "(3, 4)"],
    ),
    # indices
    "integer index": (lambda x, w, n: x[3], errors.IndexingError, IndexError, ["3"]),
    "too many indices": (lambda x, w, n: x[0, 0, 0], errors.IndexingError, IndexError, ["3", "2"]),
    "float index": (lambda x, w, n: x[1.0], errors.IndexingError, IndexError, ["float"]),
    "mask of another shape": (
        lambda x, w, n: x[w > 0],
        errors.IndexingError,
        IndexError,
        ["(5,)", "(3, 4)"],
    ),
    "zero step": (lambda x, w, n: x[::0], errors.ArgumentError, ValueError, ["step", "zero"]),
    "take out of bounds": (
        lambda x, w, n: tfr.take(x, n + 7, axis=0).numpy(),
        IndexError,
        IndexError,
        ["7"],
    ),
    # devices
    "unknown device": (
        lambda x, w, n: tfr.zeros(3, device="abacus"),
        errors.DeviceError,
        RuntimeError,
        ["abacus"],
    ),
    "not a device": (
        lambda x, w, n: tfr.zeros(3, device="CUDA 0"),
        errors.DeviceError,
        RuntimeError,
        ["CUDA 0"],
    ),
    # files
    "missing file": (
        lambda x, w, n: tfr.load("/no/such/file.npz"),
        errors.MissingFileError,
        FileNotFoundError,
        ["/no/such/file.npz"],
    ),
    "unknown format": (
        lambda x, w, n: tfr.save("x.png", x),
        errors.FileFormatError,
        ValueError,
        ["x.png"],
    ),
    # options
    "unknown option": (
        lambda x, w, n: tfr.config.configure(speed=11),
        errors.ArgumentError,
        ValueError,
        ["speed"],
    ),
    "singular matrix": (
        lambda x, w, n: tfr.linalg.inv(tfr.zeros((2, 2))).numpy(),
        ValueError,
        ValueError,
        ["inv"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(case, x, w, n):
    ask, kind, built_in, facts = CASES[case]
    older = x * 2
    with pytest.raises(kind) as caught:
        ask(x, w, n)
    error = caught.value
    assert isinstance(error, built_in)
    for fact in facts:
        assert fact in str(error), f"{fact!r} is not in\n{error}"
    assert isinstance(error, errors.TensorFrameError), f"{type(error).__name__} is not ours"
    assert error.location is not None
    assert __file__ in error.location
    assert f"{__file__}, line" in str(error)
    assert all(suggestion in str(error) for suggestion in error.suggestions)
    # everybody else goes on
    assert older.numpy()[2, 3] == 22.0
    assert np.array_equal(x.numpy(), np.arange(12.0).reshape(3, 4))
    assert tfr.sum(w).item() == 10.0
    assert n.numpy().tolist() == [0, 1, 2, 3]


HINTED = {
    "operator": ["reshape"],
    "matmul": ["last axis"],
    "reshape": ["-1"],
    "axis": ["-2 to 1"],
    "bits of floats": ["astype"],
    "number too large": ["int16"],
    "no such dtype": ["float32"],
    "unknown device": ["cpu"],
    "missing file": ["relative paths"],
    "unknown format": [".safetensors"],
    "unknown option": ["block_bytes"],
    "integer index": ["-3 to 2"],
}


@pytest.mark.parametrize("case", HINTED)
def test_an_error_suggests_what_to_try(case, x, w, n):
    with pytest.raises(errors.TensorFrameError) as caught:
        CASES[case][0](x, w, n)
    said = " ".join(caught.value.suggestions)
    for hint in HINTED[case]:
        assert hint in said


def test_what_fails_while_running_names_the_line_that_recorded_it():
    matrix = tfr.zeros((2, 2))
    inverse = tfr.linalg.inv(matrix)  # recorded here
    shifted = inverse + 1.0
    with pytest.raises(errors.LinAlgError) as caught:
        shifted.numpy()
    assert "# recorded here" in str(caught.value)
    assert matrix.numpy().tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(errors.LinAlgError):
        shifted.numpy()


def test_one_failing_result_does_not_take_the_others_along():
    good, bad = tfr.asarray([1.0]) + 1.0, tfr.linalg.inv(tfr.zeros((2, 2)))
    with pytest.raises(errors.LinAlgError):
        tfr.compute(good, bad)
    assert good.numpy().tolist() == [2.0]


def test_errors_survive_pickling(x, w):
    with pytest.raises(errors.ShapeError) as caught:
        x + w
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.suggestions == caught.value.suggestions
    assert type(again) is errors.ShapeError


def test_an_axis_error_is_numpys_too_and_survives_pickling(x):
    with pytest.raises(np.exceptions.AxisError) as caught:
        tfr.sum(x, axis=5)
    again = pickle.loads(pickle.dumps(caught.value))
    for error in (caught.value, again):
        assert isinstance(error, errors.AxisError)
        assert (error.axis, error.ndim) == (5, 2)
    assert str(again) == str(caught.value)


@pytest.mark.parametrize(
    "convert",
    [
        lambda: tfr.asarray(1e40),
        lambda: tfr.asarray([1.0, 1e40]),
        lambda: tfr.full(3, 1e40),
        lambda: tfr.asarray(-1e6, dtype="float16"),
    ],
    ids=["number", "list", "full", "half"],
)
def test_a_number_that_overflows_warns_at_the_line_that_gave_it(convert):
    with pytest.warns(RuntimeWarning, match="overflow") as caught:
        result = convert()
    assert [one.filename for one in caught] == [__file__]
    assert np.isinf(result.numpy()).any()


def test_infinities_and_the_largest_numbers_convert_without_a_warning():
    largest = float(np.finfo(np.float32).max)
    assert tfr.asarray([np.inf, largest]).tolist() == [np.inf, largest]
    assert tfr.asarray(-np.inf).item() == -np.inf
    assert tfr.asarray(largest).item() == largest
