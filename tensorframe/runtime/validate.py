"""Validation: a fused region's results against its ops run one by one (`TENSORFRAME_VALIDATE=1`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.base import Region
from tensorframe.backends.numpy.functions import implementation
from tensorframe.errors import KernelError


def validate(region: Region, inputs: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise KernelError if `results` differ from what the region's ops give one by one."""
    values = list(inputs)
    for one in region.ops:
        values.append(implementation[one.op](*[values[at] for at in one.inputs], *one.attrs))
    for at, result in zip(region.outputs, results, strict=True):
        expected = values[at]
        if isinstance(expected, tuple) or not isinstance(result, np.ndarray | np.generic):
            continue
        if not np.array_equal(np.asarray(expected), np.asarray(result), equal_nan=True):
            raise KernelError(f"a region's result differs from its ops run one by one:\n{region}")
