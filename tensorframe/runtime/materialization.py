"""Materialisation: a pending tensor that several evaluations need is stored before computing it again costs more.

An evaluation computes what was requested, and of everything else only the parts that this takes. What it spends on a
tensor that somebody still references, without storing it, is charged to that tensor, in operations. To store it costs
something as well: the elements that were not needed, and memory that is written. Once the charges have reached that
price, the next evaluation that needs the tensor stores it (the ski rental rule: at most twice the cost of having known
before). Where making it costs much more than storing it, the first evaluation does.

What a pending tensor is made of is needed again as well: where storing all of the tensor costs too much, as of a stack
of which one row was looked at, the nearest of its ancestors that pay are stored instead.

Operations are counted and nothing is timed, so a program runs the same plans every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from sys import maxsize
from typing import Final

import numpy as np

from tensorframe import config
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind
from tensorframe.graph.references import MAPPED, is_any_referenced, referenced
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple
from tensorframe.rewrite.windows import narrows
from tensorframe.runtime.plan_cache import Key
from tensorframe.schedule.capture import Capture, counted_inputs
from tensorframe.schedule.cost import flops
from tensorframe.schedule.plan import Plan

# Everything is counted in operations on elements, of which a kernel does some billions in a second. To plan a node
# takes as long as so many of them, and so does a kernel more.
_PLANNED = 1 << 18
# To capture a node and to run its step, which a plan in the cache takes too.
_RUN = 1 << 15
# A byte that is written, and read again.
_STORED = 2.0
# What is needed for the first time may never be needed again: it is stored where that is a small part of making it.
_AT_ONCE = 8.0
# Kinds, beside those whose windows narrow, of which a part takes as large a part of the operands.
_PROPORTIONAL = frozenset({Kind.REDUCE, Kind.FORMULA})
_KEPT: Final = 512
# Nodes up to which is found out exactly what each takes of every other one.
_EXACT = 2048


class Candidate(NamedTuple):
    """A node that a request computes and does not store: the operations that this takes, and what storing it adds."""

    nbytes: int
    part: float  # of the elements that the request needs
    planned: float  # of making the plan
    price: float
    pays_at_once: bool  # whether the first evaluation that needs it stores it

    def pays(self, spent: float) -> bool:
        """Whether it is stored by an evaluation before which so much was spent on it."""
        return spent > 0 and spent + self.part + self.planned >= self.price


@dataclass(frozen=True, slots=True)
class Outlook:
    """What can be said of every request of one structure: the candidates, and the inputs of each node, by place.

    `upwards` are the places of nodes that are no leaves, inputs before consumers. The rest is what every evaluation
    asks first: by place, the most references to a candidate that nobody holds; how often each candidate is an input,
    what to charge it, and which are stored the first time.
    """

    candidates: dict[int, Candidate]
    inputs: dict[int, tuple[int, ...]]
    upwards: tuple[int, ...]
    most: tuple[int, ...]
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
        if plan is None and not _is_referenced(request):
            return _NOTHING  # most graphs that are planned are not, and a survey takes a tenth of planning
        outlook = outlook_of(request, plan)
    order = request.order
    if not is_any_referenced(order, outlook.most):
        return _NOTHING
    held = referenced(order, outlook.uses)
    if not outlook.at_once and not _spent_before(order, outlook.charges):
        return Choice((), [(order[index], outlook.charges[index]) for index in held])
    return _weigh(request, outlook, frozenset(held), most)


def _is_referenced(request: Capture) -> bool:
    """Whether somebody refers to one of a request's nodes that are no leaves, and not requested."""
    order, recipes = request.order, request.recipes
    wanted = frozenset(request.key[-1])
    once = [(index, 1) for index, recipe in enumerate(recipes) if recipe and index not in wanted]
    several = referenced(order, once)  # that most are an input once, takes no counting
    if not several:
        return False
    uses = counted_inputs(recipes)
    return bool(referenced(order, [(index, uses[id(order[index])]) for index in several]))


def _spent_before(order: Sequence[Node], places: Iterable[int]) -> bool:
    """Whether something was spent on one of these nodes by an earlier evaluation."""
    return max([order[index].spent for index in places]) > 0


def _weigh(request: Capture, outlook: Outlook, held: frozenset[int], most: float) -> Choice:
    """Compare what was spent on the nodes that are `held` with what storing them costs, those first that give more."""
    spent = _spent(request, outlook, held)
    limit = config.get().reuse_bytes
    stored: list[int] = []
    charged: list[tuple[Node, float]] = []
    pending = set(
        request.key[-1]
    )  # needed by what is requested, or pending afterwards: not for what is stored alone
    needed_again = set(held)
    for index in reversed(outlook.upwards):
        candidate = outlook.candidates.get(index)
        if candidate is not None and index in needed_again:
            is_stored = (
                candidate.nbytes <= limit
                and candidate.price <= most
                and (candidate.pays_at_once or (index in pending and candidate.pays(spent[index])))
            )
            if is_stored:
                stored.append(index)
                continue  # what it is made from is not needed again for its sake
            if index in held and index in pending:
                charged.append((request.order[index], spent[index] + outlook.charges[index]))
            needed_again.update(outlook.inputs[index])
        if index in pending:
            pending.update(outlook.inputs[index])
    stored.sort()
    return Choice(stored, charged)


