"""The public namespace: the standard's names, honest answers about itself, and nothing by accident."""

from __future__ import annotations

import pickle
import subprocess
import sys
import types
from importlib import import_module
from operator import attrgetter

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DeviceError
from tensorframe.frontend import on_demand

# Array API standard 2025.12: every name of the main namespace, by chapter.
STANDARD = {
    "constants": "e inf nan newaxis pi",
    "creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like "
    "tril triu zeros zeros_like",
    "data types": "astype can_cast finfo iinfo isdtype result_type bool int8 int16 int32 int64 uint8 uint16 "
    "uint32 uint64 float32 float64 complex64 complex128",
    "elementwise": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift "
    "bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp "
    "expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p "
    "log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative "
    "nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square sqrt subtract "
    "tan tanh trunc",
    "indexing": "take take_along_axis",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis "
    "permute_dims repeat reshape roll squeeze stack tile unstack",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "sets": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility": "all any diff",
    "inspection": "__array_namespace_info__ __array_api_version__",
}
LINALG = (
    "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank "
    "matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"
)
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"

# What Python programmers reach for beside the functions.
OTHERS = {
    "backends",
    *("char", "ctypeslib", "emath", "ma", "polynomial", "rec", "strings", "typing"),
    "cache",
    "config",
    "dtypes",
    "errors",
    "exceptions",
    "extensions",
    "fft",
    "lib",
    "linalg",
    "memory",
    "nn",
    "optim",
    "quantization",
    "random",
    "sparse",
    "special",
    "testing",
}


@pytest.mark.parametrize("chapter", STANDARD)
def test_every_name_of_the_standard_is_there_and_exported(chapter):
    for name in STANDARD[chapter].split():
        assert hasattr(tfr, name), name
        assert name in tfr.__all__, name


@pytest.mark.parametrize(("extension", "names"), [("linalg", LINALG), ("fft", FFT)])
def test_extensions_are_complete(extension, names):
    missing = [
        name for name in names.split() if not callable(getattr(getattr(tfr, extension), name, None))
    ]
    assert missing == []


def is_scalar_type(value):
    return isinstance(value, type) and np.dtype(value) in tfr.dtypes.ANY


def test_every_exported_name_is_ours():
    for name in tfr.__all__:
        value = getattr(tfr, name)
        if isinstance(value, types.ModuleType):
            assert name in OTHERS, name
            assert value.__name__ == f"tensorframe.{name}" or value.__name__.endswith(f".{name}")
        elif value is getattr(np, name, None):
            continue  # names of NumPy's that mean the same for tensors
        elif callable(value) and not is_scalar_type(value):
            assert value.__module__.startswith("tensorframe"), name


@pytest.mark.parametrize("module", on_demand.EXPORTS)
def test_names_on_demand_are_all_that_their_module_exports(module):
    exported = import_module(f"tensorframe.frontend.{module}").__all__
    assert sorted(on_demand.EXPORTS[module].split()) == sorted(exported)


ON_DEMAND = """
import sys
import tensorframe as tfr

assert not [name for name in loaded if name in sys.modules]
assert "median" in dir(tfr) and "random" in dir(tfr) and "Tensor" in dir(tfr)
assert tfr.median([3, 1, 2]).item() == 2
assert "median" in vars(tfr), "looked up once"
from tensorframe import random, quantile
from tensorframe import *
assert random is tfr.random and quantile is tfr.quantile and bench is tfr.bench
assert set(tfr.__all__) <= set(dir(tfr)) | set(globals())
"""


def test_names_on_demand_are_loaded_when_they_are_named():
    modules = [f"tensorframe.frontend.{name}" for name in on_demand.EXPORTS]
    loaded = f"loaded = {[*modules, *on_demand.NAMESPACES.values()]!r}"
    subprocess.run([sys.executable, "-c", loaded + ON_DEMAND], check=True)


IMPORTED_FIRST = """
import sys
import {name} as module

place = sys.modules["tensorframe"]
for part in "{name}".split(".")[1:]:
    place = getattr(place, part)
assert place is module and sys.modules["{name}"] is module
assert module.__spec__.name == module.__name__ and not module.__spec__._initializing
own = [each for each in sys.modules.values() if getattr(each, "__file__", None) == module.__file__]
assert all(each is module for each in own), own
"""
MODULES = sorted(
    {
        *(name for name in tfr.__all__ if isinstance(getattr(tfr, name), types.ModuleType)),
        *(
            "lib.stride_tricks",
            "lib.format",
            "polynomial.chebyshev",
            "linalg.norms",
            "nn.functional",
        ),
    }
)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", MODULES)
def test_every_public_module_can_be_imported_first(name):
    program = IMPORTED_FIRST.format(name=f"tensorframe.{name}")
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


