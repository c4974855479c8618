"""Reuse: a pending tensor that several evaluations need is stored, before it costs more to compute it again and again.

An evaluation computes what was requested, and of everything else only the parts that this takes. What it spends on a
tensor that somebody still references, without storing it, is charged to that tensor, in operations. To store it costs
something as well: the elements that were not needed, and memory that is written. Once the charges have reached that
price, the next evaluation that needs the tensor stores it (the ski rental rule: at most twice the cost of having known
before). Where making it costs much more than storing it, the first evaluation does.

Operations are counted and nothing is timed, so a program runs the same plans every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final, NamedTuple

from tensorframe import config
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind
from tensorframe.graph.references import referenced
from tensorframe.quick_dataclasses import dataclass
from tensorframe.rewrite.windows import narrows
from tensorframe.runtime.cache import Key
from tensorframe.schedule.capture import Capture
from tensorframe.schedule.cost import flops
from tensorframe.schedule.plan import Plan

# Everything is counted in operations on elements, of which a kernel does some billions in a second. To plan a node
# takes as long as so many of them, and so does a kernel more.
_PLANNED = 1 << 18
# An element that is written, and read again.
_STORED = 8.0
# What is needed for the first time may never be needed again: it is stored where that is a small part of making it.
_AT_ONCE = 8.0
# Kinds, beside those whose windows narrow, of which a part takes as large a part of the operands.
_PROPORTIONAL = frozenset({Kind.REDUCE, Kind.FORMULA})
_KEPT: Final = 512


class Candidate(NamedTuple):
    """A node that a request computes and does not store: the operations that this takes, and what storing it adds."""

    nbytes: int
    part: float  # of the elements that the request needs
    planned: float  # of making the plan
    price: float

    @property
    def pays_at_once(self) -> bool:
        """Whether it is stored by the first evaluation that needs it."""
        return self.part >= _AT_ONCE * self.price


@dataclass(frozen=True, slots=True)
class Outlook:
    """What can be said of every request of one structure: the candidates, and the inputs of each node, by place.

    `upwards` are the places of nodes that are no leaves, inputs before consumers. The last three say of candidates what
    every evaluation asks first: how often each is an input, what to charge it, and which are stored the first time.
    """

    candidates: dict[int, Candidate]
    inputs: dict[int, tuple[int, ...]]
    upwards: tuple[int, ...]
    uses: tuple[tuple[int, int], ...]
    charges: dict[int, float]
    at_once: frozenset[int]


class Choice(NamedTuple):
    """What one evaluation stores besides what was requested, by place, and what was spent on the rest by then."""

    stored: Sequence[int] = ()
    spent: Sequence[tuple[Node, float]] = ()

    def charge(self) -> None:
        """Note what was spent on tensors that are still pending."""
        for node, spent in self.spent:
            node.spent = spent


_NOTHING: Final = Choice()
_outlooks: dict[Key, Outlook] = {}


def chosen(request: Capture, plan: Plan | None, most: float = inf) -> Choice:
    """Return which pending, referenced nodes of a request are worth storing, for at most so many operations each.

    `plan` is that of the request, if there is one already. For no operations at all, nothing is charged either.
    """
    if not most:
        return _NOTHING
    outlook = plan.outlook if plan is not None else None
    if outlook is None:
        outlook = _outlook_of(request, plan)
    order = request.order
    held = referenced(order, outlook.uses)
    if not held:
        return _NOTHING
    if outlook.at_once.isdisjoint(held) and not _spent_before(order, outlook.charges):
        return Choice((), [(order[index], outlook.charges[index]) for index in held])
    return _weigh(request, outlook, frozenset(held), most)


def _spent_before(order: Sequence[Node], places: Iterable[int]) -> bool:
    """Whether something was spent on one of these nodes by an earlier evaluation."""
    return max([order[index].spent for index in places]) > 0


def _weigh(request: Capture, outlook: Outlook, held: frozenset[int], most: float) -> Choice:
    """Compare what was spent on the nodes that are `held` with what storing them costs, those first that give more."""
    spent = _spent(request, outlook, held)
    limit = config.get().reuse_bytes
    stored: list[int] = []
    charged: list[tuple[Node, float]] = []
    roots = request.key[-1]
    seen = set(roots)
    stack = list(roots)
    while stack:
        index = stack.pop()
        if index in held:
            candidates = outlook.candidates[index]
            if (
                candidates.nbytes <= limit
                and candidates.price <= most
                and _pays(candidates, spent[index])
            ):
                stored.append(index)
                continue  # what it is made from is not needed again for its sake
            charged.append((request.order[index], spent[index] + outlook.charges[index]))
        for source in outlook.inputs.get(index, ()):
            if source not in seen:
                seen.add(source)
                stack.append(source)
    stored.sort()
    return Choice(stored, charged)


def _pays(candidate: Candidate, spent: float) -> bool:
    """Whether to store a node now, on which so much was spent before."""
    if spent and spent + candidate.part + candidate.planned >= candidate.price:
        return True
    return candidate.pays_at_once


def _spent(request: Capture, outlook: Outlook, held: frozenset[int]) -> dict[int, float]:
    """Return what was spent on each node: what nobody references any more leaves it to its consumers."""
    spent: dict[int, float] = {}
    order = request.order
    for index in outlook.upwards:
        left = [spent.get(source, 0.0) for source in outlook.inputs[index] if source not in held]
        spent[index] = max(order[index].spent, *left, 0.0)
    return spent


def _outlook_of(request: Capture, plan: Plan | None) -> Outlook:
    """Return the outlook of a request: kept by its plan, or here where it has none."""
    known = _outlooks.get(request.key)
    if known is None:
        if len(_outlooks) >= _KEPT:
            _outlooks.clear()
        known = _outlooks[request.key] = _survey(request)
    if plan is not None:
        plan.outlook = known
    return known


def _survey(request: Capture) -> Outlook:
    """Work out what each node of a request costs: in part, as the request needs it, and as a whole.

    What several nodes have in common is shared out between them, so that costs add up to those of the request.
    """
    order, recipes = request.order, request.recipes
    place = {node: index for index, node in enumerate(order)}
    upwards = [place[node] for node in sorted(order, key=by_serial) if recipes[place[node]]]
    inputs = {index: tuple([place[source] for source in recipes[index] or ()]) for index in upwards}
    uses = dict.fromkeys(range(len(order)), 0)
    for sources in inputs.values():
        for source in sources:
            uses[source] += 1
    needed = _needed(request, upwards, inputs)
    work: dict[int, float] = {}
    nodes: dict[int, float] = {}
    for index in upwards:
        node, sources = order[index], inputs[index]
        shares = [(source, _part_of(node, order[source], 1.0) / uses[source]) for source in sources]
        work[index] = flops(node.op, node.shape, [order[source].shape for source in sources])
        work[index] += sum([share * work.get(source, 0.0) for source, share in shares])
        nodes[index] = 1.0 + sum([nodes.get(source, 0.0) / uses[source] for source in sources])
    wanted = frozenset(request.key[-1])
    candidates = {
        index: Candidate(
            order[index].nbytes,
            needed[index] * work[index],
            nodes[index] * _PLANNED,
            (1 - needed[index]) * work[index] + _STORED * order[index].size + _PLANNED,
        )
        for index in upwards
        if index not in wanted and order[index].op.parts == 1
    }
    return Outlook(
        candidates,
        inputs,
        tuple(upwards),
        tuple([(index, uses[index]) for index in candidates]),
        {index: candidate.part + candidate.planned for index, candidate in candidates.items()},
        frozenset([index for index, candidate in candidates.items() if candidate.pays_at_once]),
    )


def _needed(
    request: Capture, upwards: Sequence[int], inputs: dict[int, tuple[int, ...]]
) -> dict[int, float]:
    """Return how much of each node a request needs: 1 for all of it."""
    order = request.order
    needed = dict.fromkeys(range(len(order)), 0.0)
    needed.update(dict.fromkeys(request.key[-1], 1.0))
    for index in reversed(upwards):
        for source in inputs[index]:
            part = _part_of(order[index], order[source], needed[index])
            needed[source] = max(needed[source], part)
    return needed


def _part_of(node: Node, source: Node, part: float) -> float:
    """Return how much of an operand it takes to make a part of a node, at most."""
    if node.op.kind in _PROPORTIONAL:
        return part
    if not narrows(node):
        return 1.0 if part else 0.0
    return min(1.0, part * node.size / source.size) if source.size else 1.0
