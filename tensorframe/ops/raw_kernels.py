"""Rows of raw kernels: what a user's source computes of operands of certain shapes and dtypes, as an op of its own.

A `RawCall` is all that there is to know of one: the sources, and what their names mean in this call. Equal calls are one
row, whose key is the sources themselves, so plans are shared by calls that run the same text and by no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from tensorframe.dtypes import ANY, DType
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.shape import Shape
from tensorframe.ops.movement import PART
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple

# rows that are remembered; a call whose row was forgotten is planned again
_ROWS_KEPT = 1024
# operations for an element of the results, where no reference says how many there are
_COST = 16.0


class Operand(NamedTuple):
    """An array that a kernel reads or writes, or a number (whose shape is None), by its name."""

    name: str
    dtype: DType
    shape: Shape | None


class Shared(NamedTuple):
    """Memory that the threads of a group share."""

    name: str
    dtype: DType
    elements: int


class Trace(NamedTuple):
    """What a reference records: nodes, inputs first, between placeholders and results."""

    parameters: tuple[Node, ...]
    order: tuple[Node, ...]
    results: tuple[Node, ...]

    def replay(self, operands: Sequence[Node], make: Callable[[Node, tuple[Node, ...]], Node]) -> list[Node]:
        """Return the results for operands; `make` gives each node with other inputs."""
        made: dict[Node, Node] = dict(zip(self.parameters, operands, strict=True))
        for node in self.order:
            made[node] = make(node, tuple([made[source] for source in node.inputs]))
        return [made[result] for result in self.results]

    @property
    def operations(self) -> float:
        """How many operations on elements they are."""
        return sum([node.op.cost * node.size for node in self.order if node.inputs])


@dataclass(frozen=True, slots=True)
class RawCall:
    """A raw kernel, and what its names mean for operands of certain shapes and dtypes."""

    name: str
    sources: tuple[tuple[str, Any], ...]
    """By language: a text, or for the cpu a function."""
    types: tuple[tuple[str, DType], ...]
    """What the words of the source are for dtypes that operands decide."""
    sizes: tuple[tuple[str, int], ...]
    static: tuple[tuple[str, DType, str], ...]
    """Numbers that are part of the text, as such."""
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    grid: tuple[tuple[str, int], ...]
    """The indices that the body is run for, the last one running fastest, and how many each has."""
    group: tuple[int, ...] | None
    """Threads of a group along each index; None where they do not work together."""
    shared: tuple[Shared, ...]
    reference: Callable[[RawCall, Device], Trace] | None
    """Returns what the kernel means in other rows, recorded for a device."""
    place: str | None = field(default=None, compare=False)
    """The line that declared it."""

    def source(self, language: str) -> Any:
        """Return the source in a language; None if there is none."""
        return dict(self.sources).get(language)

    @property
    def dtypes(self) -> dict[str, DType]:
        """The dtypes of all that has one, by name."""
        arrays = {entry.name: entry.dtype for entry in (*self.inputs, *self.outputs)}
        return arrays | {entry.name: entry.dtype for entry in self.shared}

    @property
    def arrays(self) -> tuple[Operand, ...]:
        """The inputs that are arrays."""
        return tuple([entry for entry in self.inputs if entry.shape is not None])

    @property
    def numbers(self) -> tuple[Operand, ...]:
        """The inputs that are numbers."""
        return tuple([entry for entry in self.inputs if entry.shape is None])

    @property
    def extent(self) -> int:
        """How many indices the grid has."""
        return prod([size for _, size in self.grid])

    def row_elsewhere(self) -> Op:
        """Return the row in another process, which runs it and differentiates nothing."""
        return _row(self, None, None, "")

    def __reduce__(self) -> tuple[Any, ...]:
        fields = [getattr(self, name) for name in self.__slots__]
        # a reference has been written out before, or is not needed
        fields[self.__slots__.index("reference")] = None
        return (RawCall, tuple(fields))


Rule = Callable[..., Sequence[Any]]


def raw_row(call: RawCall, vjp: Rule, operations: float | None, doc: str) -> Op:
    """Return the row of a call; `operations` are those of its reference."""
    return _row(call, vjp, operations, doc)


@lru_cache(_ROWS_KEPT)
def _row(call: RawCall, vjp: Any, operations: float | None, doc: str) -> Op:
    first, shape = call.outputs[0], call.outputs[0].shape or ()
    return Op(
        call.name,
        Kind.LIBRARY,
        len(call.inputs),
        ANY,
        lambda *_: first.dtype,
        doc,
        shape=lambda *_: shape,
        in_standard=False,
        public=False,
        user_defined=True,
        raw=call,
        parts=len(call.outputs),
        costly=True,
        cost=_COST if operations is None else operations / max(prod(shape), 1),
        vjp=vjp,
    )


def parts_of(whole: Node, call: RawCall, make: Callable[..., Node]) -> list[Node]:
    """Return the nodes of a call's results, of which `make` makes those that are parts."""
    if len(call.outputs) == 1:
        return [whole]
    return [
        make(PART, whole, attrs=(index, output.shape, output.dtype))
        for index, output in enumerate(call.outputs)
    ]
