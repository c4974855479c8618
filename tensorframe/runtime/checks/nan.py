"""The option `check_nan`: each step's results are looked at, and the first op that makes a NaN is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.registry import capabilities
from tensorframe.backends.transfer import move
from tensorframe.errors import NanError
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.schedule.plan import Step


def check_nan(step: Step, inputs: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise NanError if a result of a step has a NaN."""
    if not any(_has_nan(result, step.device) for result in results):
        return
    given = [_on_host(value, step.device) for value in inputs]
    spoilt = [value for value in given if _has_nan(value, CPU)]
    if spoilt:  # earlier steps were looked at: it came from outside
        raise NanError(
            f"{step.name} is given a NaN, in {_shown(spoilt[0])}, which was computed or loaded before",
            suggestions=("tfr.isnan(x).any() for the tensors that this is made of",),
        )
    raise NanError(
        f"{_first(step.region, given) or step.name} makes a NaN of operands without any",
        suggestions=(
            "gradients clipped, or a smaller learning rate, if numbers grow without bound",
            "tfr.where(x > 0, tfr.log(tfr.where(x > 0, x, 1)), 0) where an op is not defined",
        ),
    )


def _first(region: Region, inputs: Sequence[Any]) -> str | None:
    """Return the first op that makes a NaN, with the shapes that it has, when all are run one by one."""
    values = list(inputs)
    with np.errstate(all="ignore"):
        for op in region.ops:
            operands = [values[source] for source in op.inputs]
            is_source = op.op.kind is Kind.SOURCE
            value = generate(op) if is_source else implementation[op.op](*operands, *op.attrs)
            if _has_nan(value, CPU):
                return f"{op.op.name}({', '.join(map(_shown, operands))})"
            values.append(value)
    return None


def _shown(value: Any) -> str:
    array = np.asarray(value)
    return f"{array.dtype}{list(array.shape)}"


def _has_nan(value: Any, device: Device) -> bool:
    if isinstance(value, tuple):
        return any(_has_nan(part, device) for part in value)
    array = np.asarray(_on_host(value, device))
    return array.dtype.kind not in "biu" and bool(np.isnan(array).any())


def _on_host(value: Any, device: Device) -> Any:
    if isinstance(value, np.ndarray | np.generic | float | int | complex):
        return value
    return value if capabilities(device).host_memory else move(value, device, CPU)
