"""Cases of complex numbers, for functions of theirs and of the order in which NumPy has them: by parts, NaN last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, DType, complex128
from tests.values import special
from tests.values.cases import Case, each, same
from tests.values.special import Arguments

ORDERED: dict[str, Any] = {"dtypes": COMPLEX, "parts": False, "zeros": False}


def numbers(dtype: DType) -> Iterator[Arguments]:
    """Numbers in all directions, of sizes near one, and none."""
    turned = np.exp(1j * np.arange(0, 6.4, 0.4)) * np.linspace(0.1, 4, 16)
    yield (turned.astype(dtype),)
    yield (np.zeros(0, dtype),)


def with_zero(dtype: DType) -> Iterator[Arguments]:
    """The numbers, and zero beside them, where a quotient has a limit."""
    for (values,) in numbers(dtype):
        yield (np.concatenate([values, np.zeros(1, dtype)]),)


def sorted_and_asked(dtype: DType) -> Iterator[Arguments]:
    """Elements of which some are equal, or by one part, or NaN; and what to look for, in one dimension and two."""
    parts = np.random.default_rng(1).integers(-2, 3, (2, 40))
    values = (parts[0] + 1j * parts[1]).astype(dtype)
    missing = values.copy()
    missing[[3, 17]] = complex(np.nan, 1), complex(0, np.nan)
    yield values[:20], values[20:]
    yield values[:20], values[20:].reshape(4, 5)
    yield missing[:20], missing
    yield values[:0], values[:3]
    yield values[:3], values[:0]


def rows_with_nan(dtype: DType) -> Iterator[Arguments]:
    """Rows of odd and even lengths of which some numbers, or all, are NaN in one part or the other."""
    parts = np.random.default_rng(2).integers(-3, 4, (2, 6, 7))
    values = (parts[0] + 1j * parts[1]).astype(dtype)
    yield (values,)
    values = values.copy()
    values[1, 2], values[2, :4], values[3] = complex(np.nan, 0), complex(1, np.nan), np.nan
    yield (values,)
    yield (values[:, :6],)


def extremes(name: str) -> list[Case]:
    """Return the cases of a reduction by the order."""

    def along(xp: Any, x: Any, axis: int | None) -> Any:
        return getattr(xp, name)(x, axis=axis)

    calls = [lambda xp, x, axis=axis: along(xp, x, axis) for axis in (None, 0, 1)]
    skips = name.startswith("nan")
    return each(_numbered_rows if skips else rows_with_nan, *calls, **ORDERED)


def _numbered_rows(dtype: DType) -> Iterator[Arguments]:
    """The rows but for those of NaN alone, of which NumPy warns."""
    return ((values[[0, 1, 2, 4, 5]],) for (values,) in rows_with_nan(dtype))


def placed(name: str, *arguments: tuple[Any, ...], **facts: Any) -> list[Case]:
    """Return the cases of a range between numbers, in complex128."""
    calls = [
        lambda xp, given=given: getattr(xp, name)(*given, dtype="complex128") for given in arguments
    ]
    return each(special.nothing, *calls, dtypes=frozenset({complex128}), **facts)


def _spirals(xp: Any, x: Any) -> Any:
    return xp.geomspace(x, x[::-1] + 7, 5, axis=-1), xp.geomspace(x, 3.0, 4, endpoint=False)


def _powers(xp: Any, x: Any) -> Any:
    return xp.logspace(x, x[::-1], 5, axis=-1), xp.logspace(x, 1.0, 4, base=2.0)


COMPLEX_NUMBERS: dict[str, list[Case]] = {
    "exp2": same("exp2", numbers, dtypes=COMPLEX, scaled=True),
    "sinc": same("sinc", with_zero, dtypes=COMPLEX, scaled=True),
    "sort": each(
        rows_with_nan, lambda xp, x: xp.sort(x), lambda xp, x: xp.sort(x, axis=0), **ORDERED
    ),
    "argsort": each(rows_with_nan, lambda xp, x: xp.argsort(x, stable=True), dtypes=COMPLEX),
    "searchsorted": each(
        sorted_and_asked,
        lambda xp, x, y: xp.searchsorted(xp.sort(x), y),
        lambda xp, x, y: xp.searchsorted(xp.sort(x), y, side="right"),
        lambda xp, x, y: xp.searchsorted(x, y, sorter=xp.argsort(x)),
        dtypes=COMPLEX,
    ),
    **{name: extremes(name) for name in ("max", "min", "argmax", "argmin", "median")},
    **{name: extremes(name) for name in ("nanmax", "nanmin", "nanargmax", "nanargmin")},
    "nanmedian": [
        *extremes("nanmedian"),
        *each(rows_with_nan, lambda xp, x: xp.nanmedian(x, axis=0, keepdims=True), **ORDERED),
    ],
    "unique": each(special.vectors, lambda xp, x: xp.unique(x), **ORDERED),
    "logspace": [
        *placed("logspace", (1j, 2, 4), (0, 1 + 1j, 5), (1 + 1j, 1, 1), (0, 1j, 3), scaled=True),
        *each(numbers, _powers, dtypes=frozenset({complex128}), scaled=True, ulp=64.0),
    ],
    "geomspace": [
        *placed("geomspace", (1, 1j, 4), (1j, 16j, 5), (2j, 3, 1), (1 + 1j, -2, 6), scaled=True),
        *each(numbers, _spirals, dtypes=frozenset({complex128}), scaled=True, ulp=64.0),
    ],
    "tril": same("tril", numbers, 1, dtypes=COMPLEX),
    "triu": same("triu", numbers, -1, dtypes=COMPLEX),
    "meshgrid": each(
        rows_with_nan, lambda xp, x: tuple(xp.meshgrid(x, x[0])), dtypes=COMPLEX, parts=False
    ),
}
