"""Capturing: which nodes a request needs, which of these are leaves, and a key that equal structures share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from tensorframe.graph.node import Node, attrs_key, by_serial
from tensorframe.graph.op import Kind
from tensorframe.graph.references import referenced
from tensorframe.ops.creation import ARANGE, CONSTANT, FILE, FULL
from tensorframe.ops.movement import EXPAND
from tensorframe.quick_dataclasses import dataclass
from tensorframe.rewrite.simplify import visible
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site

# References to a node by the positions of a walk, besides that of the order.
_OF_POSITIONS = 1

_TRANSFER = Kind.TRANSFER

# Bytes up to which what lies in a file is read as a whole for the sake of a view of it.
_SMALL_FILE = 1 << 24

Inputs = tuple[Node, ...]

# How a key ends where the first node of the order is the only one requested.
_FIRST_IS_WANTED = (0,)


@dataclass(slots=True)
class Capture:
    """A request: `order` holds all nodes, consumers first; `wanted` those to compute; `leaves` those given.

    `recipes` are, in the same order, the inputs that the nodes had when the request was captured, None for leaves:
    another thread may compute a node, and drop its inputs, at any time. The first `roots` nodes of the order were
    requested; the rest of those wanted is referenced.
    """

    order: list[Node]
    wanted: list[Node]
    leaves: list[Node]
    recipes: list[Inputs | None]
    key: tuple[Any, ...]
    roots: int = 0

    def storing(self, places: Sequence[int]) -> Capture:
        """Return the request that computes the nodes at these places of the order for good, besides what is wanted."""
        wanted = [*self.wanted, *[self.order[index] for index in places]]
        key = (*self.key[:-1], (*self.key[-1], *places))
        return Capture(self.order, wanted, self.leaves, self.recipes, key, self.roots)

    def held_moves(self) -> list[Node]:
        """Return the transfers of computed values to another device that are referenced and were not requested."""
        places = [index for index in self.key[-1] if index >= self.roots]
        return [
            self.order[index]
            for index in places
            if self.order[index].op.kind is _TRANSFER
            and not [source for source in self.recipes[index] or () if source.storage is None]
        ]

    def held_views(self) -> list[Node]:
        """Return the views of leaves that are referenced and were not requested: to compute them moves no byte."""
        order, wanted, known = self.order, frozenset(self.key[-1]), dict[int, bool]()
        places = [
            index
            for index in range(len(order))
            if index not in wanted
            and order[index].op.alias
            and _is_view_of_leaf(order[index], known)
        ]
        if not places:
            return []
        uses = counted_inputs(self.recipes)
        counts = [(index, uses[id(order[index])]) for index in places]
        return [order[index] for index in referenced(order, counts)]

    def snapshot(self, leaves: Sequence[Node] | None = None) -> list[Node]:
        """Return `wanted` in a copy of the graph of its own; leaves are the same nodes, or those given for them."""
        copies = dict(zip(self.leaves, leaves or self.leaves, strict=True))
        recipes = dict(zip(self.order, self.recipes, strict=True))
        for node in sorted(self.order, key=by_serial):
            recipe = recipes[node]
            if recipe is not None:
                inputs = tuple([copies[source] for source in recipe])
                copies[node] = Node(
                    node.op, inputs, node.attrs, node.shape, node.dtype, node.device, node.site
                )
        return [copies[node] for node in self.wanted]

    def site(self, origin: int) -> Site | None:
        """Return the line that recorded a node of the order."""
        return self.order[origin].site if origin >= 0 else None

    def sites(self, plan: Plan) -> list[Site | None]:
        """Return the lines that recorded what each step of the request's plan does."""
        order = self.order
        return [order[step.origin].site if step.origin >= 0 else None for step in plan.steps]


def capture(roots: Sequence[Node], *, keep_held: bool = True) -> Capture:
    """Return the request for `roots` and, with `keep_held`, for costly intermediates that are still referenced."""
    wanted = list(roots if len(roots) == 1 else dict.fromkeys(roots))
    order, asked = wanted.copy(), len(wanted)
    position = {node: index for index, node in enumerate(order)}
    leaves, recipes, key, costly = _walk(order, position)
    if costly and keep_held and costly[-1] >= asked:  # in ascending order, the roots first
        wanted += _held(order, recipes, [index for index in costly if index >= asked])
    key.append(tuple([position[node] for node in wanted]))
    return Capture(order, wanted, leaves, recipes, tuple(key), asked)


def _walk(
    order: list[Node], position: dict[Node, int]
) -> tuple[list[Node], list[Inputs | None], list[Any], list[int]]:
    """Walk from the roots in `order`, breadth first, adding every node to it and to `position`.

    Returns the leaves, the inputs and the part of the key of every node, and the places of costly ones. A function of
    its own: its variables would seem to hold the last nodes. Every line of the loop counts, since it runs for each
    node of each graph, planned before or not.
    """
    leaves: list[Node] = []
    recipes: list[Inputs | None] = []
    key: list[Any] = []
    costly: list[int] = []
    append, place_of = order.append, position.get
    known = len(order)
    for node in order:  # grows while it is walked
        inputs = node.inputs  # before storage: see Node.settle
        if node.storage is not None:
            leaves.append(node)
            recipes.append(None)
            key.append((node.shape, node.dtype, node.device.number))
            continue
        op = node.op
        if len(inputs) == 2:
            left, right = inputs
            first = place_of(left)
            if first is None:
                position[left] = first = known
                known += 1
                append(left)
            second = place_of(right)
            if second is None:
                position[right] = second = known
                known += 1
                append(right)
            key.append((op, node.attrs, first, second))
        elif len(inputs) == 1:
            (source,) = inputs
            first = place_of(source)
            if first is None:
                position[source] = first = known
                known += 1
                append(source)
            if op.kind is _TRANSFER:
                key.append((op, node.attrs, first, node.device.number))
            else:
                key.append((op, attrs_key(node.attrs) if node.attrs else (), first))
        elif inputs:
            for source in inputs:
                if source not in position:
                    position[source] = known
                    known += 1
                    append(source)
            attrs = attrs_key(node.attrs) if node.attrs else ()
            key.append((op, attrs, *[position[source] for source in inputs]))
        elif is_leaf(node):
            leaves.append(node)
            recipes.append(None)
            key.append(_source_key(node))
            continue
        else:
            attrs = attrs_key(node.attrs)
            key.append((op, attrs, node.shape, node.dtype, node.device.number))
        if op.costly:
            costly.append(len(recipes))
        recipes.append(inputs)
    return leaves, recipes, key, costly


