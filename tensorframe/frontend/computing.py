"""Computing on purpose: several tensors in one plan."""

from __future__ import annotations

from tensorframe.frontend.operands import nodes_of
from tensorframe.frontend.tensor import Tensor, attribute
from tensorframe.runtime.evaluate import evaluate


def compute(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Compute all `tensors` in one plan, so that what they share is done once, and return them.

    >>> x = tfr.asarray([1.0, 2.0, 3.0])
    >>> low, high = tfr.compute(tfr.min(x), tfr.max(x))
    >>> low.item(), high.item()
    (1.0, 3.0)
    """
    if len(tensors) == 1 and type(tensors[0]) is Tensor:
        tensors[0].compute()
    else:
        evaluate(nodes_of("compute", tensors))
    return tensors


@attribute
def is_computed(self: Tensor) -> bool:
    """Whether the elements are there: reading them will compute nothing."""
    return self.node.storage is not None


@attribute
def backend(self: Tensor) -> str:
    """The name of the backend that the tensor's device belongs to."""
    return self.node.device.backend


__all__ = ["compute"]
