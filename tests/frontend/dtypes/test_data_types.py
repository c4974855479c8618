"""Data types: conversion against NumPy, promotion, categories and limits."""

from __future__ import annotations

import inspect
import math
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.backends.registry import unregister
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.testing.boxed import BoxedBackend

DTYPES = [dtype for _, dtype in sorted(tfr.dtypes.BY_NAME.items())]
NUMBERS = {bool: True, int: 3, float: 2.5, complex: 1j}
dtypes = st.sampled_from(DTYPES)


DEVICES = [name for name in ("cpu", "opencl", "wgpu", "cuda") if name in tfr.backends.available()]
WIDE = {np.dtype(name) for name in ("int64", "uint64", "float64", "complex128")}
NAMED_BY_CLASSES = {
    bool: tfr.dtypes.bool_,
    int: tfr.dtypes.int64,
    float: tfr.dtypes.float64,
    complex: tfr.dtypes.complex128,
}
X = np.asarray([1.0, 2.0], dtype="float32")
M = np.ones((2, 2), dtype="float32")

# how each function that takes a dtype is called with one
TAKES_A_DTYPE = {
    "einsum": lambda dtype: tfr.einsum("i->i", X, dtype=dtype, casting="unsafe"),
    "frombuffer": lambda dtype: tfr.frombuffer(bytes(16), dtype),
    "fromiter": lambda dtype: tfr.fromiter([1, 0], dtype),
    "fromstring": lambda dtype: tfr.fromstring("1 0", dtype, sep=" "),
    "nancumprod": lambda dtype: tfr.nancumprod(X, dtype=dtype),
    "require": lambda dtype: tfr.require([1, 0], dtype),
    "row_stack": lambda dtype: tfr.row_stack([X], dtype=dtype, casting="unsafe"),
    "stack": lambda dtype: tfr.stack([X], dtype=dtype, casting="unsafe"),
    "std": lambda dtype: tfr.std(X, dtype=dtype),
    "var": lambda dtype: tfr.var(X, dtype=dtype),
    "arange": lambda dtype: tfr.arange(2, dtype=dtype),
    "array": lambda dtype: tfr.array([1], dtype),
    "asarray": lambda dtype: tfr.asarray([1, 0], dtype=dtype),
    "asarray of a number": lambda dtype: tfr.asarray(1, dtype=dtype),
    "astype": lambda dtype: tfr.asarray(X).astype(dtype),
    "can_cast": lambda dtype: tfr.can_cast(dtype, "float64") + 2 * tfr.can_cast("float32", dtype),
    "asanyarray": lambda dtype: tfr.asanyarray([1, 0], dtype),
    "asarray_chkfinite": lambda dtype: tfr.asarray_chkfinite([1, 0], dtype),
    "ascontiguousarray": lambda dtype: tfr.ascontiguousarray([1, 0], dtype),
    "asfortranarray": lambda dtype: tfr.asfortranarray([1, 0], dtype),
    "concat": lambda dtype: tfr.concat([X], dtype=dtype, casting="unsafe"),
    "corrcoef": lambda dtype: tfr.corrcoef(X, dtype=dtype),
    "cov": lambda dtype: tfr.cov(X, dtype=dtype),
    "cumprod": lambda dtype: tfr.cumprod(X, dtype=dtype),
    "cumsum": lambda dtype: tfr.cumsum(X, dtype=dtype),
    "cumulative_prod": lambda dtype: tfr.cumulative_prod(X, dtype=dtype),
    "cumulative_sum": lambda dtype: tfr.cumulative_sum(X, dtype=dtype),
    "empty": lambda dtype: tfr.empty(2, dtype=dtype),
    "empty_like": lambda dtype: tfr.empty_like(X, dtype=dtype),
    "eye": lambda dtype: tfr.eye(2, dtype=dtype),
    "finfo": lambda dtype: tfr.finfo(dtype).dtype,
    "from_native": lambda dtype: tfr.from_native(np.zeros(2), dtype=dtype),
    "fromfunction": lambda dtype: tfr.fromfunction(lambda i: i, (2,), dtype=dtype),
    "full": lambda dtype: tfr.full(2, 1, dtype=dtype),
    "full_like": lambda dtype: tfr.full_like(X, 1, dtype=dtype),
    "geomspace": lambda dtype: tfr.geomspace(1, 8, 4, dtype=dtype),
    "hstack": lambda dtype: tfr.hstack([X], dtype=dtype, casting="unsafe"),
    "identity": lambda dtype: tfr.identity(2, dtype=dtype),
    "iinfo": lambda dtype: tfr.iinfo(dtype).dtype,
    "indices": lambda dtype: tfr.indices((2,), dtype=dtype),
    "isdtype": lambda dtype: (
        tfr.isdtype(dtype, "real floating") + 2 * tfr.isdtype(tfr.int64, dtype)
    ),
    "linspace": lambda dtype: tfr.linspace(0, 2, 3, dtype=dtype),
    "logspace": lambda dtype: tfr.logspace(0, 2, 3, dtype=dtype),
    "mean": lambda dtype: tfr.mean(X, dtype=dtype),
    "nancumsum": lambda dtype: tfr.nancumsum(X, dtype=dtype),
    "nanmean": lambda dtype: tfr.nanmean(X, dtype=dtype),
    "nanprod": lambda dtype: tfr.nanprod(X, dtype=dtype),
    "nanstd": lambda dtype: tfr.nanstd(X, dtype=dtype),
    "nansum": lambda dtype: tfr.nansum(X, dtype=dtype),
    "nanvar": lambda dtype: tfr.nanvar(X, dtype=dtype),
    "ones": lambda dtype: tfr.ones(2, dtype=dtype),
    "ones_like": lambda dtype: tfr.ones_like(X, dtype=dtype),
    "prod": lambda dtype: tfr.prod(X, dtype=dtype),
    "promote_types": lambda dtype: tfr.promote_types(dtype, "float32"),
    "result_type": lambda dtype: tfr.result_type(dtype, X),
    "sum": lambda dtype: tfr.sum(X, dtype=dtype),
    "trace": lambda dtype: tfr.trace(M, dtype=dtype),
    "tri": lambda dtype: tfr.tri(2, dtype=dtype),
    "vstack": lambda dtype: tfr.vstack([X], dtype=dtype, casting="unsafe"),
    "zeros": lambda dtype: tfr.zeros(2, dtype=dtype),
    "zeros_like": lambda dtype: tfr.zeros_like(X, dtype=dtype),
    "view": lambda dtype: tfr.asarray(X.astype("float64")).view(dtype),
    "linalg.trace": lambda dtype: tfr.linalg.trace(M, dtype=dtype),
    "fft.fftfreq": lambda dtype: tfr.fft.fftfreq(2, dtype=dtype),
    "fft.rfftfreq": lambda dtype: tfr.fft.rfftfreq(2, dtype=dtype),
    "random.exponential": lambda dtype: tfr.random.exponential(2, dtype=dtype),
    "random.integers": lambda dtype: tfr.random.integers(2, shape=2, dtype=dtype),
    "random.normal": lambda dtype: tfr.random.normal(2, dtype=dtype),
    "random.uniform": lambda dtype: tfr.random.uniform(2, dtype=dtype),
}


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


