"""Lowering to a plan: ordered groups of nodes become steps over numbered slots."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from tensorframe.dtypes import as_scalar
from tensorframe.graph.device import CPU
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.graph.space import Map, Space
from tensorframe.schedule.capture import Capture
from tensorframe.schedule.cost import charge
from tensorframe.schedule.fallback import Fallback
from tensorframe.schedule.fusion.group import Group, region_of
from tensorframe.schedule.plan import Plan, Slot, Step, StepKind, is_library
from tensorframe.site import BackwardSite


class _Slots:
    """Numbers values as they are met: the leaves of the request first."""

    def __init__(self, leaves: Sequence[Node]) -> None:
        self.of: dict[Node, int] = {}
        self.slots: list[Slot] = []
        self.literals: dict[int, object] = {}
        self.given = len(leaves)
        for leaf in leaves:
            self.number(leaf)

    def number(self, node: Node) -> int:
        """Return the slot of a node's value, a new one the first time."""
        known = self.of.get(node)
        if known is None:
            known = self.of[node] = len(self.slots)
            # numbers are the host's, wherever the op is that takes them
            device = CPU if is_constant(node) else node.device
            self.slots.append(Slot(node.shape, node.dtype, device))
            if known >= self.given and is_constant(node):  # a number that a pass made
                self.literals[known] = as_scalar(node.attrs[0], node.dtype)
        return known


def lower(
    request: Capture,
    outputs: Sequence[Node],
    groups: Sequence[Group],
    leaves: Sequence[Node],
    fallbacks: Mapping[Node, Fallback],
) -> Plan:
    """Return the plan that runs `groups` in this order; `outputs` stand for `request.wanted`, one to one."""
    slots = _Slots(leaves)
    origins = {id(node.site): index for index, node in enumerate(request.order)}
    written = {
        id(node.site): node.op.name for node in request.order if node.op.user_defined and node.site
    }
    needed = {node for group in groups for node in group.inputs} | set(outputs)
    steps = [_step(group, slots, needed, origins, written) for group in groups]
    for step, group in zip(steps, groups, strict=True):
        step.fallbacks = tuple([fallbacks[node] for node in group.nodes if node in fallbacks])
    wanted = tuple([slots.number(node) for node in outputs])
    return Plan(slots.slots, len(leaves), slots.literals, steps, wanted)


def _step(
    group: Group,
    slots: _Slots,
    needed: set[Node],
    origins: dict[int, int],
    written: dict[int, str],
) -> Step:
    region, index, leaving = region_of(group, needed)
    if group.space is not None:
        region.settle(_number_space(group.space, group, index))
    inputs = tuple([slots.number(node) for node in group.inputs])
    step = Step(
        _kind(group.nodes[0].op.kind),  # a product's comes first; its sink may be elementwise
        group.sink.device,
        region,
        inputs,
        tuple([slots.number(node) for node in leaving]),
        origin=origins.get(id(group.sink.site), -1),
        origins=tuple([origins.get(id(node.site), -1) for node in leaving]),
        names=_names(group.nodes, written),
        backward=sum([type(node.site) is BackwardSite for node in group.nodes]),
        refusals={slots.number(node): reason for node, reason in group.refusals.items()},
    )
    charge(step, [slots.slots[slot] for slot in inputs], [slots.slots[s] for s in step.outputs])
    return step


def _names(nodes: Sequence[Node], written: Mapping[int, str]) -> tuple[str, ...]:
    """Return what the ops are called: those of one call of a user's function, which share its site, by its name."""
    names: dict[object, str] = {}
    for node in nodes:
        function = written.get(id(node.site))
        names[node if function is None else id(node.site)] = function or node.op.name
    return tuple(names.values())


def _number_space(space: Space, group: Group, index: Mapping[Node, int]) -> Space:
    """Return the space of a group for its region, whose values are numbered."""
    maps: dict[Hashable, Map] = {}
    for node in group.nodes:
        value = index[node]
        maps[value] = space.maps[node]
        for operand in range(len(node.inputs)):
            maps[value, operand] = space.maps[node, operand]
    return Space(space.sizes, space.reduced, maps, space.cuts, space.lengths)


def _kind(kind: Kind) -> StepKind:
    if kind is Kind.TRANSFER:
        return StepKind.TRANSFER
    return StepKind.LIBRARY if is_library(kind) else StepKind.REGION
