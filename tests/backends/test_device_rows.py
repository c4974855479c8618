"""Every elementwise row on every device with kernels of its own: NumPy's results at special points and between.

Compiling takes longer than computing here: all rows of a dtype are computed in one plan, of a few kernels.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.backends.registry import backend_of, devices, info_of
from tensorframe.graph.op import Kind, rows
from tensorframe.testing.compare import assert_close
from tensorframe.testing.tolerance import epsilon

DEVICES = [
    str(info.device)
    for info in devices()
    if info.capabilities.executes
    and not (info.capabilities.host_memory or info.capabilities.chunked)
]
ROWS = [op for op in rows(Kind.MAP) if op.public and not op.attributes]
PARTS = 8  # plans for the rows of a dtype

# NumPy's own functions are off by as much, and half precision is rounded once
ULP = {"float32": 6, "float64": 6, "float16": 1, "bfloat16": 1}
# sums whose terms may cancel: units of one that they may be off
CANCELS = {"logaddexp": 4}


def special(dtype):
    """Numbers of a dtype that are easily got wrong."""
    if dtype == dtypes.bool_:
        return np.array([False, True])
    if dtype in dtypes.INTEGER:
        low, high = dtypes.LIMITS[dtype]
        near = range(-9, 10) if low < 0 else range(10)
        return np.array([low, low + 1, *near, 31, 32, 63, 64, 100, high - 1, high], dtype)
    info = np.finfo(np.float32 if dtype == dtypes.bfloat16 else dtype)
    found = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 100.0, np.inf, info.max, info.tiny]
    found += [float(info.tiny) / 4, float(info.eps), 1 - float(info.eps), 1 + float(info.eps)]
    both = np.array([*found, *[-one for one in found], np.nan])
    return both.astype(dtype)


def operands(op, dtype):
    """Arrays for a row: pairs of special numbers, then random ones."""
    points = special(dtype)
    drawn = np.random.default_rng(len(op.name))
    if dtype in dtypes.FLOAT:
        between = [drawn.normal(0, 4, 500).astype(dtype) for _ in range(op.arity)]
    elif dtype == dtypes.bool_:
        between = [drawn.integers(0, 2, 20).astype(bool) for _ in range(op.arity)]
    else:
        low, high = dtypes.LIMITS[dtype]
        between = [drawn.integers(low, high, 200, dtype, endpoint=True) for _ in range(op.arity)]
    values = op.arity - op.conditions
    pairs = np.array(list(product(points, repeat=min(values, 2))), dtype).T
    told = [pairs[index % len(pairs)] for index in range(op.arity)]
    found = [np.concatenate(both) for both in zip(told, between, strict=True)]
    return [one == 1 if index < op.conditions else one for index, one in enumerate(found)]


def supported(op, dtype, device):
    place = tfr.Device(device)
    takes = [dtypes.bool_] * op.conditions + [dtype] * (op.arity - op.conditions)
    return backend_of(place).supports(op, takes, op.result(dtype), place)


def units(op, dtype):
    """How far a result may be off."""
    if op.result(dtype) not in dtypes.FLOAT:
        return 0
    return ULP[op.result(dtype).name]


REAL = sorted(dtypes.BOOL | dtypes.INTEGER | dtypes.FLOAT, key=str)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("device", DEVICES)
def test_every_row(device, dtype, part):
    if dtype not in info_of(tfr.Device(device)).capabilities.dtypes:
        pytest.skip(f"{device} has no {dtype}")
    accepting = [
        op for op in ROWS[part::PARTS] if dtype in op.accepts and supported(op, dtype, device)
    ]
    assert accepting
    given = {op: operands(op, dtype) for op in accepting}
    results = [
        getattr(tfr, op.name)(*[tfr.asarray(one, device=device) for one in given[op]])
        for op in accepting
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", tfr.errors.FallbackWarning)
        tfr.compute(*results)
    with tfr.use_backend("numpy"):
        expected = [getattr(tfr, op.name)(*map(tfr.asarray, given[op])).numpy() for op in accepting]
    for op, result, value in zip(accepting, results, expected, strict=True):
        near = CANCELS.get(op.name, 0) * epsilon(value.dtype)
        name = f"{op.name} of {dtype}"
        assert_close(result, value, ulp=units(op, dtype), atol=near, name=name)


@pytest.mark.parametrize("device", DEVICES)
def test_sums_of_one_sign_are_near(device):
    """One after the other in float32, a hundred were off by more than seven units in the last place."""
    x = np.exp(np.random.default_rng(0).standard_normal((200, 100))).astype(np.float32)
    exact = x.astype(np.float64)
    for axis in (0, 1):
        total = tfr.sum(tfr.asarray(x, device=device), axis=axis)
        assert_close(total, exact.sum(axis=axis).astype(np.float32), ulp=4)
