"""Parameters and their gradients: two trees walked together, each tensor with the name that checkpoints know it by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tensorframe.dtypes import FLOAT
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import LEAF, Static, Structure, flatten, names
from tensorframe.graph.node import Node
from tensorframe.quick_tuples import NamedTuple

# how a program writes a child of a container: .name, [0], ['name']
_STEP = re.compile(r"\.?(\w+)|\[(\d+)\]|\['([^'\]]+)'\]")


class Parameter(NamedTuple):
    """A tensor that training changes: its name, its handle, and its gradient."""

    name: str
    handle: Tensor
    gradient: Tensor


def parameters_of(tree: Any) -> dict[str, Tensor]:
    """Return the tensors of a tree by name, each handle once: tied weights are one parameter."""
    leaves: list[Any] = []
    structure = flatten(tree, leaves, targets=True)
    return _by_name(structure, leaves)


def tensors_of(tree: Any) -> dict[str, Tensor]:
    """Return all tensors of a tree by name, those without gradients among them, each handle once."""
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    return _by_name(structure, leaves)


def with_gradients(title: str, parameters: Any, gradients: Any) -> list[Parameter]:
    """Return the parameters that have a gradient, those of a tensor that is there several times added.

    None in place of a gradient leaves that parameter as it is. Raises ArgumentError where the trees differ, and
    ShapeError or DTypeError where a gradient does not fit.
    """
    leaves: list[Any] = []
    structure = flatten(parameters, leaves, targets=True)
    labels = _dotted(names(structure, ""))
    given: list[Any] = []
    shape = flatten(gradients, given, targets=True)
    rest = iter(given)
    by_identity: dict[int, Parameter] = {}
    aligned = _aligned(title, structure, shape, rest)
    for name, handle, gradient in zip(labels, leaves, aligned, strict=True):
        if gradient is None:
            continue
        _check(title, name, handle, gradient)
        known = by_identity.get(id(handle))
        if known is not None:
            gradient = known.gradient + gradient
            name = known.name
        by_identity[id(handle)] = Parameter(name, handle, gradient)
    return list(by_identity.values())


def _aligned(
    title: str, structure: Structure, other: Structure, leaves: Iterator[Any]
) -> Iterator[Any]:
    """Yield the gradient for each leaf of a tree of parameters, None where there is none."""
    if structure is LEAF:
        if other is not LEAF:
            _check_absent(title, other)
        yield next(leaves) if other is LEAF else None
    elif type(structure) is Static:
        if type(other) is not Static:
            raise _unlike(title)
    elif type(other) is Static:
        _check_absent(title, other)
        for child in structure[2]:
            yield from _aligned(title, child, other, leaves)
    else:
        if other is LEAF or len(structure[2]) != len(other[2]) or structure[1] != other[1]:
            raise _unlike(title)
        for child, gradient in zip(structure[2], other[2], strict=True):
            yield from _aligned(title, child, gradient, leaves)


def _check_absent(title: str, structure: Structure) -> None:
    if type(structure) is not Static or structure.value is not None:
        raise _unlike(title)


def _unlike(title: str) -> ArgumentError:
    return ArgumentError(
        f"{title}: the gradients are not a tree like the parameters",
        suggestions=(
            "loss, gradients = tfr.value_and_grad(loss)(parameters, ...)",
            "None in the place of parameters that stay as they are",
        ),
    )


def _check(title: str, name: str, handle: Any, gradient: Any) -> None:
    if not isinstance(handle, Tensor):
        raise DTypeError(
            f"{title}: the parameter {name} is a {type(handle).__name__}: only a tensor can be updated",
            suggestions=("tfr.asarray(...) before training",),
        )
    if handle.dtype not in FLOAT:
        raise DTypeError(
            f"{title}: the parameter {name} is {handle.dtype.name}; real floating-point tensors are updated",
            suggestions=("None in the place of its gradient",),
        )
    if not isinstance(gradient, Tensor):
        raise DTypeError(
            f"{title}: the gradient of {name} is a {type(gradient).__name__}, not a tensor"
        )
    if gradient.shape != handle.shape:
        raise ShapeError(
            f"{title}: the parameter {name} has shape {handle.shape}, its gradient {gradient.shape}"
        )


def _by_name(structure: Structure, leaves: Sequence[Any]) -> dict[str, Tensor]:
    names_by_identity: dict[int, str] = {}
    for name, leaf in zip(_dotted(names(structure, "")), leaves, strict=True):
        if isinstance(leaf, Tensor):
            names_by_identity.setdefault(id(leaf), name)
    by_id = {id(leaf): leaf for leaf in leaves}
    return {name: by_id[key] for key, name in names_by_identity.items()}


def _dotted(labels: Sequence[str]) -> list[str]:
    """Return `layers.0.weight` for `.layers[0]['weight']`, where that leaves no two parameters with one name."""
    dotted = [".".join(map("".join, _STEP.findall(label))) or "parameter" for label in labels]
    return dotted if len(set(dotted)) == len(dotted) else list(labels)


def pending_statistics(tree: Any) -> list[Node]:
    """Return what is not computed of a tree's tensors that are no parameters, such as running means of a module."""
    leaves: list[Any] = []
    flatten(tree, leaves)
    targets: list[Any] = []
    flatten(tree, targets, targets=True)
    changed = {id(target) for target in targets}
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor) and id(leaf) not in changed]
    return [tensor.node for tensor in tensors if tensor.node.storage is None]
