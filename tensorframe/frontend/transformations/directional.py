"""Directional derivatives: `jvp`, `hvp`, and the Jacobians and Hessians that directions make up.

No op has a rule for directions. A cotangent that is pulled back gives something linear in it, and pulling a direction
back through *that* gives the derivative along it. The first pass's own result is never computed: nothing needs it.
Source: J. Townsend, "A new trick for calculating Jacobian vector products", 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from tensorframe.dtypes import int32
from tensorframe.errors import GradientError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.parameters import items
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.arguments import Aliased, aliased, as_numbers, nodes_like
from tensorframe.frontend.transformations.gradients import grad, need_function, title_of, zeros_like
from tensorframe.frontend.trees import Structure, build, flatten
from tensorframe.graph.history import recording_history
from tensorframe.graph.node import Node
from tensorframe.graph.record import record
from tensorframe.ops.creation import ARANGE
from tensorframe.ops.elementwise import CAST, EQUAL
from tensorframe.ops.movement import ALIAS, PERMUTE, RESHAPE
from tensorframe.transform.backward import Tape, linearize, pull_back
from tensorframe.transform.batch_rules import rule_of
from tensorframe.transform.batching import Batch

__all__ = ["hessian", "hvp", "jacobian", "jvp"]


def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """Return the result of `function` at `primals`, and its derivative along `tangents`.

    Both are sequences with an entry for each argument: tensors, numbers or trees of them, tangents like the primals
    (GradientError if not). The derivative is like the result.

    >>> y, slope = tfr.jvp(lambda a, b: a * b, (3.0, 5.0), (1.0, 0.0))
    >>> y.item(), slope.item()
    (15.0, 5.0)
    """
    need_function("jvp", function)
    title = title_of(function)
    points = items("jvp", "primals", primals)
    line = _Linear(title, function, points, range(len(points)))
    directions = line.directions(items("jvp", "tangents", tangents))
    with recording_history():
        pushed = line.pushed(directions)
    return line.value, build(line.structure, map(Tensor, pushed))


def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the product of the Hessian of `function`, which gives one real number, with `tangents`.

    It is the derivative of the gradient along them, and costs a few gradients, whatever the size: the Hessian is never
    made. Arguments are those of `jvp`; the result is like the one argument, of several a tuple.

    >>> tfr.hvp(lambda x: tfr.sum(x**3), [tfr.asarray([1.0, 2.0])], [tfr.asarray([1.0, 1.0])]).tolist()
    [6.0, 12.0]
    """
    need_function("hvp", function)
    points = items("hvp", "primals", primals)
    directions = items("hvp", "tangents", tangents)
    gradient = grad(function, 0 if len(points) == 1 else range(len(points)))
    return jvp(gradient, points, directions)[1]


