"""Gradients of raw kernels: the user's rule, or what the reference says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorframe.errors import GradientError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.raw_kernels.reference import number_of
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.user_functions.rules import counted
from tensorframe.graph.node import Node
from tensorframe.graph.op import NoGradient, refused
from tensorframe.ops.creation import FULL
from tensorframe.ops.movement import ALIAS
from tensorframe.ops.raw_kernels import RawCall, parts_of
from tensorframe.ops.term import Term
from tensorframe.quick_dataclasses import dataclass
from tensorframe.transform.backward import linearize, pull_back

Cotangents = Sequence[Term | None]


@dataclass(frozen=True, slots=True)
class ByReference:
    """Differentiates what the reference records."""

    call: RawCall

    def __call__(self, ct: Term | Cotangents, _out: Term, *operands: Term) -> Cotangents:
        """Return the cotangents of the operands."""
        call, apply = self.call, operands[0].apply
        sources = [term.node for term in operands]
        assert call.reference is not None
        device = sources[0].device
        # distinct nodes, so that an operand that is given twice has a cotangent for each place
        given = [apply(ALIAS, node) for node in sources]
        results = call.reference(call, device).replay(given, _recorded)
        seeds = [
            (result, part.node)
            for result, part in zip(results, _each(ct, len(results)), strict=True)
            if part is not None
        ]
        tape = linearize([result for result, _ in seeds], given, {}, through_targets=False)
        cotangents = pull_back(tape, seeds, given)
        return [None if node is None else Term(node, apply) for node in cotangents]


@dataclass(frozen=True, slots=True)
class ByRule:
    """Asks the user's rule, `vjp(args, out, ct)`: one cotangent for each input."""

    call: RawCall
    names: tuple[str, ...]
    """The inputs in the order in which they were declared."""
    rule: Callable[..., Any]

    def __call__(self, ct: Term | Cotangents, out: Term, *operands: Term) -> Cotangents:
        """Return the cotangents of the operands."""
        call, apply = self.call, operands[0].apply
        outs = [Tensor(node) for node in parts_of(out.node, call, apply)]
        cts = [
            Tensor(_zeros(of.node) if part is None else part.node)
            for of, part in zip(outs, _each(ct, len(outs)), strict=True)
        ]
        args = _arguments(call, self.names, operands)
        several = len(outs) > 1
        given = self.rule(
            args, tuple(outs) if several else outs[0], tuple(cts) if several else cts[0]
        )
        return self._fitting(given, operands, len(args))

    def _fitting(self, given: Any, operands: Sequence[Term], count: int) -> Cotangents:
        name = self.call.name
        by_name = dict(zip(self.names, counted(name, given, count), strict=True))
        kept = [by_name[entry.name] for entry in self.call.inputs]
        made: list[Term | None] = []
        for value, term, entry in zip(kept, operands, self.call.inputs, strict=True):
            node = None if value is None else operand(value).node
            if node is not None and node.shape != term.shape:
                raise GradientError(
                    f"{name}: its vjp gives a cotangent of shape {node.shape} for {entry.name} of shape {term.shape}"
                )
            made.append(None if node is None else Term(node, term.apply))
        return made


def _arguments(call: RawCall, names: Sequence[str], operands: Sequence[Term]) -> tuple[Any, ...]:
    """Return the inputs as they were declared: tensors, and static numbers."""
    given: dict[str, Any] = {entry[0]: number_of(entry) for entry in call.static}
    given |= {
        entry.name: Tensor(term.node) for entry, term in zip(call.inputs, operands, strict=True)
    }
    return tuple([given[name] for name in names])


def rule_of(call: RawCall, names: tuple[str, ...], vjp: Callable[..., Any] | None) -> Any:
    """Return the rule of a call's gradient."""
    if vjp is not None:
        return ByRule(call, names, vjp)
    if call.reference is not None:
        return ByReference(call)
    return _REFUSED


_REFUSED: NoGradient = refused("it has neither vjp= nor reference=")


def _each(ct: Term | Cotangents, count: int) -> Cotangents:
    return [ct] if isinstance(ct, Term) else [*ct, *[None] * count][:count]


def _recorded(known: Node, inputs: tuple[Node, ...]) -> Node:
    return Node(known.op, inputs, known.attrs, known.shape, known.dtype, known.device, known.site)


def _zeros(like: Node) -> Node:
    return Node(FULL, (), (0,), like.shape, like.dtype, like.device, like.site)
