"""Functions that NumPy computes at once on few elements: the same elements as of what is recorded, in few frames."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tests.runtime.small_calls import PLANNED, frames

_DRAW = np.random.default_rng(5)
_SPECIAL = np.asarray(
    [0.0, -0.0, 1.0, -1.5, 2.0, 0.75, np.inf, -np.inf, np.nan, 1e-38, -1e-45, 3e38, 7e-42, 1023.0],
    np.float32,
)
_FLOATS = {
    "float32": _SPECIAL,
    "float64": np.append(_SPECIAL.astype(np.float64), [5e-324, -1e-310, 1.7e308, 1e-200]),
    "float16": np.asarray([0, -0.0, 1, -1.5, 6e-8, 65504, np.inf, np.nan], np.float16),
}
_INTEGERS = {
    name: np.asarray([*_DRAW.integers(0, 100, 9), np.iinfo(name).max, np.iinfo(name).min], name)
    for name in ("int8", "uint8", "int32", "int64", "uint64")
}
_SUMMED = {
    name: (_DRAW.normal(size=23) + 1j * _DRAW.normal(size=23)).astype(name)
    if name[0] == "c"
    else _DRAW.normal(size=23).astype(name)
    for name in ("float16", "float32", "float64", "complex64", "complex128")
}
_POWERS = np.asarray([0, 3, -3, 130, -130, 300, -300, 5000, -5000, 1, -1, -20, 148, -148], np.int32)

# what is called with tensors of these arrays, by dtype
_OF_ONE = {
    "frexp": (tfr.frexp, _FLOATS),
    "modf": (tfr.modf, _FLOATS),
    "spacing": (tfr.spacing, _FLOATS),
    "sort_complex": (tfr.sort_complex, _FLOATS | _INTEGERS),
    "bitwise_count": (tfr.bitwise_count, _INTEGERS),
    "packbits": (lambda x: tfr.packbits(x, 0, "little"), _INTEGERS),
    "unpackbits": (tfr.unpackbits, {"uint8": _INTEGERS["uint8"]}),
    "unpackbits of some": (lambda x: tfr.unpackbits(x, 0, 13), {"uint8": _INTEGERS["uint8"]}),
    "gcd": (lambda x: tfr.gcd(x, x[::-1]), _INTEGERS),
    "gcd of a number": (lambda x: tfr.gcd(x, 12), _INTEGERS),
    "lcm": (lambda x: tfr.lcm(x[:9], x[8::-1]), _INTEGERS),
    "ldexp": (
        lambda x: tfr.ldexp(tfr.expand_dims(x, 1), tfr.asarray(_POWERS)),
        {name: _FLOATS[name] for name in ("float32", "float64")},
    ),
    "lexsort": (lambda x: tfr.lexsort((x[::-1], x)), _FLOATS | _INTEGERS),
    "lexsort of equal ones": (lambda x: tfr.lexsort([x, x * 0]), _INTEGERS),
    "vander": (lambda x: tfr.vander(x, 4), _FLOATS | _INTEGERS),
    "vander rising": (lambda x: tfr.vander(x, 2, True), _FLOATS | _INTEGERS),
    "vander of ones": (lambda x: tfr.vander(x, 1), _FLOATS),
    "polyint": (tfr.polyint, _FLOATS),
    "polyadd": (lambda x: tfr.polyadd(x, x[:3]), _FLOATS | _INTEGERS),
    "polysub": (lambda x: tfr.polysub(x[4:], x), _FLOATS | _INTEGERS),
    "convolve": (lambda x: tfr.convolve(x, x[3:6], "same"), _SUMMED | _INTEGERS),
    "correlate": (lambda x: tfr.correlate(x, x[3:8]), _SUMMED | _INTEGERS),
    "correlate in full": (lambda x: tfr.correlate(x[2:4], x, "full"), _SUMMED | _INTEGERS),
    "choose": (lambda x: tfr.choose(x[:9] % 3, (x[:9], x[1:10], x[2:])), _INTEGERS),
    "compress": (lambda x: tfr.compress(x > 1, x), _FLOATS | _INTEGERS),
    "extract": (lambda x: tfr.extract(x > 1, x), _FLOATS | _INTEGERS),
    "resize": (lambda x: tfr.resize(x, (3, 7)), _FLOATS | _INTEGERS),
    "unravel_index": (
        lambda x: tfr.unravel_index(x[:9] % 30, (5, 6)),
        {name: _INTEGERS[name] for name in ("int32", "int64")},
    ),
    "ravel_multi_index": (
        lambda x: tfr.ravel_multi_index((x[:9] % 5, x[:9] % 6), (5, 6)),
        {name: _INTEGERS[name] for name in ("int32", "int64")},
    ),
    "ravel_multi_index wrapped": (
        lambda x: tfr.ravel_multi_index((x, x), (5, 6), ("wrap", "clip")),
        {name: _INTEGERS[name] for name in ("int32", "int64")},
    ),
}
_CASES = [(name, dtype) for name, (_, arrays) in _OF_ONE.items() for dtype in arrays]


def _arrays(result: object) -> list[np.ndarray]:
    parts = result if isinstance(result, tuple) else (result,)
    return [part.numpy() for part in parts]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "dtype"), _CASES)
def test_numpys_functions_have_the_bits_of_the_formulas(name, dtype):
    function, arrays = _OF_ONE[name]
    x = tfr.asarray(arrays[dtype])
    with tfr.config.override(**PLANNED):
        expected = _arrays(function(x))
    function(x)
    results = function(x)  # the first call of a kind is recorded
    for result, wanted in zip(_arrays(results), expected, strict=True):
        np.testing.assert_array_equal(result, wanted, strict=True)
        if result.dtype.kind != "c":  # of complex NaN the parts may be any
            signs = ~np.isnan(wanted) if result.dtype.kind == "f" else slice(None)
            np.testing.assert_array_equal(np.signbit(result[signs]), np.signbit(wanted[signs]))


_WRITTEN = {
    "put": lambda t, x: tfr.put(t, tfr.asarray([1, 0, -1, 1]), x[:3]),
    "put a number": lambda t, x: tfr.put(t, [2, 3], 1),
    "put around": lambda t, x: tfr.put(t, tfr.asarray([1, 20]), x[4:6], "wrap"),
    "place": lambda t, x: tfr.place(t, x > 1, x[:2]),
    "putmask": lambda t, x: tfr.putmask(t, x > 1, x[:3]),
    "putmask a number": lambda t, x: tfr.putmask(t, x > 1, 3),
    "put_along_axis": lambda t, x: tfr.put_along_axis(t, tfr.asarray([1, 0, -1, 1]), x[:4], 0),
    "copyto": lambda t, x: tfr.copyto(t, x[:1]),
    "copyto a number": lambda t, x: tfr.copyto(t, 2),
    "fill_diagonal": lambda t, x: tfr.fill_diagonal(t, 2),
    "fill_diagonal wrapped": lambda t, x: tfr.fill_diagonal(t, x[:2], True),
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "complex64"])
@pytest.mark.parametrize("name", _WRITTEN)
def test_what_is_written_at_once_is_what_would_be_recorded(name, dtype):
    values = np.arange(12).reshape(6, 2) if "diagonal" in name else np.arange(12)
    x = tfr.asarray(np.arange(12) * 3 % 5).astype("int64" if dtype == "complex64" else dtype)
    x.compute()
    target, recorded = (tfr.asarray(values.astype(dtype)) for _ in range(2))
    other = tfr.asarray(target, copy=True)
    with tfr.config.override(**PLANNED):
        _WRITTEN[name](recorded, x)
        recorded.compute()
    _WRITTEN[name](target, x)
    np.testing.assert_array_equal(target.numpy(), recorded.numpy(), strict=True)
    assert other.tolist() == values.tolist()


_FRAMES = {
    "frexp": (lambda x, i: tfr.frexp(x), 9),
    "bitwise_count": (lambda x, i: tfr.bitwise_count(i), 7),
    "gcd": (lambda x, i: tfr.gcd(i, i), 7),
    "ldexp": (tfr.ldexp, 6),
    "packbits": (lambda x, i: tfr.packbits(i), 8),
    "lexsort": (lambda x, i: tfr.lexsort((i, x)), 12),
    "correlate": (lambda x, i: tfr.correlate(x, x), 12),
    "put": (lambda x, i: tfr.put(tfr.asarray(x), i, 1.0), 12),
}


@pytest.mark.parametrize("name", _FRAMES)
def test_exact_functions_of_few_elements_take_few_frames(name):
    function, most = _FRAMES[name]
    x, i = tfr.asarray(np.arange(6.0)), tfr.asarray(np.arange(6))
    assert frames(lambda: function(x, i)) <= most
    result = function(x, i)
    parts = result if isinstance(result, tuple) else [x if result is None else result]
    assert all(part.is_computed for part in parts)


def test_what_is_pending_large_or_looked_at_is_recorded():
    few, large = np.arange(6), np.arange(9000)
    for x in (tfr.asarray(few) + 1, tfr.asarray(large)):
        tfr.bitwise_count(x)
        assert not tfr.bitwise_count(x).is_computed
    x = tfr.asarray(few)
    tfr.bitwise_count(x)
    assert tfr.bitwise_count(x).is_computed
    for options in (PLANNED, {"validate": True}, {"check_nan": True}):
        with tfr.config.override(**options):
            assert not tfr.bitwise_count(x).is_computed


@pytest.mark.parametrize("name", ["frexp", "packbits", "unpackbits"])
def test_many_elements_are_computed_at_once_where_numpy_is_much_faster(name):
    function = getattr(tfr, name)
    values = np.arange(9000) - 70
    x = tfr.asarray(
        values.astype(np.uint8 if name == "unpackbits" else np.float32)
        if name != "packbits"
        else values
    )
    function(x)
    results = function(x)
    parts = results if isinstance(results, tuple) else (results,)
    assert all(part.is_computed for part in parts)
    for part, expected in zip(parts, _expected(name, x), strict=True):
        np.testing.assert_array_equal(part.numpy(), expected, strict=True)
    assert not any(part.is_computed for part in (function(x + 0),) if isinstance(part, tfr.Tensor))


def _expected(name, x):
    with tfr.config.override(**PLANNED):
        return _arrays(getattr(tfr, name)(x))


def test_a_number_is_put_at_many_positions_as_one():
    x, places = tfr.asarray(np.zeros(20_000)), tfr.asarray(np.arange(0, 20_000, 2))
    tfr.put(x, places, 3.0)
    tfr.put(x, places[:5000], [1.0, 2.0])
    expected = np.zeros(20_000)
    np.put(expected, places.numpy(), 3.0)
    np.put(expected, places.numpy()[:5000], [1.0, 2.0])
    np.testing.assert_array_equal(x.numpy(), expected)


def test_gradients_and_recorded_functions_pass_exact_functions():
    x = tfr.asarray(np.asarray([0.75, 3.0, -5.0], np.float32))
    places = tfr.asarray([0, 2])
    tfr.ldexp(x, places[0]).compute()

    def function(x, *, looked_at=False):
        y = x * 1
        if looked_at:
            y.compute()
        y = tfr.ldexp(y, tfr.asarray([1, 2, 3]))
        tfr.put(y, places, 1.0)
        return tfr.sum(y)

    assert tfr.grad(lambda x: function(x, looked_at=True))(x).tolist() == [0, 4, 0]
    assert tfr.jit(function)(x).item() == function(x).item() == 14
    counted = tfr.vmap(tfr.bitwise_count)(tfr.asarray([[1, 3], [7, 8]]))
    assert counted.tolist() == [[1, 2], [3, 1]]


def test_out_is_no_array_that_numpy_writes_to():
    x = tfr.asarray(np.asarray([0.75, 3.0], np.float32))
    tfr.modf(x)
    first, second = tfr.zeros(2).compute(), tfr.zeros(2).compute()
    before = tfr.asarray(first, copy=True), first.numpy()
    tfr.modf(x, (first, second))
    assert first.tolist() == [0.75, 0]
    assert second.tolist() == [0, 3]
    assert before[0].tolist() == before[1].tolist() == [0, 0]


def test_errors_say_what_those_of_recorded_calls_say():
    x = tfr.asarray([1, 2, 3])
    tfr.unravel_index(x, (4,))
    with pytest.raises(tfr.errors.IndexingError, match="unravel_index"):
        tfr.unravel_index(x, (3,))
    tfr.put(x, [0], 1)
    with pytest.raises(IndexError):
        tfr.put(x, [7], 1)
    with pytest.raises(tfr.errors.DTypeError, match="packbits"):
        tfr.packbits(tfr.asarray([1.0]))
    assert x.tolist() == [1, 2, 3]


_ALIKE = {
    "a number and a list": (lambda x: tfr.lcm(3, x), lambda x: tfr.lcm([3], x)),
    "numbers of few and many bits": (
        lambda x: tfr.polyadd(x, 1),
        lambda x: tfr.polyadd(x, 1 << 40),
    ),
    "lists of few and many bits": (
        lambda x: tfr.polysub(x, [1]),
        lambda x: tfr.polysub(x, [1 << 63]),
    ),
    "no integers": (lambda x: tfr.extract(x > 5, [1, 2]), lambda x: tfr.extract(x > 5, [])),
    "no bytes": (
        lambda x: tfr.unpackbits(tfr.astype(x, "uint8"), 0),
        lambda x: tfr.unpackbits(tfr.zeros((0,), dtype="uint8"), 0, 20),
    ),
    "the largest positions": (
        lambda x: tfr.ravel_multi_index([tfr.astype(x, "uint64")], (5,), "wrap"),
        lambda x: tfr.ravel_multi_index([tfr.asarray([2**64 - 1], dtype="uint64")], (5,), "wrap"),
    ),
}


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
@pytest.mark.parametrize("name", _ALIKE)
def test_what_one_call_teaches_holds_for_none_with_other_results(name, dtype):
    first, second = _ALIKE[name]
    x = tfr.asarray(np.asarray([3, 1], dtype))
    with tfr.config.override(**PLANNED):
        expected = _outcome(second, x)
    for _ in range(2):
        first(x)
        assert _outcome(second, x) == expected


def _outcome(function, x):
    try:
        result = function(x)
    except tfr.errors.TensorFrameError as error:
        return type(error)
    return result.dtype, result.tolist()


def test_a_correlation_of_complex_numbers_has_zeros_of_the_same_sign():
    x, v = tfr.asarray([0j], dtype="complex128"), tfr.asarray([3, 1, 2], dtype="uint16")
    with tfr.config.override(**PLANNED):
        expected = tfr.correlate(x, v).numpy().imag
    for _ in range(2):
        np.testing.assert_array_equal(
            np.signbit(tfr.correlate(x, v).numpy().imag), np.signbit(expected)
        )


_REFUSED = {
    "a large number": lambda x: tfr.put(x, [0], 300),
    "a large number in a list": lambda x: tfr.put(x, [0], [300]),
    "nothing": lambda x: tfr.put(x, [0], None),
    "a text": lambda x: tfr.put(x, [0], "3"),
    "no mode": lambda x: tfr.put(x, [0], 1, None),
    "a large number by a mask": lambda x: tfr.putmask(x, x > 0, 300),
    "a larger number": lambda x: tfr.copyto(x, [1 << 40]),
    "a number as a condition": lambda x: tfr.copyto(x, 1, "no", 1),
    "no values": lambda x: tfr.place(x[:0], x[:0] > 0, x[:0]),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_what_numpy_alone_would_write_is_refused_each_time(name):
    x = tfr.asarray(np.asarray([1, 2], np.int8))
    mask = tfr.asarray([True, True])
    for _ in range(2):
        tfr.put(x, [0], [1])
        tfr.putmask(x, mask, 1)
        tfr.copyto(x, [1])
        assert x.is_computed
        with pytest.raises(tfr.errors.TensorFrameError):
            _REFUSED[name](x)
    assert x.tolist() == [1, 1]


def test_writing_follows_numpy_where_little_is_written_or_positions_are_odd():
    far = tfr.asarray([3, 1 << 62])
    mask = np.asarray([False, True, False])
    for _ in range(2):
        x, expected = tfr.zeros(3, dtype="float64").compute(), np.zeros(3)
        tfr.put(x, far, 2.5, "wrap")  # NumPy's own would take a year
        expected[[0, (1 << 62) % 3]] = 2.5
        tfr.put(x, tfr.asarray(mask), 0.1)
        np.put(expected, mask, 0.1)
        assert x.tolist() == expected.tolist()
        square = tfr.ones((2, 2)).compute()
        tfr.fill_diagonal(square, tfr.asarray([], dtype="float32"))
        assert square.tolist() == [[1, 1], [1, 1]]
        single = tfr.asarray(3).compute()
        tfr.copyto(single, [[4]])
        assert single.item() == 4


def test_numbers_that_are_written_keep_all_their_digits():
    for options in ({}, PLANNED):
        with tfr.config.override(**options):
            x = tfr.zeros((2, 2), dtype="float64").compute()
            tfr.copyto(x, 0.1)
            tfr.putmask(x, x > 0, [0.1, 0.7])
            tfr.fill_diagonal(x, [0.3, 1e300])
            assert x.tolist() == [[0.3, 0.7], [0.1, 1e300]]


def test_what_numpy_computes_at_once_warns_of_nothing():
    x = tfr.asarray([np.inf, 3e38], dtype="float32")
    y = tfr.asarray([-np.inf, 3e38], dtype="float32")
    for _ in range(2):
        assert np.isnan(tfr.polyadd(x, y).numpy()[0])


def test_keys_and_bytes_without_axes_are_those_of_numpy():
    assert tfr.lexsort(tfr.asarray([3, 1])).tolist() == np.lexsort([3, 1]) == 0
    byte = tfr.asarray(131, dtype="uint8")
    assert tfr.unpackbits(byte, -1).tolist() == np.unpackbits(byte.numpy(), -1).tolist()
    with pytest.raises(tfr.errors.AxisError):
        tfr.lexsort(tfr.asarray([3, 1]), 1)