def _spent(request: Capture, outlook: Outlook, held: frozenset[int]) -> dict[int, float]:
    """Return what was spent on each node: what nobody references any more leaves it to its consumers."""
    spent: dict[int, float] = {}
    order = request.order
    for index in outlook.upwards:
        left = [spent.get(source, 0.0) for source in outlook.inputs[index] if source not in held]
        spent[index] = max(order[index].spent, *left, 0.0)
    return spent


def outlook_of(request: Capture, plan: Plan | None) -> Outlook:
    """Return the outlook of a request: kept by its plan, with which it goes, or here where it has none."""
    if plan is not None:
        plan.outlook = outlook = _outlooks.pop(request.key, None) or _survey(request)
        return outlook
    known = _outlooks.get(request.key)
    if known is None:
        if len(_outlooks) >= _KEPT:
            _outlooks.clear()
        known = _outlooks[request.key] = _survey(request)
    return known


def _survey(request: Capture) -> Outlook:
    """Work out what each node of a request costs: in part, as the request needs it, and as a whole.

    What is charged for is shared out between the nodes that have it in common, so that charges add up to the
    operations of the request. Whether a node pays at once is a matter of all that it takes.
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
    own = {
        index: flops(
            order[index].op, order[index].shape, [order[source].shape for source in inputs[index]]
        )
        for index in upwards
    }
    # of each node, as a whole and what the request does of that, and the nodes that it takes
    work, done, nodes = dict[int, float](), dict[int, float](), dict[int, float]()
    for index in upwards:
        shares = [
            (source, _part_of(order[index], order[source], 1.0) / uses[source])
            for source in inputs[index]
        ]
        work[index] = own[index] + sum([share * work.get(source, 0.0) for source, share in shares])
        done[index] = needed[index] * own[index]
        done[index] += sum([share * done.get(source, 0.0) for source, share in shares])
        nodes[index] = 1.0 + sum(
            [nodes.get(source, 0.0) / uses[source] for source in inputs[index]]
        )
    known = (work, done, nodes)
    exact = known if len(upwards) > _EXACT else _of_ancestors(order, upwards, inputs, own, needed)
    wanted = frozenset(request.key[-1])
    candidates = {
        index: _candidate(order[index], done[index], nodes[index], *[of[index] for of in exact])
        for index in upwards
        if index not in wanted and order[index].op.parts == 1
    }
    return Outlook(
        candidates,
        inputs,
        tuple(upwards),
        tuple(
            [
                uses[index] + MAPPED if index in candidates else maxsize
                for index in range(len(order))
            ]
        ),
        tuple([(index, uses[index]) for index in candidates]),
        {index: candidate.part + candidate.planned for index, candidate in candidates.items()},
        frozenset([index for index, candidate in candidates.items() if candidate.pays_at_once]),
    )


def _candidate(
    node: Node, part: float, planned: float, work: float, done: float, nodes: float
) -> Candidate:
    """Return a candidate that is charged with a part of what is done for it, and of so many nodes."""
    price = work - done + _STORED * node.nbytes + _PLANNED
    at_once = done + nodes * _RUN >= _AT_ONCE * price
    return Candidate(node.nbytes, part, planned * _PLANNED, price, at_once)


def _of_ancestors(
    order: Sequence[Node],
    upwards: Sequence[int],
    inputs: dict[int, tuple[int, ...]],
    own: dict[int, float],
    needed: dict[int, float],
) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
    """Return of each node the operations on it and all its ancestors, how many the request does, and how many they are.

    A row for each node says which part of each ancestor it takes. One that the request needs whole, as the first step
    of a simulation whose last step is read, adds nothing to the price of what is stored.
    """
    row = {index: number for number, index in enumerate(upwards)}
    parts = np.zeros((len(upwards), len(upwards)), np.float32)
    for index in upwards:
        mine = parts[row[index]]
        for source in inputs[index]:
            if source in row:
                theirs = parts[row[source]]
                part = _part_of(order[index], order[source], 1.0)
                np.maximum(mine, theirs if part == 1 else part * theirs, out=mine)
        mine[row[index]] = 1
    costs = np.array([own[index] for index in upwards])
    work = parts @ costs
    done = np.minimum(parts, np.array([needed[index] for index in upwards], np.float32)) @ costs
    nodes = np.count_nonzero(parts, axis=1)
    all_of, done_of, nodes_of = (
        dict(zip(upwards, of.tolist(), strict=True)) for of in (work, done, nodes)
    )
    return all_of, done_of, nodes_of


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
        taken = part
    elif not narrows(node):
        taken = 1.0 if part else 0.0
    else:
        taken = min(1.0, part * node.size / source.size) if source.size else 1.0
    # of what is sorted, or solved for, a part takes as long to make as the whole
    made_whole = source.inputs and source.op.kind not in _PROPORTIONAL and not narrows(source)
    return 1.0 if taken and made_whole else taken
