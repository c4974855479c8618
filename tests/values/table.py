"""The table: every public function that is written in terms of others, or why not, and where we differ from NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import unwrap
from typing import Any, NamedTuple

import numpy as np

import tensorframe as tfr
from tensorframe.frontend import on_demand
from tensorframe.graph.op import Kind, rows
from tests.values.agreement import Mismatch
from tests.values.algebra import FFT, LINALG, PRODUCTS, RANGES
from tests.values.along_axes import CALCULUS, ELEMENTS, REDUCTIONS
from tests.values.arrangement import MOVEMENT, ORDER
from tests.values.cases import Case
from tests.values.complex_numbers import COMPLEX_NUMBERS
from tests.values.special import Array

TABLE: dict[str, list[Case]] = {
    **ELEMENTS,
    **REDUCTIONS,
    **CALCULUS,
    **ORDER,
    **MOVEMENT,
    **PRODUCTS,
    **LINALG,
    **FFT,
    **RANGES,
}
TABLE |= {name: [*TABLE.get(name, []), *cases] for name, cases in COMPLEX_NUMBERS.items()}

# functions that tests/numpy_names calls with every argument of NumPy's
NUMPYS = sorted(
    name
    for module, names in on_demand.EXPORTS.items()
    for name in names.split()
    if module.startswith("numpy_names.")
    or name in ("correlate", "lexsort", "nancumprod", "setxor1d", "sort_complex")
    or module == "linalg.stacks"
)
NUMPYS += ["linalg.tensorinv", "linalg.tensorsolve", "around", "cross"]

# functions without a row in the table: why, and which
LEFT_OUT: dict[str, str] = {
    "NumPy has no such function; tests/ops/test_elementwise.py has its values": (
        "gelu log_sigmoid relu sigmoid silu softplus softsign"
    ),
    "no arithmetic: one value everywhere, or any": "empty empty_like full ones zeros",
    "conversion, which tests/frontend/creation/test_creation.py covers": (
        "array asarray from_dlpack from_native"
    ),
    "dtypes and shapes, not values": (
        "broadcast_shapes can_cast finfo iinfo isdtype promote_types result_type get_default_dtype set_default_dtype"
    ),
    "computing, looking at it, and settings": (
        "autocast autotune bench calibrate compute doctor elementwise estimate explain get_backend jit "
        "load_ipython_extension synchronize "
        "profile raw_kernel register_tree set_backend set_backend_priority transfer_policy use_backend verify visualize"
    ),
    "transformations of functions; tests/gradient": (
        "check_gradient checkpoint custom_gradient grad hessian hvp jacobian jvp stop_gradient value_and_grad vjp vmap"
    ),
    "files": "from_reader load load_metadata save",
    **dict.fromkeys(["calls of their own; tests/numpy_names"], " ".join(NUMPYS)),
    "one call of a library, whose special values are its own; tests/frontend/linalg/test_linalg.py": (
        "linalg.cholesky linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.lstsq linalg.qr linalg.solve "
        "linalg.svd linalg.svdvals"
    ),
    "products with a scale and a sum; tests/frontend/linalg/test_blas.py": "linalg.gemm linalg.gemv",
    "one call of a library around numbers; tests/frontend/test_fft.py": (
        "fft.fft fft.fft2 fft.fftfreq fft.fftn fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 "
        "fft.irfftn fft.rfft fft.rfft2 fft.rfftfreq fft.rfftn"
    ),
    "random numbers are others than NumPy's; tests/frontend/random/test_random.py": (
        f"{' '.join(f'random.{name}' for name in tfr.random.__all__)} "
        "random.bernoulli random.choice random.default_rng random.exponential random.integers random.key "
        "random.normal random.permutation random.seed random.split random.uniform"
    ),
}


def uncovered() -> Iterator[str]:
    """Yield the public functions that neither stand in the table, nor are left out, nor are one op each."""
    ops = {op.name for op in rows(Kind.MAP) if op.expand is None}
    known = {*TABLE, *" ".join(LEFT_OUT.values()).split(), *(ops - {"where"})}
    functions = dict(public_functions())
    covered = {id(unwrap(functions[name])) for name in known & functions.keys()}
    # another name of a function that is covered is covered
    return (name for name, function in functions.items() if id(unwrap(function)) not in covered)


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the names and functions of the package and of its namespaces."""
    homes = {"": (tfr, dir(tfr)), "linalg.": (tfr.linalg, tfr.linalg.__all__)}
    homes |= {"fft.": (tfr.fft, tfr.fft.__all__), "random.": (tfr.random, tfr.random.__all__)}
    for prefix, (home, names) in homes.items():
        for name in names:
            value = getattr(home, name)
            if name[0] != "_" and callable(value) and not isinstance(value, type):
                yield prefix + name, value


