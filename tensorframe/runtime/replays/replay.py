"""Replays: the plan of a recorded function with every slot known beforehand, run again on other arguments."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter_ns
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe import config
from tensorframe.backends import spans
from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import DType, as_scalar
from tensorframe.graph.node import Node
from tensorframe.graph.tracing import Argument, Trace, TracedNumber
from tensorframe.ops.creation import ARGUMENT, CONSTANT, DATA
from tensorframe.runtime.evaluate import evaluate, plan_of
from tensorframe.runtime.execution import events
from tensorframe.runtime.execution.events import Source, tell_run
from tensorframe.runtime.execution.executor import execute, run_alone, runner_of
from tensorframe.runtime.execution.leaves import leaf_handle, stored
from tensorframe.runtime.replays.bound_plan import may_bind
from tensorframe.runtime.replays.bound_replay import Arguments, BoundReplay
from tensorframe.schedule.capture import capture
from tensorframe.schedule.donation import with_donations
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site

if TYPE_CHECKING:
    from tensorframe.runtime.replays.graph_replay import GraphReplay
    from tensorframe.runtime.replays.launch_replay import LaunchReplay


class Replay:
    """What computes the `roots` of a recording: the values of arguments go in, nodes with storage come out."""

    __slots__ = (
        "_bound",
        "_calls",
        "_checked",
        "_donated",
        "_graph",
        "_launches",
        "_lines",
        "_numbers",
        "_outputs",
        "_request",
        "_runner",
        "_sites",
        "_slots",
        "_sources",
        "_tensors",
        "_written",
        "plan",
    )

    def __init__(
        self, roots: Sequence[Node], trace: Trace, written: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        """`written` are arguments whose memory the plan may write over, and the root whose value is to be there."""
        self._request = request = capture(roots, keep_held=False)
        self.plan = plan_of(request)
        self._donated = frozenset(written)
        self._written = written
        if written:
            self.plan = with_donations(self.plan, _slots_of(request.leaves, self._donated))
        self._runner = runner_of(self.plan, request)
        self._runner.often = True
        self._checked = config.get().checked
        self._slots: list[Any] = [None] * len(request.leaves)
        # slot, and where its value is among the arguments; numbers with their dtype
        self._tensors: list[tuple[int, int]] = []
        self._numbers: list[tuple[int, int, DType]] = []
        self._sources: list[tuple[int, Node]] = []
        for slot, leaf in enumerate(request.leaves):
            self._place(slot, leaf, trace)
        self._bound = self._as_bound()
        self._graph = self._as_graph()
        self._launches = None if self._graph is not None else self._as_launches()
        # whether a plan of one call is run as that: see `Runner.alone`
        self._calls = not (
            self._checked
            or self._donated
            or self._runner.waits
            or self._runner.needs
            or any((self._bound, self._graph, self._launches))
        )
        self._outputs = [(root.shape, root.dtype, root.device) for root in request.wanted]
        self._lines = tuple(request.sites(self.plan))
        self._sites = {step.origin: request.site(step.origin) for step in self.plan.steps}

    def _place(self, slot: int, leaf: Node, trace: Trace) -> None:
        """Settle where the value of a leaf comes from; what came from another recording has none and fails here."""
        traced = [attr for attr in leaf.attrs if isinstance(attr, Argument | TracedNumber)]
        known = leaf.storage is not None or any(number.trace is not trace for number in traced)
        if leaf.op is ARGUMENT and not known:
            self._tensors.append((slot, leaf.attrs[0].place))
        elif leaf.op is CONSTANT and traced and not known:
            self._numbers.append((slot, leaf.attrs[0].position, leaf.dtype))
        elif known or leaf.op is CONSTANT or leaf.op.costly:
            self._slots[slot] = leaf_handle(leaf)
        else:
            self._sources.append((slot, leaf))

    def run(self, values: list[Any]) -> list[Node]:
        """Return a computed node for each root; `values` are handles of the arguments that are tensors, and numbers.

        Those of donated arguments are taken out of it.
        """
        program = self._runner.alone if self._calls else None
        if program is not None and not (spans.collectors or events.listeners):
            return self._as_nodes((run_alone(program, self._leaves(values), self.plan, self),))
        stamps = [perf_counter_ns()] if spans.collectors else None
        if self._bound is not None:
            # observers see every step
            looks = stamps is not None or events.listeners
            outputs = None if looks else self._bound.run(values, self._leaves)
            if outputs is not None:
                return self._as_nodes(outputs)
            if looks:
                self._bound.release()
        if self._launches is not None:
            if stamps is None and not events.listeners:
                outputs = self._launches.run(values, self._leaves, self._ran)
                if outputs is not None:
                    return self._as_nodes(outputs)
            else:
                self._launches.release()
        slots = self._leaves(values)
        if self._graph is not None and stamps is None and not events.listeners:
            outputs = self._graph.run(slots, self._performed)
            if outputs is not None:
                return self._as_nodes(outputs)
        slots += self._runner.rest
        for place in self._donated:
            values[place] = None  # or a step would find that somebody else refers to it
        try:
            execute(self._runner, slots, self.plan, self, checked=self._checked, stamps=stamps)
            return self._as_nodes([slots[slot] for slot in self.plan.outputs])
        finally:
            if stamps is not None:
                tell_run(Source.REPLAYED, self.plan, self._lines, stamps)

    def _as_graph(self) -> GraphReplay | None:
        """Return what has the plan's launches run as a graph, where options or settings say so and the plan is such."""
        asked = config.get().cuda_graphs or "tensorframe.backends.settings" in sys.modules
        if not asked or self._checked or self._donated:
            return None
        from tensorframe.runtime.replays.graph_replay import GraphReplay, is_wanted, may_be_captured

        device = may_be_captured(self.plan)
        return GraphReplay(device) if device is not None and is_wanted(device) else None

    def _as_launches(self) -> LaunchReplay | None:
        """Return what gives a device the same launches again, where that can be and pays."""
        if self._checked or all(capabilities(step.device).host_memory for step in self.plan.steps):
            return None
        from tensorframe.runtime.replays.launch_replay import LaunchReplay, device_to_record

        given = self._arguments()
        device = device_to_record(self.plan, given)
        return None if device is None else LaunchReplay(self.plan, given, device)

    def _ran(self, slots: list[Any]) -> list[Any]:
        """Run the plan on slots that begin with its leaves; return the outputs."""
        slots += self._runner.rest
        execute(self._runner, slots, self.plan, self, checked=False)
        return [slots[slot] for slot in self.plan.outputs]

    def _performed(self, leaves: list[Any]) -> list[Any]:
        """Return the outputs for the leaves of the plan."""
        return self._ran([*leaves])

    def _as_bound(self) -> BoundReplay | None:
        """Return what runs the plan on memory that stays, where results are not looked at one by one."""
        if self._checked or not may_bind(self.plan, self._runner):
            return None
        return BoundReplay(self.plan, self._runner, self, self._arguments())

    def _arguments(self) -> Arguments:
        """Return where leaves come from."""
        others = [*[slot for slot, *_ in self._numbers], *[slot for slot, _ in self._sources]]
        return Arguments(self._tensors, others, self._written)

    @property
    def is_bound(self) -> bool:
        """Whether calls run on memory that stays by now."""
        return any(each is not None and each.is_there for each in (self._bound, self._launches))

    def run_in_place(self, values: list[Any], nodes: list[Node]) -> list[Node] | None:
        """Do what `run` does where `nodes`, those of donated arguments, keep their memory, and nobody else sees it.

        None, and nothing is done, where that cannot be; else there are nodes for the other roots alone.
        """
        outputs = None
        if spans.collectors or events.listeners:
            return None
        if self._bound is not None and self._bound.is_there:
            outputs = self._bound.run_in_place(values, self._leaves, nodes)
        elif self._launches is not None:
            outputs = self._launches.run_in_place(values, nodes, self._leaves, self._ran)
        return None if outputs is None else self._as_nodes(outputs)

    def _as_nodes(self, outputs: Sequence[Any]) -> list[Node]:
        """Return computed nodes with these values, and none where there is no value."""
        nodes: list[Any] = []
        for (shape, dtype, device), value in zip(self._outputs, outputs, strict=True):
            if value is None:
                nodes.append(None)
                continue
            storage = stored(device, shape, dtype, value)
            nodes.append(Node(DATA, (), (), shape, dtype, device, None, storage))
        return nodes

    def _leaves(self, values: Sequence[Any]) -> list[Any]:
        """Return the leaves of the plan for the arguments of a call."""
        slots = self._slots.copy()
        for slot, place in self._tensors:
            slots[slot] = values[place]
        for slot, place, dtype in self._numbers:
            slots[slot] = as_scalar(values[place], dtype)
        for slot, source in self._sources:
            slots[slot] = leaf_handle(_resolve(source, values))
        return slots

    def named_plan(self) -> Plan:
        """Return the plan with the names that the function has for its values."""
        from tensorframe.schedule.naming import named  # few plans are ever shown

        return named(self.plan, self._request)

    def wanted_from(self, slots: Sequence[Any]) -> list[Node]:
        """Return what is computed as a graph of its own on the values that slots begin with."""
        given = zip(self._request.leaves, slots, strict=False)
        leaves = [_computed_leaf(leaf, value) for leaf, value in given]
        return self._request.snapshot(leaves)

    def site(self, origin: int) -> Site | None:
        """Return the line that recorded what a step does."""
        return self._sites.get(origin)


