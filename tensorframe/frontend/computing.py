"""Computing on purpose: several tensors in one plan."""

from __future__ import annotations

from tensorframe.errors import DTypeError
from tensorframe.frontend.tensor import Tensor, attribute
from tensorframe.runtime.evaluate import evaluate


def compute(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Compute all `tensors` in one plan, so that what they share is done once, and return them.

    >>> x = tfr.asarray([1.0, 2.0, 3.0])
    >>> low, high = tfr.compute(tfr.min(x), tfr.max(x))
    >>> low.item(), high.item()
    (1.0, 3.0)
    """
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise DTypeError(
                f"compute: takes tensors, got {type(tensor).__name__}",
                suggestions=("tfr.compute(*tensors) where they are in a list",),
            )
    evaluate([tensor.node for tensor in tensors])
    return tensors


@attribute
def is_computed(self: Tensor) -> bool:
    """Whether the elements are there: asking for values will compute nothing."""
    return self.node.storage is not None


@attribute
def backend(self: Tensor) -> str:
    """The name of the backend that the tensor's device belongs to."""
    return self.node.device.backend


__all__ = ["compute"]
