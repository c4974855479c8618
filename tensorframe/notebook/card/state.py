"""The state of a tensor in words: recorded and what computing it would take, or computed and what came out."""

from __future__ import annotations

import numpy as np

from tensorframe.dtypes import COMPLEX, bool_
from tensorframe.errors import TensorFrameError
from tensorframe.frontend.protocols.preview import in_host_memory
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.node import Node, discover
from tensorframe.notebook.card.numbers import CHEAP, Numbers, number_text, real
from tensorframe.notebook.wording import counted
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.evaluate import plan_of
from tensorframe.schedule.capture import capture, is_leaf
from tensorframe.schedule.plan import Plan, human_bytes
from tensorframe.site import describe

_FEW = 12  # elements that are seen at a glance
_MOST_PLANNED = 200  # nodes: what takes 20 ms to plan


class State(NamedTuple):
    """A word, and what it means for the tensor at hand."""

    word: str
    explained: str


def state_of(tensor: Tensor) -> State:
    """Return whether the elements are there, and where they were recorded."""
    where = describe(tensor.node.site)
    recorded = f"recorded at {where}" if where else "recorded"
    if tensor.node.storage is not None:
        return State("computed", f"the elements are in memory; {recorded}")
    return State("recorded", f"not computed yet; {recorded}")


def summary_of(tensor: Tensor) -> str:
    """Return what computing would take, or what the elements are like; empty where that takes long to say."""
    if tensor.node.storage is None:
        return _plan_ahead(tensor.node)
    if not in_host_memory(tensor) or not _FEW < tensor.size <= CHEAP:
        return ""
    array = tensor._array()
    if tensor.dtype == bool_:
        return f"{np.count_nonzero(array):,} of {tensor.size:,} are True"
    numbers = Numbers.of(real(array))
    named = (("min", numbers.low), ("mean", numbers.mean), ("max", numbers.high))
    words = [f"{name} {number_text(value)}" for name, value in named if value is not None]
    facts = " · ".join([*words, *numbers.oddities])
    return f"magnitude: {facts}" if tensor.dtype in COMPLEX else facts


def _plan_ahead(node: Node) -> str:
    size, ops = _recorded(node)
    if size > _MOST_PLANNED:
        return f"{ops} recorded"
    try:
        plan = plan_of(capture((node,)))
    except TensorFrameError:  # computing will say it better
        return f"{ops} recorded"
    return f"{ops} recorded \N{RIGHTWARDS ARROW} {_figures(plan)}"


def _recorded(node: Node) -> tuple[int, str]:
    """Return the number of nodes, and of ops in words; no node is held on, as capture would keep its value then."""
    nodes = discover((node,))
    return len(nodes), counted(sum(not is_leaf(node) and bool(node.inputs) for node in nodes), "op")


def _figures(plan: Plan) -> str:
    counts = [
        (plan.kernels, "kernel"),
        (plan.library_calls, "library call"),
        (plan.transfers, "transfer"),
    ]
    steps = ", ".join([counted(count, noun) for count, noun in counts if count])
    if not steps:
        return "a view: nothing to compute"
    moved = f"reads {human_bytes(plan.bytes_read)}, writes {human_bytes(plan.bytes_written)}"
    return " · ".join([steps, moved, *([_flops(plan.flops)] if plan.flops else [])])


def _flops(count: float) -> str:
    """Return a number of operations for people: 2500000 -> `2.5 Mflop`."""
    for unit in ("flop", "kflop", "Mflop", "Gflop", "Tflop"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} Pflop"
