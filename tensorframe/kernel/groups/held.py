"""Held rows: what several passes over a row need is read once, and stays in the memory of its group.

In every pass a thread takes in the same elements, so each finds what it has put there itself, and waits for nobody.
What is held does not depend on results of the row: elements of operands, or what is made of several of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import chain
from typing import Any

from tensorframe.dtypes import DType, wide_of
from tensorframe.graph.op import Kind
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, reductions_in
from tensorframe.kernel.groups.order import Order, run_in
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.stages import WORTH_SCRATCH, cost_of, reached
from tensorframe.kernel.spaces.gather import GATHERS
from tensorframe.kernel.spaces.pieces import PIECED
from tensorframe.quick_tuples import NamedTuple

# Bytes for each thread that are left for joining: for numbers of every size, and gaps between them.
_FOR_JOINING = 32
# Bytes of a group that leave room for several others on the same multiprocessor.
LITTLE = 48 << 10


class Read(NamedTuple):
    """An element of an input, by how it is accessed."""

    access: Any


Source = Read | int  # an element that is read, or the value of an op


class Held:
    """What is held of the rows that a group of `lanes` threads has, in `memory` bytes.

    `passes` are those that one kernel has, the first ones of the form; all unless that is said.
    """

    def __init__(
        self, form: Form, order: Order, lanes: int, memory: int = 0, passes: int | None = None
    ) -> None:
        self.lanes = lanes
        self.is_whole = memory > 0 and _can_hold(form, order)
        """Whether passes read nothing twice."""
        self._form = form
        block = run_in(order.slots) * order.slots
        self._size = -(-order.length // block) * run_in(order.slots) * lanes
        self._buffers: dict[Source, ir.Buffer] = {}
        self._first: dict[Source, int] = {}
        memory -= _FOR_JOINING * lanes
        again = _repeated(form, passes or form.stages.passes + 1) if self.is_whole else []
        for source, first in again:
            dtype = _dtype_of(form, source)
            memory -= self._size * wide_of(dtype).itemsize
            self.is_whole &= memory >= 0
            if memory >= 0:
                name = f"held{len(self._buffers)}"
                self._buffers[source] = ir.Buffer(name, dtype, ir.Role.SHARED)
                self._first[source] = first

    def __bool__(self) -> bool:
        return bool(self._buffers)

    def allocated(self) -> list[ir.Statement]:
        """Return the statements that make the memory."""
        count = ir.literal(self._size, ir.INDEX)
        return [ir.Allocate(buffer, count) for buffer in self._buffers.values()]

    def kept(self, number: int, place: ir.Expr) -> list[ir.Statement]:
        """Return the statements that keep an element at a place; what earlier passes have kept is known after that."""
        body, stores = self._form.body, list[ir.Statement]()
        for source, buffer in self._buffers.items():
            if self._first[source] < number:
                _define(body, source, ir.load(buffer, place))
            elif self._first[source] == number:
                stores.append(ir.Store(buffer, place, _element(body, source)))
        return stores


def held_in(form: Form, order: Order, lanes: int, memory: int) -> Held:
    """Return what groups hold of their rows in so much memory: of fewer rows each, if there is not enough for more.

    Most groups have little memory, so that many run at once; those whose row takes more may have all.
    """
    for most in (min(memory, LITTLE), memory):
        fewer = lanes
        while fewer >= order.slots and most:
            held = Held(form, order, fewer, most)
            if held:
                return held
            fewer //= 2
    return Held(form, order, lanes)


def _can_hold(form: Form, order: Order) -> bool:
    """Whether a thread takes in the same elements in every pass, all of them read without a condition."""
    in_blocks = order.chunks == 1 or (
        order.strip == order.length and order.chunk % (run_in(order.slots) * order.slots) == 0
    )
    ops = [op.op for op in form.region.ops]
    return (
        in_blocks
        and not order.short
        and not any(op in PIECED or op in GATHERS or op.kind is Kind.SCAN for op in ops)
    )


def _element(body: Body, source: Source) -> ir.Expr:
    return body.element(source) if isinstance(source, int) else body.read(source.access)


def _define(body: Body, source: Source, element: ir.Expr) -> None:
    if isinstance(source, int):
        body.define_element(source, element)
    else:
        body.define_read(source.access, element)


def _dtype_of(form: Form, source: Source) -> DType:
    region = form.region
    value: int = source if isinstance(source, int) else source.access[0]
    return region.dtype_of(value)


def _repeated(form: Form, passes: int) -> list[tuple[Source, int]]:
    """Return what so many passes would read or make again, and the first pass that has it."""
    first: dict[Source, int] = {}
    again: dict[Source, int] = {}
    for number in range(passes):
        roots = _roots(form, number)
        for source in _walked(form, roots, ends=first.keys()):
            if source in first:
                again[source] = first[source]
        for source in _walked(form, roots):
            first.setdefault(source, number)
    return [(source, number) for source, number in again.items() if _is_worth(form, source, again)]


def _is_worth(form: Form, source: Source, held: dict[Source, int]) -> bool:
    """Whether a value is made of what is not held, or costs much."""
    if not isinstance(source, int):
        return True
    values = reached(form.region, form.stages, [source], form.stages.passes + 1)
    reads = {read for value in values for read in _reads(form, value)}
    return not reads <= held.keys() or cost_of(form.region, values) >= WORTH_SCRATCH


def _roots(form: Form, number: int) -> list[Source]:
    """Return what a pass needs of each element."""
    return [
        *chain(*[_operands(form, value) for value in reductions_in(form, number)]),
        *form.stages.stores[number],
    ]


def _walked(form: Form, roots: list[Source], ends: Container[Source] = ()) -> Iterator[Source]:
    """Yield what `roots` are made of and is known without results of the row, up to what is among `ends`."""
    stages, stack = form.stages, list(roots)
    seen: set[Source] = set()
    while stack:
        source = stack.pop()
        if source in seen:
            continue
        seen.add(source)
        if not isinstance(source, int):
            yield source
            continue
        is_own = stages.level[source] == 0 and form.operation(source).kind is not Kind.VIEW
        if is_own and stages.inside[source] and any(_reads_below(form, source)):
            yield source
            if source in ends:
                continue
        stack += _operands(form, source)


def _reads_below(form: Form, value: int) -> Iterator[Read]:
    for each in reached(form.region, form.stages, [value], form.stages.passes + 1):
        yield from _reads(form, each)


def _reads(form: Form, value: int) -> list[Read]:
    return [source for source in _operands(form, value) if not isinstance(source, int)]


def _operands(form: Form, value: int) -> list[Source]:
    """Return the operands of an op that differ along its row, as far as they are no results of the row."""
    region, stages, body = form.region, form.stages, form.body
    operands: list[Source] = []
    for index, source in enumerate(region.ops[value - len(region.inputs)].inputs):
        if source < len(region.inputs):
            if body.varies_along_row(value, index):
                operands.append(Read(body.access_of(value, index)))
        elif stages.full[source] and not any(source in row for row in stages.reductions):
            operands.append(source)
    return operands
