"""`vmap`: a function of one example, as a function of many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from tensorframe.dtypes import uint32
from tensorframe.errors import ArgumentError, AxisError, DTypeError, ShapeError, TracingError
from tensorframe.frontend.jit.recording import restored
from tensorframe.frontend.manipulation.joining import stack
from tensorframe.frontend.operand_nodes import data_node
from tensorframe.frontend.operands import operand, permuted
from tensorframe.frontend.random.keys import Key, MappedKey
from tensorframe.frontend.random.words import opaque
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.arguments import parameter_name
from tensorframe.frontend.transformations.gradients import title_of
from tensorframe.frontend.trees import LEAF, Static, Structure, build, flatten, names, own_leaves
from tensorframe.graph.device import CPU
from tensorframe.graph.mapping import Example, Mapping, recording_example
from tensorframe.graph.node import Node, next_serial
from tensorframe.ops.creation import ARGUMENT
from tensorframe.quick_tuples import NamedTuple
from tensorframe.transform.batch_rules import rule_of
from tensorframe.transform.batching import Batch

__all__ = ["vmap"]

Axes = Any  # an integer, None, or a tree of them


def vmap(function: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """Return a function that does for each example along an axis what `function` does for one, in one recorded graph.

    `in_axes` says which axis of the arguments counts examples: one integer for all of them, or a tuple with an
    integer for each positional argument, None where an argument is the same in all examples, or a tree of these for an
    argument that is a tree. `out_axes` says where the results have theirs: None for a result that is the same in all.
    Arguments given by name are the same in all examples.

    The result equals a loop over the examples, and is recorded: it fuses, composes with `grad`, `jit` and `vmap` in any
    order (`vmap(grad(f))` gives the gradient of each example), and runs on any device. A tuple of keys, as
    `tfr.random.split` gives, is one key for each example; a draw without a key raises TracingError, since all examples
    would share it, and so does reading a value that depends on an example.

    ShapeError if arguments have different numbers of examples, AxisError if one lacks its axis: both name it.

    >>> x = tfr.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> tfr.vmap(lambda row: row / row.sum())(x).tolist() == (x / x.sum(axis=1, keepdims=True)).tolist()
    True
    >>> slopes = tfr.vmap(tfr.grad(lambda w, t: tfr.sum(w * t) ** 2), in_axes=(None, 0))
    >>> slopes(tfr.asarray([1.0, 1.0]), x).tolist()
    [[6.0, 12.0], [42.0, 56.0]]
    """
    if not callable(function):
        raise DTypeError(f"vmap: takes a function, got {type(function).__name__}")
    title = title_of(function)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        given = [
            _Argument.of(parameter_name(function, index), value) for index, value in enumerate(args)
        ]
        axes = _axes_of_arguments(title, in_axes, given)
        size = _size(title, given, axes)
        mapping = Mapping(title, next_serial())
        stands = _Placeholders(title)
        own = [
            argument.built(stands, own_axes) for argument, own_axes in zip(given, axes, strict=True)
        ]
        try:
            with recording_example(mapping):
                structure, nodes = _called(function, own, kwargs)
        except BaseException:
            restored(mapping.rebound)
            raise
        if restored(mapping.rebound):
            raise _changed(title)
        batch = Batch(size, stands.examples, rule_of)
        batch.extend(nodes)
        places = _axes_of_results(title, out_axes, structure)
        labels = names(structure, "result")
        return build(
            structure,
            iter(
                [_result(title, batch, *entry) for entry in zip(nodes, places, labels, strict=True)]
            ),
        )

    return update_wrapper(mapped, function)


def _called(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Structure, list[Node]]:
    """Return the structure of the result and its nodes; the function's handles are gone, but those of others."""
    leaves: list[Any] = []
    structure = flatten(function(*args, **kwargs), leaves)
    return structure, [operand(leaf).node for leaf in leaves]


