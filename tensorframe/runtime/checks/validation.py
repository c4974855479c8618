"""Validation: a fused region's results against its ops run one by one (`TENSORFRAME_VALIDATE=1`).

Engines that call NumPy's functions give its results to the bit. Kernels round elsewhere, and only that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.numpy.functions import implementation
from tensorframe.errors import KernelError
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.runtime.checks.rounding_bounds import bounded, exactly, near

Array = np.ndarray[Any, Any]


def validate(region: Region, inputs: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise KernelError if `results` differ from what the region's ops give one by one, by more than rounding."""
    if not all(isinstance(result, np.ndarray | np.generic) for result in results):
        return
    arrays = [np.asarray(result) for result in results]
    with np.errstate(all="ignore"):
        right = _equal(region, inputs, arrays) or _near(region, inputs, arrays)
    if not right:
        raise KernelError(f"a region's result differs from its ops run one by one:\n{region}")


def _equal(region: Region, inputs: Sequence[Any], results: Sequence[Array]) -> bool:
    values = list(inputs)
    for op in region.ops:
        operands = [values[source] for source in op.inputs]
        is_source = op.op.kind is Kind.SOURCE
        values.append(generate(op) if is_source else implementation[op.op](*operands, *op.attrs))
    return all(
        np.array_equal(np.asarray(values[value]), result, equal_nan=True)
        for value, result in zip(region.outputs, results, strict=True)
    )


def _near(region: Region, inputs: Sequence[Any], results: Sequence[Array]) -> bool:
    values = [exactly(source) for source in inputs]
    for op in region.ops:
        values.append(bounded(op, [values[source] for source in op.inputs]))
    return all(
        near(result, values[value]) for value, result in zip(region.outputs, results, strict=True)
    )
