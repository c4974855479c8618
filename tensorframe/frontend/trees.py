"""Trees: nested containers taken apart into leaves and a structure, and put together again."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.tracing import NUMBER_KINDS, TracedNumber

__all__ = ["register_tree"]

Type = TypeVar("Type")

# A leaf, a Static, or (container, facts, structures of the children). Equal structures are equal and hash alike.
Structure = Any


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A kind of container: how it is taken apart into facts (hashable) and children, and built from them.

    `label` says how a program writes the child at a position, for messages.

    A container may have more tensors than gradients are for: a network has statistics beside its parameters.
    `targets` takes it apart into the latter alone, whenever it is differentiated for; what is built from these shares
    the other tensors, as handles, with the original, so that assignments to them inside a differentiated function are
    seen outside. `gradient` then builds what is like it: with gradients, and nothing in the places of other tensors.

    A class says how its objects, and those of classes derived from it, are taken apart by an attribute `__tree__`.
    """

    take: Callable[[Any], tuple[Any, Iterable[Any]]]
    build: Callable[[Any, list[Any]], Any]
    label: Callable[[Any, int], str] = lambda _, index: f"[{index}]"
    targets: Container | None = None
    gradient: Callable[[Any, list[Any]], Any] | None = None


class _Leaf:
    def __repr__(self) -> str:
        return "LEAF"


LEAF = _Leaf()
_NUMBERS = NUMBER_KINDS | {TracedNumber}
_LEAF_TYPES = _NUMBERS | {Tensor, np.ndarray}


class Static:
    """A value that is part of the structure: equal to an equal one of the same type, or to itself alone.

    What is equal to itself alone is referred to weakly, where its class allows: whoever keeps a structure as a key
    forgets it when `reference` dies.
    """

    __slots__ = ("_kept", "key", "reference")

    def __init__(self, value: Any, *, by_identity: bool = False) -> None:
        kind = type(value)
        alone = by_identity or kind.__hash__ is _hash_of_identity
        self.key: Any = (kind, id(value)) if alone else static_key(value)
        self.reference = _reference(value) if alone else None
        self._kept = value if self.reference is None else None

    @property
    def value(self) -> Any:
        """The value itself."""
        return self._kept if self.reference is None else self.reference()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Static({self.value!r})"


_hash_of_identity: Any = object.__hash__


def _reference(value: Any) -> ref[Any] | None:
    try:
        return ref(value)
    except TypeError:  # its class has slots and none for weak references
        return None


def static_key(value: Any) -> Any:
    """Return what equal values of equal types share: 1, 1.0 and True differ, and so do 0.0 and -0.0.

    DTypeError if the value cannot be hashed.
    """
    kind = type(value)
    if kind is float:
        return (float, value.hex())
    if kind is complex:
        return (complex, value.real.hex(), value.imag.hex())
    if kind in (tuple, frozenset):
        return (kind, kind(map(static_key, value)))
    if kind is slice:
        return (slice, *map(static_key, (value.start, value.stop, value.step)))
    try:
        hash(value)
    except TypeError:
        raise DTypeError(
            f"a {kind.__name__} is no tensor, array, number or tree of them, and cannot be hashed",
            suggestions=(
                "lists, tuples, dicts and dataclasses of tensors",
                "tfr.register_tree(...) for containers of your own",
            ),
        ) from None
    return (kind, value)


def _fields(kind: Any) -> Container:
    fields = dataclasses.fields(kind)
    names = tuple(field.name for field in fields)
    static = {field.name for field in fields if field.metadata.get("static")}

    def take(value: Any) -> tuple[Any, Iterable[Any]]:
        children = [getattr(value, name) for name in names]
        if static:
            pairs = zip(names, children, strict=True)
            return kind, [Static(child) if name in static else child for name, child in pairs]
        return kind, children

    def build(_: Any, children: list[Any]) -> Any:
        made: Any = object.__new__(kind)  # not by calling it: it has been initialised once
        for name, child in zip(names, children, strict=True):
            object.__setattr__(made, name, child)
        return made

    return Container(take, build, lambda _, index: f".{names[index]}")


def _named_tuple(kind: Any) -> Container:
    return Container(
        lambda value: (kind, value),
        lambda _, children: kind._make(children),
        lambda _, index: f".{kind._fields[index]}",
    )


def _mapping(kind: Any) -> Container:
    return Container(
        lambda value: (tuple(value), value.values()),
        lambda keys, children: kind(zip(keys, children, strict=True)),
        lambda keys, index: f"[{keys[index]!r}]",
    )


LIST = Container(lambda value: (None, value), lambda _, children: children)
_CONTAINERS: dict[type, Container | None] = {
    tuple: Container(lambda value: (None, value), lambda _, children: tuple(children)),
    list: LIST,
    dict: _mapping(dict),
    OrderedDict: _mapping(OrderedDict),
}