class _Argument(NamedTuple):
    """One positional argument: the structure around its leaves, these, and what a program calls them."""

    name: str
    structure: Structure
    leaves: list[Any]
    labels: list[str]

    @classmethod
    def of(cls, name: str, value: Any) -> _Argument:
        """Return an argument taken apart; a sequence of keys is one leaf."""
        if (
            type(value) in (tuple, list)
            and value
            and all(type(element) is Key for element in value)
        ):
            return cls(name, LEAF, [_Keys(value)], [name])
        leaves: list[Any] = []
        structure = flatten(value, leaves)
        return cls(name, structure, leaves, names(structure, name))

    def built(self, stands: _Placeholders, axes: Sequence[int | None]) -> Any:
        """Return the argument as the function gets it, with one example of each leaf that has an axis of them."""
        leaves = [
            leaf.unmapped()
            if type(leaf) is _Keys and axis is None
            else own_leaves([leaf])[0]
            if axis is None
            else stands.example(leaf, axis, label)
            for leaf, axis, label in zip(self.leaves, axes, self.labels, strict=True)
        ]
        return build(self.structure, iter(leaves))


class _Keys(NamedTuple):
    """A key of each example."""

    keys: Sequence[Key]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are."""
        return (len(self.keys),)

    def unmapped(self) -> Any:
        """Return the keys as they were given, in a container of their own."""
        return tuple(self.keys) if isinstance(self.keys, tuple) else list(self.keys)


class _Placeholders:
    """What the function gets for arguments that differ, and what stands for all examples of it: that axis in front."""

    def __init__(self, title: str) -> None:
        self._title = title
        self.examples: dict[Node, Node] = {}

    def example(self, leaf: Any, axis: int, name: str) -> Any:
        """Return a placeholder for one example of a leaf."""
        if type(leaf) is _Keys:
            return self.key(leaf.keys, name)
        tensor = operand(leaf)
        order = [axis, *[other for other in range(tensor.ndim) if other != axis]]
        return self._placeholder(permuted(tensor, order).node, name)

    def _placeholder(self, whole: Node, name: str) -> Tensor:
        mark = Example(self._title, name)
        shape = whole.shape[1:]
        node = Node(ARGUMENT, (), (mark,), shape, whole.dtype, whole.device, None)
        self.examples[node] = whole
        return Tensor(node)

    def key(self, keys: Sequence[Key], name: str) -> Key:
        """Return the key of one example."""
        halves = [self._placeholder(_stacked(half), name) for half in _halves(keys)]
        stand = partial(self.key, name=name)
        return Key(MappedKey(halves[0], halves[1], tuple(keys), stand))


def _halves(keys: Sequence[Key]) -> tuple[list[Any], list[Any]]:
    """Return the lower and the upper 32 bits of keys, some of which an outer `vmap` may have made tensors."""
    low: list[Any] = []
    high: list[Any] = []
    for key in keys:
        value: Any = key.value
        is_mapped = type(value) is MappedKey
        low.append(value.low if is_mapped else value & _LOW)
        high.append(value.high if is_mapped else value >> 32 & _LOW)
    return low, high


_LOW = 2**32 - 1


def _stacked(numbers: Sequence[Any]) -> Node:
    """Return numbers of 32 bits as a vector; those of a function that `jit` records are not known yet."""
    if all(type(number) is int for number in numbers):
        return data_node(np.array(numbers, uint32))
    tensors = [
        number if isinstance(number, Tensor) else Tensor(opaque(number, uint32, CPU))
        for number in numbers
    ]
    return stack(tensors).node


def _axes_of_arguments(
    title: str, in_axes: Axes, given: Sequence[_Argument]
) -> list[list[int | None]]:
    """Return the axis of each leaf of each argument, counted from the front."""
    if type(in_axes) in (tuple, list):
        if len(in_axes) != len(given):
            raise ArgumentError(
                f"{title}: in_axes has {len(in_axes)} entries for {len(given)} positional arguments",
                suggestions=(
                    "one entry for each, None for those that are the same in all examples",
                ),
            )
        each = list(in_axes)
    else:
        each = [in_axes] * len(given)
    axes_by_argument = []
    for argument, axes in zip(given, each, strict=True):
        spread = _spread(title, "in_axes", axes, argument.structure, argument.name)
        leaves = zip(argument.leaves, spread, argument.labels, strict=True)
        axes_by_argument.append([_checked(title, *leaf) for leaf in leaves])
    return axes_by_argument


def _spread(title: str, what: str, axes: Axes, structure: Structure, name: str) -> list[int | None]:
    """Return the axis of each leaf of a tree, from an axis for all of it or a tree that begins like it."""
    wanted: list[Any] = []
    leaf_axes = list(_matched(title, what, flatten(axes, wanted), iter(wanted), structure, name))
    for axis in leaf_axes:
        if axis is not None and type(axis) is not int:
            raise ArgumentError(
                f"{title}: {what} consists of integers and None, got {axis!r} for {name}"
            )
    return leaf_axes


def _matched(
    title: str,
    what: str,
    axes: Structure,
    wanted: Iterator[Any],
    structure: Structure,
    name: str,
) -> Iterator[Any]:
    if axes is LEAF or type(axes) is Static:
        axis = axes.value if isinstance(axes, Static) else next(wanted)
        for _ in names(structure, name):
            yield axis
        return
    if (
        structure is LEAF
        or type(structure) is Static
        or axes[:2] != structure[:2]
        or len(axes[2]) != len(structure[2])
    ):
        raise ArgumentError(
            f"{title}: {what} is a tree that {name} is not like",
            suggestions=(f"one integer, or None, for all of {name}",),
        )
    container, facts, children = structure
    for index, (inner, child) in enumerate(zip(axes[2], children, strict=True)):
        label = name + container.label(facts, index)
        yield from _matched(title, what, inner, wanted, child, label)


def _checked(title: str, leaf: Any, axis: int | None, name: str) -> int | None:
    """Return the axis of a leaf, counted from the front; AxisError if it has none such."""
    if axis is None:
        return None
    shape = leaf.shape if hasattr(leaf, "shape") else ()
    if not -len(shape) <= axis < len(shape):
        what = f"has shape {tuple(shape)}" if shape else "has no axes"
        raise AxisError(
            f"{title}: the argument {name} {what}, and no axis {axis} of examples",
            suggestions=_remedies(leaf, name),
        )
    return axis % len(shape)


def _remedies(leaf: Any, name: str) -> tuple[str, ...]:
    """Return what may help where a leaf has no axis of examples."""
    if name.endswith(".value") and type(leaf) is int:
        key = name.removesuffix(".value")
        return (
            f"tfr.random.split({key}, n), which gives a key for each of n examples",
            f"in_axes=None for {key} if all examples share it",
        )
    shared = f"in_axes=None for {name} if it is the same in all examples"
    if isinstance(leaf, int | float | complex) and name.endswith("]"):
        return (shared, "tfr.asarray(...) of a list of numbers, whose elements are examples")
    return (shared,)


def _size(title: str, given: Sequence[_Argument], axes: Sequence[Sequence[int | None]]) -> int:
    """Return how many examples there are; ShapeError names the arguments that disagree."""
    sizes: dict[str, int] = {
        label: leaf.shape[axis]
        for argument, own in zip(given, axes, strict=True)
        for leaf, axis, label in zip(argument.leaves, own, argument.labels, strict=True)
        if axis is not None
    }
    if not sizes:
        raise ArgumentError(
            f"{title}: vmap has no argument with an axis of examples",
            suggestions=("in_axes=0 for the positional arguments that have one",),
        )
    first, *others = sizes
    for name in others:
        if sizes[name] != sizes[first]:
            raise ShapeError(
                f"{title}: the argument {first} has {sizes[first]} examples, {name} has {sizes[name]}",
                suggestions=(
                    "in_axes=... if another axis counts the examples, None if there are none",
                ),
            )
    return sizes[first]


def _axes_of_results(title: str, out_axes: Axes, structure: Structure) -> list[int | None]:
    return _spread(title, "out_axes", out_axes, structure, "result")


def _result(title: str, batch: Batch, node: Node, axis: int | None, name: str) -> Tensor:
    """Return what all examples give, with their axis where it is wanted."""
    if axis is None:
        if node in batch:
            raise ArgumentError(
                f"{title}: out_axes=None for {name}, which differs from example to example",
                suggestions=("out_axes=0",),
            )
        return Tensor(node)
    rank = len(node.shape) + 1
    if not -rank <= axis < rank:
        raise AxisError(f"{title}: {name} of all examples has {rank} axes, and no axis {axis}")
    tensor = Tensor(batch.whole(node))
    order = list(range(1, rank))
    order.insert(axis % rank, 0)
    return permuted(tensor, order)


def _changed(title: str) -> TracingError:
    return TracingError(
        f"{title}: changes a tensor that is not among its arguments, once for all examples",
        suggestions=("return the new tensor, and assign it outside",),
    )
