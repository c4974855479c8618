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