@pytest.fixture
def narrow():
    """A device without 64-bit numbers."""
    backend = BoxedBackend("narrow", dtypes=frozenset(DTYPES) - WIDE)
    tfr.backends.register(backend)
    yield backend.name
    unregister(backend.name)


# what draws floating numbers, or counts: one call for each, with parameters that all of a kind take
DRAWN = {
    **dict.fromkeys(
        [
            "chisquare",
            "geometric",
            "logseries",
            "pareto",
            "poisson",
            "power",
            "rayleigh",
            "standard_gamma",
            "standard_t",
            "weibull",
            "zipf",
        ],
        (0.5,),
    ),
    **dict.fromkeys(
        [
            "beta",
            "f",
            "gamma",
            "gumbel",
            "laplace",
            "logistic",
            "lognormal",
            "noncentral_chisquare",
            "vonmises",
            "wald",
        ],
        (1, 2),
    ),
    **dict.fromkeys(
        [
            "standard_cauchy",
            "rand",
            "randn",
            "random",
            "random_sample",
            "standard_exponential",
            "standard_normal",
        ],
        (),
    ),
    "binomial": (3, 0.5),
    "negative_binomial": (3, 0.5),
    "hypergeometric": (3, 3, 2),
    "randint": (0, 2),
    "noncentral_f": (1, 2, 1),
    "triangular": (0, 1, 2),
    "multinomial": (3, [0.5, 0.5]),
    "dirichlet": ([1, 2],),
    "multivariate_hypergeometric": ([3, 3], 2),
    "multivariate_normal": ([0, 0], [[1, 0], [0, 1]]),
}
DRAWN["zipf"] = (2.0,)


