"""Evaluation: nodes are computed by the small path or a plan, and their results kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends.registry import backend_of
from tensorframe.graph.node import Node
from tensorframe.runtime.cache import PLANS
from tensorframe.runtime.events import Moment, tell
from tensorframe.runtime.executor import run
from tensorframe.runtime.small import run_small
from tensorframe.schedule.capture import Capture, capture
from tensorframe.schedule.pipeline import make_plan
from tensorframe.schedule.plan import Plan


def evaluate(roots: Sequence[Node]) -> None:
    """Compute `roots` together, and keep what they need that is costly and still held by somebody."""
    pending = [root for root in roots if root.storage is None]
    if not pending or run_small(pending, config.get()):
        return
    request = capture(pending)
    handles = run(plan_of(request), request)
    for node, handle in zip(request.wanted, handles, strict=True):
        node.settle(backend_of(node.device).wrap(node.device, handle))


def host_array(node: Node) -> np.ndarray[Any, Any]:
    """Return the node's values as a host array, computed if need be; not to be written to."""
    if node.storage is None:
        evaluate((node,))
    handle = node.storage.handle
    if type(handle) is np.ndarray:
        return handle
    return backend_of(node.device).download(node.storage)


def plan_of(request: Capture) -> Plan:
    """Return the plan of a request: the cached one of its structure, or a new one."""

    def make() -> Plan:
        plan = make_plan(request)
        tell(Moment.PLAN_MADE, plan)
        return plan

    return PLANS.find(request.key, make)
