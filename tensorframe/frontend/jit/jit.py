"""Functions recorded once for each signature, and replayed from then on."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial, update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from weakref import ref

import numpy as np

from tensorframe import config, dtypes
from tensorframe.backends.registry import chosen_device
from tensorframe.config import Process, overridden
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.forks import new_reentrant_lock
from tensorframe.frontend.jit.arguments import Call, Signature, host_default
from tensorframe.frontend.jit.recording import Record, record
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import is_container, own_tree, statics
from tensorframe.graph.history import history
from tensorframe.graph.mapping import mapping
from tensorframe.graph.precision import autocast_dtype
from tensorframe.graph.tracing import current
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.plan import Plan

__all__ = ["jit"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


class CacheInfo(NamedTuple):
    """How often a function was recorded, how many of the recordings it keeps, and how many it keeps at most."""

    recorded: int
    kept: int
    limit: int


class _Kept(NamedTuple):
    """A record in the cache; `watched` are references to the objects that it goes with."""

    record: Record
    plain: tuple[Any, ...] | None
    watched: list[ref[Any]]


class Jitted(Generic[P, R]):
    """What `jit` makes of a function: called like the function, it records once and then replays."""

    def __init__(
        self, function: Callable[P, R], signature: Signature, donate: bool = False
    ) -> None:
        update_wrapper(self, function)
        self._function = function
        self._donate = donate
        self._signature = signature
        # collecting garbage may drop records in the middle of a look-up
        self._lock = new_reentrant_lock()
        self._records: OrderedDict[Any, _Kept] = OrderedDict()
        self._recorded = 0
        self._newest: _Kept | None = None
        # the latest call without containers: what it depended on, and its record
        self._latest: tuple[Any, ...] | None = None

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        latest = self._latest
        if latest is None or kwargs:
            return self._call(args, kwargs)
        kinds, facts, default, options, device, real, low, recorded = latest
        if (
            len(args) != len(kinds)
            or (overridden() or Process.base) is not options
            or chosen_device() is not device
            or dtypes.default_float() is not real
            or autocast_dtype.get() is not low
            or current.get() is not None
            or history.get() is not None
            or mapping.get() is not None
        ):
            return self._call(args, kwargs)
        values: list[Any] = []
        foreign: list[Any] = []
        handles: dict[int, Tensor] = {}
        arg: Any
        # of one length, and to say so takes time
        for arg, kind, fact in zip(args, kinds, facts):  # noqa: B905
            if type(arg) is not kind:
                if type(arg) is not np.ndarray or (arg.shape, arg.dtype, default) != fact:
                    break
                values.append(arg)
                foreign.append(arg)
            elif kind is Tensor:
                node = arg.node
                storage = node.storage
                if storage is None or (node.shape, node.dtype, node.device) != fact:
                    break
                values.append(storage.handle)
            elif fact is None:
                values.append(arg)
            elif kind is list:
                if not _taken(arg, fact, values, handles):
                    break
            elif (value := fact()) is not arg and (kind is not int or value != arg):
                break  # a static value
        else:
            return recorded.call(values, foreign, handles)  # type: ignore[no-any-return]
        values.clear()  # what is donated is referred to by nobody else
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        """Call in the general way: take the arguments apart and look their kind up."""
        # what is recorded now, by another jitted function, for a gradient or for many examples, contains this call
        if any(variable.get() is not None for variable in (current, history, mapping)):
            given, named = self._signature.own(args, kwargs)
            return own_tree(self._function(*given, **named))
        call = self._signature.take_apart(args, kwargs)
        recorded = self._record_of(call)
        values = call.values()
        call.leaves.clear()  # what is donated is referred to by nobody else
        return recorded.call(values, call.foreign, call.handles)  # type: ignore[no-any-return]

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Plan:
        """Return the plan that a call with these arguments runs; the function is recorded if it was not, and not run.

        Of a method, ask the class, and give the object first.
        """
        return self._record_of(self._signature.take_apart(args, kwargs)).plan

    def cache_info(self) -> CacheInfo:
        """Return how often the function was recorded, how many recordings it keeps, and how many it keeps at most."""
        return CacheInfo(self._recorded, len(self._records), config.get().jit_cache)

    def cache_clear(self) -> None:
        """Forget every recording."""
        with self._lock:
            self._latest = self._newest = None
            self._records.clear()

    def _record_of(self, call: Call) -> Record:
        options, device, real = config.get(), chosen_device(), dtypes.default_float()
        low = autocast_dtype.get()
        key = (call.kind, options, device, real, low)
        with self._lock:
            kept = self._records.get(key)
            if kept is not None and kept is not self._newest:
                self._records.move_to_end(key)
                self._newest = kept
        if kept is None:
            kept = self._new_record(key, call)
        if kept.plain is not None:
            self._latest = (*kept.plain, options, device, real, low, kept.record)
        return kept.record

    def _new_record(self, key: Any, call: Call) -> _Kept:
        names = partial(self._signature.names, call.args, call.kwargs)  # without the leaves
        recorded = record(self._function, self._signature.title, names, call, donate=self._donate)
        # a recording for an object, such as the one that a method belongs to, is of no use after it
        objects = [
            static.reference()
            for part in call.structures
            for static in statics(part)
            if static.reference
        ]
        forget = partial(self._forget, key)
        checks = call.checks()
        plain = None if checks is None else (*checks, host_default())
        kept = _Kept(recorded, plain, [ref(owner, forget) for owner in objects])
        with self._lock:
            self._recorded += 1
            self._records[key] = self._newest = kept
            while len(self._records) > max(config.get().jit_cache, 1):
                self._records.popitem(last=False)
        return kept

    def _forget(self, key: Any, _: ref[Any]) -> None:
        with self._lock:
            self._latest = self._newest = None
            self._records.pop(key, None)

    def __set_name__(self, owner: type, name: str) -> None:
        self._signature.is_method = True

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(
        self: Jitted[Concatenate[Any, Q], R], instance: object, owner: type
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: object, owner: type) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        return self._signature.title  # by reference, as functions are

    def __repr__(self) -> str:
        return f"<jitted {self._function!r}>"


def _taken(
    given: list[Any], facts: Sequence[Any], values: list[Any], handles: dict[int, Tensor]
) -> bool:
    """Append the values of a list of computed tensors, which become handles that are updated; False for other lists."""
    if len(given) != len(facts) or len(set(map(id, given))) != len(given):
        return False
    # of one length, and to say so takes time
    for tensor, fact in zip(given, facts):  # noqa: B905
        if type(tensor) is not Tensor:
            return False
        node = tensor.node
        storage = node.storage
        if storage is None or (node.shape, node.dtype, node.device) != fact:
            return False
        handles[len(values)] = tensor
        values.append(storage.handle)
    return True


@overload
def jit(function: Callable[P, R], /) -> Jitted[P, R]: ...
@overload
def jit(
    *,
    static_argnames: str | Iterable[str] = (),
    static_argnums: int | Iterable[int] = (),
    updates: str | Iterable[str] = (),
    donate: bool = False,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
@overload
def jit(
    function: Callable[P, R],
    /,
    *,
    static_argnames: str | Iterable[str] = (),
    static_argnums: int | Iterable[int] = (),
    updates: str | Iterable[str] = (),
    donate: bool = False,
) -> Jitted[P, R]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnames: str | Iterable[str] = (),
    static_argnums: int | Iterable[int] = (),
    updates: str | Iterable[str] = (),
    donate: bool = False,
) -> Any:
    """Return a function that records `function` once for each signature, and replays its plan in later calls.

    A call evaluates, and returns computed results; pending arguments are evaluated first, in one plan. Without
    `jit` every call records its ops again; the plan is the same.

    Arguments are tensors, NumPy arrays, and Python numbers, at any depth of lists, tuples, dicts, dataclasses and
    objects of types given to `register_tree`. Calls have the same signature if these containers have the same
    structure, tensors the same shapes, dtypes and devices, and numbers the same Python types; everything else, such as
    None and strings, is static: it must be hashable, and equal. `static_argnames` and `static_argnums` make arguments
    static that would not be: numbers that decide about shapes or branches. So do fields of dataclasses with
    `metadata={"static": True}`. The object of a method is static, and recordings go with it.

    While it is recorded, the function is called with placeholders. Reading a value that depends on them (`if x > 0`,
    `float(x)`, `x.numpy()`, `x[mask]`) raises TracingError. Side effects happen only while recording: what it
    prints, reads and looks up outside. A tensor from outside is captured with the elements that it has then: pass
    weights that change as arguments. What it changes of its arguments (`x += 1`, `named["w"] = x`) stays
    inside, but for those that `updates` names; changing another tensor raises TracingError. Random functions without a
    key draw anew in every call. A jitted function that another one calls becomes part of that one's recording. Of a
    module, or a method of one, the weights are arguments: `tfr.jit(model)` follows them.

    `updates` names arguments whose tensors the function changes for its caller: a training step changes the model and
    the optimiser. After the call, and not before all of it has been computed, their handles stand for the new values:
    what fails or is interrupted leaves all of them as they were. Their containers stay as they are: a function that
    adds or removes tensors, or changes numbers in them, raises TracingError. Old and new values are in memory together
    until then; with `donate`, for large models, the new ones are written over the old ones where these are read for the
    last time. What fails or is interrupted then leaves tensors without values, which raise TracingError: go on from a
    checkpoint.

    A function of several small kernels keeps the memory of its values from its ninth call on. On the cpu its kernels
    run without Python between them then; on OpenCL, WebGPU and CUDA they are launched again as they are. Where it takes
    donated tensors, it keeps these as well.

    The latest recordings are kept, as many as the option `jit_cache` says; `cache_info()` counts them, `explain(...)`
    gives the plan for some arguments.

    >>> @tfr.jit
    ... def step(x, rate):
    ...     return x - rate * tfr.sin(x)
    >>> step(tfr.asarray([0.0, 1.0]), 0.5).numpy().round(4)
    array([0.    , 0.5793], dtype=float32)
    >>> step(tfr.asarray([0.0, 1.0]), 0.25).is_computed, step.cache_info().recorded
    (True, 1)
    >>> @tfr.jit(updates="total")
    ... def count(total, x):
    ...     total += tfr.sum(x)
    >>> total = tfr.asarray(0.0)
    >>> count(total, tfr.ones(3)), count(total, tfr.ones(3)), total.item()
    (None, None, 6.0)
    """
    if function is None:
        return partial(
            jit,
            static_argnames=static_argnames,
            static_argnums=static_argnums,
            updates=updates,
            donate=donate,
        )
    if not callable(function):
        raise DTypeError(f"jit: takes a function, got {type(function).__name__}")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise DTypeError(
            f"jit: {function.__qualname__} gives its results one by one or later; a recording needs them at once",
            suggestions=("jit for the functions that it calls",),
        )
    places = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    owner = function.__self__ if isinstance(function, MethodType) else function
    if is_container(type(owner)):
        # a module, or a method of one: its weights are arguments, not part of the recording
        jitted = jit(
            function.__func__ if isinstance(function, MethodType) else type(function).__call__,
            static_argnames=static_argnames,
            static_argnums=[place + (place >= 0) for place in places],
            updates=updates,
            donate=donate,
        )
        return MethodType(jitted, owner)
    named = (static_argnames,) if isinstance(static_argnames, str) else static_argnames
    updated = (updates,) if isinstance(updates, str) else updates
    if donate and not updated:
        raise ArgumentError(
            "jit: donate=True gives the memory of arguments that are updated, and none is",
            suggestions=('updates=("model", "optimizer")',),
        )
    return Jitted(function, Signature(function, places, named, updated), donate)
