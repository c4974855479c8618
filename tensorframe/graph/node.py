"""Nodes: one recorded op application each, immutable but for the storage of a computed result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count, islice
from math import inf
from operator import attrgetter
from types import CodeType
from typing import Any, Final, Protocol

from tensorframe.dtypes import DType
from tensorframe.graph.device import Device
from tensorframe.graph.history import history
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape
from tensorframe.site import Site

# Each node is younger than its inputs, so sorting by serial number is a topological order.
_serials: Final = count()
next_serial: Callable[[], int] = _serials.__next__
by_serial = attrgetter("serial")


def reserved_serials(count: int) -> int:
    """Return the first of so many serial numbers, one at least, that follow each other and that no other node has."""
    return next(islice(_serials, count - 1, None)) - count + 1


class Watcher(Protocol):
    """What looks at a node now and then."""

    due: float
    """The serial number from which a node is looked at; `look` sets the next one before it does anything else."""

    def look(self, node: Node) -> None:
        """Look at a node that was just recorded."""


class Ticks:
    """The serial number from which somebody wants to look at a node."""

    __slots__ = ("_watchers", "due")

    def __init__(self) -> None:
        self.due: float = inf
        self._watchers: tuple[Watcher, ...] = ()

    def add(self, watcher: Watcher) -> None:
        """Have somebody look, from the serial number on that is due."""
        self._watchers = (*self._watchers, watcher)
        self.update()

    def update(self) -> None:
        """Take into account that a watcher has another due number."""
        self.due = min([watcher.due for watcher in self._watchers])

    def tick(self, node: Node) -> None:
        """Have those look who are due."""
        try:
            for watcher in self._watchers:
                if node.serial >= watcher.due:
                    watcher.look(node)
        finally:
            self.update()


# What is looked at once in so many nodes costs the recording of all others one comparison.
ticks: Final = Ticks()


class Node:
    """`op(*inputs, *attrs)` with its shape, dtype, device and, once computed, its storage.

    `attrs` are hashable values in the order of `op.attributes`. Immutability is a convention (enforcing it would
    triple the cost of recording); only `settle` changes a node, and it does not change what the node means. `spent` is
    what evaluations spent on it without storing it: see runtime/materialization.py. `converted` is a weak reference to
    its cast, once there was one: see graph/record.py. `code` and `offset` are the `site` until somebody asks for it: a
    tuple each would be a third of all objects that Python's collector of cycles goes through while a program records.
    Without a line, `offset` is what rows of an array share: see runtime/eager/rows.py.
    """

    __slots__ = (
        "__weakref__",
        "attrs",
        "code",
        "converted",
        "device",
        "dtype",
        "inputs",
        "offset",
        "op",
        "serial",
        "shape",
        "spent",
        "storage",
    )

    code: CodeType | Site | None
    converted: Any
    offset: Any

    def __init__(
        self,
        op: Op,
        inputs: tuple[Node, ...],
        attrs: tuple[Any, ...],
        shape: Shape,
        dtype: DType,
        device: Device,
        site: Site | None,
        storage: Any = None,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.code = site
        self.storage = storage
        self.spent = 0.0
        self.serial = serial = next_serial()
        if serial >= ticks.due:
            ticks.tick(self)

    @property
    def site(self) -> Site | None:
        """The line that recorded the node; passes hand it on, and know what they made of a node by this object."""
        code = self.code
        if type(code) is CodeType:
            code = self.code = (code, self.offset)
        return code

    def settle(self, storage: Any) -> None:
        """Store the computed result and drop the inputs, which a gradient that is being recorded references.

        The order matters to other threads: whoever reads `inputs` first and `storage` second sees either the
        recipe or the result, never neither.
        """
        kept = history.get()
        if kept is not None and self.inputs:
            kept[self] = self.inputs
        self.storage = storage
        self.inputs = ()

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements."""
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        arguments = ", ".join(
            [f"%{node.serial}" for node in self.inputs] + list(map(str, self.attrs))
        )
        return f"%{self.serial} = {self.op.name}({arguments}): {self.dtype}{list(self.shape)}"


_new = object.__new__


def new_node(
    op: Op,
    inputs: tuple[Node, ...],
    attrs: tuple[Any, ...],
    shape: Shape,
    dtype: DType,
    device: Device,
    site: Site | None,
) -> Node:
    """Return a node that is not computed: its constructor in four fifths of the time, for what records one op each."""
    node = _new(Node)
    node.op = op
    node.inputs = inputs
    node.attrs = attrs
    node.shape = shape
    node.dtype = dtype
    node.device = device
    node.code = site
    node.storage = None
    node.spent = 0.0
    node.serial = serial = next_serial()
    if serial >= ticks.due:
        ticks.tick(node)
    return node


def attrs_key(attrs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return attributes as a key that differs where they do: zeros of either sign are equal, and not the same."""
    if attrs:
        last = attrs[-1]  # where rows have their number, if any
        if (type(last) is float and last == 0) or type(last) is complex:
            return (*attrs, str(last))
    return attrs


def discover(roots: Iterable[Node]) -> list[Node]:
    """Return the nodes that `roots` need, breadth first, not going past computed ones.

    The order depends on the structure alone, not on which of two leaves was made first. Iterative and linear:
    shared nodes are visited once, and depth is no limit.
    """
    nodes = list(dict.fromkeys(roots))
    seen = set(nodes)
    for node in nodes:  # grows while it is walked
        inputs = node.inputs  # before storage: see settle
        if node.storage is not None:
            continue
        for source in inputs:
            if source not in seen:
                seen.add(source)
                nodes.append(source)
    return nodes


def reachable(roots: Iterable[Node]) -> list[Node]:
    """Return the nodes that `roots` need, inputs before consumers, not going past computed ones."""
    nodes = discover(roots)
    nodes.sort(key=by_serial)
    return nodes