@pytest.mark.parametrize("name", ["sin", "lib.absent", "polynomial.absent", "_gc", "absent"])
def test_what_is_no_public_module_is_not_found(name):
    with pytest.raises(ModuleNotFoundError, match=f"tensorframe.{name}"):
        import_module(f"tensorframe.{name}")


def test_a_name_that_is_not_there_is_an_attribute_error_that_knows_better():
    with pytest.raises(
        AttributeError, match="module 'tensorframe' has no attribute 'mediam'"
    ) as told:
        _ = tfr.mediam
    assert told.value.name == "mediam"
    assert told.value.obj is tfr


@pytest.mark.parametrize(("name", "instead"), [("float_", "np.float64"), ("alltrue", "np.all")])
def test_a_name_that_numpy_has_no_more_is_told_with_numpys_words(name, instead):
    with pytest.raises(AttributeError, match=f"removed in the NumPy 2.0 release.*{instead}"):
        getattr(tfr, name)


NAMESPACES = ["linalg", "fft", "random", "special", "nn", "optim", "sparse", "emath"]


@pytest.mark.parametrize("path", ["", *NAMESPACES])
def test_every_public_function_and_class_is_pickled_by_its_name(path):
    """Processes are given functions to call: `pool.map(tfr.sum, rows)`."""
    space = getattr(tfr, path) if path else tfr
    for name in space.__all__:
        value = getattr(space, name)
        if isinstance(value, type | types.FunctionType):
            assert pickle.loads(pickle.dumps(value)) is value, name


def test_what_is_pickled_is_found_by_a_process_that_did_not_import_it():
    names = ["sum", "median", "sin", "special.gamma", "linalg.norm", "unique"]
    functions = pickle.dumps([attrgetter(name)(tfr) for name in names])
    program = f"import pickle; print(*[f.__name__ for f in pickle.loads({functions!r})])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [name.rpartition(".")[2] for name in names]


def test_no_name_of_the_implementation_is_exported():
    assert not [name for name in tfr.__all__ if name.startswith("_") and not name.startswith("__")]
    assert {"annotations", "np", "Any", "scalars", "host"}.isdisjoint(tfr.__all__)
    assert len(tfr.__all__) == len(set(tfr.__all__))


def test_every_exported_function_says_what_it_does():
    silent = [
        name
        for name in tfr.__all__
        if callable(getattr(tfr, name)) and not getattr(tfr, name).__doc__
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("absolute", "abs"),
        ("arcsin", "asin"),
        ("power", "pow"),
        ("mod", "remainder"),
        ("amax", "max"),
        ("bool_", "bool"),
        ("invert", "bitwise_invert"),
    ],
)
def test_older_names_of_numpy_are_the_same_functions(alias, name):
    assert getattr(tfr, alias) is getattr(tfr, name)


def test_dtypes_are_those_of_numpy():
    for name in ["bool", "int8", "uint64", "float16", "float32", "complex128"]:
        assert getattr(tfr, name) == np.dtype(name)
    assert np.dtype(tfr.bfloat16).itemsize == 2


def test_the_default_dtype_can_be_changed_and_info_tells():
    info = tfr.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == tfr.get_default_dtype() == tfr.float32
    tfr.set_default_dtype("float64")
    try:
        assert info.default_dtypes()["real floating"] == tfr.float64
        assert info.default_dtypes()["complex floating"] == tfr.complex128
        assert tfr.zeros(1).dtype == tfr.float64
    finally:
        tfr.set_default_dtype("float32")


def test_info_names_devices_that_compute():
    info = tfr.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert type(info.devices()) is tuple, "as the standard of 2025 says"
    for device in info.devices():
        assert (tfr.ones(2, device=device) + 1).tolist() == [2.0, 2.0]
    with tfr.use_backend("numpy"):
        assert info.default_device() == "numpy"


def test_info_lists_dtypes_that_every_device_computes_in():
    info = tfr.__array_namespace_info__()
    for device in info.devices():
        for name, dtype in info.dtypes(device=device).items():
            assert dtype.name == name
            assert (
                tfr.ones(2, dtype=dtype, device=device) * tfr.ones(2, dtype=dtype)
            ).dtype == dtype


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("bool", {"bool"}),
        ("real floating", {"float32", "float64"}),
        ("integral", {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}),
        (("bool", "complex floating"), {"bool", "complex64", "complex128"}),
        ((), set()),
    ],
)
def test_info_selects_dtypes_by_kind(kind, names):
    assert set(tfr.__array_namespace_info__().dtypes(kind=kind)) == names


def test_info_refuses_kinds_and_devices_there_are_not():
    info = tfr.__array_namespace_info__()
    with pytest.raises(ArgumentError, match="no kind"):
        info.dtypes(kind="imaginary")
    with pytest.raises(DeviceError, match="no device"):
        info.default_dtypes(device="abacus")


def test_capabilities_are_those_of_an_eager_library():
    assert tfr.__array_namespace_info__().capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert tfr.zeros((1,) * 64).ndim == 64
