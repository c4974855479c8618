"""Gradients of graphs that are recorded already: `loss.gradient(w, b)`."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import FLOATING
from tensorframe.errors import DTypeError, GradientError
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.graph.history import history
from tensorframe.graph.node import Node
from tensorframe.site import describe


@method
def gradient(self: Tensor, *tensors: Tensor) -> Any:
    """Return the gradient of this tensor, one real number that is not computed yet, for tensors that it depends on.

    Of one tensor a tensor, of several a tuple. GradientError if the graph between them is not there any more: what is
    computed drops it. `tfr.grad` differentiates functions, inside of which values may be computed.

    >>> w = tfr.asarray([1.0, 2.0])
    >>> loss = tfr.sum(w * w)
    >>> loss.gradient(w).tolist()
    [2.0, 4.0]
    """
    # what few programs need
    from tensorframe.frontend.transformations.gradients import checked_loss, one_like, zeros_like
    from tensorframe.transform.backward import linearize, pull_back

    if not tensors or not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise DTypeError(
            "gradient: takes the tensors that the gradient is for",
            suggestions=("loss.gradient(w, b)",),
        )
    targets = [tensor.node for tensor in tensors]
    for node in targets:
        if node.dtype not in FLOATING:
            raise GradientError(
                f"gradient: a tensor of dtype {node.dtype.name} has no gradient, only floating-point values have",
                location=describe(node.site),
            )
    loss = checked_loss("gradient", self).node
    known = history.get() or {}
    if loss.storage is not None and loss not in known and loss not in targets:
        raise _lost(loss, "the tensor has been evaluated, and what it was computed from is freed")
    tape = linearize([loss], targets, known)
    used = {source for _, inputs in tape.order for source in inputs}
    for node in targets:
        if node is not loss and node not in used:
            raise _lost(
                node,
                "one of the tensors is not in the graph, or what lies between has been computed",
            )
    cotangents = pull_back(tape, [(loss, one_like(loss))], targets)
    gradients = [
        Tensor(zeros_like(target) if ct is None else ct)
        for ct, target in zip(cotangents, targets, strict=True)
    ]
    return gradients[0] if len(gradients) == 1 else tuple(gradients)


def _lost(node: Node, what: str) -> GradientError:
    return GradientError(
        f"gradient: {what}",
        suggestions=(
            "ask for the gradient before anything between is printed or computed",
            "tfr.grad(function), inside of which values may be looked at",
        ),
        location=describe(node.site),
    )
