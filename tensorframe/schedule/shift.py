"""Shifting (placement by bytes): elementwise ops run where their results are wanted, if less has to move then.

`sin(b)` and `1 + b * b`, recorded where `b` is and wanted on another device, are two transfers; `b` is one. Results
that the user moves by name are computed where they were recorded. With the option `placement="time"` what decides is
the time that moving and computing take, where `tfr.calibrate` has measured both devices.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe import config
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.cost import flops
from tensorframe.schedule.homes import Homes, passes_on


def shift(order: Sequence[Node], roots: Sequence[Node], homes: Homes) -> None:
    """Give ops a home with their consumers where that saves transfers."""
    if len({homes.of[node] for node in order if not is_constant(node)}) == 1:
        return
    wanted = _wanted(order, roots, homes)
    readers = _readers(order, homes)
    for group in _connect(order, wanted, homes):
        target = wanted[group[0]]
        if _costs_less(group, target, readers, homes):
            homes.of.update(dict.fromkeys(group, target))
    homes.follow(order)


def _wanted(order: Sequence[Node], roots: Sequence[Node], homes: Homes) -> dict[Node, Device]:
    """Return the ops that could run on one other device, which alone wants their results, with that device."""
    uses: dict[Node, set[Device]] = {node: set() for node in order}
    for root in roots:
        uses[root].add(homes.of[root])
    wanted: dict[Node, Device] = {}
    for node in reversed(order):
        if is_leaf(node):
            continue
        here, targets = homes.of[node], uses[node]
        if node.op.kind is Kind.TRANSFER:
            uses[node.inputs[0]].add(here)
        elif passes_on(node):
            uses[node.inputs[0]] |= targets
        else:
            target = next(iter(targets), here)
            if len(targets) == 1 and target is not here and _may_move(node, target, homes):
                wanted[node] = target
            for source in node.inputs:
                uses[source].add(wanted.get(node, here))
    return wanted


def _may_move(node: Node, target: Device, homes: Homes) -> bool:
    return (
        node.op.kind is Kind.MAP
        and node not in homes.fallbacks
        and homes.abilities.refusal(node, target) is None
    )


def _connect(order: Sequence[Node], wanted: dict[Node, Device], homes: Homes) -> list[list[Node]]:
    """Return the ops in groups that want the same device and read, or are made of, common values."""
    groups: dict[tuple[Node, Device], list[Node]] = {}
    for node in order:
        if node not in wanted:
            continue
        target = wanted[node]
        group = [node]
        for value in (node, *_operands(node, homes)):
            known = groups.get((value, target), group)
            if known is not group:
                for member in group:
                    for each in (member, *_operands(member, homes)):
                        groups[each, target] = known
                known += group
                group = known
            groups[value, target] = group
    return list({id(group): group for group in groups.values()}.values())


def _operands(node: Node, homes: Homes) -> list[Node]:
    """Return the nodes whose values the op reads, through views and transfers."""
    return [homes.base[source] for source in node.inputs if not is_constant(source)]


def _readers(order: Sequence[Node], homes: Homes) -> dict[Node, list[Node]]:
    """Return for each value the ops that read it."""
    readers: dict[Node, list[Node]] = {}
    for node in order:
        if not is_leaf(node) and not passes_on(node):
            for value in _operands(node, homes):
                readers.setdefault(value, []).append(node)
    return readers


def _costs_less(
    group: Sequence[Node], target: Device, readers: dict[Node, list[Node]], homes: Homes
) -> bool:
    """Whether a group should run on `target`: by the bytes that move, or by time (the option `placement`)."""
    there, here = _moved(group, target, readers, homes), _moved(group, None, readers, homes)
    if config.get().placement == "time":
        home = homes.of[group[0]]
        seconds = _seconds(group, target, there[0], home, homes)
        seconds_here = _seconds(group, home, here[0], target, homes)
        if seconds is not None and seconds_here is not None:
            return (seconds, *there) < (seconds_here, *here)
    return there < here


def _seconds(
    group: Sequence[Node], device: Device, moved: int, other: Device, homes: Homes
) -> float | None:
    """Return how long a group takes on a device, with what moves from or to another one; None if nobody knows."""
    from tensorframe.backends import limits  # loads what only measuring needs

    rates = [limits.limits_of(device), limits.limits_of(other)]
    values = {*group, *(value for node in group for value in _operands(node, homes))}
    operations = sum(
        flops(node.op, node.shape, [source.shape for source in node.inputs]) for node in group
    )
    computing = limits.seconds(device, sum(value.nbytes for value in values), operations)
    if computing is None or None in rates:
        return None
    return computing + moved / min(rate.copy_bandwidth for rate in rates if rate is not None)


def _moved(
    group: Sequence[Node],
    target: Device | None,
    readers: dict[Node, list[Node]],
    homes: Homes,
) -> tuple[int, int]:
    """Return the bytes and the number of the values that move, if the group runs on `target`, or where it does now."""
    inside = set(group) if target is not None else set()

    def place(node: Node) -> Device:
        return target if target is not None and node in inside else homes.of[node]

    values = dict.fromkeys(group)
    values.update((value, None) for node in group for value in _operands(node, homes))
    size = count = 0
    for value in values:
        targets = {place(reader) for reader in readers.get(value, ())} - {place(value)}
        size += value.nbytes * len(targets)
        count += len(targets)
    return size, count