def drawing(name):
    """A draw of a distribution in a dtype."""
    return lambda dtype: getattr(tfr.random, name)(*DRAWN[name], dtype=dtype)


TAKES_A_DTYPE |= {f"random.{name}": drawing(name) for name in DRAWN}


def outcome(call, dtype):
    """What a call with a dtype gives: a dtype, another value, or the class of its error."""
    try:
        found = call(dtype)
    except tfr.errors.TensorFrameError as error:
        return type(error)
    return getattr(found, "dtype", found)


def functions_with_dtypes():
    """The public functions that have a parameter for a dtype, by name."""
    homes = {"": tfr, "linalg.": tfr.linalg, "fft.": tfr.fft, "random.": tfr.random}
    for prefix, home in homes.items():
        for name in home.__all__:
            function = getattr(home, name)
            if isinstance(function, ModuleType | type) or not callable(function):
                continue
            if name in dir(np) and function is getattr(np, name):
                continue  # NumPy's own
            parameters = inspect.signature(function).parameters
            # elementwise functions have their options in one place, tests/numpy_names has their calls
            if "dtype" in parameters and "signature" not in parameters:
                yield prefix + name


def test_every_function_that_takes_a_dtype_is_tried_with_pythons_classes():
    aliases = {"concatenate", "random.ranf", "random.sample"}
    sets_a_state = {"autocast", "set_default_dtype"}
    assert set(functions_with_dtypes()) - TAKES_A_DTYPE.keys() == aliases | sets_a_state


@pytest.mark.filterwarnings("ignore::tensorframe.errors.FallbackWarning")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", TAKES_A_DTYPE)
def test_pythons_classes_name_the_dtypes_that_they_name_in_numpy(name, device):
    call = TAKES_A_DTYPE[name]
    with tfr.use_backend(device):
        for kind, dtype in NAMED_BY_CLASSES.items():
            assert outcome(call, kind) == outcome(call, dtype), kind


def test_no_digit_is_lost_to_float_and_complex():
    x = tfr.asarray([0.1], dtype="float64")
    assert x.astype(float).item() == 0.1
    assert x.astype(complex).item() == 0.1 + 0j
    assert tfr.asarray(0.1, dtype=float).item() == 0.1
    assert tfr.zeros(3, dtype=float).dtype == tfr.float64
    assert tfr.jit(lambda x, dtype: x.astype(dtype), static_argnums=1)(x, float).item() == 0.1


@pytest.mark.filterwarnings("ignore::tensorframe.errors.FallbackWarning")
def test_a_device_without_wide_dtypes_says_so_when_pythons_classes_name_them(narrow):
    for kind, fitting in ((float, "float32"), (complex, "complex64"), (int, "int32")):
        with pytest.raises(DTypeError, match=f"holds no {NAMED_BY_CLASSES[kind]}") as caught:
            tfr.zeros(3, dtype=kind, device=narrow)
        assert fitting in caught.value.suggestions[0]
    assert tfr.zeros(3, dtype=bool, device=narrow).dtype == tfr.bool
    # what is asked for later lives where it can, as with dtypes that are named otherwise
    wide = tfr.zeros(3, device=narrow).astype(float)
    assert (wide.dtype, str(wide.device)) == (tfr.float64, "cpu")
    with tfr.use_backend(narrow):
        for name, call in TAKES_A_DTYPE.items():
            for kind, dtype in NAMED_BY_CLASSES.items():
                assert outcome(call, kind) == outcome(call, dtype), (name, kind)


def test_pythons_numbers_take_the_default_dtype_all_the_same():
    assert tfr.asarray(0.1).dtype == tfr.asarray([0.1]).dtype == tfr.float32
    assert tfr.asarray(0.1j).dtype == tfr.complex64
    assert tfr.result_type(0.5, tfr.int8) == tfr.float32
    assert tfr.result_type(float, tfr.int8) == tfr.float64
    tfr.set_default_dtype(float)
    try:
        assert tfr.asarray(0.1).dtype == tfr.float64
    finally:
        tfr.set_default_dtype("float32")


@pytest.mark.parametrize("wrong", [None, "nothing", "(2,", {"names": 1}, (int, -1), object, str])
def test_what_is_no_dtype_is_refused(wrong):
    with pytest.raises(DTypeError, match="dtype"):
        tfr.dtypes.as_dtype(wrong)