def _computed_leaf(leaf: Node, value: Any) -> Node:
    """Return a leaf that has the value of this call."""
    kind = (leaf.shape, leaf.dtype, leaf.device, leaf.site)
    if leaf.op is CONSTANT and leaf.storage is None:
        return Node(CONSTANT, (), (np.asarray(value).item(),), *kind)
    return Node(DATA, (), (), *kind, stored(leaf.device, leaf.shape, leaf.dtype, value))


def _slots_of(leaves: Sequence[Node], places: frozenset[int]) -> list[int]:
    """Return the slots of arguments by their places."""
    return [
        slot
        for slot, leaf in enumerate(leaves)
        if leaf.op is ARGUMENT and leaf.storage is None and leaf.attrs[0].place in places
    ]


def _resolve(source: Node, values: Sequence[Any]) -> Node:
    """Return a source with the numbers of a call among its attributes."""
    attrs = tuple(
        [values[attr.position] if type(attr) is TracedNumber else attr for attr in source.attrs]
    )
    return Node(source.op, (), attrs, source.shape, source.dtype, source.device, source.site)


def compute_older(roots: Iterable[Node], serial: int) -> None:
    """Compute, in one plan, what `roots` need of nodes recorded before `serial`: a recording's constants."""
    needed = dict.fromkeys(roots)
    walk = list(needed)
    older = []
    for node in walk:  # grows while it is walked
        inputs = node.inputs  # before storage: see Node.settle
        if node.storage is not None or not inputs:
            continue
        if node.serial < serial:
            older.append(node)
            continue
        for source in inputs:
            if source not in needed:
                needed[source] = None
                walk.append(source)
    evaluate(older)
