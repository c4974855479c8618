"""Rules of one's own: functions that are told how to differentiate, and what is to count as constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from tensorframe.dtypes import FLOATING
from tensorframe.errors import GradientError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.gradients import need_function, title_of, zeros_like
from tensorframe.frontend.trees import Structure, build, flatten
from tensorframe.graph.history import history
from tensorframe.graph.node import Node, next_serial
from tensorframe.graph.record import record
from tensorframe.ops.custom import CUSTOM_CALL, CUSTOM_PART
from tensorframe.ops.movement import STOP_GRADIENT
from tensorframe.ops.term import Term
from tensorframe.quick_tuples import NamedTuple
from tensorframe.transform.segments import segment

__all__ = ["custom_gradient", "stop_gradient"]


def stop_gradient(x: ArrayLike) -> Any:
    """Return the same values, of a tensor or a tree of them, which gradients count as constant.

    >>> tfr.grad(lambda x: x * tfr.stop_gradient(x))(3.0).item()
    3.0
    """
    leaves: list[Any] = []
    structure = flatten(x, leaves)
    return build(structure, iter([call(STOP_GRADIENT, operand(leaf)) for leaf in leaves]))


def custom_gradient(function: Callable[..., Any]) -> CustomGradient:
    """Return the function with a rule for its gradient, which `.vjp` of what is returned gives it.

    The rule gets the tuple of arguments, the result, and the cotangent of the result, and gives a tuple with the
    cotangent of each argument (of one argument, that alone; None where there is none). Arguments and results may be
    trees; what the function closes over has no gradient (GradientError if it would need one). Where the rule is made
    of differentiable functions, second derivatives go through it.

    >>> @tfr.custom_gradient
    ... def clipped(x):  # the gradient of the identity, cut off
    ...     return x
    >>> @clipped.vjp
    ... def clipped_vjp(args, out, ct):
    ...     return tfr.clip(ct, -1.0, 1.0)
    >>> tfr.grad(lambda x: tfr.sum(clipped(x) ** 2))(tfr.asarray([0.25, 5.0])).tolist()
    [0.5, 1.0]
    """
    need_function("custom_gradient", function)
    return CustomGradient(function)


class CustomGradient:
    """A function, and the rule of its gradient."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = function
        self.title = title_of(function)
        self.rule: Callable[..., Any] | None = None

    def vjp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Make `rule(args, out, ct)` the rule of the function's gradient: it gives the cotangents of the arguments."""
        need_function(f"{self.title}.vjp", rule)
        self.rule = rule
        return rule

    def __call__(self, *args: Any) -> Any:
        """Return the function's result, recorded so that gradients ask the rule."""
        leaves: list[Any] = []
        structure = flatten(args, leaves)
        given = [operand(leaf).node for leaf in leaves]
        first = next_serial()
        # the rule says what flows to the arguments: nothing does through what the function itself records
        hidden = [record(STOP_GRADIENT, (node,)) for node in given]
        results: list[Any] = []
        shape = flatten(self._function(*build(structure, map(Tensor, hidden))), results)
        nodes = [operand(result).node for result in results]
        if not nodes or not given:
            return build(shape, map(Tensor, nodes))
        outside = segment(nodes, hidden, first, history.get() or {}).outside
        called = _Call(self, structure, shape, len(nodes), len(given))
        return build(shape, map(Tensor, parts_of(nodes, [*given, *outside], called)))


def parts_of(results: Sequence[Node], sources: Sequence[Node], called: Any) -> list[Node]:
    """Return the results of a call, by way of a node that knows what they were made from."""
    whole = record(CUSTOM_CALL, (*results, *sources), called)
    return [record(CUSTOM_PART, (result, whole), index) for index, result in enumerate(results)]


class _Call(NamedTuple):
    """What equal calls of a function share: the rule, and the structures of arguments and results."""

    function: CustomGradient
    args: Structure
    out: Structure
    results: int
    arguments: int

    @property
    def is_segment(self) -> bool:
        """Whether it is what was recorded, to be recorded again, rather than a rule."""
        return False

    def pull_back(
        self, cts: Sequence[Term | None], whole: Term, operands: Sequence[Term]
    ) -> Sequence[Any]:
        """Return what the rule says of the arguments; what is closed over is an error where it matters."""
        # by way of the call, so that further derivatives of a rule that uses the result ask the rule again
        results = [
            record(CUSTOM_PART, (result.node, whole.node), index)
            for index, result in enumerate(operands[: self.results])
        ]
        given = [argument.node for argument in operands[self.results :][: self.arguments]]
        known = [*cts, *[None] * self.results][: self.results]
        own = [
            zeros_like(node) if ct is None else ct.node
            for node, ct in zip(results, known, strict=True)
        ]
        cotangents = self._asked(given, results, own)
        outside = [self._refuse] * (len(operands) - self.results - self.arguments)
        apply = operands[0].apply
        return (
            *[None] * self.results,
            *[None if ct is None else Term(ct, apply) for ct in cotangents],
            *outside,
        )

    def _asked(
        self, given: Sequence[Node], results: Sequence[Node], cts: Sequence[Node]
    ) -> list[Node | None]:
        title = self.function.title
        rule = self.function.rule
        if rule is None:
            raise GradientError(
                f"{title}: has no rule for its gradient yet",
                suggestions=(f"@{title}.vjp before a function of (args, out, ct)",),
            )
        trees = [(self.args, given), (self.out, results), (self.out, cts)]
        args = [build(structure, map(Tensor, nodes)) for structure, nodes in trees]
        return self._fitting(rule(*args), given)

    def _fitting(self, cotangents: Any, given: Sequence[Node]) -> list[Node | None]:
        """Return the cotangents that a rule gave, one for each tensor of the arguments; GradientError if not."""
        title = self.function.title
        count = len(self.args[2])
        entries = (cotangents,) if count == 1 and not isinstance(cotangents, tuple) else cotangents
        if not isinstance(entries, tuple) or len(entries) != count:
            raise GradientError(
                f"{title}.vjp: gives {_said(entries)} for {count} arguments",
                suggestions=(
                    "a tuple with the cotangent of each argument, None where there is none",
                ),
            )
        nodes: list[Node | None] = []
        for index, (entry, part) in enumerate(zip(entries, self.args[2], strict=True)):
            own: list[Any] = []
            wanted = _count(part)
            if entry is None:
                nodes += [None] * wanted
                continue
            flatten(entry, own)
            if len(own) != wanted:
                raise GradientError(
                    f"{title}.vjp: the cotangent of argument {index} is no tree like it"
                )
            nodes += [operand(leaf).node for leaf in own]
        for node, source in zip(nodes, given, strict=True):
            if node is not None and node.shape != source.shape and source.dtype in FLOATING:
                raise GradientError(
                    f"{title}.vjp: gives a cotangent of shape {node.shape} for an argument of shape {source.shape}",
                    suggestions=("sum over the axes that were broadcast",),
                )
        return nodes

    def _refuse(self) -> Term:
        title = self.function.title
        raise GradientError(
            f"{title}: uses a tensor that is no argument, and whose gradient is wanted: its rule says nothing of that",
            suggestions=("make it an argument", "tfr.stop_gradient(x) where it counts as constant"),
        )


def _said(cts: Any) -> str:
    return f"{len(cts)} cotangents" if isinstance(cts, tuple) else type(cts).__name__


def _count(structure: Structure) -> int:
    leaves: list[Any] = []

    def noted() -> Any:
        while True:
            leaves.append(None)
            yield None

    build(structure, noted())
    return len(leaves)
