"""Rebinding together: several handles that stand for new nodes from one moment on, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.critical import critical_section
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.history import history
from tensorframe.graph.mapping import mapping
from tensorframe.graph.node import Node
from tensorframe.graph.tracing import current
from tensorframe.runtime.evaluate import evaluate


def rebind_together(changes: Sequence[tuple[Tensor, Node]], beside: Sequence[Node] = ()) -> None:
    """Have handles stand for new nodes, all of them or, where something fails or interrupts, none.

    Their values are computed first, and those of nodes `beside` them, in one plan, unless they become part of what is
    being recorded.
    """
    if all(variable.get() is None for variable in (current, history, mapping)):
        evaluate([*[node for _, node in changes], *beside])
    with critical_section():
        for handle, node in changes:
            handle._rebind(node)
