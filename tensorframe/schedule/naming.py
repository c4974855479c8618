"""Naming: which variable of the user's program each value of a plan is, so that texts and diagrams can say it.

What the program has no name for is called by its op and the line that recorded it: `sum@heat.py:12`, `exp@cell3:7`.
Plans are shared by graphs of equal structure, names belong to a graph: so they are looked up when a plan is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.record import is_constant
from tensorframe.graph.tracing import Argument, TracedNumber
from tensorframe.ops.creation import ARGUMENT
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.capture import Capture
from tensorframe.schedule.consumers import Consumers, Recipes, consumers_of
from tensorframe.schedule.plan import Plan, Step
from tensorframe.site import BackwardSite, Site, short_place
from tensorframe.variables import is_operator, variables_of

_LONGEST_NUMBER = 14  # characters

Key = TypeVar("Key")


class Label(NamedTuple):
    """What a value's name is found by: the argument that it is, or the call that recorded it; `text`, where known."""

    serial: int = 0
    site: Site | None = None
    argument: Argument | None = None
    text: str = ""


def named(plan: Plan, request: Capture, scope: Mapping[Node, str] = MappingProxyType({})) -> Plan:
    """Return the plan of a request, with the names of its values.

    `scope` says what variables refer to nodes, whose recording calls do not tell.
    """
    if plan.consumers is None:
        plan.consumers = consumers_of(request.order, request.recipes)
    names = _names_by(_slot_labels(plan, request, scope))
    return replace(plan, names=names, descriptions=_descriptions(plan, request, names))


def variable_names(nodes: Sequence[Node], recipes: Recipes) -> dict[Node, str]:
    """Return those of `nodes` that the program gave a name, with it; `recipes` are their inputs."""
    return _names_by(_labels(nodes, recipes))


def node_names(nodes: Sequence[Node]) -> dict[Node, str]:
    """Return what each of `nodes` is called: a variable, a number, or an op with its line."""
    names = variable_names(nodes, [node.inputs for node in nodes])
    names |= {node: number_text(node.attrs[0]) for node in nodes if is_constant(node)}
    return names | _numbered((node, node.op.name, node.site) for node in nodes if node not in names)


def op_text(node: Node, names: Mapping[Node, str]) -> str:
    """Return a node as a line: `z = exp(x): float32[3]`."""
    operands = ", ".join([*[names[source] for source in node.inputs], *map(str, node.attrs)])
    return f"{names[node]} = {node.op.name}({operands}): {node.dtype}{list(node.shape)}"


def _descriptions(plan: Plan, request: Capture, names: Mapping[int, str]) -> dict[int, str]:
    """Return what the slots are called that the program has no names for: their op, and the line that recorded it."""
    given = [(slot, leaf.op.name, leaf.site) for slot, leaf in enumerate(request.leaves)]
    made = [
        (slot, _op_of(step, index), request.site(origin))
        for step in plan.steps
        for index, (slot, origin) in enumerate(zip(step.outputs, step.origins, strict=True))
    ]
    return _numbered(value for value in (*given, *made) if value[0] not in names)


def _op_of(step: Step, index: int) -> str:
    """Return the name of the op that makes a step's output."""
    region = step.region
    number = region.outputs[index] - len(region.inputs)
    return region.ops[number].op.name


def _numbered(values: Iterable[tuple[Key, str, Site | None]]) -> dict[Key, str]:
    """Return the texts of values by their ops and lines; those of one op in one line are numbered: `add.2@cell3:7`."""
    places: dict[Site | None, str] = {}
    known = {}
    for key, op, site in values:
        if site not in places:
            places[site] = short_place(site)
        known[key] = (op, places[site])
    times = Counter(known.values())
    seen: Counter[tuple[str, str]] = Counter()
    texts = {}
    for key, (op, place) in known.items():
        seen[op, place] += 1
        number = f".{seen[op, place]}" if times[op, place] > 1 else ""
        texts[key] = f"{op}{number}@{place}" if place else f"{op}{number}"
    return texts


def _names_by(labels: Mapping[Key, Label]) -> dict[Key, str]:
    """Return what the program calls the values with these labels, where it has names for them.

    What one line assigns several times, as in a loop, is numbered in that order: `x.1`, `x.2`.
    """
    names = {key: label.text for key, label in labels.items() if label.text}
    assigned = dict(_assigned(labels))
    times = Counter(assigned.values())
    seen: Counter[str] = Counter()
    for key in sorted(assigned, key=lambda key: labels[key].serial):
        name = assigned[key]
        seen[name] += 1
        names[key] = f"{name}.{seen[name]}" if times[name] > 1 else name
    return names


