"""Specialisation: a guard that computes the graphs which it recognises, as the other paths do.

It runs the functions of a small graph's ops one after the other, or the plan of any other. A graph with a plan has no
costly intermediate that is still referenced: that would have to be stored, which the other paths decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from sys import getrefcount
from typing import Any, Final

from tensorframe.backends.silence import silenced
from tensorframe.config import Options
from tensorframe.errors import CancelledError
from tensorframe.graph.node import Node, attrs_key
from tensorframe.ops.creation import CONSTANT
from tensorframe.ops.elementwise import CAST
from tensorframe.rewrite.simplify import visible
from tensorframe.runtime.eager.few_nodes import MOST as FEWER
from tensorframe.runtime.eager.small_graphs import FEW, Alone, functions_of, small_graph
from tensorframe.runtime.execution.executor import execute, run_alone
from tensorframe.runtime.execution.leaves import numbers, scalars, stored
from tensorframe.runtime.execution.memory_admission import fits, give_back
from tensorframe.runtime.guards.printing import (
    Guard,
    Structure,
    Text,
    print_computed,
    print_structure,
    references_of_variable,
    structure_of,
)
from tensorframe.runtime.materialization import outlook_of
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.schedule.capture import capture
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site

# Nodes of a graph at most: larger graphs seldom recur. All values of a small one are live at once.
_MOST: Final = 96
# The reference count, in a guard, of a node that is referenced only by the nodes it is an input of.
_REFERENCES: Final = references_of_variable() - 1


def guard_of(root: Node, options: Options, alone: Alone) -> Guard | None:
    """Return a guard specialised to the graph of a pending node; None where there is no such specialisation."""
    structure = structure_of(root, _MOST)
    if structure is None:
        return None
    return _op_by_op(structure, options, alone) or _by_plan(structure)


# --- small graphs


def _op_by_op(structure: Structure, options: Options, alone: Alone) -> Guard | None:
    """Return a guard that calls the functions of a small graph's ops, as `run_small` does; None for any other graph."""
    nodes, made = structure.nodes, structure.made()
    if len(made) < 2 or any(prod(node.shape) > options.small_size for node in nodes):
        return None
    graph = small_graph(nodes[:1], options, functions_of, None)
    if graph is None:
        return None
    order, functions = graph.order, graph.functions
    text = Text()
    print_structure(text, structure, partial(_same_type, text))
    _print_leaves(text, structure, _print_any_number)
    for place in made:
        _print_call(text, structure, place, functions, alone)
    store = text.name(_store)
    for place, condition in _stored(text, structure, made, len(order)):
        text.lines.append(f"{condition}{store}(n{place}, v{place})")
    text.lines.append("return True")
    return _with_fallback(silenced(text.function()))


def _print_leaves(
    text: Text, structure: Structure, print_number: Callable[[Text, int, Node], None]
) -> None:
    """Print the comparison of each leaf, which names its value."""
    for place, node in enumerate(structure.nodes):
        if node.storage is not None:
            print_computed(text, place, node)
        elif structure.inputs[place] is None:
            print_number(text, place, node)


def _print_any_number(text: Text, place: int, node: Node) -> None:
    """Print the comparison of a number: functions take whichever it is."""
    is_number = f"n{place}.op is {text.name(CONSTANT)}"
    text.unless(is_number, f"n{place}.dtype is {text.name(node.dtype)}")
    text.lines.append(f"v{place} = {text.name(numbers)}[n{place}]")


def _same_type(text: Text, name: str, node: Node) -> list[str]:
    """Return the conditions on a node with attributes that it has the same shape and dtype: functions take the rest."""
    return [f"{name}.shape == {text.name(node.shape)}", f"{name}.dtype is {text.name(node.dtype)}"]


def _print_call(text: Text, structure: Structure, place: int, functions: Any, alone: Alone) -> None:
    """Print what computes a node, as `run_small` does it."""
    node, places = structure.nodes[place], structure.inputs[place] or ()
    op, operands = node.op, "".join([f"v{source}, " for source in places])
    if not node.attrs:
        dtypes = tuple([structure.nodes[source].dtype for source in places])
        function = functions.settled(op, dtypes, ()) or functions[op]
        text.lines.append(f"v{place} = {text.name(function)}({operands})")
        return
    call = f"{text.name(functions[op])}({operands}*n{place}.attrs)"
    if op is CAST:
        call = f"{text.name(functions[op])}({operands}{text.name(node.dtype)})"
    elif op.costly and len(places) == 1:
        text.lines.append(f"v{place} = {text.name(alone)}(n{place}, {operands})")
        call = f"{call} if v{place} is None else v{place}"
    text.lines.append(f"v{place} = {call}")