def register_tree(
    kind: type[Type],
    take: Callable[[Type], tuple[Any, Iterable[Any]]],
    build: Callable[[Any, list[Any]], Type],
) -> type[Type]:
    """Let functions that take trees, such as those of `jit`, see the tensors and numbers in objects of type `kind`.

    `take(value)` gives what is fixed (anything hashable) and the children; `build(fixed, children)` gives an object
    back. Lists, tuples, named tuples, dicts and dataclasses are known already. ArgumentError if `kind` is.

    >>> class Line:
    ...     def __init__(self, slope, name):
    ...         self.slope, self.name = slope, name
    >>> _ = tfr.register_tree(
    ...     Line, lambda line: (line.name, [line.slope]), lambda name, children: Line(*children, name)
    ... )
    >>> twice = tfr.jit(lambda line: Line(line.slope * 2, line.name))
    >>> twice(Line(tfr.asarray(3.0), "a")).slope.item()
    6.0
    """
    if not isinstance(kind, type):
        raise DTypeError(f"register_tree: takes a class, got {type(kind).__name__}")
    if _container_of(kind) is not None or kind in _LEAF_TYPES:
        raise ArgumentError(f"register_tree: {kind.__name__} is known already")
    _CONTAINERS[kind] = Container(take, build)
    return kind


def _container_of(kind: Any) -> Container | None:
    """Return how values of a type are taken apart, None if they are not."""
    try:
        return _CONTAINERS[kind]
    except KeyError:
        pass
    container = None
    own = getattr(kind, "__tree__", None)
    if type(own) is Container:
        container = _CONTAINERS[kind] = own
    elif hasattr(kind, "__dataclass_fields__"):
        container = _CONTAINERS[kind] = _fields(kind)
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        container = _CONTAINERS[kind] = _named_tuple(kind)
    return container


def is_container(kind: type) -> bool:
    """Whether values of a type are taken apart."""
    return _container_of(kind) is not None


def flatten(value: Any, leaves: list[Any], *, targets: bool = False) -> Structure:
    """Append the tensors, arrays and numbers in `value` to `leaves`, and return the structure around them.

    With `targets`, only those that gradients are for, where a container tells them from others.
    """
    kind = type(value)
    if kind in _LEAF_TYPES:
        leaves.append(value)
        return LEAF
    container = _container_of(kind)
    if container is not None:
        if targets and container.targets is not None:
            container = container.targets
        facts, children = container.take(value)
        parts: list[Structure] = []
        for child in children:
            if type(child) in _LEAF_TYPES:  # as above, without the call
                leaves.append(child)
                parts.append(LEAF)
            else:
                parts.append(flatten(child, leaves, targets=targets))
        return (container, facts, tuple(parts))
    if value is None:
        return _NONE
    if kind is Static:
        return value
    if isinstance(value, Tensor | np.ndarray | np.generic) or _is_array(kind):
        leaves.append(value)
        return LEAF
    return Static(value)


_NONE = Static(None)


def _is_array(kind: type) -> bool:
    return hasattr(kind, "__dlpack__") or hasattr(kind, "__array__")


def build(structure: Structure, leaves: Iterator[Any]) -> Any:
    """Return the value of a structure with other leaves."""
    if structure is LEAF:
        return next(leaves)
    if type(structure) is Static:
        return structure.value
    container, facts, children = structure
    return container.build(
        facts, [next(leaves) if child is LEAF else build(child, leaves) for child in children]
    )


def build_gradient(structure: Structure, leaves: Iterator[Any]) -> Any:
    """Return what is like the value of a structure, with gradients for leaves."""
    if structure is LEAF:
        return next(leaves)
    if type(structure) is Static:
        return structure.value
    container, facts, children = structure
    make = container.gradient or container.build
    return make(facts, [build_gradient(child, leaves) for child in children])


def own_tree(value: Type) -> Type:
    """Return the same tree with containers and tensors of its own: changing either changes nothing in the other."""
    leaves: list[Any] = []
    structure = flatten(value, leaves)
    tree: Type = build(structure, iter(own_leaves(leaves)))
    return tree


def own_leaves(leaves: Iterable[Any]) -> list[Any]:
    """Return leaves with tensors of their own in the place of tensors and arrays."""
    return [leaf if type(leaf) in _NUMBERS else operand(leaf) for leaf in leaves]


def leaf_count(structure: Structure) -> int:
    """Return how many leaves a structure has."""
    if structure is LEAF:
        return 1
    return 0 if type(structure) is Static else sum(map(leaf_count, structure[2]))


def statics(structure: Structure) -> Iterator[Static]:
    """Yield the values that are part of a structure."""
    if type(structure) is Static:
        yield structure
    elif structure is not LEAF:
        for child in structure[2]:
            yield from statics(child)


def names(structure: Structure, name: str) -> list[str]:
    """Return how a program writes each leaf, if it calls the whole `name`."""
    if structure is LEAF:
        return [name]
    if type(structure) is Static:
        return []
    container, facts, children = structure
    return [
        label
        for index, child in enumerate(children)
        for label in names(child, name + container.label(facts, index))
    ]
