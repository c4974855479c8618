"""Shifting: elementwise ops run where their results are wanted, if less has to move then.

`sin(b)` and `1 + b * b`, recorded where `b` is and wanted on another device, are two transfers; `b` is one. What the
user moves by name is computed where it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.homes import Homes, passes_on


def shift(order: Sequence[Node], roots: Sequence[Node], homes: Homes) -> None:
    """Give ops a home with their consumers where that saves transfers."""
    if len({homes.of[node] for node in order if not is_constant(node)}) == 1:
        return
    wanted = _wanted(order, roots, homes)
    readers = _readers(order, homes)
    for group in _connected(order, wanted, homes):
        target = wanted[group[0]]
        if _brought(group, target, readers, homes) < _sent(group, readers):
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


def _connected(order: Sequence[Node], wanted: dict[Node, Device], homes: Homes) -> list[list[Node]]:
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
                for one in group:
                    for each in (one, *_operands(one, homes)):
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


def _sent(group: Sequence[Node], readers: dict[Node, list[Node]]) -> tuple[int, int]:
    """Return the bytes and the number of the results that move, if the group runs where it was recorded."""
    inside = set(group)
    return _amount(value for value in group if not inside.issuperset(readers.get(value, ())))


def _brought(
    group: Sequence[Node], target: Device, readers: dict[Node, list[Node]], homes: Homes
) -> tuple[int, int]:
    """Return the bytes and the number of the operands that move, if the group runs on `target`."""
    read = {value: None for node in group for value in _operands(node, homes)}
    inside = set(group)
    return _amount(
        value
        for value in read
        if value not in inside
        and homes.of[value] is not target
        and all(homes.of[one] is not target for one in readers[value])  # else it moves anyway
    )


def _amount(values: Iterable[Node]) -> tuple[int, int]:
    sizes = [value.nbytes for value in values]
    return sum(sizes), len(sizes)
