"""The single path: one node whose inputs are computed runs by the plan of its kind, with nothing walked or weighed.

Most evaluations of programs that look at every result are of this form. There is nothing on the way that could be
held, stored besides or needed again, so the key, the plan and the run are all that is left of an evaluation.
"""

from __future__ import annotations

from typing import Any

from tensorframe import config
from tensorframe.graph.node import Node
from tensorframe.runtime.cache import PLANS
from tensorframe.runtime.executor import execute
from tensorframe.runtime.leaves import leaf_handle, stored
from tensorframe.schedule.capture import capture_single
from tensorframe.site import Site


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
    plan = PLANS.find(key)
    if plan is None or plan.runner is None:
        return False
    slots: list[Any] = [leaf_handle(leaf) for leaf in leaves]
    runner = plan.runner
    slots += runner.rest
    execute(runner, slots, plan, _Recorded(node), checked=config.get().validate)
    node.settle(stored(node.device, node.shape, node.dtype, slots[plan.outputs[0]]))
    return True
