"""Arguments of differentiated functions: fresh aliases of their tensors, and results put together as they were.

Every tensor that is differentiated for is a node of this call's own. So it is told from the same tensor that the
function reaches in another way, and nested transformations cannot take each other's arguments for theirs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tensorframe.dtypes import FLOATING
from tensorframe.errors import ArgumentError, GradientError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import Structure, build, build_gradient, flatten, names
from tensorframe.graph.node import Node
from tensorframe.graph.record import record
from tensorframe.ops.movement import ALIAS
from tensorframe.quick_tuples import NamedTuple


class Aliased(NamedTuple):
    """The arguments of a call with aliases in the place of what is differentiated for."""

    args: tuple[Any, ...]
    targets: list[Node]
    structures: tuple[
        Structure, ...
    ]  # of the arguments that have targets, in the order of `argnums`

    def like(self, leaves: Sequence[Any]) -> list[Any]:
        """Return trees with these gradients, one for each argument that has targets."""
        rest = iter(leaves)
        return [build_gradient(structure, rest) for structure in self.structures]


def aliased(
    title: str, function: Callable[..., Any], args: tuple[Any, ...], argnums: Sequence[int]
) -> Aliased:
    """Return the arguments with aliases; GradientError names a leaf that no gradient exists for."""
    given = list(args)
    places = [_position(title, place, len(args)) for place in argnums]
    if len(set(places)) < len(places):
        raise ArgumentError(f"{title}: argnums {tuple(argnums)} name an argument twice")
    targets: list[Node] = []
    structures = []
    for index in places:
        leaves: list[Any] = []
        structure = flatten(args[index], leaves, targets=True)
        tensors = list(map(operand, leaves))
        if not all(tensor.dtype in FLOATING for tensor in tensors):
            raise _no_gradient(title, tensors, names(structure, parameter_name(function, index)))
        tensors = [Tensor(record(ALIAS, (tensor.node,))) for tensor in tensors]
        targets += [tensor.node for tensor in tensors]
        structures.append(structure)
        given[index] = build(structure, iter(tensors))
    return Aliased(tuple(given), targets, tuple(structures))


def _position(title: str, place: int, count: int) -> int:
    if not -count <= place < count:
        raise ArgumentError(
            f"{title}: there is no positional argument {place}: the call has {count}",
            suggestions=("what is differentiated for is given by position, the rest may be named",),
        )
    return place % count


def parameter_name(function: Callable[..., Any], index: int) -> str:
    """Return what a function calls its positional argument, as well as it can be told."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return f"args[{index}]"
    if index < len(parameters) and parameters[index].kind is not inspect.Parameter.VAR_POSITIONAL:
        return parameters[index].name
    return f"args[{index}]"


def _no_gradient(title: str, tensors: Sequence[Tensor], labels: Sequence[str]) -> GradientError:
    tensor, label = next(
        pair for pair in zip(tensors, labels, strict=True) if pair[0].dtype not in FLOATING
    )
    return GradientError(
        f"{title}: the argument {label} is {tensor.dtype.name}; only floating-point values have gradients",
        suggestions=(
            "x.astype(tfr.float32), or a Python float, if it is meant to vary",
            "argnums=... for the arguments to differentiate for",
            "a tree without it: integers beside parameters are arguments of their own",
        ),
    )


def nodes_like(
    title: str, leaves: Sequence[Any], targets: Sequence[Node], given: str, target_name: str
) -> list[Node]:
    """Return what is given for each target as a node of its dtype; GradientError where a shape is another.

    `given` and `target_name` name both in the message. Nothing flows to what is no floating-point value: its own node
    stands for it.
    """
    nodes = []
    for leaf, target in zip(leaves, targets, strict=True):
        node = operand(leaf, dtype=target.dtype).node if target.dtype in FLOATING else target
        if node.shape != target.shape:
            raise GradientError(
                f"{title}: a {given} of shape {node.shape} is given for the {target_name} of shape {target.shape}",
                suggestions=(f"tfr.ones_like({target_name}), or any tensor of its shape",),
            )
        nodes.append(node)
    return nodes


def as_numbers(argnums: Any) -> tuple[int, ...]:
    """Return the positions that `argnums` names; one integer is a position."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not all(isinstance(place, int) for place in places):
        raise ArgumentError(f"argnums are positions of arguments, got {argnums!r}")
    return places
