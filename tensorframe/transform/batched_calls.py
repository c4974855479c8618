"""Calls with a rule of their own for many examples: the rule is recorded for one, and batched as anything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tensorframe.graph.mapping import Example, Mapping, recording_example
from tensorframe.graph.node import Node, next_serial
from tensorframe.graph.op import Op
from tensorframe.ops.creation import ARGUMENT
from tensorframe.ops.term import Term
from tensorframe.quick_tuples import NamedTuple
from tensorframe.transform.batching import Batch, Rule


class BatchedCall(NamedTuple):
    """What a call with a rule of its own is for many examples; `differs` says which operands have an axis of them."""

    called: Any
    size: int
    differs: tuple[bool, ...]
    rule_of: Callable[[Op], Rule]

    @property
    def is_segment(self) -> bool:
        """Whether it is what was recorded, to be recorded again, rather than a rule."""
        return False

    @property
    def results(self) -> int:
        """How many of the operands are results."""
        count: int = self.called.results
        return count

    def pull_back(
        self, cts: Sequence[Term | None], whole: Term, operands: Sequence[Term]
    ) -> Sequence[Any]:
        """Return what the rule gives for one example, for all of them."""
        examples: dict[Node, Node] = {}

        def of_one_example(term: Term) -> Term:
            node = term.node
            mark = Example("a rule of a gradient", node.op.name)
            stand = Node(ARGUMENT, (), (mark,), node.shape[1:], node.dtype, node.device, node.site)
            examples[stand] = node
            return Term(stand, term.apply)

        given = [
            of_one_example(term) if differs else term
            for term, differs in zip(operands, self.differs, strict=True)
        ]
        known = [None if ct is None else of_one_example(ct) for ct in cts]
        with recording_example(Mapping("a rule of a gradient", next_serial())):
            cotangents = self.called.pull_back(known, whole, given)
        return [
            None if entry is None else partial(self._for_all, entry, examples)
            for entry in cotangents
        ]

    def _for_all(self, entry: Any, examples: dict[Node, Node]) -> Term:
        """Return a cotangent of one example, made now if that is left to us, for all of them."""
        term = entry() if callable(entry) else entry
        batch = Batch(self.size, examples, self.rule_of)
        batch.extend([term.node])
        return Term(batch.whole(term.node), term.apply)