def _stored(
    text: Text, structure: Structure, made: list[int], count: int
) -> Iterator[tuple[int, str]]:
    """Yield the places of what is stored, as in `run_few` and `run_small`, and on which condition: the result last."""
    uses = structure.uses()
    for place in made[:-1]:
        if len(made) <= FEWER or count > FEW:
            most = uses[place] + _REFERENCES
            yield place, f"if {text.name(getrefcount)}(n{place}) > {most}: "
        elif structure.nodes[place].op.costly:
            yield place, ""
    yield 0, ""


def _store(node: Node, value: Any) -> None:
    if node.storage is None:
        node.settle(stored(node.device, node.shape, node.dtype, value))


def _with_fallback(run: Guard) -> Guard:
    """Return a guard that falls back to the other paths where it fails: they raise the same error, explained."""

    def attempt(root: Node) -> Any:
        try:
            return run(root)
        except KeyboardInterrupt:
            raise CancelledError("interrupted while computing; no tensor is changed") from None
        except CancelledError:
            raise
        except Exception:
            return None

    return attempt


# --- plans


def _by_plan(structure: Structure) -> Guard | None:
    """Return what runs the plan of a graph, which is to be the plan of its result alone; None where there is none yet.

    So no costly node may be referenced, which would be stored. Other referenced nodes are charged as by the other
    paths: see runtime/materialization.py.
    """
    nodes, made = structure.nodes, structure.made()
    request = capture(nodes[:1], keep_held=False)  # the structure refers to all of them
    plan = PLANS.find(request.key)
    if plan is None or plan.runner is None or any(nodes[place].op.parts > 1 for place in made):
        return None
    if any(attrs_key(nodes[place].attrs) is not nodes[place].attrs for place in made):
        return None  # attributes that are equal may not be the same
    outlook = outlook_of(request, plan)
    charges = {request.order[index]: charge for index, charge in outlook.charges.items()}
    text = Text()
    print_structure(text, structure, partial(_same_attributes, text))
    _print_leaves(text, structure, _print_number)
    uses, count = structure.uses(), text.name(getrefcount)
    is_free = {
        place: f"{count}(n{place}) <= {uses[place] + _REFERENCES}" for place in reversed(made[:-1])
    }
    kept = [place for place in is_free if nodes[place].op.costly or outlook.at_once]
    charged = [place for place in is_free if place not in kept]
    conditions = [is_free[place] for place in kept] + [f"not n{place}.spent" for place in charged]
    if conditions:
        text.unless(*conditions)
    text.lines += [
        f"if not {is_free[place]}: n{place}.spent = {charges[nodes[place]]!r}" for place in charged
    ]
    places = {node: place for place, node in enumerate(nodes)}
    leaves = "".join([f"v{places[leaf]}, " for leaf in request.leaves])
    text.lines.append(f"return [{leaves}]")
    return _plan_runner(plan, text.function())


def _same_attributes(text: Text, name: str, node: Node) -> list[str]:
    """Return the condition on a node that its attributes are the same, with which it has the same shape and dtype."""
    return [f"{name}.attrs == {text.name(node.attrs)}"]


def _print_number(text: Text, place: int, node: Node) -> None:
    """Print the comparison of a number: plans know whether it is one of those that rules look at."""
    known = text.name(node)
    seen = f"{text.name(visible)}(n{place}.attrs[0]) == {text.name(visible(node.attrs[0]))}"
    same = f"n{place}.op is {text.name(CONSTANT)} and n{place}.dtype is {text.name(node.dtype)} and {seen}"
    text.unless(f"(n{place} is {known} or ({same}))")
    text.lines.append(f"v{place} = {text.name(scalars)}[n{place}]")


def _plan_runner(plan: Plan, guard: Guard) -> Guard:
    """Return a guard that runs a plan on the leaves that another guard returns."""

    def run(root: Node) -> Any:
        slots = guard(root)
        if slots is None:
            return None
        runner = plan.runner
        if runner.needs and not fits(runner):
            return None
        if runner.alone is not None:
            value = run_alone(runner.alone, slots, plan, _Captured(root))
            if runner.needs:
                give_back(runner)
        else:
            slots += runner.rest
            execute(runner, slots, plan, _Captured(root), checked=False, fitted=True)
            value = slots[plan.outputs[0]]
        root.settle(stored(root.device, root.shape, root.dtype, value))
        return True

    return run


class _Captured:
    """The lines that recorded the nodes of a graph, which is captured when they are read."""

    __slots__ = ("wanted",)

    def __init__(self, root: Node) -> None:
        self.wanted = (root,)

    def site(self, origin: int) -> Site | None:
        return capture(self.wanted).site(origin)
