"""Evaluation: computes nodes and settles their storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.numpy import creation
from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.storage import Storage
from tensorframe.graph.node import Node, reachable
from tensorframe.ops.expand import expand


def evaluate(roots: Sequence[Node]) -> None:
    """Compute `roots`, op by op."""
    values: dict[Node, Any] = {}
    with np.errstate(all="ignore"):
        for node in reachable(roots):
            inputs = node.inputs
            if node.storage is not None:
                values[node] = node.storage.handle
            elif node.op.arity == 0:
                values[node] = creation.generate(node)
            elif node.op.expand is not None:
                inner = expand(node)
                evaluate([inner])
                values[node] = inner.storage.handle
            else:
                arguments = [values[source] for source in inputs]
                values[node] = implementation[node.op](*arguments, *node.attrs)
    for root in roots:
        if root.storage is None:
            root.settle(Storage.of_array(root.device, values[root]))
