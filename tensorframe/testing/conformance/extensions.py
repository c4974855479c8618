"""Ops of packages: every device that is here has to give what the op's reference gives, and the gradient to be one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe.frontend.user_functions.extension import ElementwiseOp
from tensorframe.testing.compare import assert_close

# of tensors for which the gradient is compared with differences, element by element
_FEW = 5


def check_op(
    op: ElementwiseOp,
    *operands: Any,
    devices: Sequence[str] | None = None,
    dtypes: Sequence[str] = ("float32", "float64"),
    ulp: float = 4,
) -> None:
    """Compare an op with its reference on devices, and its gradient with differences; AssertionError if they differ.

    `operands` are arrays of numbers, one for each; they are given to the op and, as float64 of the same values, to the
    reference, whose results are rounded once. `devices` are all that compute here, unless some are named; dtypes that
    one does not hold are left out. The gradient is that for the first few elements, away from kinks, as
    `tfr.check_gradient` has it, which raises GradientError.
    """
    arrays = [np.asarray(values) for values in operands]
    if devices is None:
        devices = [str(info.device) for info in tfr.backends.devices()]
    if op.reference is None:
        raise AssertionError(f"{op.name}: it has no reference to be compared with")
    for dtype in dtypes:
        rounded = [array.astype(dtype) for array in arrays]
        exact = op.reference(*[array.astype(np.float64) for array in rounded])
        expected = np.asarray(exact).astype(dtype)
        for device in devices:
            if not tfr.backends.supports("add", device, dtype):
                continue
            result = op(*[tfr.asarray(array, device=device) for array in rounded])
            assert_close(result, expected, ulp=ulp, name=f"{op.name} of {dtype} on {device}")
    few = [array.reshape(-1)[:_FEW].astype(np.float64) for array in arrays]
    tfr.check_gradient(lambda *parts: tfr.sum(op(*parts)), *map(tfr.asarray, few), devices=devices)
