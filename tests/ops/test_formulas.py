"""Rows that mean several others: written out, they keep their shapes and dtypes, and share what they have in common."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import reachable
from tensorframe.graph.op import Kind, rows
from tensorframe.graph.record import record
from tensorframe.ops.expand import expand
from tensorframe.rewrite.engine import rewrite
from tensorframe.schedule.pipeline import CORE

ROWS = list(rows(Kind.FORMULA))
CASES = [
    pytest.param(op, dtype, id=f"{op.name}-{dtype}")
    for op in ROWS
    for dtype in sorted(op.accepts, key=str)
    if "bits" not in op.attributes  # quantised matrices have shapes of their own
]
# of no elements there is no largest one
OF_SOME = {"ptp", "nanmax", "nanmin"}
VALUES = {
    "axis": 1,
    "eps": 1e-5,
    "axes": (0, 2),
    "keepdims": False,
    "divisor": 3.0,
    "rtol": 1e-6,
    "sizes": (2, 3),
    "steps": (1, 2),
    "dilations": (1, 1),  # of windows
    "step": 2,
    "dilation": 1,
    "length": 12,
}
# of nothing there are no windows
OF_WINDOWS = {"fold", "max_pool", "sum_pool", "pool_index"}


@pytest.mark.parametrize("op", ROWS, ids=str)
def test_every_row_is_whole(op):
    assert op.doc.endswith(".")
    if op.public:
        assert (getattr(tfr, op.name, None) or getattr(tfr.linalg, op.name)).__doc__


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 0)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_the_meaning_has_the_shape_and_dtype_that_were_recorded(op, dtype, keepdims, shape):
    attrs = [(VALUES | {"keepdims": keepdims})[name] for name in op.attributes]
    operand = tfr.ones(shape, dtype=dtype).node
    # of rows of two operands, the second is an index for each line, or the largest element of each window
    second = tfr.zeros((3, shape[2]), dtype="int32").node
    if op.name == "pool_index":
        second = tfr.ones((2, 4, 2), dtype=dtype).node
    operands = (operand, second)[: op.arity]
    if op.name == "interp":
        operands = (operand, *[tfr.ones(7, dtype=dtype).node] * 2)
    if 0 in shape and op.name in OF_WINDOWS:
        return
    if 0 in shape and op.name in OF_SOME:
        with pytest.raises(tfr.errors.ShapeError, match=f"{op.name}: no elements"):
            record(op, operands, *attrs)
        return
    node = record(op, operands, *attrs)
    meaning = expand(node)
    assert (meaning.shape, meaning.dtype) == (node.shape, node.dtype)
    assert meaning.site is node.site
    (core,) = rewrite([node], CORE)
    assert all(one.op.expand is None for one in reachable([core]))


def test_a_mean_and_a_variance_of_the_same_rows_sum_them_once():
    x = tfr.asarray(np.random.default_rng(3).standard_normal((300, 200)).astype(np.float32))
    mean, variance = tfr.mean(x, axis=1, keepdims=True), tfr.var(x, axis=1)
    plan = tfr.explain(mean, variance)
    names = [op.op.name for step in plan.steps for op in step.region.ops]
    assert names.count("sum") == 2  # of the elements, of the squares


def test_a_held_mean_is_kept_when_what_needs_it_is_computed():
    x = tfr.asarray(np.arange(30_000, dtype=np.float32).reshape(100, 300))
    mean = tfr.mean(x, axis=1, keepdims=True)
    (x - mean).compute()
    assert mean.node.storage is not None