def _slot_labels(plan: Plan, request: Capture, scope: Mapping[Node, str]) -> dict[int, Label]:
    """Return the labels of a plan's slots, as far as the request has names for them; numbers are known at once."""
    order = request.order
    recorded = _Recorded(order, plan.consumers)
    slots = {slot: Label(text=number_text(number)) for slot, number in plan.literals.items()}

    def label(place: int) -> Label | None:
        node = order[place]
        own = _label(node) if recorded.is_result(place) else None
        if node in scope and not (own and _is_named(own)):
            return Label(node.serial, text=scope[node])
        return own

    wanted = zip(plan.outputs, request.key[-1], strict=True)
    for slot, place in (*enumerate(plan.consumers.leaves), *wanted):
        known = label(place)
        if known is None and is_constant(order[place]):
            known = Label(text=number_text(order[place].attrs[0]))
        if known is not None:
            slots[slot] = known
    for step in plan.steps:
        sites = [id(request.site(origin)) for origin in step.origins]
        for slot, origin, site in zip(step.outputs, step.origins, sites, strict=True):
            if slot in slots or origin < 0 or order[origin].site is None or sites.count(site) > 1:
                continue  # which of several results the recorded op is, is not known
            place = recorded.outermost(origin)
            made = order[place]
            known = label(place) if (made.shape, made.dtype) == plan.slots[slot][:2] else None
            if known is not None:
                slots[slot] = known
    return slots


def _labels(nodes: Sequence[Node], recipes: Recipes) -> dict[Node, Label]:
    """Return the labels of arguments, and of what recording calls give."""
    recorded = _Recorded(nodes, consumers_of(nodes, recipes))
    return {node: _label(node) for place, node in enumerate(nodes) if recorded.is_result(place)}


def _label(node: Node) -> Label:
    if _is_argument(node):
        return Label(argument=node.attrs[0])
    return Label(node.serial, node.site)


class _Recorded:
    """What recording calls made of some nodes, which are known by their places.

    One call records several nodes where a function is made of others: its result is the one that none of the others
    takes in.
    """

    def __init__(self, nodes: Sequence[Node], consumers: Consumers) -> None:
        self._nodes = nodes
        self._consumers = consumers.of
        self._calls: dict[Node, int] | None = None

    def is_result(self, place: int) -> bool:
        """Whether a node is an argument, or what a recording call gives."""
        node = self._nodes[place]
        if _is_argument(node):
            return True
        # equal numbers are one node, whoever recorded it first
        if node.site is None or is_constant(node):
            return False
        consumers = [self._nodes[index] for index in self._consumers[place]]
        # inputs of a whole program have thousands of consumers: of most, the first one recorded tells
        first = min(consumers, key=by_serial, default=None)
        if first is not None and _returned_before(first.site, node.site):
            return True
        return not any(
            self._is_inside(node, consumer) for consumer in consumers if consumer.site == node.site
        )

    def outermost(self, place: int) -> int:
        """Return the place of the last node that has the site object of this one, going from operand to consumer."""
        site = self._nodes[place].site
        while outer := [
            index for index in self._consumers[place] if self._nodes[index].site is site
        ]:
            place = outer[-1]
        return place

    def _is_inside(self, source: Node, node: Node) -> bool:
        """Whether the call that recorded a node, by the same line, recorded its operand as well."""
        if _repeats(node, source):
            return False
        if self._calls is None:
            self._calls = _calls(self._nodes)
        return self._calls[source] == self._calls[node]


def _returned_before(site: Site | None, call: Site) -> bool:
    """Whether a call has returned where a site recorded: that is another instruction of the code that called."""
    return site is not None and site[0] is call[0] and site != call


def _is_argument(node: Node) -> bool:
    return node.op is ARGUMENT and type(node.attrs[0]) is Argument


def _calls(nodes: Sequence[Node]) -> dict[Node, int]:
    """Return numbers that differ where nodes of one instruction come from different calls, as in a loop.

    A frame runs one instruction at a time: nodes of one call have none of another instruction of its code between them.
    """
    latest: dict[int, tuple[Site, int]] = {}  # of code objects, whose hash reads all of them
    calls = {}
    for node in sorted(nodes, key=by_serial):
        if node.site is None:
            calls[node] = 0
            continue
        code = id(node.site[0])
        site, number = latest.get(code, (node.site, 0))
        calls[node] = number if site == node.site else number + 1
        latest[code] = node.site, calls[node]
    return calls


def _repeats(node: Node, source: Node) -> bool:
    """Whether a node is the same operator as its source, run once more: `x = x + 1` in a loop."""
    return node.op is source.op and node.site is not None and is_operator(node.site)


def _is_named(label: Label) -> bool:
    return label.argument is not None or bool(variables_of(label.site))


def _assigned(labels: Mapping[Key, Label]) -> Iterator[tuple[Key, str]]:
    made: dict[Site, list[Key]] = {}
    for key, label in labels.items():
        if label.argument is not None:
            yield key, repr(label.argument)
        # that of a gradient's op equals its line's own
        elif label.site is not None and type(label.site) is not BackwardSite:
            made.setdefault(label.site, []).append(key)
    for site, keys in made.items():
        variables = variables_of(site)
        if len(variables) == 1:
            yield from [(key, variables[0]) for key in keys]
        elif len(variables) == len(keys):  # all that is unpacked is there
            yield from zip(sorted(keys, key=lambda key: labels[key].serial), variables, strict=True)


def number_text(value: Any) -> str:
    """Return a number in at most six digits; one that is known only in a call, by the argument that it depends on."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if type(value) is TracedNumber:
        return _argument_text(value)
    text = str(value)
    if len(text) <= _LONGEST_NUMBER:
        return text
    return text[: _LONGEST_NUMBER - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _argument_text(number: TracedNumber) -> str:
    place = number.place
    origin = "random state" if place is None else number.trace.names()[place]
    return origin if number.position < number.arithmetic.given else f"f({origin})"
