"""Looking before running: the plan of a computation, and the graph that was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorframe.frontend.tensor import Tensor, method
from tensorframe.graph.show import to_networkx
from tensorframe.runtime.evaluate import plan_of
from tensorframe.schedule.capture import capture
from tensorframe.schedule.pipeline import show_stage
from tensorframe.schedule.place import transfer_policy
from tensorframe.schedule.plan import Plan

if TYPE_CHECKING:
    import networkx

__all__ = ["explain", "transfer_policy"]


def explain(*tensors: Tensor, until: str | None = None) -> Plan | str:
    """Return the plan that computing `tensors` together would run: nothing is computed.

    The plan prints as text and carries its statistics: `kernels`, `library_calls`, `transfers`, `bytes_read`,
    `bytes_written`, `flops`, and the `peak` bytes per device, the inputs included. Each step says why what it reads
    was not computed inside it. `until` names the pass to stop after (core, canonical, simplify, narrow, place, fuse,
    order, memory) and gives the text of that stage instead; another name raises ArgumentError.

    >>> x = tfr.asarray([1.0, 2.0, 3.0])
    >>> plan = tfr.explain(tfr.sum(tfr.exp(x) * 2))
    >>> plan.kernels, plan.bytes_written
    (2, 16)
    """
    roots = [tensor.node for tensor in tensors]
    if until is not None:
        return show_stage(roots, until)
    return plan_of(capture(roots))


@method
def graph(self: Tensor) -> networkx.DiGraph[int]:
    """Return the recorded graph of this tensor as a networkx DiGraph.

    >>> x = tfr.asarray([1.0, 2.0])
    >>> sorted(data["op"] for _, data in (x + x * 2).graph().nodes(data=True))
    ['add', 'constant', 'data', 'multiply']
    """
    return to_networkx((self.node,))


# t.explain() reads better in a notebook than tfr.explain(t)
method(explain)
