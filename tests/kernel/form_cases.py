"""A program for every form of kernel, and what tells that it has this form.

Each takes the namespace and a matrix of small whole numbers, whose sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe.testing.reference import reference

OWN = frozenset({"part", "lane", "j", "w0"})


@dataclass(frozen=True)
class Case:
    """`marks` are names of loops, numbers and memory in the kernels of the program; some only one form has: `OWN`."""

    program: Callable[..., Any]
    marks: frozenset[str]
    shape: tuple[int, ...] = (9, 14)
    dtype: str = "float32"
    ulp: float = 0.0  # from NumPy
    longer: tuple[int, ...] = field(default=(10, 17))  # a shape with kernels of the same text


def case(program: Callable[..., Any], *marks: str, **rest: Any) -> Case:
    return Case(program, frozenset(marks), **rest)


def _replaced(xp: Any, x: Any) -> Any:
    y = xp.asarray(x * 2, copy=True)
    y[1:-1, ::-1] = x[1:-1] + 3
    return y


def _several(xp: Any, x: Any) -> list[Any]:
    return [xp.sum(x, axis=1), xp.max(x, axis=1), x * x]


def _softmax(xp: Any, x: Any, axis: int) -> Any:
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def _centred(xp: Any, x: Any, axis: int) -> Any:
    """Three passes: the largest element, then the sum, then the result."""
    y = x - xp.max(x, axis=axis, keepdims=True)
    return y * y - xp.sum(y, axis=axis, keepdims=True)


def _between(xp: Any, x: Any) -> Any:
    """What is costly is needed by the scan, and besides it."""
    e = xp.exp(x)
    total = xp.cumulative_sum(e * 2, axis=1)
    return [xp.exp(-total) + e, xp.max(total / e, axis=1)]


SHORT, LONG = (2, 40), (40, 2)
CASES = {
    "map": case(lambda xp, x: x * x + 1, "i", longer=(3, 50)),
    "map of a transposed operand": case(lambda xp, x: x.T * 2, "i"),
    "map in blocks": case(lambda xp, x: x + x[:, :1], "row", "block"),
    "map of rows": case(lambda xp, x: x + x[:, :1], "row", shape=(9, 5), longer=(7, 6)),
    "map of a number": case(lambda xp, x: x[2, 3] * 2 + 1),
    "half precision": case(lambda xp, x: x / 3 * 7, "i", dtype="float16"),
    "truth values": case(lambda xp, x: xp.logical_and(x > 1, x < 3), "i"),
    "integers": case(lambda xp, x: x // 3 * 5 % 7, "i", dtype="int32"),
    "complex numbers": case(lambda xp, x: x * x + 2, "i", dtype="complex64"),
    "tiles": case(lambda xp, x: x + x.T, "j", "w0", shape=(9, 9), longer=(10, 10)),
    "tiles of few rows": case(lambda xp, x: x[:2] + x.T[:2], "j", shape=(9, 9), longer=(10, 10)),
    "tiles of few columns": case(
        lambda xp, x: x[:, :2] + x.T[:, :2], "j", shape=(9, 9), longer=(10, 10)
    ),
    "rows": case(lambda xp, x: xp.sum(x * x, axis=1), "row", "k0", "piece"),
    "rows of float64": case(lambda xp, x: xp.sum(x * x, axis=1), "row", dtype="float64"),
    "rows in two passes": case(lambda xp, x: x - xp.max(x, axis=1, keepdims=True), "row", "k0"),
    "rows in three passes": case(lambda xp, x: _centred(xp, x, 1), "row", "k0", "piece"),
    "rows with scratch memory": case(lambda xp, x: _softmax(xp, x, 1), "row", "v", ulp=8),
    "rows of two axes": case(
        lambda xp, x: xp.sum(xp.reshape(x, (2, 6, -1)) * 2, axis=(0, 2)),
        "row",
        "k1",
        shape=(12, 14),
        longer=(12, 21),
    ),
    "columns": case(lambda xp, x: xp.sum(x * x, axis=0), "lane", "group"),
    "narrow columns": case(
        lambda xp, x: xp.sum(x * x, axis=0), "lane", "part", shape=LONG, longer=(50, 2)
    ),
    "columns in two passes": case(lambda xp, x: x - xp.max(x, axis=0, keepdims=True), "lane", "r"),
    "columns in three passes": case(lambda xp, x: _centred(xp, x, 0), "lane", "r"),
    "columns of quotients": case(lambda xp, x: _softmax(xp, x, 0), "lane", "r", ulp=8),
    "parts of rows": case(lambda xp, x: xp.sum(x + x[:, :1], axis=1), "part", "chunk", shape=SHORT),
    "parts of everything": case(lambda xp, x: xp.max(x * 2), "part", "chunk"),
    "parts of columns": case(
        lambda xp, x: xp.sum(x + x[:, :1], axis=0), "part", "lane", "chunk", shape=LONG
    ),
    "parts of a product": case(lambda xp, x: xp.prod(xp.sign(x) + 2), "part", dtype="int64"),
    "deviations of everything": case(lambda xp, x: xp.var(x), "part", "pivot", ulp=4),
    "deviations of columns": case(lambda xp, x: xp.var(x, axis=0), "part", "lane", "pivot", ulp=4),
    "deviations of two axes": case(
        lambda xp, x: xp.var(xp.reshape(x, (2, 6, -1)), axis=(0, 2)),
        "part",
        "pivot",
        "k1",
        shape=(12, 14),
        dtype="float64",
        ulp=4,
        longer=(12, 21),
    ),
    "deviations and sums": case(
        lambda xp, x: [xp.var(x * 2), xp.mean(x), xp.max(x)], "part", "pivot", ulp=4
    ),
    "an answer found early": case(lambda xp, x: xp.any(x == 3, axis=1), "row", "piece"),
    "scans of rows": case(lambda xp, x: xp.cumulative_sum(x * x, axis=1), "row", "k0"),
    "scans of rows of costly elements": case(
        lambda xp, x: xp.cumulative_sum(xp.exp(x), axis=1), "row", "piece", "q1", ulp=8
    ),
    "scans of rows before costly ops": case(
        lambda xp, x: xp.exp(xp.cumulative_sum(x, axis=1) / 8), "row", "piece", "q2", ulp=8
    ),
    "scans of rows between costly ops": case(_between, "row", "piece", ulp=8),
    "scans of scans of costly elements": case(
        lambda xp, x: xp.cumulative_sum(xp.cumulative_sum(xp.exp(x), axis=1) / xp.exp(x), axis=1),
        "row",
        "piece",
        ulp=16,
    ),
    "scans of columns": case(lambda xp, x: xp.cumulative_sum(x * x, axis=0), "lane"),
    "scans and sums": case(lambda xp, x: xp.max(xp.cumulative_sum(x, axis=1), axis=1), "row", "k0"),
    "scans of columns in two passes": case(
        lambda xp, x: xp.argmax(xp.cumulative_sum(x, axis=0), axis=0), "lane", "r"
    ),
    "scans of rows in two passes": case(
        lambda xp, x: xp.argmax(xp.cumulative_sum(x, axis=1), axis=1), "row", "k0"
    ),
    "scans with what follows": case(
        lambda xp, x: xp.cumulative_sum(x, axis=1) - xp.sum(x, axis=1, keepdims=True), "row"
    ),
    "pad": case(lambda xp, x: xp.pad(x * 2, ((1, 2), (0, 3)), constant_values=7) + 1, "i"),
    "concat": case(lambda xp, x: xp.concat([x * 2, x[:1], x[::-1]], axis=0) + 1, "i"),
    "set slice": case(_replaced, "i"),
    "sums of pieces": case(
        lambda xp, x: xp.sum(xp.concat([x * 2, x[:, :3]], axis=1), axis=1), "row", "k0"
    ),
    "gather": case(lambda xp, x: xp.take(x, xp.asarray(np.array([3, 0, -1])), axis=1) * 2, "i"),
    "gather along": case(
        lambda xp, x: xp.take_along_axis(x, xp.argsort(x, axis=1, stable=True), axis=1) * 2, "i"
    ),
    "arange": case(lambda xp, x: x * xp.arange(x.shape[1], dtype=xp.float32), "row"),
    "argmax of rows": case(lambda xp, x: xp.argmax(x, axis=1), "row", "k0"),
    "argmin of columns": case(lambda xp, x: xp.argmin(x, axis=0), "lane"),
    "argmax of everything": case(lambda xp, x: xp.argmax(x * 2), "k0"),
    "several results": case(_several, "row", "k0"),
    "rare choices": case(lambda xp, x: xp.sin(x * 1e6), "f0", ulp=2),
    "sums of complex numbers": case(lambda xp, x: xp.sum(x * x, axis=0), "lane", dtype="complex64"),
    "repeated elements": case(lambda xp, x: xp.repeat(x, 3, axis=1) * 2, "i"),
    "reshaped": case(
        lambda xp, x: xp.sum(xp.reshape(x, (-1, 7)) * 2, axis=1), "k0", longer=(8, 21)
    ),
}


def operand(one: Case, shape: tuple[int, ...] | None = None) -> np.ndarray[Any, Any]:
    """The matrix that a program takes."""
    drawn = np.random.default_rng(1).integers(-4, 5, shape or one.shape)
    return drawn.astype(one.dtype)


def by_numpy(one: Case, x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(value) for value in _listed(one.program(reference, x))]


def tensors(one: Case, x: np.ndarray[Any, Any]) -> list[tfr.Tensor]:
    """The results of a program, not computed yet, on the device that compiles everything."""
    with tfr.use_backend("llvm"):
        return _listed(one.program(tfr, tfr.asarray(x)))


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]
