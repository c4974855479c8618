"""Arguments of jitted functions: a call taken apart into its structure, and what is known of tensors and numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.registry import capabilities, default_device
from tensorframe.cached import cached_property
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.jit.recording import Fact
from tensorframe.frontend.operand_nodes import data_node
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import (
    LEAF,
    LIST,
    Static,
    Structure,
    build,
    flatten,
    is_container,
    leaf_count,
    names,
    own_leaves,
)
from tensorframe.graph.node import Node
from tensorframe.graph.tracing import NUMBER_KINDS
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.evaluate import evaluate

Array = np.ndarray[Any, Any]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Updated(NamedTuple):
    """An argument whose tensors a call may rebind: where it is given, its structure, the place of its first leaf."""

    argument: int | str
    structure: Structure
    first: int


@dataclass(slots=True)
class Call:
    """The arguments of a call: the structures around the leaves, what is known of these, and themselves.

    `leaves` are nodes and numbers; `foreign` are arrays of the caller's that nodes share memory with. `handles` has, by
    the place among the leaves, the tensors that the call may rebind, which are those in the arguments `updated`.
    """

    args: tuple[Structure, ...]
    kwargs: dict[str, Structure]
    facts: tuple[Fact, ...]
    leaves: list[Any]
    foreign: list[Array]
    updated: list[Updated]
    handles: dict[int, Tensor]

    @property
    def kind(self) -> tuple[Any, ...]:
        """What is equal for calls that one recording serves."""
        return (self.args, tuple(self.kwargs.items()), self.facts, *self.ties.items())

    @property
    def ties(self) -> dict[int, int]:
        """The first place of an updated tensor, for each place where it is there again."""
        if len(set(map(id, self.handles.values()))) == len(self.handles):
            return {}
        first: dict[int, int] = {}
        places = [
            (place, first.setdefault(id(handle), place)) for place, handle in self.handles.items()
        ]
        return {place: earlier for place, earlier in places if place != earlier}

    @property
    def structures(self) -> Iterator[Structure]:
        """The structures of all arguments."""
        yield from self.args
        yield from self.kwargs.values()

    def put_together(self, leaves: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Return the arguments with others in the places of the leaves."""
        rest = iter(leaves)
        args = [build(argument, rest) for argument in self.args]
        return args, {name: build(value, rest) for name, value in self.kwargs.items()}

    def values(self) -> list[Any]:
        """Return the leaves as handles and numbers; pending tensors are evaluated first, in one plan."""
        nodes = [leaf for leaf in self.leaves if isinstance(leaf, Node)]
        if any(node.storage is None for node in nodes):
            evaluate(nodes)
        return [leaf.storage.handle if isinstance(leaf, Node) else leaf for leaf in self.leaves]

    def checks(self) -> tuple[tuple[type, ...], tuple[Any, ...]] | None:
        """Return the types of the arguments, and what else equal kinds have; None if it takes more to tell.

        That is, of a tensor its facts; of a static value what gives the value; of a number nothing; of a list of
        tensors that is updated the facts of all of them.
        """
        updated = {part.argument for part in self.updated}
        if (
            self.kwargs
            or self.ties
            or not all(
                _is_list(argument)
                if place in updated
                else argument is LEAF or type(argument) is Static
                for place, argument in enumerate(self.args)
            )
        ):
            return None
        facts = iter(self.facts)
        kinds: list[tuple[type, Any]] = []
        for part in self.args:
            if type(part) is Static:
                kinds.append((type(part.value), part.reference or partial(_same, part.value)))
            elif part is not LEAF:
                own = tuple([next(facts) for _ in range(leaf_count(part))])
                kinds.append((list, own))
            else:
                fact = next(facts)
                kinds.append((fact, None) if isinstance(fact, type) else (Tensor, fact))
        return tuple([kind for kind, _ in kinds]), tuple([other for _, other in kinds])


def _is_list(structure: Structure) -> bool:
    """Whether a structure is that of a list of leaves."""
    return (
        type(structure) is tuple
        and structure[0] is LIST
        and all(part is LEAF for part in structure[2])
    )


def _same(value: Any) -> Any:
    return value


