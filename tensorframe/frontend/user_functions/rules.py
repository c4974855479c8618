"""Rules of gradients that users write for rows of theirs: `vjp(args, out, ct)`, as `custom_gradient` takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorframe.errors import GradientError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.ops.term import Term
from tensorframe.quick_dataclasses import dataclass


def counted(name: str, cotangents: Any, count: int) -> tuple[Any, ...]:
    """Return what a rule gave as a tuple with an entry for each operand; GradientError if it is none."""
    if count == 1 and not isinstance(cotangents, tuple):
        cotangents = (cotangents,)
    if not isinstance(cotangents, tuple) or len(cotangents) != count:
        several = isinstance(cotangents, tuple)
        what = f"{len(cotangents)} cotangents" if several else type(cotangents).__name__
        raise GradientError(
            f"{name}: its vjp gives {what} for {count} inputs",
            suggestions=("a tuple with the cotangent of each input, None where there is none",),
        )
    return cotangents


@dataclass(frozen=True, slots=True)
class ElementwiseRule:
    """Asks a user's rule of an elementwise row; cotangents may be broadcast as its operands are."""

    name: str
    rule: Callable[..., Any]

    def __call__(self, ct: Term, out: Term, *operands: Term) -> Sequence[Term | None]:
        """Return the cotangents of the operands."""
        args = tuple([Tensor(term.node) for term in operands])
        given = self.rule(args, Tensor(out.node), Tensor(ct.node))
        return [
            None if value is None else Term(operand(value).node, ct.apply)
            for value in counted(self.name, given, len(args))
        ]
