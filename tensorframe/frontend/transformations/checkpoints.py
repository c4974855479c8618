"""Checkpoints: what a block computes is not kept for its gradient, but computed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any
from weakref import WeakKeyDictionary

from tensorframe.dtypes import FLOATING
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.custom import parts_of
from tensorframe.frontend.transformations.gradients import need_function
from tensorframe.frontend.trees import build, flatten
from tensorframe.graph.history import history
from tensorframe.graph.node import Node, next_serial
from tensorframe.graph.record import record
from tensorframe.ops.movement import ALIAS, DEPENDS
from tensorframe.ops.term import Term
from tensorframe.quick_tuples import NamedTuple
from tensorframe.transform.backward import linearize, pull_back
from tensorframe.transform.segments import Segment, segment

__all__ = ["checkpoint"]

# the node of a call -> what the call recorded, and its arguments there
_SEGMENTS: WeakKeyDictionary[Node, tuple[Segment, list[Node]]] = WeakKeyDictionary()


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a gradient that computes it again, instead of keeping what it computes on the way.

    Only the arguments and results of a block are kept from the forward pass to the backward one, at the price of
    computing it twice: of n layers in blocks of sqrt(n), some 2 sqrt(n) results are in memory instead of n. Random
    numbers are the same both times. `function` takes tensors, numbers and trees of them, by position; what it closes
    over has its gradient too. Values that it reads on the way are kept as they are anyway.

    >>> block = tfr.checkpoint(lambda x: tfr.tanh(tfr.sin(x) * x))
    >>> x = tfr.asarray(0.5)
    >>> tfr.grad(block)(x).item() == tfr.grad(lambda x: tfr.tanh(tfr.sin(x) * x))(x).item()
    True
    """
    need_function("checkpoint", function)

    def block(*args: Any) -> Any:
        leaves: list[Any] = []
        structure = flatten(args, leaves, targets=True)
        given = [operand(leaf).node for leaf in leaves]
        first = next_serial()
        inside = [record(ALIAS, (node,)) for node in given]
        results: list[Any] = []
        shape = flatten(function(*build(structure, map(Tensor, inside))), results)
        nodes = [operand(result).node for result in results]
        if not nodes:
            return build(shape, iter(()))
        recorded = segment(nodes, inside, first, history.get() or {})
        sources = [*given, *recorded.outside]
        parts = parts_of(nodes, sources, _Block(len(nodes)))
        _SEGMENTS[parts[0].inputs[1]] = recorded, [*inside, *recorded.outside]
        return build(shape, map(Tensor, parts))

    return update_wrapper(block, function)


class _Block(NamedTuple):
    """What all checkpointed calls of so many results share; the rest is noted with the call's node."""

    results: int

    @property
    def is_segment(self) -> bool:
        """Whether it is what was recorded, to be recorded again, rather than a rule."""
        return True

    def pull_back(
        self, cts: Sequence[Term | None], whole: Term, operands: Sequence[Term]
    ) -> Sequence[Any]:
        """Record the call once more, after the cotangents are there, and pull them back through that."""
        recorded, inside = _SEGMENTS[whole.node]
        results = [result.node for result in operands[: self.results]]
        asked = [(node, ct.node) for node, ct in zip(results, cts, strict=False) if ct is not None]
        after = tuple([ct for _, ct in asked])
        sources = [source.node for source in operands[self.results :]]
        late = [record(DEPENDS, (node, *after), site=node.site) for node in sources]
        again = recorded.again(dict(zip(inside, late, strict=True)))
        seeds = [(again.get(node, node), ct) for node, ct in asked]
        targets = [node for node in late if node.dtype in FLOATING]
        tape = linearize([node for node, _ in seeds], targets, {}, through_targets=False)
        # the results themselves are there: what only makes them is not computed again
        known = {again.get(node, node): node for node in results}
        pulled = dict(zip(targets, pull_back(tape, seeds, targets, known), strict=True))
        apply = whole.apply
        return (
            *[None] * self.results,
            *[None if (ct := pulled.get(node)) is None else Term(ct, apply) for node in late],
        )
