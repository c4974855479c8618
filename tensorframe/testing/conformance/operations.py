"""Checks of the op rows: each one, of each dtype that the device holds, gives NumPy's results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tensorframe as tfr
import tensorframe.ops.special  # rows that load when they are named are checked too
from tensorframe.dtypes import COMPLEX, FLOAT, FLOATING, INTEGER, DType, bool_, real_of
from tensorframe.errors import TensorFrameError
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Kind, Op, rows
from tensorframe.ops.creation import ARGUMENT
from tensorframe.schedule.plan import Plan, StepKind
from tensorframe.testing.compare import assert_close
from tensorframe.testing.conformance.calls import CALLS, WITHOUT
from tensorframe.testing.conformance.subject import Array, Check, Subject, expect, small_numbers
from tensorframe.testing.tolerance import epsilon

SHAPE = (4, 6)
REFERENCE = "numpy"

# What records results, given operands on a device.
Recorder = Callable[[Any], list[Tensor]]


def checks(subject: Subject) -> list[Check]:
    """Return the checks of all rows."""
    return [
        subject.check("ops", f"{op.name} of {dtype}", partial(_row, subject, op, dtype))
        for op in rows()
        if op.name not in WITHOUT
        for dtype in subject.dtypes()
        if op.kind is Kind.SOURCE or dtype in op.accepts
    ]


def _row(subject: Subject, op: Op, dtype: DType) -> None:
    for record in recorders(op, dtype):
        elsewhere = compare(subject, f"{op.name} of {dtype}", record)
        if elsewhere:
            subject.elsewhere.append((op.name, str(dtype)))
        if op is ARGUMENT:
            continue  # no operation of users
        told = tfr.backends.supports(op.name, subject.device, dtype)
        expect(
            bool(told) is not elsewhere, f"supports says {told}, and it ran elsewhere: {elsewhere}"
        )


def recorders(op: Op, dtype: DType) -> list[Recorder]:
    """Return what records a row of a dtype, once for each set of operands; nothing where it is not defined."""
    if op.name in CALLS:
        call = partial(_call, op.name, small_numbers(dtype, SHAPE, 3), _definite(dtype))
        return [call] if _is_defined(call) else []
    return [partial(_elementwise, op, operands) for operands in operand_sets(op, dtype)]


def _is_defined(call: Recorder) -> bool:
    try:
        call(REFERENCE)
    except TensorFrameError:
        return False
    return True


def _call(name: str, matrix: Array, definite: Array, device: Any) -> list[Tensor]:
    operands = placed(device, matrix, definite)
    result = CALLS[name](*operands)
    return list(result) if isinstance(result, tuple) else [result]


def _definite(dtype: DType) -> Array:
    """Return a symmetric matrix with eigenvalues well away from zero and from each other."""
    if dtype not in FLOATING:
        return small_numbers(dtype, (4, 4))
    values = np.diag([2.0, 4.0, 7.0, 11.0]) + 0.5
    return values.astype(dtype)


def _elementwise(op: Op, operands: list[Array], device: Any) -> list[Tensor]:
    return [function_of(op)(*placed(device, *operands))]


def function_of(op: Op) -> Callable[..., Tensor]:
    """Return the public function of a row."""
    homes = (tfr, tfr.linalg, tfr.special)
    function: Callable[..., Tensor] = next(
        getattr(home, op.name) for home in homes if hasattr(home, op.name)
    )
    return function


def placed(device: Any, *arrays: Array) -> list[Tensor]:
    """Return tensors whose values lie on the device already, so that the first op finds them there."""
    return list(tfr.compute(*(tfr.asarray(array, device=device) for array in arrays)))


def operand_sets(op: Op, dtype: DType) -> list[list[Array]]:
    """Return operands of an elementwise row: small ones, wider ones, and the row's telling points."""
    arity = (op.arity or 1) - op.conditions
    sets = [[values(dtype, seed, wide=wide) for seed in range(arity)] for wide in (False, True)]
    if dtype in FLOAT:
        points = [point if isinstance(point, tuple) else (point,) for point in op.at]
        fitting = [point for point in points if all(type(number) is float for number in point)]
        columns = [np.array(column, dtype) for column in zip(*fitting, strict=True)]
        sets += [columns] if columns and len(columns) == arity else []
    conditions = [np.arange(24).reshape(SHAPE) % 3 == 0] * op.conditions
    return [[*conditions, *operands] for operands in sets]


def values(dtype: DType, seed: int, *, wide: bool) -> Array:
    """Return a matrix without zeros: between 0 and 1 or small positive numbers; or wider, with signs on the left."""
    rng = np.random.default_rng(seed)
    if dtype == bool_:
        return rng.integers(0, 2, SHAPE).astype(bool)
    if dtype in INTEGER:
        low = -5 if wide and seed == 0 and dtype.kind == "i" else 1
        return rng.integers(low, 6, SHAPE).astype(dtype)
    span = 6.0 if wide else 0.9
    real = rng.random(SHAPE) * span + 0.05
    if wide and seed == 0:
        real -= 3.0
    return (real + (0.3 + 0.5j * real) if dtype in COMPLEX else real).astype(dtype)


def compare(subject: Subject, name: str, record: Recorder) -> bool:
    """Return whether anything was computed on another device.

    AssertionError unless the device's results are those of the reference, but for rounding.
    """
    results = record(subject.device)
    leaves = _leaves_device(subject, results)
    tfr.compute(*results)
    for result, wanted in zip(results, record(REFERENCE), strict=True):
        close(subject, result, wanted, name)
    return leaves


def _leaves_device(subject: Subject, results: list[Tensor]) -> bool:
    """Whether anything is computed on another device."""
    plan = tfr.explain(*results)
    steps = plan.steps if isinstance(plan, Plan) else []
    return any(
        step.device is not subject.device for step in steps if step.kind is not StepKind.TRANSFER
    )


def close(subject: Subject, got: Any, wanted: Any, name: str) -> None:
    """Raise AssertionError unless one result is near enough the reference's: equal, where nothing rounds."""
    dtype = got.dtype
    if wanted.dtype != dtype and wanted.dtype not in subject.capabilities.dtypes:
        wanted = tfr.astype(wanted, dtype)  # sums of a device without 64 bits stay within 32
    # what is computed of complex numbers takes several roundings in each part
    units = subject.ulp * (4 if dtype in COMPLEX else 1)
    near = units * epsilon(real_of(dtype)) if dtype in FLOATING else 0.0
    assert_close(got, wanted, rtol=near, atol=near, name=name)
