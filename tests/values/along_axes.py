"""Elementwise formulas, reductions, scans, quantiles and calculus."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

import numpy as np

from tensorframe.dtypes import ANY, BOOL, FLOAT, NARROW, NUMERIC, REAL, DType
from tests.values import special
from tests.values.cases import Case, each, same
from tests.values.special import Arguments, Array

ORDERED = REAL | BOOL


def _logsumexp(_: Any, x: Array) -> Any:
    top = x.max(-1, keepdims=True) if x.shape[-1] else np.zeros((*x.shape[:-1], 1), x.dtype)
    shift = np.where(np.isfinite(top), top, top.dtype.type(0))
    return (np.log(np.exp(x - shift).sum(-1, keepdims=True)) + shift)[..., 0]


def _shifted(x: Array) -> Array:
    return x - x.max(-1, keepdims=True) if x.shape[-1] else x


def _softmax(_: Any, x: Array) -> Any:
    return np.exp(_shifted(x)) / np.exp(_shifted(x)).sum(-1, keepdims=True)


def _log_softmax(_: Any, x: Array) -> Any:
    return _shifted(x) - np.log(np.exp(_shifted(x)).sum(-1, keepdims=True))


ELEMENTS: dict[str, list[Case]] = {
    "heaviside": [
        *same("heaviside", special.pairs, dtypes=FLOAT),
        *same("heaviside", special.mixed, dtypes=FLOAT - NARROW),
    ],
    "sinc": same("sinc", special.lines, dtypes=FLOAT, scaled=True),
    **{
        name: same(name, special.lines, dtypes=FLOAT)
        for name in ("deg2rad", "rad2deg", "isposinf", "isneginf")
    },
    "softmax": each(special.lines, lambda xp, x: xp.softmax(x), dtypes=FLOAT, reference=_softmax),
    "log_softmax": each(
        special.lines,
        lambda xp, x: xp.log_softmax(x),
        dtypes=FLOAT,
        reference=_log_softmax,
        scaled=True,
    ),
    "logsumexp": each(
        special.lines, lambda xp, x: xp.logsumexp(x, axis=-1), dtypes=FLOAT, reference=_logsumexp
    ),
    "clip": [
        *each(
            special.pairs,
            lambda xp, x, y: xp.clip(x, y, None),
            lambda xp, x, y: xp.clip(x, None, y),
            lambda xp, x, y: xp.clip(x, y, x),
            lambda xp, x, y: xp.clip(x, x, y),
            dtypes=REAL,
            zeros=False,
        ),
        *each(
            special.mixed,
            lambda xp, x, y: xp.clip(x, y, None),
            lambda xp, x, y: xp.clip(x, None, y),
            lambda xp, x, y: xp.clip(x, y, y),
            dtypes=REAL,
            zeros=False,
        ),
        *each(special.lines, lambda xp, x: xp.clip(x, 0, 1), dtypes=REAL, zeros=False),
    ],
    "nan_to_num": [
        # the largest number of float16 is not that of float32, which NumPy computes in here
        *same("nan_to_num", special.stacks, dtypes=ANY - NARROW),
        *each(special.stacks, lambda xp, x: xp.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0)),
    ],
    "isclose": [
        *same("isclose", special.pairs),
        *same("isclose", special.mixed),
        *each(special.pairs, lambda xp, x, y: xp.isclose(x, y, equal_nan=True)),
        *each(special.pairs, lambda xp, x, y: xp.isclose(x, y, rtol=inf), dtypes=FLOAT),
    ],
    "allclose": [
        *same("allclose", special.equal_vectors),
        *same("allclose", special.mixed_vectors),
    ],
    "array_equal": [
        *same("array_equal", special.equal_vectors),
        *each(special.vectors, lambda xp, x: xp.array_equal(x, x, equal_nan=True)),
    ],
    "array_equiv": same("array_equiv", special.equal_vectors),
}


def reduction(name: str, dtypes: frozenset[DType] = ANY, **facts: Any) -> list[Case]:
    """Return the cases of a function with `axis` and `keepdims`."""

    def along(xp: Any, x: Any) -> Any:
        return getattr(xp, name)(x, axis=-1)

    def of_all(xp: Any, x: Any) -> Any:
        return getattr(xp, name)(x)

    def down(xp: Any, x: Any) -> Any:
        return getattr(xp, name)(x, axis=0, keepdims=True)

    return [
        Case(along, facts.pop("lines", special.lines), dtypes, **facts),
        Case(of_all, special.vectors, dtypes, **facts),
        Case(down, special.stacks, dtypes, **facts),
    ]


def spread(name: str) -> list[Case]:
    """Return the cases of a variance, or of its root."""
    return [
        *reduction(name),
        *each(special.lines, lambda xp, x: getattr(xp, name)(x, axis=1, ddof=1)),
    ]


def scan(name: str) -> list[Case]:
    return each(special.lines, lambda xp, x: getattr(xp, name)(x, axis=1), zeros=False)


def started_scan(name: str) -> list[Case]:
    return each(
        special.lines,
        lambda xp, x: getattr(xp, name)(x, axis=-1, include_initial=True),
        zeros=False,
    )


QS = (0.0, 0.25, 1 / 3, 0.5, 0.9, 1.0)
METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantiles(name: str, whole: float) -> list[Case]:
    """Return the cases of a function that takes shares of `whole`."""
    shares = [q * whole for q in QS]
    facts: dict[str, Any] = {"dtypes": ORDERED, "zeros": False, "as_float": True, "dtype": "own"}
    return [
        *each(
            special.lines,
            *(
                lambda xp, x, method=method: getattr(xp, name)(x, shares, axis=-1, method=method)
                for method in METHODS
            ),
            **facts,
        ),
        *each(special.vectors, lambda xp, x: getattr(xp, name)(x, 0.3 * whole), **facts),
        *each(special.stacks, lambda xp, x: getattr(xp, name)(x, shares[3], axis=0), **facts),
    ]


def _rising_weights(xp: Any, x: Any) -> Any:
    return xp.average(x, axis=1, weights=xp.asarray(np.arange(1, x.shape[1] + 1), dtype=x.dtype))


# which of two zeros is the larger, or in the middle, is not said
EXTREME: dict[str, Any] = {"dtypes": ORDERED, "zeros": False}

REDUCTIONS: dict[str, list[Case]] = {
    **{name: reduction(name, NUMERIC, zeros=False) for name in ("sum", "nansum")},
    **{name: reduction(name, NUMERIC) for name in ("prod", "nanprod")},
    **{name: reduction(name, zeros=False) for name in ("mean", "nanmean")},
    **{name: reduction(name) for name in ("any", "all", "count_nonzero")},
    **{name: reduction(name, **EXTREME) for name in ("max", "min", "nanmax", "nanmin")},
    **{name: reduction(name, ORDERED) for name in ("argmax", "argmin")},
    **{
        name: reduction(name, ORDERED, lines=special.lines_with_numbers)
        for name in ("nanargmax", "nanargmin")
    },
    "ptp": reduction("ptp", REAL),
    **{name: spread(name) for name in ("var", "std", "nanvar", "nanstd")},
    **{name: reduction(name, **EXTREME, as_float=True) for name in ("median", "nanmedian")},
    "quantile": quantiles("quantile", 1),
    "percentile": quantiles("percentile", 100),
    "nanquantile": quantiles("nanquantile", 1),
    "nanpercentile": quantiles("nanpercentile", 100),
    "average": [
        *reduction("average", zeros=False),
        *each(
            special.lines,
            _rising_weights,
            lambda xp, x: xp.average(x, axis=1, weights=x),
            lambda xp, x: xp.average(x, axis=1, weights=xp.ones_like(x), returned=True),
            dtypes=NUMERIC,
            zeros=False,
        ),
    ],
    **{name: scan(name) for name in ("cumsum", "cumprod", "nancumsum")},
    **{name: [*scan(name), *started_scan(name)] for name in ("cumulative_sum", "cumulative_prod")},
}


def points_of_functions(dtype: DType) -> Iterable[Arguments]:
    """Where functions are asked for, abscissae that rise, ordinates."""
    values = special.specials(dtype)
    asked = values
    rising = [np.sort(values[~np.isnan(values)]), np.sort(values[np.isfinite(values)]), values[5:6]]
    if dtype in FLOAT:
        few = ([-inf, inf], [-inf, 0, 1], [0, 1, inf], [0, 0, 1], [-1.0, 3.0])
        rising += [np.array(points, dtype) for points in few]
        asked = np.concatenate([values, np.array([0.5, 1.5, 1e3, -1e3], dtype)])
    for xp in rising:
        for shift in range(values.size):
            yield asked, xp, np.resize(np.roll(values, shift), xp.shape)


COVARIANCE: dict[str, Any] = {"dtypes": NUMERIC, "dtype": "own", "scaled": True, "zeros": False}

CALCULUS: dict[str, list[Case]] = {
    "diff": each(
        special.lines,
        lambda xp, x: xp.diff(x),
        lambda xp, x: xp.diff(x, n=2),
        lambda xp, x: xp.diff(x, axis=1, prepend=x[:, :1], append=x),
        lambda xp, x: xp.diff(x, axis=0),
    ),
    "ediff1d": [
        *same("ediff1d", special.stacks, dtypes=NUMERIC),
        *each(special.vectors, lambda xp, x: xp.ediff1d(x, to_begin=x, to_end=x), dtypes=NUMERIC),
    ],
    "trapezoid": [
        *each(
            special.lines,
            lambda xp, x: xp.trapezoid(x),
            lambda xp, x: xp.trapezoid(x, dx=0.5),
            lambda xp, x: xp.trapezoid(x, x),
            lambda xp, x: xp.trapezoid(x, x, axis=0),
            as_float=True,
            zeros=False,
        ),
        *each(
            special.equal_vectors,
            lambda xp, y, x: xp.trapezoid(y, x),
            as_float=True,
            zeros=False,
        ),
    ],
    "gradient": [
        *each(
            special.lines,
            lambda xp, x: xp.gradient(x, axis=1),
            lambda xp, x: xp.gradient(x, 0.5, axis=1),
            lambda xp, x: xp.gradient(x, axis=1, edge_order=2),
            lambda xp, x: xp.gradient(x, axis=(1, 0)),
            lambda xp, x: xp.gradient(x, 2.0, 0.5, axis=(1, 0), edge_order=2),
            dtypes=NUMERIC,
            as_float=True,
        ),
        *each(
            special.equal_vectors,
            lambda xp, y, x: xp.gradient(y, x),
            lambda xp, y, x: xp.gradient(y, x, edge_order=2),
            dtypes=NUMERIC,
            as_float=True,
            scaled=True,
        ),
    ],
    "convolve": each(
        special.two_vectors,
        *(
            lambda xp, x, y, mode=mode: xp.convolve(x, y, mode)
            for mode in ("full", "same", "valid")
        ),
        dtypes=NUMERIC,
    ),
    **{
        name: [
            *each(
                special.lines,
                lambda xp, x, name=name: getattr(xp, name)(x[:20]),
                lambda xp, x, name=name: getattr(xp, name)(x[:9], rowvar=False),
                **COVARIANCE,
            ),
            *same(name, special.equal_vectors, **COVARIANCE),
            *same(name, special.vectors, **COVARIANCE),
        ]
        for name in ("cov", "corrcoef")
    },
    "interp": [
        *each(
            points_of_functions, lambda xp, x, p, f: xp.interp(x, p, f), dtypes=REAL, dtype="own"
        ),
        *each(
            points_of_functions,
            lambda xp, x, p, f: xp.interp(x, p, f, left=-1.0, right=inf),
            lambda xp, x, p, f: xp.interp(x, p, f, period=2.0),
            dtypes=FLOAT,
            dtype="own",
        ),
    ],
}