class Difference(NamedTuple):
    """A difference that is meant, and how to tell it from others."""

    reason: str
    holds: Callable[[Mismatch], bool]


def raises(kind: type[Exception], words: str) -> Callable[[Mismatch], bool]:
    """Return the test for an error of NumPy's where we give a result."""
    return lambda found: (
        isinstance(found.expected, kind)
        and words in str(found.expected)
        and not isinstance(found.actual, Exception)
    )


def _beside_infinity(found: Mismatch) -> bool:
    """Whether what differs is NaN in NumPy, and of lines with an infinity but without NaN."""
    return _of_infinite_lines(found, ~np.isnan(found.arguments[0]))


def _beside_infinity_and_nan(found: Mismatch) -> bool:
    """Whether what differs is NaN in NumPy, and of lines with an infinity."""
    return _of_infinite_lines(found, np.ones_like(found.arguments[0], bool))


def _of_infinite_lines(found: Mismatch, allowed: Array) -> bool:
    if isinstance(found.expected, Exception) or found.wrong is None:
        return False
    (elements,) = found.arguments
    axis = None  # all elements are one line, columns are lines, or rows, each with a column of quantiles
    if found.wrong.shape == elements.shape[1:]:
        axis = 0
    elif found.wrong.shape[-1:] == elements.shape[:-1]:
        axis = -1
    lines = np.isinf(elements).any(axis) & allowed.all(axis)
    return bool(np.isnan(found.expected[0][found.wrong]).all() and (lines | ~found.wrong).all())


def _without_elements(found: Mismatch) -> bool:
    return found.arguments[0].size == 0 and not isinstance(found.actual, Exception)


def _nan_at_one_point(found: Mismatch) -> bool:
    (asked, points, _) = found.arguments
    if isinstance(found.actual, Exception) or isinstance(found.expected, Exception):
        return False
    known = ~np.isnan(asked)
    same = np.array_equal(found.actual[0][known], found.expected[0][known], equal_nan=True)
    return points.size == 1 and same and bool(np.isnan(found.actual[0][~known]).all())


def _wide_range(found: Mismatch) -> bool:
    if isinstance(found.actual, Exception) or isinstance(found.expected, Exception):
        return False
    return bool(np.isnan(found.expected[0][0]) and found.actual[0][0] == -1e308)


_INFINITE = "what lies between a number and an infinity is that infinity; NumPy subtracts infinities on the way"
_NOTHING = "no elements give NaN in the shape that others have; NumPy drops the axes of q"
_ALL_NAN = "results do not depend on elements for being an error: rows of NaN alone give 0"

DIFFERENCES: dict[str, list[Difference]] = {
    **{name: [Difference(_INFINITE, _beside_infinity)] for name in ("quantile", "percentile")},
    **{
        name: [
            Difference(_INFINITE, _beside_infinity_and_nan),
            Difference(_NOTHING, _without_elements),
        ]
        for name in ("nanquantile", "nanpercentile")
    },
    "nanargmax": [Difference(_ALL_NAN, raises(ValueError, "All-NaN"))],
    "nanargmin": [Difference(_ALL_NAN, raises(ValueError, "All-NaN"))],
    "average": [
        Difference(
            "nothing computes: weights that sum to zero give NaN or infinity",
            raises(ZeroDivisionError, "Weights sum to zero"),
        )
    ],
    "histogram_bin_edges": [
        Difference(
            "nothing computes: edges around NaN or infinity are NaN, and counting between them is an error",
            raises(ValueError, "is not finite"),
        ),
        Difference(
            "nothing computes: edges may be closer than numbers are, and counting between them is an error",
            raises(ValueError, "Too many bins"),
        ),
    ],
    "interp": [Difference("NaN stays NaN, where NumPy gives the one ordinate", _nan_at_one_point)],
    "linspace": [Difference("the ends are further apart than a float can say", _wide_range)],
    "linalg.cond": [
        Difference(
            "a singular matrix has an infinite condition in the nuclear norm too",
            raises(np.linalg.LinAlgError, "SVD did not converge"),
        )
    ],
}


def explained(name: str, found: Mismatch) -> Difference | None:
    """Return the difference that is meant, if one is."""
    return next((one for one in DIFFERENCES.get(name, ()) if one.holds(found)), None)
