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
from tensorframe.runtime.rounding import bounded, exactly, near

Array = np.ndarray[Any, Any]


def validate(region: Region, inputs: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise KernelError if `results` differ from what the region's ops give one by one, by more than rounding."""
    if not all(isinstance(one, np.ndarray | np.generic) for one in results):
        return
    found = [np.asarray(one) for one in results]
    with np.errstate(all="ignore"):
        right = _equal(region, inputs, found) or _near(region, inputs, found)
    if not right:
        raise KernelError(f"a region's result differs from its ops run one by one:\n{region}")


def _equal(region: Region, inputs: Sequence[Any], found: Sequence[Array]) -> bool:
    values = list(inputs)
    for one in region.ops:
        operands = [values[at] for at in one.inputs]
        is_source = one.op.kind is Kind.SOURCE
        values.append(generate(one) if is_source else implementation[one.op](*operands, *one.attrs))
    return all(
        np.array_equal(np.asarray(values[at]), result, equal_nan=True)
        for at, result in zip(region.outputs, found, strict=True)
    )


def _near(region: Region, inputs: Sequence[Any], found: Sequence[Array]) -> bool:
    values = [exactly(one) for one in inputs]
    for one in region.ops:
        values.append(bounded(one, [values[at] for at in one.inputs]))
    return all(near(result, values[at]) for at, result in zip(region.outputs, found, strict=True))
