"""Naming: which variable of the user's program each value of a plan is, so that texts and diagrams can say it.

Plans are shared by graphs of equal structure, names belong to a graph: so they are looked up when a plan is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.record import is_constant
from tensorframe.graph.tracing import Argument, TracedNumber
from tensorframe.ops.creation import ARGUMENT
from tensorframe.schedule.capture import Capture
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site
from tensorframe.variables import variables_of

_LONGEST_NUMBER = 14  # characters

Recipes = Sequence[Sequence[Node] | None]  # the inputs of each of some nodes


def named(plan: Plan, request: Capture) -> Plan:
    """Return the plan of a request, with the names of its values."""
    return replace(plan, names=_names_of_slots(plan, request))


def variable_names(nodes: Sequence[Node], recipes: Recipes) -> dict[Node, str]:
    """Return those of `nodes` that the program gave a name, with it.

    One call records several nodes where a function is made of others: the result is the one that none of the others
    takes in. What one line assigns several times, as in a loop, is numbered in that order: `x.1`, `x.2`.
    """
    names = dict(_assigned(nodes, recipes))
    times = Counter(names.values())
    seen: Counter[str] = Counter()
    for node in sorted(names, key=by_serial):
        name = names[node]
        if times[name] > 1:
            seen[name] += 1
            names[node] = f"{name}.{seen[name]}"
    return names


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


def _assigned(nodes: Sequence[Node], recipes: Recipes) -> Iterator[tuple[Node, str]]:
    made: dict[Site, list[Node]] = {}
    for node in _results(nodes, recipes):
        if node.op is ARGUMENT and type(node.attrs[0]) is Argument:
            yield node, repr(node.attrs[0])
        elif node.site is not None and not is_constant(node):  # equal numbers are one node
            made.setdefault(node.site, []).append(node)
    for site, results in made.items():
        variables = variables_of(site)
        if len(variables) == 1:
            yield from [(node, variables[0]) for node in results]
        elif len(variables) == len(results):  # all that is unpacked is there
            yield from zip(sorted(results, key=by_serial), variables, strict=True)


def _results(nodes: Sequence[Node], recipes: Recipes) -> list[Node]:
    """Return the nodes that no other node of the same recording call takes in."""
    inner = {
        source
        for node, recipe in zip(nodes, recipes, strict=True)
        for source in recipe or ()
        if source.site == node.site
    }
    return [node for node in nodes if node not in inner]


def _names_of_slots(plan: Plan, request: Capture) -> dict[int, str]:
    names = variable_names(request.order, request.recipes)
    slots = {slot: number_text(number) for slot, number in plan.literals.items()}
    for slot, leaf in enumerate(request.leaves):
        if is_constant(leaf):
            slots[slot] = number_text(leaf.attrs[0])
    for slot, node in (*enumerate(request.leaves), *zip(plan.outputs, request.wanted, strict=True)):
        if node in names:
            slots[slot] = names[node]
    by_site = {id(node.site): (node, name) for node, name in names.items()}
    for step in plan.steps:
        slot = step.outputs[0]
        if step.outputs[1:] or slot in slots or step.origin < 0:
            continue  # which of several results the recorded op is, nobody knows any more
        known = by_site.get(id(request.site(step.origin)))
        if known is not None and (known[0].shape, known[0].dtype) == plan.slots[slot][:2]:
            slots[slot] = known[1]
    return slots
