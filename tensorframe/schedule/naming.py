"""Naming: which variable of the user's program each value of a plan is, so that texts and diagrams can say it.

Plans are shared by graphs of equal structure, names belong to a graph: so they are looked up when a plan is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tensorframe.graph.node import Node
from tensorframe.graph.record import is_constant
from tensorframe.graph.tracing import Argument, TracedNumber
from tensorframe.ops.creation import ARGUMENT
from tensorframe.schedule.capture import Capture
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site
from tensorframe.variables import variables_of

_LONGEST_NUMBER = 14  # characters

Recipes = Sequence[Sequence[Node] | None]  # the inputs of each of some nodes
Key = TypeVar("Key")


class Label(NamedTuple):
    """What a value's name is found by: the argument that it is, or the call that recorded it; `text`, where known.

    It refers to no node, so that recordings can keep it.
    """

    serial: int = 0
    site: Site | None = None
    argument: Argument | None = None
    text: str = ""


def named(plan: Plan, request: Capture) -> Plan:
    """Return the plan of a request, with the names of its values."""
    return replace(plan, names=names_by(slot_labels(plan, request)))


def variable_names(nodes: Sequence[Node], recipes: Recipes) -> dict[Node, str]:
    """Return those of `nodes` that the program gave a name, with it; `recipes` are their inputs."""
    return names_by(_labels(nodes, recipes))


def names_by(labels: Mapping[Key, Label]) -> dict[Key, str]:
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


def slot_labels(plan: Plan, request: Capture) -> dict[int, Label]:
    """Return the labels of a plan's slots, as far as the request tells what they are; numbers are known at once."""
    labels = _labels(request.order, request.recipes)
    slots = {slot: Label(text=number_text(number)) for slot, number in plan.literals.items()}
    for slot, leaf in enumerate(request.leaves):
        if is_constant(leaf):
            slots[slot] = Label(text=number_text(leaf.attrs[0]))
    for slot, node in (*enumerate(request.leaves), *zip(plan.outputs, request.wanted, strict=True)):
        if node in labels:
            slots[slot] = labels[node]
    by_site = {id(node.site): node for node in labels}
    for step in plan.steps:
        slot = step.outputs[0]
        if step.outputs[1:] or slot in slots or step.origin < 0:
            continue  # which of several results the recorded op is, nobody knows any more
        made = by_site.get(id(request.site(step.origin)))
        if made is not None and (made.shape, made.dtype) == plan.slots[slot][:2]:
            slots[slot] = labels[made]
    return slots


def _labels(nodes: Sequence[Node], recipes: Recipes) -> dict[Node, Label]:
    """Return the labels of arguments, and of what recording calls give.

    One call records several nodes where a function is made of others: the result is the one that none of the others
    takes in.
    """
    inner = {
        source
        for node, recipe in zip(nodes, recipes, strict=True)
        for source in recipe or ()
        if source.site == node.site
    }
    labels = {}
    for node in nodes:
        if node.op is ARGUMENT and type(node.attrs[0]) is Argument:
            labels[node] = Label(argument=node.attrs[0])
        # equal numbers are one node, whoever recorded it first
        elif node.site is not None and node not in inner and not is_constant(node):
            labels[node] = Label(node.serial, node.site)
    return labels


def _assigned(labels: Mapping[Key, Label]) -> Iterator[tuple[Key, str]]:
    made: dict[Site, list[Key]] = {}
    for key, label in labels.items():
        if label.argument is not None:
            yield key, repr(label.argument)
        elif label.site is not None:
            made.setdefault(label.site, []).append(key)
    for site, keys in made.items():
        variables = variables_of(site)
        if len(variables) == 1:
            yield from [(key, variables[0]) for key in keys]
        elif len(variables) == len(keys):  # all that is unpacked is there
            yield from zip(sorted(keys, key=lambda key: labels[key].serial), variables, strict=True)


def number_text(value: Any) -> str:
    """Return a number in at most six digits; one that only a call will tell, by the argument that it depends on."""
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
