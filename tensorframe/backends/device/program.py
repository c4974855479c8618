"""Programs: a region's kernels on a device, for each layout of operands that it meets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from operator import is_
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.checks import FLAG, checks_here, index_sources, kept_for
from tensorframe.backends.device.lowering import FAR, Lowering
from tensorframe.backends.device.memory import Block, Pool
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.device.tables import stored
from tensorframe.backends.spans import Work, spanned
from tensorframe.codegen.words import Parameter, packed, parameters
from tensorframe.dtypes import COMPLEX, DType
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.kernel.ir import Kernel, Loop, ParallelAxis
from tensorframe.kernel.nest.assemble import Launch
from tensorframe.kernel.spaces.gather import MARK
from tensorframe.kernel.spaces.rewriting import Rewriting
from tensorframe.ops.movement import RESHAPE
from tensorframe.quick_tuples import NamedTuple

Fallback = Callable[[Sequence[Any]], Any]


class DeviceProgram:
    """Runs a region through kernels of a device; each layout is bound once."""

    quiet = True

    def __init__(
        self,
        region: Region,
        queue: Queue,
        pool: Pool,
        fallback: Fallback,
        lower: Callable[[Region], Lowering] = Lowering,
        reopen: Callable[[], tuple[Queue, Pool]] | None = None,
    ) -> None:
        """`fallback` is called where an index is out of bounds: it knows how to say that.

        `reopen` gives another queue, and its pool, once the device was closed.
        """
        self._reopen = reopen
        self._region = region
        self._lower = lower
        self._queue = queue
        self._pool = pool
        self._fallback = fallback
        self._lowerings: dict[tuple[tuple[bool, ...], bool], Lowering] = {}
        self._bound: dict[tuple[Any, ...], _Bound] = {}
        self._sources: frozenset[int] | None = None  # what indices are made of, once that is asked

    def __call__(self, inputs: Sequence[Any], _buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs for these inputs, which are arrays of the device, or numbers."""
        return self.run(inputs)

    def run(self, inputs: Sequence[Any], into: DeviceArray | None = None) -> Sequence[Any]:
        """Return the outputs for these inputs; the last is written to the elements of `into` if that is given."""
        if self._pool.closed and self._reopen is not None:
            self._queue, self._pool = self._reopen()
            self._bound.clear()
        key: tuple[Any, ...]
        strides: list[tuple[int, ...] | None] = []
        far = False
        for source in inputs:  # one loop, since this is done for each launch
            if type(source) is DeviceArray:
                strides.append(source.strides)
                far = far or source.offset >= FAR
            else:
                strides.append(None)
        key = (*strides, "far") if far else tuple(strides)
        if into is not None:
            key = (key, into.strides, into.offset)
        bound = self._bound.get(key)
        if bound is None:
            arrays = tuple([steps is not None for steps in strides])
            with spanned(Work.LAYOUT, "loops of a new layout", "device"):
                bound = self._bound[key] = self._bind(key, inputs, into, arrays, far=far)
        deferred = self._deferred(inputs) if bound.defers else None
        outputs, missed = bound.run(self._pool, inputs, into, deferred)
        if missed:
            self._fallback(inputs)
            raise bound.refusal()
        return outputs

    def _deferred(self, inputs: Sequence[Any]) -> Block | None:
        """Return the memory for a mark that is asked for later; None where it is to be asked for at once."""
        checks = checks_here()
        if checks is None:
            return None
        if self._sources is None:
            self._sources = index_sources(self._region)
        kept = kept_for(self._region, self._sources, inputs)
        if kept is None:
            return None
        return checks.mark(self._queue, self._pool, self._fallback, kept)

    def _bind(
        self,
        layout: tuple[Any, ...],
        inputs: Sequence[Any],
        into: DeviceArray | None,
        arrays: tuple[bool, ...],
        *,
        far: bool,
    ) -> _Bound:
        """Return the kernels for operands of a layout, those of another program if it has the same."""
        # what is no class knows more than the region
        shares = into is None and isinstance(self._lower, type)
        key = (self._queue, self._lower, self._region.key(), layout)
        bound = _shared.get(key) if shares else None
        if bound is None:
            lowering = self._lowering(arrays, far=far)
            bound = _Bound(self._region, lowering, self._queue, inputs, into)
            if shares:
                _shared[key] = bound
        return bound

    def _lowering(self, arrays: tuple[bool, ...], *, far: bool = False) -> Lowering:
        known = self._lowerings.get((arrays, far))
        if known is None:
            known = self._lowerings[arrays, far] = self._lower(lifted(self._region, arrays))
            known.far = far
        return known

    def source(self) -> str:
        """Return the text of the kernels for operands in C order."""
        arrays = tuple([shape != () for shape, _ in self._region.inputs])
        lowering = self._lowering(arrays)
        strides = [strides_of(shape) for shape, _ in lowering.region.inputs]
        built = lowering.built(self._queue, strides)
        return "\n".join([self._queue.source(launch.kernel) for launch in built.launches])