def capture_single(node: Node) -> tuple[tuple[Any, ...], Sequence[Node]] | None:
    """Return the key and the leaves of a pending node whose inputs are all given; None for any other graph.

    They are those of `capture((node,))`, for a third of the time: nothing has to be walked, and nothing else is held.
    """
    inputs = node.inputs  # before storage: see Node.settle
    op = node.op
    if node.storage is not None or op.kind is _TRANSFER:
        return None
    entry: tuple[Any, ...]
    places: tuple[int, ...]
    leaves: Sequence[Node]
    if len(inputs) == 2:
        left, right = inputs
        places, leaves = ((1, 2), inputs) if left is not right else ((1, 1), (left,))
        entry = (op, node.attrs, *places)
    elif inputs:
        leaves = inputs if len(inputs) == 1 else tuple(dict.fromkeys(inputs))
        places = (
            (1,) if len(inputs) == 1 else tuple([leaves.index(source) + 1 for source in inputs])
        )
        entry = (op, attrs_key(node.attrs), *places)
    elif op is FULL or op is ARANGE:
        entry = (op, attrs_key(node.attrs), node.shape, node.dtype, node.device.number)
        return (entry, _FIRST_IS_WANTED), ()
    else:
        return None
    key: list[tuple[Any, ...]] = [entry]
    for leaf in leaves:
        if leaf.storage is not None:
            key.append((leaf.shape, leaf.dtype, leaf.device.number))
        elif leaf.op is CONSTANT:
            key.append(_source_key(leaf))
        else:
            return None
    key.append(_FIRST_IS_WANTED)
    return tuple(key), leaves


def is_leaf(node: Node) -> bool:
    """Whether the node's value is an argument of the plan: computed, or a source read when the plan runs.

    `full` and `arange` are part of the plan instead: passes rewrite them.
    """
    if node.storage is not None:
        return True
    op = node.op
    return op.kind is Kind.SOURCE and op is not FULL and op is not ARANGE


def _is_view_of_leaf(node: Node, known: dict[int, bool]) -> bool:
    """Whether a pending node is a view of what is computed, or read as a whole: of memory that is there anyway.

    It takes over the answer for the node that it is a view of: `known` has those given so far, since a chain of views
    asks for each of them. They are known by `id`: whoever referred to the nodes would hold them.
    """
    if node.storage is not None:
        return False
    passed = list[int]()
    inputs = node.inputs  # before storage: see Node.settle
    while node.storage is None and node.op is not FILE:
        if id(node) in known:
            is_view = known[id(node)]
            break
        passed.append(id(node))
        if not inputs or not node.op.alias or node.op.kind is not Kind.VIEW or node.op is EXPAND:
            is_view = False
            break
        node = inputs[0]
        inputs = node.inputs
    else:
        # what is not mapped would be read for the view, and again for who needs it as a whole
        is_view = node.storage is not None or (node.nbytes <= _SMALL_FILE and node.attrs[0].mapped)
    known.update(dict.fromkeys(passed, is_view))
    return is_view


def _source_key(node: Node) -> tuple[Any, ...]:
    if node.op is CONSTANT:
        return (CONSTANT, node.dtype, node.device.number, visible(node.attrs[0]))
    return (node.shape, node.dtype, node.device.number)


def _held(order: list[Node], recipes: list[Inputs | None], candidates: Sequence[int]) -> list[Node]:
    """Return the candidates, places of costly nodes, that are referred to from outside this request.

    A node is referred to by each consumer's inputs, and by the walk itself; whatever goes beyond is a Tensor or a
    graph that is not computed now. Too many references only keep a result that could have been dropped.
    """
    # how often each is an input takes a look at the whole graph: that most are one once is known without
    candidates = referenced(order, [(index, 1 + _OF_POSITIONS) for index in candidates])
    if not candidates:
        return []
    uses = counted_inputs(recipes)
    counts = [(index, uses[id(order[index])] + _OF_POSITIONS) for index in candidates]
    return [order[index] for index in referenced(order, counts) if not _vanishes(order[index])]


def _vanishes(node: Node) -> bool:
    """Whether plans have no such value: of several results of a user's kernel, whose reference makes each by itself."""
    if node.op.raw is None or node.op.parts == 1:
        return False
    from tensorframe.schedule.raw_kernels import runs_reference  # few programs have one

    return runs_reference(node.op.raw, node.device)


def counted_inputs(recipes: Iterable[Inputs | None]) -> Counter[int]:
    """Return how often each node is an input, by `id`: whoever referred to the nodes would hold them."""
    return Counter(map(id, chain.from_iterable(filter(None, recipes))))
