"""Recording: a function called once with placeholders, and what answers later calls without calling it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from tensorframe.backends.critical import critical_section
from tensorframe.backends.host_pool import contiguous
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import DType
from tensorframe.errors import TracingError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import LEAF, Structure, build, flatten, statics
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, next_serial
from tensorframe.graph.shape import Shape
from tensorframe.graph.tracing import Argument, Donated, Names, Trace, TracedNumber, current
from tensorframe.ops.creation import ARGUMENT
from tensorframe.runtime.replays.replay import Replay, compute_older
from tensorframe.schedule.plan import Plan

Array = np.ndarray[Any, Any]

# what a recording depends on: the facts of a tensor, the Python type of a number
Fact = tuple[Shape, DType, Device] | type

# what a leaf of the result is: a node, a number of the recording, or any other value, the same in every call
Result = Node | TracedNumber | Any


class Arguments(Protocol):
    """What a recording needs to know of a call: see `arguments.Call`."""

    @property
    def facts(self) -> Sequence[Fact]: ...
    @property
    def ties(self) -> Mapping[int, int]: ...
    @property
    def updated(self) -> Sequence[tuple[int | str, Structure, int]]: ...
    def put_together(self, leaves: Sequence[Any], /) -> tuple[Sequence[Any], dict[str, Any]]: ...


class Record:
    """A function recorded for one signature: its plan, and how its result is put together."""

    __slots__ = (
        "_arithmetic",
        "_changes",
        "_donated",
        "_in_place",
        "_is_tensor",
        "_kept",
        "_replay",
        "_results",
        "_structure",
    )

    def __init__(
        self,
        trace: Trace,
        structure: Structure,
        results: Sequence[Result],
        changes: Mapping[int, Node],
        donate: bool,
    ) -> None:
        nodes = [result for result in results if isinstance(result, Node)]
        nodes += changes.values()
        compute_older(nodes, trace.first_serial)
        roots = list(dict.fromkeys(node for node in nodes if node.storage is None))
        computed = {root: index for index, root in enumerate(roots)}
        # arguments of which nothing is left when the call has begun
        self._donated = {place: Donated(trace.function) for place in changes} if donate else {}
        written = {place: computed[node] for place, node in changes.items() if node in computed}
        self._replay = Replay(roots, trace, written if donate else {})
        self._arithmetic = trace.arithmetic if trace.arithmetic.calls else None
        self._structure = structure
        # structures refer to some values weakly, and the result may be all that holds them
        self._kept = [static.value for static in statics(structure)]
        # None where the results are the roots, one by one
        self._results = (
            None
            if list(results) == roots
            else [_taker(result, computed, trace) for result in results]
        )
        self._is_tensor = structure is LEAF and self._results is None
        # whether calls may leave handles as they are: what is written over is no result, and all that changes
        self._in_place = (
            donate
            and len(written) == len(changes)
            and not any(
                computed.get(result) in written.values()
                for result in results
                if isinstance(result, Node)
            )
        )
        # the place of an argument's leaf, and what takes the node that its handle refers to afterwards
        self._changes = [(place, _node_taker(node, computed)) for place, node in changes.items()]

    @property
    def plan(self) -> Plan:
        """What a call runs."""
        return self._replay.named_plan()

    def call(
        self,
        values: list[Any],
        foreign: Sequence[Any] | None = None,
        handles: Mapping[int, Tensor] = MappingProxyType({}),
    ) -> Any:
        """Return the function's result for arguments: handles of tensors, and numbers.

        `foreign` holds arrays that somebody may write to later: results do not share their memory. `handles` are the
        tensors at the places of leaves that the function may rebind, which it does when everything is computed.
        """
        if self._arithmetic is not None:
            self._arithmetic.extend(values)
        if self._in_place and self._replay.is_bound:
            nodes = self._run_in_place(values, handles)
            if nodes is not None:
                return self._result(nodes, values)
        # Zeros and ones are one number, broadcast. After the call they have all of their elements, and kernels depend
        # on strides: those of the first call are to be those of later ones.
        for place, _ in self._changes:
            value = values[place]
            if value.__class__ is np.ndarray and 0 in value.strides:
                values[place] = contiguous(value)
            del value  # what is donated is referred to by nobody else
        if self._donated:
            self._donate(handles)
        nodes = self._replay.run(values)
        if foreign:
            _unshare(nodes, foreign)
        if not self._changes:
            return self._result(nodes, values)
        result = self._result(nodes, values)
        new = [(handles[place], take(nodes)) for place, take in self._changes]
        with critical_section():
            for handle, node in new:
                handle.node = node
        return result

    def _run_in_place(self, values: list[Any], handles: Mapping[int, Tensor]) -> list[Node] | None:
        """Return what a call on memory that stays has computed, which nobody but these handles sees; None elsewhere."""
        try:
            return self._replay.run_in_place(
                values, [handles[place].node for place in self._donated]
            )
        except BaseException:
            self._donate(handles)
            raise

    def _donate(self, handles: Mapping[int, Tensor]) -> None:
        """Leave tensors whose memory is written over without values until there are new ones."""
        for place, donated in self._donated.items():
            handle = handles[place]
            facts = (handle.shape, handle.dtype, handle.device)
            handle.node = Node(ARGUMENT, (), (donated,), *facts, None)

    def _result(self, nodes: list[Node], values: list[Any]) -> Any:
        if self._is_tensor:
            return Tensor(nodes[0])
        if self._results is None:
            return build(self._structure, map(Tensor, nodes))
        return build(self._structure, iter([take(nodes, values) for take in self._results]))


def _node_taker(node: Node, computed: dict[Node, int]) -> Callable[[list[Node]], Node]:
    """Return what takes a node that was recorded, or its value, out of the nodes of a call."""
    if node.storage is not None:
        return lambda _: node
    return itemgetter(computed[node])


def _taker(
    result: Result, computed: dict[Node, int], trace: Trace
) -> Callable[[list[Node], list[Any]], Any]:
    """Return what takes a leaf of the result out of the nodes and the numbers of a call."""
    if isinstance(result, TracedNumber):
        if result.trace is not trace:
            raise result.trace.error(result.place)
        position = result.position
        return lambda _, numbers: numbers[position]
    if not isinstance(result, Node):
        return lambda *_: result
    if result.storage is not None:
        return lambda *_: Tensor(result)
    index = computed[result]
    return lambda nodes, _: Tensor(nodes[index])


def _unshare(nodes: Sequence[Node], foreign: Sequence[Any]) -> None:
    """Copy what shares memory with one of the arrays; a result with memory of its own may still be one of them."""
    for node in nodes:
        handle = node.storage.handle
        if type(handle) is not np.ndarray:
            continue
        if any(handle is other for other in foreign) or (
            handle.base is not None and any(_share(handle, other) for other in foreign)
        ):
            node.storage = Storage.of_array(node.device, handle.copy())


def _share(handle: Array, other: Any) -> bool:
    return type(other) is np.ndarray and np.may_share_memory(handle, other)


def record(
    function: Callable[..., Any],
    title: str,
    names: Names,
    call: Arguments,
    *,
    donate: bool = False,
) -> Record:
    """Return the record of a function called with placeholders in the places of a call's tensors and numbers.

    Whatever the function raises comes through.
    """
    trace = Trace(title, names, len(call.facts), next_serial())
    token = current.set(trace)
    try:
        placeholders = _placeholders(trace, call.facts)
        for place, earlier in call.ties.items():
            placeholders[place] = placeholders[earlier]
        before = [getattr(placeholder, "node", placeholder) for placeholder in placeholders]
        args, kwargs = call.put_together(placeholders)
        structure, results = _called(function, args, kwargs)
        changes = _changes(trace, call.updated, before, args, kwargs) if call.updated else {}
    except BaseException:
        restored(trace.rebound)
        raise
    finally:
        current.reset(token)
        trace.ended = True
    _refuse_changes(trace)
    return Record(trace, structure, results, changes, donate)


def _changes(
    trace: Trace,
    updated: Sequence[tuple[int | str, Structure, int]],
    before: Sequence[Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> dict[int, Node]:
    """Return what tensors of updated arguments stand for after the call, by place, where it is not what they were."""
    changes: dict[int, Node] = {}
    for argument, structure, first in updated:
        leaves: list[Any] = []
        value = args[argument] if isinstance(argument, int) else kwargs[argument]
        if flatten(value, leaves) != structure:
            raise _other_structure(trace, value, first)
        for place, leaf in enumerate(leaves, first):
            earlier = before[place]
            if not isinstance(earlier, Node):
                if leaf is not earlier:
                    raise TracingError(
                        f"{trace.function}: changes the number {trace.names()[place]}, and only tensors are updated",
                        suggestions=("tfr.asarray(...) for numbers that change",),
                    )
            elif (node := asarray(leaf).node) is not earlier:
                changes[place] = node
    return changes


def _other_structure(trace: Trace, value: Any, first: int) -> TracingError:
    names = trace.names()
    name = names[first] if first < len(names) else type(value).__name__
    return TracingError(
        f"{trace.function}: an updated argument, the {type(value).__name__} of {name}, has other parts after the call "
        "than before: tensors that are new or gone, or other numbers and settings",
        suggestions=(
            "optimizer.init(parameters) before the first call makes all of its state",
            "tensors in the place of what changes",
        ),
    )


def _placeholders(trace: Trace, facts: Sequence[Fact]) -> list[Any]:
    return [
        TracedNumber(trace.arithmetic, place, fact, place)
        if isinstance(fact, type)
        else Tensor(Node(ARGUMENT, (), (Argument(trace, place),), *fact, None))
        for place, fact in enumerate(facts)
    ]


def _called(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Structure, list[Result]]:
    leaves: list[Any] = []
    structure = flatten(function(*args, **kwargs), leaves)
    return structure, [_as_result(leaf) for leaf in leaves]


def _as_result(leaf: Any) -> Result:
    if isinstance(leaf, complex | float | int | np.generic | TracedNumber):
        return leaf
    return asarray(leaf).node


def restored(rebound: list[tuple[Any, Node]]) -> bool:
    """Give handles that a function rebound and that outlive it their former nodes; return whether there are any."""
    changed = []
    handle = None
    while rebound:
        reference, node = rebound.pop()  # the last change first
        handle = reference()
        if handle is not None:
            handle.node = node
            changed.append(reference)
    del handle
    if any(changed_handle() is not None for changed_handle in changed):
        gc.collect()  # handles of the function's own that refer to themselves
    return any(changed_handle() is not None for changed_handle in changed)


def _refuse_changes(trace: Trace) -> None:
    """Raise TracingError if the function changed a tensor of somebody else's: calls that replay would not."""
    if restored(trace.rebound):
        raise TracingError(
            f"{trace.function}: changes a tensor that is not among its arguments; later calls would not",
            suggestions=(
                "return the new tensor, and assign it outside",
                "pass the tensor as an argument",
            ),
        )