class Signature:
    """The parameters of a function, and which of them are static."""

    def __init__(
        self,
        function: Callable[..., Any],
        places: Iterable[int],
        named: Iterable[str],
        updates: Iterable[str] = (),
    ) -> None:
        self._function = function
        self._static = _arguments(function, "static_argnames", tuple(places), tuple(named))
        self.updates = _arguments(function, "updates", (), tuple(updates))
        self.title = getattr(function, "__qualname__", repr(function))
        self.is_method = False  # whether the first argument is the object of a method

    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Return the call; DTypeError if an argument is neither tensor, number nor tree, and cannot be hashed."""
        leaves: list[Any] = []
        parts, named = self._parts(args, kwargs, leaves)
        updated = self._updated(parts, named) if self.updates else []
        handles = self._handles(updated, leaves) if updated else {}
        foreign: list[Array] = []
        given: list[Any] = []
        facts: list[Fact] = []
        for leaf in leaves:
            kind = type(leaf)
            if kind in NUMBER_KINDS:
                given.append(leaf)
                facts.append(kind)
            else:
                node = leaf.node if kind is Tensor else _node(leaf, foreign)
                given.append(node)
                facts.append((node.shape, node.dtype, node.device))
        return Call(parts, named, tuple(facts), given, foreign, updated, handles)

    def own(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments as a function that is recorded gets them: containers and tensors of its own.

        What it may update are the caller's own.
        """
        leaves: list[Any] = []
        parts, named = self._parts(args, kwargs, leaves)
        rest = iter(own_leaves(leaves))
        positional = [build(part, rest) for part in parts]
        by_name = {name: build(part, rest) for name, part in named.items()}
        for place in self.updates:
            if isinstance(place, int) and place < len(args):
                positional[place] = args[place]
            elif place in kwargs:
                by_name[place] = kwargs[place]
        return positional, by_name

    def _parts(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]
    ) -> tuple[tuple[Structure, ...], dict[str, Structure]]:
        parts = tuple([self._part(index, argument, leaves) for index, argument in enumerate(args)])
        return parts, {name: self._part(name, kwargs[name], leaves) for name in sorted(kwargs)}

    def _updated(self, parts: Sequence[Structure], named: dict[str, Structure]) -> list[Updated]:
        """Return the arguments that are updated, with the places of their leaves."""
        updated = []
        first = 0
        for place, structure in (*enumerate(parts), *named.items()):
            if place in self.updates:
                updated.append(Updated(place, structure, first))
            first += leaf_count(structure)
        return updated

    def _handles(self, updated: Sequence[Updated], leaves: Sequence[Any]) -> dict[int, Tensor]:
        handles = {}
        for argument, structure, first in updated:
            for place in range(first, first + leaf_count(structure)):
                leaf = leaves[place]
                if isinstance(leaf, Tensor):
                    handles[place] = leaf
                elif type(leaf) not in NUMBER_KINDS:
                    name = argument if isinstance(argument, str) else self._name(argument)
                    raise DTypeError(
                        f"{self.title}: the argument {name} is updated, and has a {type(leaf).__name__} in it",
                        suggestions=(
                            "tfr.asarray(...) before the first call: tensors are updated",
                        ),
                    )
        return handles

    def _part(self, place: int | str, value: Any, leaves: list[Any]) -> Structure:
        try:
            if place in self._static:
                return _declared_static(value)
            if place == 0 and self.is_method and not is_container(type(value)):
                return Static(value, by_identity=True)
            return flatten(value, leaves)
        except DTypeError as error:
            name = place if isinstance(place, str) else self._name(place)
            raise DTypeError(
                f"{self.title}: the argument {name}: {error.message}",
                suggestions=error.suggestions,
            ) from None

    @cached_property
    def _parameters(self) -> tuple[list[str], str]:
        """The names of positional parameters, and of the one that takes the rest."""
        try:
            parameters = inspect.signature(self._function).parameters.values()
        except (TypeError, ValueError):  # some functions of C have none
            return [], "args"
        rest = [
            parameter.name for parameter in parameters if parameter.kind is parameter.VAR_POSITIONAL
        ]
        return [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL], (
            *rest,
            "args",
        )[0]

    def _name(self, place: int) -> str:
        positional, rest = self._parameters
        count = len(positional)
        return positional[place] if place < count else f"{rest}[{place - count}]"

    def names(self, args: Sequence[Structure], kwargs: dict[str, Structure]) -> list[str]:
        """Return how the function's own code would write each leaf of its arguments."""
        parts = [(self._name(index), argument) for index, argument in enumerate(args)]
        return [leaf for name, part in (*parts, *kwargs.items()) for leaf in names(part, name)]


def _arguments(
    function: Callable[..., Any], option: str, places: Sequence[int], named: Sequence[str]
) -> frozenset[int | str]:
    """Return the places and names that arguments of an option may be given by; ArgumentError if there are no such."""
    if not places and not named:
        return frozenset()
    parameters = inspect.signature(function).parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    positional = [name for name, parameter in parameters.items() if parameter.kind in _POSITIONAL]
    taken: set[int | str] = set()
    for place in places:
        position = place + len(positional) if place < 0 else place
        if not 0 <= position < len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
            raise ArgumentError(
                f"jit: static_argnums={place}: {function.__qualname__} has {len(positional)} positional parameters"
            )
        taken |= {position, *positional[position : position + 1]}
    for name in named:
        if name not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
            listed = ", ".join(parameters)
            raise ArgumentError(
                f"jit: {option}={name!r}: {function.__qualname__} has no such parameter",
                suggestions=(f"one of {listed}",),
            )
        taken |= {
            name,
            *[position for position, parameter in enumerate(positional) if parameter == name],
        }
    return frozenset(taken)


def _declared_static(value: Any) -> Static:
    if isinstance(value, Tensor | np.ndarray):
        raise DTypeError(
            f"is declared static, but a {type(value).__name__} has other elements in other calls",
            suggestions=("leave it out of static_argnames and static_argnums",),
        )
    return Static(value)


def _node(leaf: Any, foreign: list[Array]) -> Node:
    """Return the node of an array; it is read before the call returns, so its memory is shared."""
    if isinstance(leaf, Tensor):
        return leaf.node
    array = np.asarray(leaf) if isinstance(leaf, np.generic) else leaf
    device = host_default()
    if type(array) is not np.ndarray or array.dtype not in dtypes.ANY or device is None:
        return asarray(leaf).node
    foreign.append(array)
    return data_node(array, device)


def host_default() -> Any:
    """Return the default device if it computes in host memory, where arrays are what they are; else None."""
    device = default_device()
    return device if capabilities(device).host_memory else None
