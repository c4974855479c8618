"""The backward walk: from the results of a recorded graph to its arguments, consumers first, by the rules of the rows.

A `Tape` is what lies between: noted when a function has been recorded, it can be pulled back through later and several
times, whatever is computed in the meantime. What a rule gives is summed where the operand was broadcast, and what
several consumers give is added, here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tensorframe.dtypes import COMPLEX, FLOATING
from tensorframe.errors import GradientError
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import NoGradient
from tensorframe.graph.record import record
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.ops.derivatives import ForPart
from tensorframe.ops.elementwise import ADD, CAST, REAL_PART
from tensorframe.ops.movement import COPY, EXPAND, PAD, RESHAPE
from tensorframe.ops.reduction import SUM
from tensorframe.ops.term import Term
from tensorframe.quick_tuples import NamedTuple
from tensorframe.site import BackwardSite, Site, describe
from tensorframe.transform.recorder import recorder
from tensorframe.transform.windows import joined

Inputs = tuple[Node, ...]

_NOTHING: Mapping[Node, Node] = MappingProxyType({})

# of a node with several parts: the cotangents of those that have one
Parts = dict[int, Node]


class Tape(NamedTuple):
    """The nodes through which results depend on targets, consumers first, with the inputs they were recorded with."""

    order: Sequence[tuple[Node, Inputs]]
    reached: frozenset[Node]  # those, and the targets

    def nodes(self) -> list[Node]:
        """Return the nodes on the way."""
        return [node for node, _ in self.order]


def linearize(
    results: Iterable[Node],
    targets: Sequence[Node],
    history: Mapping[Any, Inputs],
    *,
    through_targets: bool = True,
    complete: bool = False,
) -> Tape:
    """Return the tape from results to targets; `history` has the inputs of nodes that were computed on the way.

    Nothing older than the oldest target can depend on one, so the graphs of closed-over tensors are not walked. If
    `history` is to be `complete`, what has been computed without it raises GradientError: it is no constant.
    """
    oldest = min([target.serial for target in targets], default=0)
    ends = frozenset(targets)
    recipes: dict[Node, Inputs] = {}
    nodes = list(dict.fromkeys(results))
    for node in nodes:  # grows while it is walked
        inputs = node.inputs
        if node.storage is not None:
            inputs = inputs or history.get(node, ())
            if complete and not inputs and node.op.arity != 0 and node.serial >= oldest:
                raise _lost(node)
        if node in recipes or (not through_targets and node in ends):
            continue
        recipes[node] = inputs
        nodes += [source for source in inputs if source not in recipes and source.serial >= oldest]
    reached = set(targets)
    order = []
    for node in sorted(recipes, key=by_serial):
        inputs = recipes[node]
        if not reached.isdisjoint(inputs):
            reached.add(node)
            order.append((node, inputs))
    order.reverse()
    return Tape(order, frozenset(reached))


def pull_back(
    tape: Tape,
    seeds: Iterable[tuple[Node, Node]],
    targets: Sequence[Node],
    known: Mapping[Node, Node] = _NOTHING,
) -> list[Node | None]:
    """Return the cotangents of the targets for those of results; None where nothing flows.

    Rules read the result of a node from the one that is `known` to have the same value, where there is one.
    """
    walk = _Walk(tape.reached, known)
    for result, ct in seeds:
        if result in tape.reached:
            walk.add(result, ct, ct.site)
    wanted = frozenset(targets)
    for node, inputs in tape.order:
        total = walk.total(node)
        if total is not None:
            if node not in wanted:
                del walk.cotangents[node]
            walk.through(node, inputs, total)
    totals = [walk.total(target) for target in targets]
    return [node if isinstance(node, Node) else None for node in totals]


class _Walk:
    """The cotangents that are known so far, by node."""

    def __init__(self, reached: frozenset[Node], known: Mapping[Node, Node]) -> None:
        self._reached = reached
        self._known = known
        self.cotangents: dict[Node, Node | Parts] = {}
        self._windows: dict[Node, list[Node]] = {}

    def total(self, node: Node) -> Node | Parts | None:
        """Return the cotangent of a node, all of whose consumers have been gone through."""
        if node in self._windows:
            for window in joined(self._windows.pop(node)):
                self._accumulate(node, window, window.site)
        return self.cotangents.get(node)

    def through(self, node: Node, inputs: Inputs, ct: Node | Parts) -> None:
        """Add what flows from a node to its inputs."""
        op = node.op
        rule = op.vjp
        if isinstance(rule, NoGradient):
            if rule.refused:
                raise _refusal(node, rule.reason)
            return
        site = node.site if node.site is None else BackwardSite(node.site)
        if rule is None:
            self._through_expansion(node, inputs, ct, site)
            return
        apply = recorder(node.device, site)
        operands = [Term(operand, apply) for operand in inputs]
        given_ct = Term(ct, apply) if isinstance(ct, Node) else _of_parts(ct, op.parts, apply)
        out = Term(self._known.get(node, node), apply)
        cotangents = rule(given_ct, out, *operands, *node.attrs)
        # both have one entry for each operand
        for source, given in zip(inputs, cotangents):  # noqa: B905
            if given is None or source not in self._reached:
                continue
            if callable(given):
                given = given()
            if type(given) is Term:
                self.add(source, given.node, site)
            elif type(given) is ForPart:
                self._add_part(source, given.place, given.ct.node, site)

    def _through_expansion(
        self, node: Node, inputs: Inputs, ct: Node | Parts, site: Site | None
    ) -> None:
        """Differentiate what a formula is written out as."""
        expand = node.op.expand
        if expand is None or not isinstance(ct, Node):
            raise _refusal(node, "no rule says what it is")
        apply = recorder(node.device, node.site)
        root = expand(*[Term(operand, apply) for operand in inputs], *node.attrs).node
        sources = list(dict.fromkeys(inputs))
        tape = linearize([root], sources, {}, through_targets=False)
        for source, source_ct in zip(sources, pull_back(tape, [(root, ct)], sources), strict=True):
            if source_ct is not None and source in self._reached:
                self.add(source, source_ct, site)

    def add(self, node: Node, ct: Node, site: Site | None) -> None:
        """Add a cotangent of a node to those of its other consumers."""
        if ct.dtype is not node.dtype and node.dtype not in FLOATING:
            return
        if ct.shape != node.shape or ct.dtype is not node.dtype or ct.device is not node.device:
            ct = _fitted(ct, node, site)
        if ct.op is PAD:  # what flows to a slice: see `joined`
            self._windows.setdefault(node, []).append(ct)
        else:
            self._accumulate(node, ct, site)

    def _accumulate(self, node: Node, ct: Node, site: Site | None) -> None:
        known = self.cotangents.get(node)
        if isinstance(known, Node):
            ct = Node(ADD, (known, ct), (), ct.shape, ct.dtype, ct.device, site)
        self.cotangents[node] = ct

    def _add_part(self, node: Node, index: int, ct: Node, site: Site | None) -> None:
        known = self.cotangents.setdefault(node, {})
        assert isinstance(known, dict)  # parts are all that is taken from such a node
        other = known.get(index)
        known[index] = (
            ct if other is None else record(ADD, (other, ct), device=ct.device, site=site)
        )


def _of_parts(ct: Parts, count: int, apply: Any) -> tuple[Term | None, ...]:
    count = max(count, max(ct) + 1)
    return tuple([Term(ct[index], apply) if index in ct else None for index in range(count)])


def _fitted(ct: Node, like: Node, site: Site | None) -> Node:
    """Return a cotangent with the shape, dtype and device of what it is of."""
    if ct.shape != like.shape:
        ct = _summed(ct, like.shape, site)
    if ct.dtype is not like.dtype:
        if ct.dtype in COMPLEX and like.dtype not in COMPLEX:
            ct = record(REAL_PART, (ct,), device=ct.device, site=site)
        if ct.dtype != like.dtype:
            ct = record(CAST, (ct,), like.dtype, device=ct.device, site=site)
    if ct.device is not like.device:
        ct = record(COPY, (ct,), device=like.device, site=site)
    return ct


def _summed(ct: Node, shape: Shape, site: Site | None) -> Node:
    """Return a cotangent of what was broadcast, for what it was broadcast from."""
    whole = broadcast("gradient", ct.shape, shape)
    if whole != ct.shape:
        ct = Node(EXPAND, (ct,), (whole,), whole, ct.dtype, ct.device, site)
    if whole == shape:
        return ct
    ahead = len(whole) - len(shape)
    axes = tuple(
        [axis for axis, size in enumerate(whole) if axis < ahead or size != shape[axis - ahead]]
    )
    ct = record(SUM, (ct,), axes, False, device=ct.device, site=site)
    if ct.shape != shape:
        ct = Node(RESHAPE, (ct,), (shape,), shape, ct.dtype, ct.device, site)
    return ct


def _lost(node: Node) -> GradientError:
    return GradientError(
        f"{node.op.name}: was recorded here and computed by another thread, which keeps no history for the gradient",
        suggestions=("compute it in the thread that differentiates, or outside of the function",),
        location=describe(node.site),
    )


def _refusal(node: Node, reason: str) -> GradientError:
    return GradientError(
        f"{node.op.name}: has no gradient: {reason}",
        suggestions=(
            "tfr.stop_gradient(x) for what is to count as constant",
            "@tfr.custom_gradient for a rule of your own",
        ),
        location=describe(node.site),
    )
