"""Moves: the ways a random program grows by one step, each within what both sides define alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.dtypes import BOOL, COMPLEX, FLOAT, FLOATING, INTEGER, NARROW, NUMERIC, REAL, DType
from tensorframe.graph.op import Kind, Op, rows
from tensorframe.graph.shape import Shape
from tensorframe.testing.draft import Draft, Variable
from tensorframe.testing.reference import can_call, reference
from tensorframe.testing.tolerance import (
    UNITS,
    elementwise_error,
    epsilon,
    largest,
    on_grid,
    rounding,
)
from tensorframe.testing.view_moves import assign, gather, join, view

Array = np.ndarray[Any, Any]
Move = Callable[[Draft], object]

__all__ = ["MOVES"]


# --- elementwise ops, drawn from the rows


@cache
def elementwise_rows() -> tuple[Op, ...]:
    """Return the rows of elementwise ops that both sides have.

    Public ones: others, such as `i0`, are there when their module is loaded, and a seed is to mean one program.
    """
    return tuple(
        op
        for op in tuple(rows(Kind.MAP))  # functions that are loaded now bring rows of their own
        if op.public and not op.attributes and hasattr(tfr, op.name) and can_call(op.name)
    )


def _no_zeros(*operands: Array) -> bool:
    """Whether no part is zero: the signs of zeros, and the branch cuts at them, are not compared here."""
    return all(
        bool(
            (operand.real != 0).all()
            and (operand.dtype not in COMPLEX or (operand.imag != 0).all())
        )
        for operand in operands
    )


def _divides(_x: Array, divisor: Array) -> bool:
    return bool(
        (divisor != 0).all()
        and (divisor.dtype not in INTEGER or (divisor.astype(np.int64) != -1).all())
    )


def _shifts(x: Array, amount: Array) -> bool:
    bits = 8 * x.dtype.itemsize
    return bool(((amount >= 0) & (amount < bits)).all() and (x >= 0).all())


def _powers(base: Array, exponent: Array) -> bool:
    if base.dtype in INTEGER:
        return bool((exponent >= 0).all() and (exponent < 7).all())
    return _no_zeros(base) and (base.dtype in COMPLEX or bool((base > 0).all()))


# where the sides agree: the row, and what must hold for its operands
DOMAINS: dict[str, Callable[..., bool]] = {
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), _divides),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), _shifts),
    **dict.fromkeys(
        ("divide", "reciprocal", "copysign", "signbit", "atan2", "nextafter"), _no_zeros
    ),
    "pow": _powers,
}


def _in_domain(name: str, operands: list[Array]) -> bool:
    known = DOMAINS.get(name)
    if known is not None:
        return known(*operands)
    smooth = {
        "add",
        "subtract",
        "multiply",
        "negative",
        "positive",
        "abs",
        "square",
        "conj",
        "real",
        "imag",
        "where",
    }
    cuts = any(operand.dtype in COMPLEX for operand in operands) and name not in smooth
    return not cuts or _no_zeros(*operands)


def elementwise(draft: Draft) -> object:
    """Apply a row to a variable and to partners: variables, new leaves, or Python numbers."""
    rows = elementwise_rows()
    if draft.random.random() < 0.4:
        rows = tuple(op for op in rows if op.operator and op.arity == 2)
    op = draft.random.choice(rows)
    x = draft.pick(op.accepts)
    if x is None or op.arity is None:
        return None
    operands: list[Variable | complex] = [x]
    operands += [_other(draft, x) for _ in range(op.arity - op.conditions - 1)]
    draft.random.shuffle(operands)
    conditions = [draft.partner(x, dtypes.bool_) for _ in range(op.conditions)]
    return apply_row(draft, op, conditions, operands)


def _other(draft: Draft, x: Variable) -> Variable | complex:
    if x.dtype in BOOL or draft.random.random() < 0.7:
        return draft.partner(x, x.dtype)
    choices: dict[str, list[complex]] = {
        "i": [-3, -1, 0, 1, 2, 5],
        "u": [0, 1, 2, 5],
        "f": [-1.5, 0.0, 0.5, 1.0, 2, -1],
        "c": [-1.5, 2, 1j, 0.5 - 1j],
    }
    return draft.random.choice(choices.get(x.dtype.kind, choices["f"]))


def apply_row(
    draft: Draft, op: Op, conditions: list[Variable], operands: list[Variable | complex]
) -> Variable | None:
    """Add the step that applies a row, if its operands are in the domain that both sides agree on."""
    variables = [operand for operand in operands if isinstance(operand, Variable)]
    dtype = variables[0].dtype
    arrays = [
        operand.value if isinstance(operand, Variable) else np.asarray(operand).astype(dtype)
        for operand in operands
    ]
    if not _in_domain(op.name, arrays) or not all(condition.exact for condition in conditions):
        return None
    errors = [operand.error if isinstance(operand, Variable) else 0.0 for operand in operands]
    before = [condition.value for condition in conditions]

    def error(result: Array) -> float | None:
        def again(*wide: Array) -> Any:
            with np.errstate(all="ignore"):
                return getattr(reference, op.name)(*before, *wide)

        bound = elementwise_error(op.name, again, errors, arrays, result)
        if bound and op.expand is not None:
            # numbers on the way to a small result may be as large as the operands, or as one
            bound += UNITS * epsilon(result.dtype) * max(1.0, *map(largest, arrays))
        return bound

    inputs = [*conditions, *variables]
    places = iter(range(len(conditions), len(inputs)))
    words = [f"{{{place}}}" for place in range(len(conditions))]
    words += [
        f"{{{next(places)}}}" if isinstance(operand, Variable) else repr(operand)
        for operand in operands
    ]
    return draft.add(f"{{out}} = xp.{op.name}({', '.join(words)})", inputs, error)


def cast(draft: Draft) -> object:
    """Convert to another dtype, where the values fit."""
    x = draft.pick()
    dtype = draft.random.choice(list(dtypes.BY_NAME.values()))
    if x is None or (x.dtype in COMPLEX and dtype not in COMPLEX):
        return None
    if dtype not in FLOATING and not (x.exact and _fits(x.value, dtype)):
        return None

    def error(result: Array) -> float | None:
        exact = x.exact and on_grid(x.value, dtype) and on_grid(result)
        return 0.0 if exact else x.error + rounding(result, 1.0)

    name = "bool" if dtype == dtypes.bool_ else dtype.name
    return draft.add(f"{{out}} = xp.astype({{0}}, xp.{name})", [x], error)


def _fits(array: Array, dtype: DType) -> bool:
    if dtype == dtypes.bool_ or array.size == 0:
        return True
    limits = np.iinfo(dtype)
    wide = array.astype(np.float64) if array.dtype in FLOAT else array
    return bool(limits.min <= wide.min() and wide.max() <= min(limits.max, 2**62))


# --- reductions, scans, products


def reduction(draft: Draft) -> object:
    """Combine elements along some axes."""
    name = draft.random.choice(
        ["sum", "sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin"]
    )
    accepts = {"sum": NUMERIC, "prod": NUMERIC, "mean": FLOAT, "any": dtypes.ANY, "all": dtypes.ANY}
    x = draft.pick(
        accepts.get(name, REAL), exact=name in ("prod", "any", "all", "argmax", "argmin")
    )
    if x is None:
        return None
    gives_positions = name.startswith("arg")
    axes = _axes(draft, x, single=gives_positions)
    along = range(len(x.shape)) if axes is None else axes
    if name not in ("sum", "prod", "any", "all") and any(x.shape[axis] == 0 for axis in along):
        return None
    axis = (
        axes[0]
        if axes is not None
        and (gives_positions or (len(axes) == 1 and draft.random.random() < 0.5))
        else axes
    )
    keepdims = ", keepdims=True" if draft.random.random() < 0.3 else ""
    code = f"{{out}} = xp.{name}({{0}}, axis={axis}{keepdims})"
    return draft.add(code, [x], lambda result: _reduced_error(name, x, axis, result))


def _axes(draft: Draft, x: Variable, *, single: bool) -> tuple[int, ...] | None:
    ndim = len(x.shape)
    if ndim == 0 or draft.random.random() < 0.25:
        return None
    count = 1 if single else draft.random.randint(1, ndim)
    chosen = draft.random.sample(range(ndim), count)
    return tuple(axis - ndim if draft.random.random() < 0.3 else axis for axis in chosen)


def _reduced_error(name: str, x: Variable, axis: Any, result: Array) -> float | None:
    if result.dtype not in FLOATING or name in ("max", "min"):
        return x.error
    magnitude = np.abs(x.value).astype(np.float64)
    count = max(1, x.value.size // max(1, result.size))
    if name == "prod":
        bound = largest(np.prod(np.maximum(magnitude, 1.0), axis=axis))
        whole = bool((x.value == np.rint(x.value)).all()) and bound <= 0.25 / epsilon(x.dtype)
        return 0.0 if whole and on_grid(result) else bound * count * epsilon(x.dtype)
    total = np.sum(magnitude, axis=axis)
    if name == "sum" and x.exact and on_grid(total, x.dtype):
        return 0.0
    share = count if name == "mean" else 1
    return (x.error * count + largest(total) * epsilon(x.dtype) * (count + 4)) / share


def scan(draft: Draft) -> object:
    """Combine all elements up to each position."""
    x = draft.pick(NUMERIC, exact=True)
    if x is None or not x.shape:
        return None
    axis = draft.random.randrange(-len(x.shape), len(x.shape))
    name = draft.random.choice(["cumulative_sum", "cumulative_sum", "cumulative_prod"])
    inner = "sum" if name == "cumulative_sum" else "prod"

    def error(result: Array) -> float | None:
        # the whole line, at every position
        return _reduced_error(inner, x, axis, result[..., :0] if result.size == 0 else result)

    if name == "cumulative_prod" and x.dtype in FLOATING:
        return None
    start = ", include_initial=True" if draft.random.random() < 0.2 else ""
    return draft.add(f"{{out}} = xp.{name}({{0}}, axis={axis}{start})", [x], error)


def matmul(draft: Draft) -> object:
    """Multiply matrices, vectors or stacks of them."""
    x = draft.pick(NUMERIC)
    if x is None or not x.shape or draft.large:
        return None
    columns = draft.random.randint(1, 4)
    shape: Shape = (x.shape[-1],) if draft.random.random() < 0.3 else (x.shape[-1], columns)
    if len(x.shape) > 2 and len(shape) == 2 and draft.random.random() < 0.5:
        shape = (*x.shape[:-2], *shape)
    candidates = [
        variable
        for variable in draft.variables
        if variable.usable and variable.shape == shape and variable.dtype == x.dtype
    ]
    y = (
        draft.random.choice(candidates)
        if candidates and draft.random.random() < 0.7
        else draft.leaf(x.dtype, shape)
    )

    def error(result: Array) -> float | None:
        total = np.matmul(np.abs(x.value).astype(np.float64), np.abs(y.value).astype(np.float64))
        # products of multiples of 1/8 are multiples of 1/64
        if x.exact and y.exact and on_grid(total * 8.0, x.dtype) and on_grid(result):
            return 0.0
        count = x.shape[-1]
        handed_on = count * (x.error * largest(y.value) + y.error * largest(x.value))
        return handed_on + largest(total) * epsilon(x.dtype) * (count + 4)

    return draft.add("{out} = xp.matmul({0}, {1})", [x, y], error)


def sort(draft: Draft) -> object:
    """Sort along an axis, or say how."""
    x = draft.pick(REAL, exact=True)
    if x is None or not x.shape or x.dtype in NARROW:
        return None
    name = draft.random.choice(["sort", "argsort"])
    return draft.add(f"{{out}} = xp.{name}({{0}}, axis={draft.axis(x)}, stable=True)", [x])


def compute(draft: Draft) -> object:
    """Compute in the middle of recording."""
    x = draft.pick()
    return draft.add("{out}, = xp.compute({0})", [x], x.error) if x is not None else None


def leaf(draft: Draft) -> object:
    """Bring in another leaf."""
    return draft.leaf()


MOVES: list[tuple[Move, float]] = [
    (elementwise, 12.0),
    (view, 6.0),
    (reduction, 3.0),
    (cast, 2.0),
    (join, 1.0),
    (gather, 1.0),
    (assign, 1.0),
    (matmul, 1.0),
    (scan, 0.7),
    (leaf, 0.7),
    (sort, 0.3),
    (compute, 0.3),
]
