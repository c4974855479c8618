"""The structure of a module: its tensors with their names and roles, and the module taken apart and built again.

A module in a tree is one container (`frontend/trees.py`), however deep it nests: a tensor that it has in several places
is one leaf, and so weights that are tied stay tied in whatever is built from the leaves.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tensorframe.dtypes import FLOATING
from tensorframe.errors import DTypeError
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import Container, Static
from tensorframe.quick_tuples import NamedTuple

# What a module is apart from its tensors: nested tuples that are equal where a function would do the same with it. A
# number is a child (a tensor or a Static), or, if negative, a module that was met before; a tuple begins with a type.
Skeleton = Any

# configuration that equals what is equal to it and has its type
_ATOMS = (int, str, bool, type(None))
_DICTS = (dict, OrderedDict)


class Role(enum.Enum):
    """What a tensor of a module is there for."""

    PARAMETER = "a parameter"
    FROZEN = "a frozen parameter"
    BUFFER = "a statistic"
    UNSAVED = "a statistic that is in no file"
    PRIVATE = "an attribute that begins with an underscore"

    @property
    def is_parameter(self) -> bool:
        """Whether it is a parameter, frozen or not."""
        return self in (Role.PARAMETER, Role.FROZEN)

    @property
    def is_saved(self) -> bool:
        """Whether it is part of a state_dict."""
        return self.is_parameter or self is Role.BUFFER


class Entry(NamedTuple):
    """A tensor in one of its places in a module: its name there, with dots as in a state_dict, and its role."""

    name: str
    tensor: Tensor
    role: Role


class Structured:
    """What is taken apart as a module is; `nn.Module` adds what users call.

    The names in `_buffers`, `_unsaved` and `_frozen` are those of attributes of the object itself.
    """

    _buffers: frozenset[str] = frozenset()
    _unsaved: frozenset[str] = frozenset()
    _frozen: frozenset[str] = frozenset()

    __tree__: ClassVar[Container]

    def _role(self, name: str) -> Role:
        if name.startswith("_"):
            return Role.PRIVATE
        if name in self._buffers:
            return Role.UNSAVED if name in self._unsaved else Role.BUFFER
        return Role.FROZEN if name in self._frozen else Role.PARAMETER


def entries(module: Structured) -> Iterator[Entry]:
    """Yield each tensor in each of its places, in the order of attributes, depth first."""
    return _entries_of(module, "", None, ())


def _entries_of(
    module: Structured, prefix: str, role: Role | None, above: tuple[Structured, ...]
) -> Iterator[Entry]:
    for name, value in vars(module).items():
        own = role or module._role(name)
        yield from _entries_in(value, f"{prefix}{name}", own, (*above, module))


def _entries_in(
    value: Any, name: str, role: Role, above: tuple[Structured, ...]
) -> Iterator[Entry]:
    if isinstance(value, Tensor):
        yield Entry(name, value, _role_of(value, role))
    elif isinstance(value, Structured):
        if not any(value is module for module in above):  # one that refers to its owner
            inherited = role if role in (Role.PRIVATE, Role.FROZEN) else None
            yield from _entries_of(value, f"{name}.", inherited, above)
    elif type(value) in (list, tuple):
        for index, element in enumerate(value):
            yield from _entries_in(element, f"{name}.{index}", role, above)
    elif type(value) in _DICTS:
        for key, element in value.items():
            yield from _entries_in(element, f"{name}.{key}", role, above)
    else:
        _check_configuration(value, f"the attribute {name}")


def _check_configuration(value: Any, what: str) -> None:
    """Raise DTypeError if a container of another kind has tensors or modules: nobody would train them."""
    if isinstance(value, dict):
        parts: Iterable[Any] = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    elif hasattr(type(value), "__dataclass_fields__"):
        parts = [getattr(value, field) for field in type(value).__dataclass_fields__]
    else:
        return
    for part in parts:
        if isinstance(part, Tensor | Structured):
            kind = type(value).__name__
            raise DTypeError(
                f"{what} is a {kind} with a {type(part).__name__} in it; modules look for tensors in attributes, "
                "lists, tuples, dicts and modules",
                suggestions=(f"nn.Module as the base of {kind}", "a list, tuple or dict"),
            )
        _check_configuration(part, what)


def _role_of(tensor: Tensor, role: Role) -> Role:
    """Integers and booleans are no parameters: nothing moves them by a small step."""
    return Role.BUFFER if role.is_parameter and tensor.dtype not in FLOATING else role


def unique(entries: Iterator[Entry]) -> list[Entry]:
    """Return each tensor once, by the name of its first place, with the role that all its places agree to.

    What is frozen or a statistic in one of them is so in all: whoever froze it meant the tensor.
    """
    first: dict[int, Entry] = {}
    for entry in entries:
        known = first.setdefault(id(entry.tensor), entry)
        if known.role is Role.PARAMETER and entry.role is not Role.PRIVATE:
            first[id(entry.tensor)] = known._replace(role=entry.role)
        elif known.role is Role.PRIVATE and entry.role is not Role.PRIVATE:
            first[id(entry.tensor)] = entry
    return list(first.values())


def trainable(module: Structured) -> list[Entry]:
    """Return the parameters that gradients are for, each once."""
    return [entry for entry in unique(entries(module)) if entry.role is Role.PARAMETER]


def own_modules(
    value: Any, name: str = "", seen: set[int] | None = None
) -> Iterator[tuple[str, Structured]]:
    """Yield a module and those inside it with their names, each once, owners first."""
    seen = set() if seen is None else seen
    if isinstance(value, Structured):
        if id(value) in seen:
            return
        seen.add(id(value))
        yield name, value
        parts: Iterator[tuple[Any, Any]] = iter(vars(value).items())
    elif type(value) in (list, tuple):
        parts = enumerate(value)
    elif type(value) in _DICTS:
        parts = iter(value.items())
    else:
        return
    for part, element in parts:
        yield from own_modules(element, f"{name}.{part}" if name else str(part), seen)


class _Taker:
    """Takes a module apart: collects children, and knows those and the modules that it has met."""

    def __init__(self) -> None:
        self.children: list[Any] = []
        self._tensors: dict[int, int] = {}
        self._modules: dict[int, int] = {}

    def skeleton(self, value: Any) -> Skeleton:
        kind = type(value)
        if kind in _ATOMS:
            return (kind, value)
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, Structured):
            return self._module(value)
        if kind is list or kind is tuple:
            return (kind, tuple([self.skeleton(element) for element in value]))
        if kind in _DICTS:
            keys = tuple(value)
            return (kind, keys, tuple([self.skeleton(element) for element in value.values()]))
        if kind is not float:
            _check_configuration(value, "an attribute of a module")
        return self._child(_static(value))

    def _module(self, module: Structured) -> Skeleton:
        number = self._modules.get(id(module))
        if number is not None:
            return ~number
        self._modules[id(module)] = len(self._modules)
        return (
            type(module),
            tuple([(name, self.skeleton(value)) for name, value in vars(module).items()]),
        )

    def _tensor(self, tensor: Any) -> int:
        number = self._tensors.get(id(tensor))
        if number is None:
            number = self._tensors[id(tensor)] = self._child(tensor)
        return number

    def _child(self, child: Any) -> int:
        self.children.append(child)
        return len(self.children) - 1


def _static(value: Any) -> Static:
    """Return configuration as part of a structure: equal to its equals, or to itself alone if it cannot be hashed."""
    try:
        return Static(value)
    except DTypeError:
        return Static(value, by_identity=True)


def _take(module: Structured) -> tuple[Skeleton, list[Any]]:
    taker = _Taker()
    return taker.skeleton(module), taker.children


def _build(skeleton: Skeleton, children: Sequence[Any]) -> Any:
    """Return a module of its own with these children; its lists and dicts are its own, too."""
    modules: list[Any] = []

    def built(part: Skeleton) -> Any:
        if type(part) is int:
            return children[part] if part >= 0 else modules[~part]
        kind = part[0]
        if kind in _ATOMS:
            return part[1]
        if kind is list or kind is tuple:
            return kind([built(element) for element in part[1]])
        if kind in _DICTS:
            return kind(zip(part[1], map(built, part[2]), strict=True))
        module = object.__new__(kind)  # not by calling it: it has been initialised once
        modules.append(module)
        for name, element in part[1]:
            module.__dict__[name] = built(element)
        return module

    return built(skeleton)


def _label(skeleton: Skeleton, index: int) -> str:
    """Return how a program writes the child at a position: `.layers[0].weight`."""
    return next(text for child, text in _labels(skeleton, "") if child == index)


def _labels(part: Skeleton, text: str) -> Iterator[tuple[int, str]]:
    if type(part) is int:
        yield part, text
    elif part[0] is list or part[0] is tuple:
        for index, element in enumerate(part[1]):
            yield from _labels(element, f"{text}[{index}]")
    elif part[0] in _DICTS:
        for key, element in zip(*part[1:], strict=True):
            yield from _labels(element, f"{text}[{key!r}]")
    elif part[0] not in _ATOMS:
        for name, element in part[1]:
            yield from _labels(element, text + _written(name))


def _written(name: str) -> str:
    """Return how a program writes an attribute; the modules of a sequence are attributes with numbers for names."""
    return f".{name}" if name.isidentifier() else f"[{name}]"


@dataclass(frozen=True, slots=True)
class _Targets:
    """What is fixed when a module is differentiated for: its skeleton, its other children, which of them are targets.

    Those of two modules are equal if the targets have equal names: a gradient is like what it is the gradient of.
    """

    names: tuple[str, ...]
    skeleton: Skeleton = field(compare=False)
    children: Sequence[Any] = field(compare=False)
    places: Mapping[int, int] = field(compare=False)  # a child -> the target that goes there


def _take_targets(module: Structured) -> tuple[_Targets, list[Tensor]]:
    skeleton, children = _take(module)
    parameters = trainable(module)
    number = {id(entry.tensor): index for index, entry in enumerate(parameters)}
    places = {
        index: number[id(child)] for index, child in enumerate(children) if id(child) in number
    }
    names = tuple([entry.name for entry in parameters])
    return _Targets(names, skeleton, children, places), [entry.tensor for entry in parameters]


def _build_targets(facts: _Targets, targets: Sequence[Any]) -> Any:
    """Return the module with others in the places of the targets; it shares all other tensors, as handles."""
    return _build(facts.skeleton, _filled(facts, targets))


def _build_gradient(facts: _Targets, gradients: Sequence[Any]) -> Any:
    """Return a module with gradients, and None in the places of other tensors."""
    children = [
        None if isinstance(child, Tensor) and index not in facts.places else child
        for index, child in enumerate(_filled(facts, gradients))
    ]
    return _build(facts.skeleton, children)


def _filled(facts: _Targets, targets: Sequence[Any]) -> list[Any]:
    plain = [child.value if type(child) is Static else child for child in facts.children]
    return [
        targets[facts.places[index]] if index in facts.places else child
        for index, child in enumerate(plain)
    ]


_TARGETS = Container(
    _take_targets,
    _build_targets,
    lambda facts, index: "".join(map(_written, facts.names[index].split("."))),
    gradient=_build_gradient,
)
Structured.__tree__ = Container(_take, _build, _label, targets=_TARGETS)
