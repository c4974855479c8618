"""Recording: a function called once with placeholders, and what answers later calls without calling it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorframe.backends.storage import Storage
from tensorframe.dtypes import DType
from tensorframe.errors import TracingError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import LEAF, Structure, build, flatten, statics
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, next_serial
from tensorframe.graph.shape import Shape
from tensorframe.graph.tracing import Argument, Names, Trace, TracedNumber, current
from tensorframe.ops.creation import ARGUMENT
from tensorframe.runtime.replay import Replay, compute_older
from tensorframe.schedule.plan import Plan

Array = np.ndarray[Any, Any]

# what a recording depends on: the facts of a tensor, the Python type of a number
Fact = tuple[Shape, DType, Device] | type

# what a leaf of the result is: a node, a number of the recording, or any other value, the same in every call
Result = Node | TracedNumber | Any


class Record:
    """A function recorded for one kind of arguments: its plan, and how its result is put together."""

    __slots__ = ("_arithmetic", "_is_tensor", "_kept", "_replay", "_results", "_structure")

    def __init__(self, trace: Trace, structure: Structure, results: Sequence[Result]) -> None:
        nodes = [result for result in results if isinstance(result, Node)]
        compute_older(nodes, trace.first_serial)
        roots = list(dict.fromkeys(node for node in nodes if node.storage is None))
        computed = {root: index for index, root in enumerate(roots)}
        self._replay = Replay(roots, trace)
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

    @property
    def plan(self) -> Plan:
        """What a call runs."""
        return self._replay.plan

    def call(self, values: list[Any], foreign: Sequence[Any] | None = None) -> Any:
        """Return the function's result for arguments: handles of tensors, and numbers.

        `foreign` holds arrays that somebody may write to later: results do not share their memory.
        """
        if self._arithmetic is not None:
            self._arithmetic.extend(values)
        nodes = self._replay.run(values)
        if foreign:
            _unshare(nodes, foreign)
        if self._is_tensor:
            return Tensor(nodes[0])
        if self._results is None:
            return build(self._structure, map(Tensor, nodes))
        return build(self._structure, iter([take(nodes, values) for take in self._results]))


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
    arguments: Callable[[Sequence[Any]], tuple[Sequence[Any], dict[str, Any]]],
    facts: Sequence[Fact],
) -> Record:
    """Return the record of a function called with placeholders of which these facts are known.

    `arguments` puts placeholders in the places of tensors and numbers. Whatever the function raises comes through.
    """
    trace = Trace(title, names, len(facts), next_serial())
    token = current.set(trace)
    try:
        structure, results = _called(function, *arguments(_placeholders(trace, facts)))
    except BaseException:
        restored(trace.rebound)
        raise
    finally:
        current.reset(token)
        trace.ended = True
    _refuse_changes(trace)
    return Record(trace, structure, results)


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
