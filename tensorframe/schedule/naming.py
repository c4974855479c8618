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

from tensorframe.graph.node import Node
from tensorframe.graph.record import is_constant
from tensorframe.graph.tracing import Argument, TracedNumber
from tensorframe.ops.creation import ARGUMENT
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.capture import Capture
from tensorframe.schedule.plan import Plan, Step
from tensorframe.site import BackwardSite, Site, short_place
from tensorframe.variables import is_operator, variables_of

_LONGEST_NUMBER = 14  # characters

Recipes = Sequence[Sequence[Node] | None]  # the inputs of each of some nodes
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
    known = {key: (op, short_place(site)) for key, op, site in values}
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
    sites = {id(request.site(origin)) for step in plan.steps for origin in step.origins}
    shown = {*request.leaves, *request.wanted, *scope}
    shown |= {node for node in request.order if id(node.site) in sites}
    labelled = _labelled(request.order, request.recipes, shown)
    texts: dict[Node, str] = {}
    for node in request.order if scope else ():
        if node in scope and not (node in labelled and _is_named(_label(node))):
            texts[node] = scope[node]
            labelled[node] = None

    def label(node: Node) -> Label:
        return Label(node.serial, text=texts[node]) if node in texts else _label(node)

    slots = {slot: Label(text=number_text(number)) for slot, number in plan.literals.items()}
    for slot, leaf in enumerate(request.leaves):
        if is_constant(leaf):
            slots[slot] = Label(text=number_text(leaf.attrs[0]))
    for slot, node in (*enumerate(request.leaves), *zip(plan.outputs, request.wanted, strict=True)):
        if node in labelled:
            slots[slot] = label(node)
    by_site = {id(node.site): node for node in labelled if node.site is not None}
    for step in plan.steps:
        made_by = [id(request.site(origin)) for origin in step.origins]
        for slot, site in zip(step.outputs, made_by, strict=True):
            made = by_site.get(site)
            if slot in slots or made is None or made_by.count(site) > 1:
                continue  # which of several results the recorded op is, is not known
            if (made.shape, made.dtype) == plan.slots[slot][:2]:
                slots[slot] = label(made)
    return slots


def _labels(nodes: Sequence[Node], recipes: Recipes) -> dict[Node, Label]:
    """Return the labels of arguments, and of what recording calls give."""
    return {node: _label(node) for node in _labelled(nodes, recipes, set(nodes))}


def _label(node: Node) -> Label:
    if _is_argument(node):
        return Label(argument=node.attrs[0])
    return Label(node.serial, node.site)


def _labelled(nodes: Sequence[Node], recipes: Recipes, shown: set[Node]) -> dict[Node, None]:
    """Return those of the nodes to be shown that have labels, as keys: arguments, and what recording calls give.

    One call records several nodes where a function is made of others: the result is the one that none of the others
    takes in.
    """
    of_one_line = [
        (node, source)
        for node, recipe in zip(nodes, recipes, strict=True)
        for source in recipe or ()
        if source in shown and source.site == node.site
        if not is_constant(source) and not _repeats(node, source)
    ]
    calls = _calls(nodes) if of_one_line else {}
    inner = {source for node, source in of_one_line if calls[source] == calls[node]}
    return dict.fromkeys(
        [
            node
            for node in nodes
            if node in shown
            and (
                _is_argument(node)
                # equal numbers are one node, whoever recorded it first
                or (node.site is not None and node not in inner and not is_constant(node))
            )
        ]
    )


def _is_argument(node: Node) -> bool:
    return node.op is ARGUMENT and type(node.attrs[0]) is Argument


def _calls(nodes: Sequence[Node]) -> dict[Node, int]:
    """Return numbers that differ where nodes of one instruction come from different calls, as in a loop.

    A frame runs one instruction at a time: nodes of one call have none of another instruction of its code between them.
    """
    latest: dict[int, tuple[Site, int]] = {}  # of code objects, whose hash reads all of them
    calls = {}
    for node in sorted(nodes, key=lambda node: node.serial):
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