def jacobian(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Return a function that gives the derivatives of all elements of the result for all elements of an argument.

    A result of shape (m, n) and an argument of shape (k,) have a Jacobian of shape (m, n, k). Where the result is a
    tree, there is a tree of Jacobians; where the argument is one, each of them is a tree like it, and a tuple for
    several `argnums`. It is computed in one plan, as a batch of cotangents or of directions, whichever are fewer.
    Results may be complex; a complex argument raises GradientError.

    >>> tfr.jacobian(lambda x: x * x)(tfr.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    need_function("jacobian", function)
    places = as_numbers(argnums)
    title = title_of(function)

    def derivatives(*args: Any, **kwargs: Any) -> Any:
        line = _Linear(title, lambda *given: function(*given, **kwargs), args, places)
        rows = line.jacobians()
        trees = []
        for row in rows:
            own = line.given.like([Tensor(jacobian) for jacobian in row])
            trees.append(own[0] if isinstance(argnums, int) else tuple(own))
        return build(line.structure, iter(trees))

    return update_wrapper(derivatives, function)


def hessian(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Return a function that gives the second derivatives of `function`, which gives one real number.

    It is the Jacobian of the gradient: for an argument of shape (n,) a matrix (n, n); for trees a tree of trees.

    >>> tfr.hessian(lambda x: x[0] ** 2 * x[1])(tfr.asarray([3.0, 5.0])).tolist()
    [[10.0, 6.0], [6.0, 0.0]]
    """
    return jacobian(grad(function, argnums), argnums)


class _Linear:
    """A function at some arguments, and what it is near them: the tape to pull back through."""

    def __init__(
        self,
        title: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        places: Sequence[int],
    ) -> None:
        self._title = title
        self.given: Aliased = aliased(title, function, args, places)
        with recording_history() as history:
            self._history = history
            leaves: list[Any] = []
            self.structure: Structure = flatten(function(*self.given.args), leaves)
            self.roots = [operand(leaf).node for leaf in leaves]
            self._tape = linearize(self.roots, self.given.targets, history, complete=True)

    @property
    def value(self) -> Any:
        """The result of the function, in handles of its own."""
        return build(self.structure, map(Tensor, self.roots))

    def directions(self, tangents: Sequence[Any]) -> list[Node]:
        """Return a node for each target; GradientError where tangents are not like the arguments."""
        leaves: list[Any] = []
        structures = tuple([flatten(tangent, leaves, targets=True) for tangent in tangents])
        targets = self.given.targets
        if structures != self.given.structures:
            raise GradientError(
                f"{self._title}: the tangents are not trees like the arguments",
                suggestions=("a tangent for each argument, with a tensor for each of its tensors",),
            )
        return nodes_like(self._title, leaves, targets, "tangent", "argument")

    def pushed(self, directions: Sequence[Node]) -> list[Node]:
        """Return the derivatives of the results along directions of the targets."""
        tape, cts, cotangents = self._turned()
        seeds = [
            (ct, direction) for ct, direction in zip(cts, directions, strict=True) if ct is not None
        ]
        pulled = pull_back(tape, seeds, cotangents)
        return [_or_zeros(*pair) for pair in zip(pulled, self.roots, strict=True)]

    def _turned(self) -> tuple[Tape, list[Node | None], list[Node]]:
        """Pull cotangents of no particular value back; return the tape from these to what that gives."""
        cotangents = [record(ALIAS, (zeros_like(root),), site=root.site) for root in self.roots]
        cts = pull_back(self._tape, zip(self.roots, cotangents, strict=True), self.given.targets)
        known = [ct for ct in cts if ct is not None]
        return linearize(known, cotangents, self._history), cts, cotangents

    def jacobians(self) -> list[list[Node]]:
        """Return, for each result, the Jacobian for each target."""
        targets = self.given.targets
        _need_real(self._title, targets)
        rows = sum([root.size for root in self.roots])
        columns = sum([target.size for target in targets])
        if rows <= columns:
            return [self._by_rows(root) for root in self.roots]
        by_target = [self._by_columns(number) for number in range(len(targets))]
        return [list(jacobians) for jacobians in zip(*by_target, strict=True)]

    def _by_rows(self, root: Node) -> list[Node]:
        """Return the Jacobians of one result: cotangents of each of its elements, pulled back together."""
        seed = record(ALIAS, (zeros_like(root),), site=root.site)
        targets = self.given.targets
        pulled = pull_back(self._tape, [(root, seed)], targets)
        made = _in_all_directions(
            seed, [_or_zeros(*pair) for pair in zip(pulled, targets, strict=True)]
        )
        return [
            _shaped(jacobian, (*root.shape, *target.shape))
            for jacobian, target in zip(made, targets, strict=True)
        ]

    def _by_columns(self, number: int) -> list[Node]:
        """Return the Jacobians for one target: directions along each of its elements, pushed together."""
        target = self.given.targets[number]
        directions = [zeros_like(node) for node in self.given.targets]
        directions[number] = record(ALIAS, (zeros_like(target),), site=target.site)
        made = _in_all_directions(directions[number], self.pushed(directions))
        return [
            _shaped(_first_axis_last(jacobian), (*root.shape, *target.shape))
            for jacobian, root in zip(made, self.roots, strict=True)
        ]


def _need_real(title: str, targets: Sequence[Node]) -> None:
    for target in targets:
        if target.dtype.kind == "c":
            raise GradientError(
                f"{title}: the Jacobian for a complex argument, of dtype {target.dtype.name}, is not one number for "
                "each pair of elements",
                suggestions=("tfr.vjp or tfr.jvp, or the real and imaginary parts as arguments",),
            )


def _or_zeros(node: Node | None, like: Node) -> Node:
    return zeros_like(like) if node is None else node


def _in_all_directions(seed: Node, nodes: Sequence[Node]) -> list[Node]:
    """Return nodes that are linear in a seed for all unit vectors in its place, along a new first axis."""
    size = seed.size
    batch = Batch(size, {seed: _unit_vectors(seed)}, rule_of)
    batch.extend(nodes)
    return [batch.whole(node) for node in nodes]


def _unit_vectors(like: Node) -> Node:
    """Return all tensors like this one that are 1 at one element and 0 elsewhere."""
    size, device, site = like.size, like.device, like.site
    positions = Node(ARANGE, (), (0, 1, 0, 1), (size,), int32, device, site)
    column = record(RESHAPE, (positions,), (size, 1), site=site)
    equal = record(EQUAL, (column, positions), device=device, site=site)
    return _shaped(
        record(CAST, (equal,), like.dtype, device=device, site=site), (size, *like.shape)
    )


def _shaped(node: Node, shape: tuple[int, ...]) -> Node:
    return node if node.shape == shape else record(RESHAPE, (node,), shape, site=node.site)


def _first_axis_last(node: Node) -> Node:
    order = (*range(1, len(node.shape)), 0)
    return record(PERMUTE, (node,), order, site=node.site)
