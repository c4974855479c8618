"""Order, sets and histograms; what moves elements and leaves them as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import ANY, BOOL, FLOATING, INTEGER, NARROW, NUMERIC, REAL, int64, uint64
from tensorframe.ops.reduction import least, most, one, zero
from tests.values import special
from tests.values.cases import Case, each, same

ORDERED = REAL | BOOL
# equal elements are alike but for the sign of zero, and which of them NumPy's sort puts first depends on the processor
EITHER_ZERO: dict[str, Any] = {"zeros": False}
SORTED: dict[str, Any] = {"dtypes": ORDERED, **EITHER_ZERO}
# what sums of segments have the dtype of
_SUMMED = FLOATING | {int64, uint64}


def _partitioned(xp: Any, x: Any) -> Any:
    return xp.partition(x, 1, axis=-1)[..., 1]


def _partitioned_far(xp: Any, x: Any) -> Any:
    return xp.partition(x, [0, -1], axis=0)[[0, -1]]


def _argpartitioned(xp: Any, x: Any) -> Any:
    return xp.take_along_axis(x, xp.argpartition(x, 1, axis=-1), axis=-1)[..., 1]


def _put(xp: Any, x: Any) -> Any:
    target = xp.asarray(x, copy=True)
    xp.put_along_axis(target, xp.asarray([[1]]), x[:, :1], axis=1)
    return target


def _weighed(xp: Any, x: Any) -> Any:
    return xp.bincount(x % 7, minlength=9, weights=x)


def _rows(x: Any) -> Any:
    return [index % 3 for index in range(len(x))]


def _added(xp: Any, x: Any) -> Any:
    target = xp.asarray(x, copy=True)
    if xp is not np:
        return xp.index_add(target, _rows(x), x)
    return _at(np.add, target, x)


def _segments(name: str, ufunc: np.ufunc, first: Any) -> list[Case]:
    def reference(_xp: Any, x: Any) -> Any:
        return _at(ufunc, np.full((3, *x.shape[1:]), first(x.dtype), x.dtype), x)

    dtypes = ORDERED if ufunc in (np.maximum, np.minimum) else _SUMMED
    return each(
        special.stacks,
        lambda xp, x: getattr(xp, name)(x, _rows(x), 3),
        reference=reference,
        dtypes=dtypes,
    )


def _means(_xp: Any, x: Any) -> Any:
    parts = np.bincount(_rows(x), minlength=3).clip(1).reshape((3,) + (1,) * (x.ndim - 1))
    return _at(np.add, np.zeros((3, *x.shape[1:]), x.dtype), x) / parts.astype(x.real.dtype)


def _at(ufunc: np.ufunc, target: Any, x: Any) -> Any:
    """Return what NumPy makes of the rows of `x` in three segments; sums and products in float64."""
    wide = target
    if target.dtype in FLOATING and ufunc in (np.add, np.multiply):
        wide = target.astype(np.result_type(target.dtype, np.float64))
    ufunc.at(wide, _rows(x), x.astype(wide.dtype))
    return wide.astype(target.dtype)


def _densities(xp: Any, x: Any) -> Any:
    return xp.histogram(x, 3, range=(0, 2), density=True)[0].astype("float32")


ORDER: dict[str, list[Case]] = {
    "sort": each(
        special.lines, lambda xp, x: xp.sort(x), lambda xp, x: xp.sort(x, axis=0), **SORTED
    ),
    "argsort": each(special.lines, lambda xp, x: xp.argsort(x, stable=True), dtypes=ORDERED),
    "partition": each(special.longer_lines, _partitioned, _partitioned_far, **SORTED),
    "argpartition": each(special.longer_lines, _argpartitioned, **SORTED),
    "topk": each(
        special.longer_lines,
        lambda xp, x: xp.topk(x, 2, largest=False).values,
        reference=lambda xp, x: xp.sort(x)[..., :2],
        **SORTED,
    ),
    "searchsorted": [
        case
        for inputs in (special.two_vectors, special.mixed_vectors)
        for case in each(
            inputs,
            lambda xp, x, y: xp.searchsorted(xp.sort(x), y),
            lambda xp, x, y: xp.searchsorted(xp.sort(x), y, side="right"),
            dtypes=ORDERED,
        )
    ],
    "digitize": each(
        special.two_vectors,
        lambda xp, x, y: xp.digitize(x, xp.sort(y)),
        lambda xp, x, y: xp.digitize(x, xp.sort(y)[::-1], right=True),
        dtypes=ORDERED,
    ),
    "histogram": [
        *each(
            special.vectors,
            lambda xp, x: xp.histogram(x, 4),
            lambda xp, x: xp.histogram(x, 3, range=(-2, 2)),
            lambda xp, x: xp.histogram(x, [0, 1, 3]),
            dtypes=REAL - NARROW,
            dtype="numpy",  # float32 does not tell large integers apart: their edges are float64
        ),
        *each(
            special.vectors,
            lambda xp, x: xp.histogram(x, 3, range=(0, 2), weights=x)[0],
            dtypes=REAL,
        ),
        *each(special.vectors, _densities, dtypes=REAL - NARROW, dtype="numpy"),
    ],
    "histogram_bin_edges": each(
        special.vectors,
        lambda xp, x: xp.histogram_bin_edges(x, 4),
        lambda xp, x: xp.histogram_bin_edges(x, 3, range=(-2, 2)),
        dtypes=REAL - NARROW,
        dtype="numpy",
    ),
    "bincount": [
        *each(special.vectors, lambda xp, x: xp.bincount(x % 7), dtypes=INTEGER),
        *each(special.nonempty_vectors, _weighed, dtypes=INTEGER),
    ],
    "index_add": each(special.matrices, _added, dtypes=NUMERIC),
    "segment_sum": _segments("segment_sum", np.add, zero),
    "segment_prod": _segments("segment_prod", np.multiply, one),
    "segment_max": _segments("segment_max", np.maximum, least),
    "segment_min": _segments("segment_min", np.minimum, most),
    "segment_mean": each(
        special.stacks,
        lambda xp, x: xp.segment_mean(x, _rows(x), 3),
        reference=_means,
        dtypes=FLOATING,
    ),
    "unique": [
        *each(
            special.stacks,
            lambda xp, x: xp.unique(x),
            lambda xp, x: xp.unique(x, equal_nan=False),
            **EITHER_ZERO,
        ),
        # with their indices, equal elements are the first of their kind
        *each(special.stacks, lambda xp, x: xp.unique(x, True, True, True)),
        *each(special.vectors, lambda xp, x: xp.unique(x, True, True, True)),
        # in the order of their bytes, where NumPy compares rows: those of half precision are others
        *each(special.stacks, lambda xp, x: xp.unique(x, axis=0), dtypes=ANY - NARROW),
    ],
    "unique_values": each(special.vectors, lambda xp, x: xp.sort(xp.unique_values(x)), **SORTED),
    **{
        name: each(special.vectors, lambda xp, x, name=name: tuple(getattr(xp, name)(x)), **options)
        for name, options in (
            ("unique_counts", EITHER_ZERO),
            ("unique_inverse", EITHER_ZERO),
            ("unique_all", {}),
        )
    },
    "isin": [
        *same("isin", special.two_vectors),
        *same("isin", special.mixed_vectors),
        *each(special.two_vectors, lambda xp, x, y: xp.isin(x, y, invert=True)),
        *each(special.stacks, lambda xp, x: xp.isin(x, x[:0])),
    ],
    **{
        name: [
            *same(name, special.two_vectors, **EITHER_ZERO),
            *same(name, special.mixed_vectors, **EITHER_ZERO),
        ]
        for name in ("union1d", "intersect1d")
    },
    "setdiff1d": [
        *same("setdiff1d", special.two_vectors, **EITHER_ZERO),
        # the elements are those of the first operand, and so is their dtype
        *same("setdiff1d", special.mixed_vectors, dtype="first", **SORTED),
        *each(special.vectors, lambda xp, x: xp.setdiff1d(x, []), dtype="first", **EITHER_ZERO),
    ],
}


def of_lists(name: str, **options: Any) -> list[Case]:
    """Return the cases of a function that joins a list of arrays."""
    return [
        *each(
            special.stacks,
            lambda xp, x: getattr(xp, name)([x, x], **options),
            lambda xp, x: getattr(xp, name)([x], **options),
        ),
        *each(special.mixed_vectors, lambda xp, x, y: getattr(xp, name)([x, y], **options)),
    ]


MODES = ("constant", "edge", "reflect", "symmetric", "wrap")
UNCHANGED = (
    "ravel transpose matrix_transpose atleast_1d atleast_2d atleast_3d squeeze flip flipud fliplr unstack diagflat "
    "nonzero argwhere flatnonzero zeros_like ones_like"
)

MOVEMENT: dict[str, list[Case]] = {
    **{name: same(name) for name in UNCHANGED.split()},
    **{
        name: of_lists(name)
        for name in (
            "concat",
            "concatenate",
            "stack",
            "vstack",
            "hstack",
            "dstack",
            "column_stack",
            "block",
        )
    },
    "reshape": same("reshape", special.stacks, (-1, 1)),
    "permute_dims": same("permute_dims", special.oblong, (1, 0)),
    "swapaxes": same("swapaxes", special.oblong, 0, 1),
    "moveaxis": same("moveaxis", special.oblong, 0, 1),
    "rollaxis": same("rollaxis", special.oblong, 1),
    "expand_dims": same("expand_dims", special.stacks, 0),
    "broadcast_to": each(special.vectors, lambda xp, x: xp.broadcast_to(x, (2, *x.shape))),
    "broadcast_arrays": same("broadcast_arrays", special.pairs),
    "rot90": same("rot90", special.oblong),
    "roll": each(special.stacks, lambda xp, x: xp.roll(x, 1), lambda xp, x: xp.roll(x, -4, axis=0)),
    "tile": same("tile", special.stacks, (2, 2)),
    "repeat": each(
        special.stacks, lambda xp, x: xp.repeat(x, 2), lambda xp, x: xp.repeat(x, 3, axis=0)
    ),
    "pad": each(
        special.vectors, *(lambda xp, x, mode=mode: xp.pad(x, (1, 2), mode=mode) for mode in MODES)
    ),
    "diag": [*same("diag", special.vectors), *same("diag", special.oblong, 1)],
    "diagonal": same("diagonal", special.oblong),
    "trace": same("trace", special.oblong, dtypes=NUMERIC, zeros=False),
    "tril": same("tril", special.oblong, -1),
    "triu": same("triu", special.oblong, 1),
    "append": [*same("append", special.equal_vectors), *same("append", special.mixed_vectors)],
    "insert": each(special.vectors, lambda xp, x: xp.insert(x, 0, x[:1])),
    "delete": each(special.lines, lambda xp, x: xp.delete(x, 0, axis=0)),
    "split": same("split", special.oblong, [1]),
    "array_split": same("array_split", special.oblong, 2, 1),
    "hsplit": same("hsplit", special.oblong, [1]),
    "vsplit": same("vsplit", special.oblong, [1]),
    "dsplit": each(special.stacks, lambda xp, x: xp.dsplit(x[None, None], [1])),
    "take": each(special.lines, lambda xp, x: xp.take(x, xp.asarray([0, 1, -1]), axis=0)),
    "take_along_axis": each(
        special.longer_lines, lambda xp, x: xp.take_along_axis(x, xp.asarray([[1]]), axis=1)
    ),
    "put_along_axis": each(special.longer_lines, _put),
    "where": [
        *each(
            special.pairs,
            lambda xp, x, y: xp.where(x, x, y),
            lambda xp, x, y: xp.where(y == y, x, y),
        ),
        *each(special.mixed, lambda xp, x, y: xp.where(x == x, x, y)),
        *same("where"),
    ],
    "astype": each(
        special.stacks,
        lambda xp, x: xp.astype(x, xp.bool),
        lambda xp, x: xp.astype(x, xp.complex128),
        dtype="numpy",
    ),
    "full_like": same("full_like", special.stacks, 1),
}
