"""The single path: one node whose inputs are computed runs by the plan of its kind, with nothing walked or weighed.

Most evaluations of programs that look at every result are of this form. There is nothing on the way that could be
held, stored besides or needed again, so the key, the plan and the run are all that is left of an evaluation. Views of
computed memory need not even a plan: no byte moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends.numpy.functions import implementation
from tensorframe.errors import CancelledError
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.ops.movement import RESHAPE
from tensorframe.runtime import events
from tensorframe.runtime.cache import PLANS
from tensorframe.runtime.executor import execute, run_alone
from tensorframe.runtime.leaves import leaf_handle, stored
from tensorframe.schedule.capture import capture_single
from tensorframe.site import Site

_VIEW = Kind.VIEW
# Views of views up to which those in between, if somebody refers to them, are cheaper made again than looked for.
_LONGEST = 8


class _Recorded:
    """The line of the node, for messages: it stands for every step, since leaves have none."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node

    def site(self, origin: int) -> Site | None:
        return self._node.site if origin >= 0 else None


def run_single(node: Node) -> bool:
    """Compute `node` if its plan is known and has run before; else do nothing and return False."""
    request = capture_single(node)
    if request is None:
        return False
    key, leaves = request
    options = config.get()
    plan = PLANS.find(key, options)
    if plan is None or plan.runner is None:
        return False
    runner = plan.runner
    slots: list[Any] = [leaf_handle(leaf) for leaf in leaves]
    program = runner.alone
    if program is None or options.validate or events.listeners:
        slots += runner.rest
        execute(runner, slots, plan, _Recorded(node), checked=options.validate)
        value = slots[plan.outputs[0]]
    else:
        value = run_alone(program, slots, plan, _Recorded(node))
    node.settle(stored(node.device, node.shape, node.dtype, value))
    return True


def run_view(node: Node) -> bool:
    """Compute `node` if it is a view, or a view of views, of computed host memory; else do nothing and return False."""
    views: list[Node] = []
    source = node
    while True:
        inputs = source.inputs  # before storage: see Node.settle
        storage = source.storage
        if storage is not None:
            break
        op = source.op
        if not op.alias or op.kind is not _VIEW or len(views) == _LONGEST:
            return False
        views.append(source)
        source = inputs[0]
    array = storage.handle
    if type(array) is not np.ndarray:
        return False
    try:
        while views:
            view = views.pop()
            if view.op is RESHAPE:
                array = array.reshape(view.attrs[0], copy=False)  # a copy kernels make faster
            else:
                array = implementation[view.op](array, *view.attrs)
    except KeyboardInterrupt:
        raise CancelledError("interrupted while computing; no tensor is changed") from None
    except Exception:
        return False  # the planned path meets the same error, and explains it
    node.settle(stored(node.device, node.shape, node.dtype, array))
    return True
