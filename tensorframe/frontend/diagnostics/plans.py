"""Looking before running: the plan of a computation, and the graph that was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, overload

from tensorframe.backends.budget import LIGHT
from tensorframe.backends.collector import paused
from tensorframe.backends.registry import backend_of
from tensorframe.frontend.operands import nodes_of
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.graph.node import Node
from tensorframe.runtime.evaluate import plan_for
from tensorframe.runtime.execution.leaves import as_run
from tensorframe.schedule.place import transfer_policy
from tensorframe.schedule.plan import Plan, Step

if TYPE_CHECKING:
    import networkx

__all__ = ["explain", "transfer_policy"]


@overload
def explain(*tensors: Tensor, until: None = None, source: Literal[False] = False) -> Plan: ...


@overload
def explain(*tensors: Tensor, until: str, source: bool | str = False) -> str: ...


@overload
def explain(*tensors: Tensor, until: str | None = None, source: Literal[True] | str) -> str: ...


@overload
def explain(
    *tensors: Tensor, until: str | None = None, source: bool | str = False
) -> Plan | str: ...


def explain(*tensors: Tensor, until: str | None = None, source: bool | str = False) -> Plan | str:
    """Return the plan that computing `tensors` together would run: nothing is computed.

    The plan prints as text and carries its statistics: `kernels`, `library_calls`, `transfers`, `bytes_read`,
    `bytes_written`, `flops`, and the `peak` bytes per device, inputs included. Each step names the fusion barrier
    between it and the steps that it reads from. A plan that does not fit into memory shows how it runs tile by tile
    and in how many passes over its files, or why it cannot. In a notebook the plan is a table, with the time that each
    step took when it was last profiled, and the least that its device's limits allow, if `calibrate` has measured
    these; `rich` prints it as a table too, and `plan.visualize()` draws it.

    `until` names the pass to stop after (core, canonical, simplify, narrow, place, fuse, order, memory) and returns the
    text of that stage instead. An unknown name raises ArgumentError. `source` gives the plan as text with the kernels
    that its steps are compiled to, for operands in C order; a name of a dialect (`"opencl"`, `"cuda"`, or that of
    another package) gives what kernels of such a device would be, which need not be here.

    >>> x = tfr.asarray([1.0, 2.0, 3.0])
    >>> plan = tfr.explain(tfr.sum(tfr.exp(x) * 2))
    >>> plan.kernels, plan.bytes_written
    (1, 4)
    >>> y = tfr.asarray([3.0, 4.0, 5.0])
    >>> print(tfr.explain(x - y, source=True))
    plan: 1 kernel, ...
    <BLANKLINE>
    # step 0
    def k_...(start, stop, varying, fixed):
        # v2 = subtract(x0, x1): float32
        x0 = array_at(varying, 0)
        x1 = array_at(varying, 1)
        y0 = array_at(varying, 2)
        for i in range(start, stop):
            store_float32(y0, i, (load_float32(x0, i) - load_float32(x1, i)))
    <BLANKLINE>
    """
    roots = nodes_of("explain", tensors)
    if until is not None:
        from tensorframe.schedule.listing import show_stage  # as in evaluate

        return show_stage(roots, until)
    from tensorframe.frontend.diagnostics.scope import (
        names_in_scope,  # most programs explain nothing
    )

    run, scope = as_run(roots), names_in_scope()
    with paused():
        plan = _with_stream(run, _named_plan(run, scope))
    return "\n\n".join([str(plan), *_sources(plan, source)]) if source else plan


def _named_plan(roots: Sequence[Node], scope: Mapping[Node, str]) -> Plan:
    """Return the plan of a graph, with names. The request ends here, before the collector would look through it."""
    from tensorframe.schedule.naming import named  # as above

    request, plan = plan_for(roots)
    return named(plan, request, scope)


def _with_stream(roots: Sequence[Node], plan: Plan) -> Plan:
    """Return the plan, with how it runs instead if it does not fit into memory."""
    if sum(plan.peak.values()) < LIGHT:
        return plan
    from tensorframe.runtime.streaming.out_of_core import explained  # as above

    stream = explained(roots, plan)
    return replace(plan, stream=stream) if stream else plan


def _sources(plan: Plan, dialect: bool | str) -> Iterator[str]:
    """Yield the text of each step that is compiled, for its own device or in a dialect, under its number."""
    printed: Callable[[Step], str] = _own_source
    if isinstance(dialect, str):
        from tensorframe.backends.device.printing import dialect_called, source_in

        known = dialect_called(dialect)
        printed = lambda step: source_in(known, step.region, step.device)  # noqa: E731
    for index, step in enumerate(plan.steps):
        text = printed(step)
        if text:
            yield f"# step {index}\n{text}"


def _own_source(step: Step) -> str:
    return backend_of(step.device).source(step.region, step.device)


@method
def graph(self: Tensor) -> networkx.DiGraph[int]:
    """Return the recorded graph of this tensor as a networkx DiGraph, which a notebook draws.

    Nodes have `op`, `kind`, `attrs`, `shape`, `dtype`, `device`, `nbytes`, `computed` and `location`; edges `operands`,
    the positions among the consumer's operands.

    >>> x = tfr.asarray([1.0, 2.0])
    >>> sorted(data["op"] for _, data in (x + x * 2).graph().nodes(data=True))
    ['add', 'constant', 'data', 'multiply']
    """
    from tensorframe.graph.show import to_networkx  # few programs do

    return to_networkx((self.node,))


# t.explain() reads better in a notebook than tfr.explain(t)
method(explain)