def lifted(region: Region, arrays: Sequence[bool]) -> Region:
    """Return a region whose inputs without axes, where they are in memory, have an axis of one element."""
    changed = [
        index for index, is_array in enumerate(arrays) if is_array and region.inputs[index][0] == ()
    ]
    if not changed:
        return region
    rewriting = Rewriting(
        region,
        [
            ((1,) if index in changed else shape, dtype)
            for index, (shape, dtype) in enumerate(region.inputs)
        ],
    )
    now = list(range(len(region.inputs)))
    for index in changed:
        now[index] = rewriting.add(RESHAPE, ((),), (index,), (), region.inputs[index][1])
    for value, op in enumerate(region.ops, start=len(region.inputs)):
        now.append(rewriting.keep(value, [now[source] for source in op.inputs]))
    return rewriting.region([now[value] for value in region.outputs])


class _Step:
    """A launch with its numbers packed, but for what changes from call to call: origins and numbers by value."""

    def __init__(self, launch: Launch, queue: Queue) -> None:
        kernel = launch.kernel
        words = parameters(kernel)
        begin, end = 1 + len(kernel.inputs), len(words) - len(kernel.scalars)
        constant: list[complex] = [0] * len(words)
        constant[0] = launch.total
        constant[begin:end] = launch.numbers
        self._words = packed(words, constant)
        self._origins = list(
            zip(words[1:begin], [buffer.name for buffer in kernel.inputs], strict=True)
        )
        self._scalars = [(word, f"x{word.name[1:]}") for word in words[end:]]
        # what changes in the words of the latest call, and these
        self._latest: tuple[list[int], list[Any], np.ndarray[Any, Any]] | None = None
        self.arrays = [buffer.name for buffer in (*kernel.inputs, *kernel.outputs)]
        self.built = queue.build(kernel)
        outer = _outermost(kernel)
        each = 1 if outer.over is ParallelAxis.GROUPS else kernel.lanes * outer.width
        groups = -(-launch.total // (each * launch.grain))
        self.groups = max(1, min(groups, queue.traits.max_groups))

    def words(self, operands: dict[str, Any]) -> np.ndarray[Any, Any]:
        """Return the words of one call: those of the latest one where operands begin where they did.

        Numbers have to be the same objects, as those of a plan are: equal ones may differ in the sign of a zero.
        """
        origins = [operands[name][1] for _, name in self._origins]
        scalars = [operands[name] for _, name in self._scalars]
        latest = self._latest
        if latest is not None and latest[0] == origins and all(map(is_, latest[1], scalars)):
            return latest[2]
        words = self._words.copy()
        for (parameter, _), value in zip(
            (*self._origins, *self._scalars), (*origins, *scalars), strict=True
        ):
            _put(words, parameter, value)
        words.flags.writeable = False
        self._latest = (origins, scalars, words)
        return words


def _outermost(kernel: Kernel) -> Loop:
    """Return the loop that groups share; what they make for themselves before has loops of its own."""
    loops = [statement for statement in kernel.body if isinstance(statement, Loop)]
    return next(loop for loop in loops if loop.over in (ParallelAxis.GRID, ParallelAxis.GROUPS))


def _put(words: np.ndarray[Any, Any], parameter: Parameter, value: Any) -> None:
    if value or parameter.dtype.kind != "u":
        words[parameter.word : parameter.word + parameter.words] = packed((parameter,), (value,))


class _Bound:
    """The kernels of one layout of operands."""

    def __init__(
        self,
        region: Region,
        lowering: Lowering,
        queue: Queue,
        inputs: Sequence[Any],
        into: DeviceArray | None,
    ) -> None:
        self._queue = queue
        self._parts = lowering.parts
        strides: list[tuple[int, ...]] = [()] * len(lowering.region.inputs)
        for index, source in enumerate(inputs):
            if type(source) is DeviceArray:
                strides[index] = lowering.strides(index, source.strides if source.shape else (1,))
        built = lowering.built(queue, strides, into)
        held = queue.traits.held
        self._outputs = [
            _Result.of(held, region.shape_of(value), region.dtype_of(value), layout)
            for value, layout in zip(region.outputs, built.layouts, strict=True)
        ]
        self._partials = [
            size * held.get(dtype, dtype).itemsize for dtype, size, _ in built.partials
        ]
        self._tables = built.tables
        self._stored: list[Block] = []
        self.marks = built.selects  # where an index is out of bounds
        self.defers = self.marks and not lowering.asks_at_once
        self.refusal = lowering.refusal
        with queue.lock:
            self._steps = [_Step(launch, queue) for launch in built.launches]

    def run(
        self, pool: Pool, inputs: Sequence[Any], into: DeviceArray | None, shared: Block | None
    ) -> tuple[list[DeviceArray], bool]:
        """Return the outputs, and whether an index was out of bounds, unless the mark of that is `shared`."""
        new = self._outputs if into is None else self._outputs[:-1]
        outputs = [result.made(pool) for result in new]
        if into is not None:
            outputs.append(into)
        operands = self._operands(inputs, outputs)
        partials = [pool.block(nbytes) for nbytes in self._partials]
        if self._tables and not self._stored:
            self._stored = [stored(table, self._queue, pool) for table in self._tables]
        for letter, blocks in (("p", partials), ("k", self._stored)):
            for index, block in enumerate(blocks):
                operands[f"{letter}{index}"] = (block.buffer, 0)
        own = pool.block(FLAG.nbytes) if self.marks and shared is None else None
        mark = own or shared
        if mark is not None:
            operands[MARK.name] = (mark.buffer, 0)
        with self._queue.lock:
            if own is not None:
                self._queue.write(own.buffer, 0, FLAG)
            for step in self._steps:
                buffers = [operands[name][0] for name in step.arrays]
                self._queue.launch(step.built, step.groups, buffers, step.words(operands))
            missed = own is not None and bool(self._queue.read(own.buffer, 0, FLAG.nbytes).any())
        return outputs, missed

    def _operands(self, inputs: Sequence[Any], outputs: Sequence[DeviceArray]) -> dict[str, Any]:
        """Return numbers, and for arrays the buffer, and where in it they begin, in real elements."""
        operands: dict[str, Any] = {}
        most = self._queue.traits.max_block
        for index, source in enumerate(inputs):
            if type(source) is DeviceArray:
                assert source.block is not None
                scale = 2 if source.dtype in COMPLEX else 1
                operand = (source.block.buffer, scale * source.offset)
                if source.block.nbytes > most:
                    operand = self._narrowed(operand, source, scale)
                operands[f"x{index}"] = operand
            elif index in self._parts.imaginary:
                operands[f"x{index}"], operands[f"x{self._parts.imaginary[index]}"] = (
                    source.real,
                    source.imag,
                )
            else:
                operands[f"x{index}"] = source
        for index, output in enumerate(outputs):
            assert output.block is not None
            operands[f"y{index}"] = (output.block.buffer, 0)
        return operands

    def _narrowed(
        self, operand: tuple[Any, int], array: DeviceArray, scale: int
    ) -> tuple[Any, int]:
        """Return an operand in a large block as one that begins, in what kernels are given, near its first element."""
        buffer, origin = operand
        held = self._queue.traits.held.get(array.dtype, array.dtype)
        steps = [step * (size - 1) for step, size in zip(array.strides, array.shape, strict=True)]
        low = array.offset + sum(step for step in steps if step < 0)
        high = array.offset + sum(step for step in steps if step > 0) + 1
        part, skipped = self._queue.window(
            buffer, low * held.itemsize, (high - low) * held.itemsize
        )
        return part, origin - skipped * scale // held.itemsize


def made(
    pool: Pool, held: Mapping[DType, DType], shape: Shape, dtype: DType, layout: Sequence[int]
) -> DeviceArray:
    """Return a new array whose axes have this order in memory."""
    return _Result.of(held, shape, dtype, layout).made(pool)


class _Result(NamedTuple):
    """What is known of a new array before there is one."""

    nbytes: int
    dtype: DType
    shape: Shape
    strides: tuple[int, ...]

    @classmethod
    def of(
        cls, held: Mapping[DType, DType], shape: Shape, dtype: DType, layout: Sequence[int]
    ) -> Self:
        """Return it for axes that have this order in memory."""
        nbytes = prod(shape) * held.get(dtype, dtype).itemsize
        return cls(nbytes, dtype, shape, strides_of(shape, layout))

    def made(self, pool: Pool) -> DeviceArray:
        """Return such an array."""
        nbytes, dtype, shape, strides = self
        return DeviceArray(pool.block(nbytes) if nbytes else None, dtype, shape, strides)


# Kernels of regions, layout by layout, for as long as a program has them: layers of a network are equal regions, and
# so are most steps of two plans of it.
_shared: WeakValueDictionary[tuple[Any, ...], _Bound] = WeakValueDictionary()


def forget() -> None:
    """Have the programs that come share nothing with those that are there: for who changes how kernels are made."""
    _shared.clear()
