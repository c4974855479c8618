"""Functions recorded once for each kind of arguments, and replayed from then on."""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, Self, TypeVar, overload
from weakref import ref

import numpy as np

from tensorframe import config, dtypes
from tensorframe.backends.registry import capabilities, chosen_device, default_device
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.creation.convert import asarray
from tensorframe.frontend.dispatch import data_node
from tensorframe.frontend.recording import Fact, Record, record
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import LEAF, Static, Structure, build, flatten, is_container, names
from tensorframe.frontend.trees import statics as statics_of
from tensorframe.graph.node import Node
from tensorframe.graph.tracing import NUMBER_KINDS, current
from tensorframe.runtime.evaluate import evaluate
from tensorframe.schedule.plan import Plan

__all__ = ["jit"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

Array = np.ndarray[Any, Any]


class CacheInfo(NamedTuple):
    """How often a function was recorded, how many of the recordings it keeps, and how many it keeps at most."""

    recorded: int
    kept: int
    limit: int


@dataclass(slots=True)
class Call:
    """The arguments of a call, taken apart: the structures around the leaves, and the leaves as nodes and numbers.

    `foreign` are arrays of the caller's that the nodes share memory with.
    """

    args: tuple[Structure, ...]
    kwargs: dict[str, Structure]
    facts: tuple[Fact, ...]
    leaves: list[Any]
    foreign: list[Array]

    def put_together(self, leaves: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Return the arguments with others in the places of the leaves."""
        rest = iter(leaves)
        args = [build(one, rest) for one in self.args]
        return args, {name: build(one, rest) for name, one in self.kwargs.items()}

    def values(self) -> list[Any]:
        """Return the leaves as handles and numbers; tensors that are not computed yet are, in one plan."""
        evaluate([one for one in self.leaves if type(one) is Node])
        return [one.storage.handle if type(one) is Node else one for one in self.leaves]


class Jitted(Generic[P, R]):
    """What `jit` makes of a function: called like the function, it records once and then replays."""

    def __init__(self, function: Callable[P, R], static: frozenset[int | str]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._title = getattr(function, "__qualname__", repr(function))
        self._static = static
        self._is_method = False
        self._lock = (
            threading.RLock()
        )  # garbage collection may forget records in the middle of a look-up
        self._records: OrderedDict[Any, tuple[Record, list[ref[Any]]]] = OrderedDict()
        self._recorded = 0
        # the last call, if it was a plain one: what it depended on, and its record
        self._latest: tuple[Any, ...] | None = None

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        latest = self._latest
        if latest is None or kwargs:
            return self._call(args, kwargs)
        checks, options, device, real, found = latest
        if (
            len(args) != len(checks)
            or config.get() is not options
            or chosen_device() is not device
            or dtypes.default_float() is not real
            or current.get() is not None
        ):
            return self._call(args, kwargs)
        values = []
        for arg, (kind, shape, dtype, where) in zip(args, checks, strict=True):
            if kind is Tensor:
                if type(arg) is not Tensor:
                    return self._call(args, kwargs)
                node = arg.node
                storage = node.storage
                if (
                    storage is None
                    or node.dtype is not dtype
                    or node.device is not where
                    or node.shape != shape
                ):
                    return self._call(args, kwargs)
                values.append(storage.handle)
            elif kind is None:
                if shape() is not arg:
                    return self._call(args, kwargs)
            elif type(arg) is kind:
                values.append(arg)
            else:
                return self._call(args, kwargs)
        return found.call(values)  # type: ignore[no-any-return]

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        """Call in the general way: take the arguments apart and look their kind up."""
        if (
            current.get() is not None
        ):  # another function is recorded, and this one becomes part of it
            return self._function(*args, **kwargs)
        call = self._taken_apart(args, kwargs)
        found = self._record_of(call)
        return found.call(call.values(), call.foreign)  # type: ignore[no-any-return]

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Plan:
        """Return the plan that a call with these arguments runs; the function is recorded if it was not, and not run.

        Of a method, ask the class, and give the object first.
        """
        return self._record_of(self._taken_apart(args, kwargs)).plan

    def cache_info(self) -> CacheInfo:
        """Return how often the function was recorded, how many recordings it keeps, and how many it keeps at most."""
        return CacheInfo(self._recorded, len(self._records), config.get().jit_cache)

    def cache_clear(self) -> None:
        """Forget every recording."""
        with self._lock:
            self._latest = None
            self._records.clear()

    def __set_name__(self, owner: type, name: str) -> None:
        self._is_method = True

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(
        self: Jitted[Concatenate[Any, Q], R], instance: object, owner: type
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: object, owner: type) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        return self._title  # by reference, as functions are

    def __repr__(self) -> str:
        return f"<jitted {self._function!r}>"

    def _record_of(self, call: Call) -> Record:
        options, device, real = config.get(), chosen_device(), dtypes.default_float()
        key = (call.args, tuple(call.kwargs.items()), call.facts, options, device, real)
        with self._lock:
            known = self._records.get(key)
            if known is not None:
                self._records.move_to_end(key)
        found = self._new_record(key, call) if known is None else known[0]
        if not call.kwargs and all(one is LEAF or type(one) is Static for one in call.args):
            self._latest = (_checks(call), options, device, real, found)
        return found

    def _new_record(self, key: Any, call: Call) -> Record:
        found = record(
            self._function, self._title, partial(self._names, call), call.put_together, call.facts
        )
        structures = (*call.args, *call.kwargs.values())
        # a recording for an object, such as the one that a method belongs to, is of no use after it
        objects = [
            one.reference() for part in structures for one in statics_of(part) if one.reference
        ]
        forget = partial(self._forget, key)
        with self._lock:
            self._recorded += 1
            self._records[key] = (found, [ref(one, forget) for one in objects])
            while len(self._records) > max(config.get().jit_cache, 1):
                self._records.popitem(last=False)
        return found

    def _forget(self, key: Any, _: ref[Any]) -> None:
        with self._lock:
            self._latest = None
            self._records.pop(key, None)

    def _taken_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        leaves: list[Any] = []
        parts = tuple([self._part(at, one, leaves) for at, one in enumerate(args)])
        named = {name: self._part(name, kwargs[name], leaves) for name in sorted(kwargs)}
        foreign: list[Array] = []
        given = [one if type(one) in NUMBER_KINDS else _node(one, foreign) for one in leaves]
        facts = tuple(
            [
                (one.shape, one.dtype, one.device) if type(one) is Node else type(one)
                for one in given
            ]
        )
        return Call(parts, named, facts, given, foreign)

    def _part(self, place: int | str, value: Any, leaves: list[Any]) -> Structure:
        try:
            if place in self._static:
                return _declared_static(value)
            if place == 0 and self._is_method and not is_container(type(value)):
                return Static(value, by_identity=True)
            return flatten(value, leaves)
        except DTypeError as error:
            name = place if isinstance(place, str) else self._name(place)
            raise DTypeError(
                f"{self._title}: the argument {name}: {error.message}",
                suggestions=error.suggestions,
            ) from None

    @cached_property
    def _parameters(self) -> tuple[list[str], str]:
        """The names of positional parameters, and of the one that takes the rest."""
        try:
            parameters = inspect.signature(self._function).parameters.values()
        except (TypeError, ValueError):  # some functions of C have none
            return [], "args"
        rest = [one.name for one in parameters if one.kind is one.VAR_POSITIONAL]
        return [one.name for one in parameters if one.kind in _POSITIONAL], (*rest, "args")[0]

    def _name(self, place: int) -> str:
        positional, rest = self._parameters
        count = len(positional)
        return positional[place] if place < count else f"{rest}[{place - count}]"

    def _names(self, call: Call) -> list[str]:
        """Return how the function's own code would write each leaf of its arguments."""
        parts = [(self._name(at), one) for at, one in enumerate(call.args)]
        return [leaf for name, one in (*parts, *call.kwargs.items()) for leaf in names(one, name)]


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _checks(call: Call) -> tuple[tuple[Any, Any, Any, Any], ...]:
    """Return, for each argument of a plain call, what another call must have to be of the same kind."""
    facts = iter(call.facts)
    checks: list[tuple[Any, Any, Any, Any]] = []
    for part in call.args:
        if type(part) is Static:
            get = part.reference or partial(_same, part.value)
            checks.append((None, get, None, None))
            continue
        fact = next(facts)
        checks.append((fact, None, None, None) if isinstance(fact, type) else (Tensor, *fact))
    return tuple(checks)


def _same(value: Any) -> Any:
    return value


def _declared_static(value: Any) -> Static:
    if isinstance(value, Tensor | np.ndarray):
        raise DTypeError(
            f"is declared static, but a {type(value).__name__} has other elements in other calls",
            suggestions=("leave it out of static_argnames and static_argnums",),
        )
    return Static(value)


def _node(leaf: Any, foreign: list[Array]) -> Node:
    """Return the node of a tensor or array; an array is read before the call returns, so its memory is shared."""
    if isinstance(leaf, Tensor):
        return leaf.node
    array = np.asarray(leaf) if isinstance(leaf, np.generic) else leaf
    device = default_device()
    if (
        type(array) is not np.ndarray
        or array.dtype not in dtypes.ANY
        or not capabilities(device).host_memory
    ):
        return asarray(leaf).node
    if array.flags.writeable:
        foreign.append(array)
    return data_node(array, device)


@overload
def jit(function: Callable[P, R], /) -> Jitted[P, R]: ...
@overload
def jit(
    *,
    static_argnames: str | Iterable[str] = (),
    static_argnums: int | Iterable[int] = (),
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
@overload
def jit(
    function: Callable[P, R],
    /,
    *,
    static_argnames: str | Iterable[str] = (),
    static_argnums: int | Iterable[int] = (),
) -> Jitted[P, R]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnames: str | Iterable[str] = (),
    static_argnums: int | Iterable[int] = (),
) -> Any:
    """Return `function` recorded: it runs once for each kind of arguments, and its plan in every call after that.

    A call computes and returns computed results; arguments that are not computed yet are, together, before. Without
    `jit` every call records its ops again, which costs about a microsecond each; the plan is the same.

    Arguments are tensors, NumPy arrays, and Python numbers, at any depth of lists, tuples, dicts, dataclasses and
    objects of types given to `register_tree`. Calls are of one kind if these containers are alike, tensors have equal
    shapes, dtypes and devices, and numbers equal Python types; everything else, such as None and strings, is static:
    it must be hashable, and equal. `static_argnames` and `static_argnums` make arguments static that would not be:
    numbers that decide about shapes or branches. The object of a method is static, and recordings go with it.

    While it is recorded, the function gets placeholders. Asking for values that depend on them (`if x > 0`, `float(x)`,
    `x.numpy()`, `x[mask]`) raises TracingError. Everything else that it does, it does then: what it prints, reads and
    looks up outside. A tensor from outside becomes part of the recording with the elements that it has then: give
    weights that change as arguments. In-place updates of arguments (`x += 1`) stay inside the function, those of other
    tensors raise TracingError. Random functions without a key draw anew in every call. A jitted function that another
    one calls becomes part of that one's recording.

    The latest recordings are kept, as many as the option `jit_cache` says; `cache_info()` counts them, `explain(...)`
    gives the plan for some arguments.

    >>> @tfr.jit
    ... def step(x, rate):
    ...     return x - rate * tfr.sin(x)
    >>> step(tfr.asarray([0.0, 1.0]), 0.5).tolist()
    [0.0, 0.5792645215988159]
    >>> step(tfr.asarray([0.0, 1.0]), 0.25).is_computed, step.cache_info().recorded
    (True, 1)
    """
    if function is None:
        return partial(jit, static_argnames=static_argnames, static_argnums=static_argnums)
    if not callable(function):
        raise DTypeError(f"jit: takes a function, got {type(function).__name__}")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise DTypeError(
            f"jit: {function.__qualname__} gives its results one by one or later; a recording needs them at once",
            suggestions=("jit for the functions that it calls",),
        )
    places = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    named = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return Jitted(function, _static(function, places, named))


def _static(
    function: Callable[..., Any], places: Sequence[int], named: Sequence[str]
) -> frozenset[int | str]:
    """Return the places and names that static arguments may be given by; ArgumentError if there is none of them."""
    if not places and not named:
        return frozenset()
    parameters = inspect.signature(function).parameters
    kinds = {one.kind for one in parameters.values()}
    positional = [name for name, one in parameters.items() if one.kind in _POSITIONAL]
    found: set[int | str] = set()
    for place in places:
        at = place + len(positional) if place < 0 else place
        if not 0 <= at < len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
            raise ArgumentError(
                f"jit: static_argnums={place}: {function.__qualname__} has {len(positional)} positional parameters"
            )
        found |= {at, *positional[at : at + 1]}
    for name in named:
        if name not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
            listed = ", ".join(parameters)
            raise ArgumentError(
                f"jit: static_argnames={name!r}: {function.__qualname__} has no such parameter",
                suggestions=(f"one of {listed}",),
            )
        found |= {name, *[at for at, one in enumerate(positional) if one == name]}
    return frozenset(found)
