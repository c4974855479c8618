"""The body of a kernel: the expression of each element of a region's values, in the loops of a nest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.dtypes import FLOAT, DType, float64
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel import ir
from tensorframe.kernel.ir.formula import where
from tensorframe.kernel.math.accumulate import accumulation
from tensorframe.kernel.math.scalars import converted, element
from tensorframe.kernel.nest.nest import Access, Nest
from tensorframe.kernel.nest.passes.split import Cuts
from tensorframe.kernel.spaces.gather import GATHERS, place_on_axis
from tensorframe.kernel.spaces.pieces import PIECED, Piece, cut_axes, pieces_of, span
from tensorframe.ops.creation import ARANGE, FULL
from tensorframe.ops.elementwise import CAST
from tensorframe.ops.movement import PAD


class Numbers:
    """The numbers of a layout, as arguments: kernels of the same structure share their text, whatever the sizes."""

    def __init__(self) -> None:
        self.arguments: list[ir.Argument] = []
        self.values: list[float] = []
        self.positions: set[ir.Argument] = set()  # those that positions are made of

    def take(self, value: float, name: str, dtype: DType | None = None) -> ir.Argument:
        """Return the argument that stands for `value`: an element of a dtype, or part of a position."""
        made = ir.argument(f"{name}{len(self.arguments)}", dtype or ir.INDEX)
        self.arguments.append(made)
        if dtype is None:
            self.positions.add(made)
        self.values.append(value)
        return made


class Body:
    """Expressions of one region in one nest.

    `indices` are the expressions of the loop indices, kept loops first; a form sets them before it reads elements.
    `known` are values that are there already: finished reductions, and what is in scratch memory. `widest` is the
    floating dtype with the most digits that can be computed with. Bodies of one kernel have the same `numbers`.
    """

    def __init__(
        self,
        region: Region,
        nest: Nest,
        reads: dict[tuple[int, int], Any],
        lines: dict[int, list[tuple[int, int]]],
        widest: DType = float64,
        numbers: Numbers | None = None,
    ) -> None:
        self.widest = widest
        self.region = region
        self.nest = nest
        self.lines = (
            lines  # value that a gather selects -> length and step of each axis that it selects on
        )
        self.numbers = Numbers() if numbers is None else numbers
        self.sizes = [self.numbers.take(size, "n") for size in (*nest.kept, *nest.reduced)]
        self.indices: list[ir.Expr] = []
        self.known: dict[int, ir.Expr] = {}
        self.inputs = [
            ir.Buffer(f"x{index}", dtype, ir.Role.INPUT)
            for index, (_, dtype) in enumerate(region.inputs)
        ]
        self.scalars: dict[int, ir.Argument] = {
            index: ir.argument(f"c{index}", dtype)
            for index, (shape, dtype) in enumerate(region.inputs)
            if shape == ()
        }
        self._reads = reads
        self._steps: dict[Any, list[ir.Expr | None]] = {}
        self._named_steps: dict[Any, ir.Expr] = {}
        self._starts: dict[Any, ir.Expr | None] = {}
        self._elements: dict[int, ir.Expr] = {}
        self._known_reads: dict[Any, ir.Expr] = {}
        self._lines: dict[int, list[tuple[ir.Expr, ir.Expr | None]]] = {}
        self.cuts = Cuts(self.sizes)
        self._bounds: dict[tuple[int, int], ir.Argument] = {}

    def begin_pass(self) -> None:
        """Begin another pass: elements are expressions of other loops' indices, or known by now."""
        self._elements.clear()
        self._known_reads.clear()

    def define_element(self, value: int, element: ir.Expr) -> None:
        """Make the element of a value known for the rest of this pass."""
        self._elements[value] = element

    def define_read(self, access: Any, element: ir.Expr) -> None:
        """Make the element of an access known for the rest of this pass."""
        self._known_reads[access] = element

    def access_of(self, value: int, index: int) -> Any:
        """Return how an op reads an operand that is an input: (input, its own number)."""
        return self._reads[value, index]

    def varies_along_row(self, value: int, index: int) -> bool:
        """Whether an op reads elements of an operand, an input, that differ along the reduced loops."""
        access = self._reads.get((value, index))
        along = len(self.nest.kept)
        return access is not None and any(self.nest.accesses[access].steps[along:])

    def read(self, access: Any) -> ir.Expr:
        """Return the element of an access to an input."""
        known = self._known_reads.get(access)
        return known or ir.load(self.inputs[access[0]], self.position(access))

    def position(self, key: Any) -> ir.Expr:
        """Return the position of an access in the loops."""
        if key not in self._steps:
            self._name_steps(key, self.nest.accesses[key])
        total = self._starts[key]
        for index, step in zip(self.indices, self._steps[key], strict=True):
            if step is None:
                continue
            term = index if step is _ONE else index * step
            total = term if total is None else total + term
        return _ZERO if total is None else total

    def contiguous(self) -> dict[ir.Expr, ir.Buffer]:
        """Return where inputs are read element after element along the innermost loop, and elsewhere in other rows."""
        contiguous = {}
        for key in self._reads.values():
            steps = self.nest.accesses[key].steps
            if key[0] < len(self.inputs) and steps[-1] == 1 and any(steps[:-1]):
                contiguous[self.position(key)] = self.inputs[key[0]]
        return contiguous

    def _name_steps(self, key: Any, access: Access) -> None:
        self._starts[key] = self._start(access.start)
        # one argument for the views of one operand: each of them is a register in the loops
        self._steps[key] = [
            self.step(step, (key[0], loop)) for loop, step in enumerate(access.steps)
        ]

    def _start(self, start: int) -> ir.Expr | None:
        if start in (
            0,
            1,
        ):  # the second part of a complex number is known to be beside the first one
            return _ONE if start else None
        return self.numbers.take(start, "o")

    def step(self, step: int, owner: Any) -> ir.Expr | None:
        """Return the number that stands for a step of an operand; None if it is 0."""
        if step in (0, 1, 2):
            return (None, _ONE, _TWO)[step]
        if (owner, step) not in self._named_steps:
            self._named_steps[owner, step] = self.numbers.take(step, "s")
        return self._named_steps[owner, step]

    def operand(self, value: int, index: int) -> ir.Expr:
        """Return the element of an operand of the op that computes `value`."""
        source = self.region.ops[value - len(self.region.inputs)].inputs[index]
        if source >= len(self.region.inputs):
            return self.element(source)
        if source in self.scalars:
            return self.scalars[source]
        return self.read(self._reads[value, index])

    def element(self, value: int) -> ir.Expr:
        """Return the element of an op's result."""
        element = self.known.get(value)
        if element is None:
            element = self._elements.get(value)
        if element is None:
            element = self._elements[value] = self._compute(value)
        return element

    def _compute(self, value: int) -> ir.Expr:
        op = self.region.ops[value - len(self.region.inputs)]
        if op.op is FULL:
            return ir.literal(op.attrs[0], op.dtype)
        if op.op is ARANGE:
            start, step = op.attrs[:2]  # what is read says where it begins
            return self._arange(value, start, step, op.dtype)
        if op.op in PIECED:
            return self._pieced(value, op)
        if op.op in GATHERS:
            return self._gathered(value, op)
        if op.op.kind is Kind.VIEW:
            return self.operand(value, 0)
        if op.op.kind in (Kind.REDUCE, Kind.SCAN):  # of one element: there is no loop for it
            how = accumulation(op.op, self.region.dtype_of(op.inputs[0]), self.widest)
            assert how is not None
            return converted(how.finish(how.take(self.operand(value, 0))), op.dtype)
        operands = [self.operand(value, index) for index in range(len(op.inputs))]
        double = self.widest == float64
        return element(op.op, op.attrs, operands, op.dtype, double=double)

    def _arange(self, value: int, start: float, step: float, dtype: DType) -> ir.Expr:
        """Return start + step * position, in the widest floating dtype or in integers that wrap."""
        wide = self.widest if dtype in FLOAT else dtype
        count = ir.apply("from_index", self.position(self._reads[value, -1]), dtype=wide)
        if dtype not in FLOAT and (start, step) == (0, 1):
            return count
        scaled = count * self.numbers.take(step, "d", wide) + self.numbers.take(start, "d", wide)
        return element(CAST, (dtype,), [scaled], dtype) if dtype in FLOAT else scaled

    def _gathered(self, value: int, op: RegionOp) -> ir.Expr:
        """Return the element at the position that indices give."""
        position = self.position(self._reads[value, 0])
        if value not in self._lines:
            self._lines[value] = [
                (self.numbers.take(length, "l"), self.step(step, (value, index)))
                for index, (length, step) in enumerate(self.lines[value])
            ]
        for index, (length, step) in enumerate(self._lines[value], start=1):
            place = place_on_axis(self.operand(value, index), length)
            if step is not None:
                along = place if step is _ONE else place * step
                position = along if position is _ZERO else position + along
        return ir.load(self.inputs[op.inputs[0]], position)

    def _pieced(self, value: int, op: RegionOp) -> ir.Expr:
        """Return the choice between an op's operands by where the loops are."""
        shapes = [self.region.shape_of(source) for source in op.inputs]
        pieces = list(pieces_of(op.op, op.attrs, shapes))
        if op.op is PAD:
            chosen: ir.Expr = ir.literal(op.attrs[2], op.dtype)
        else:
            chosen = self.operand(value, pieces.pop().operand)
        axes = cut_axes(op.op, op.attrs, shapes)
        for piece in reversed(pieces):
            chosen = self._in_box(value, piece, axes, chosen)
        return chosen

    def _in_box(self, value: int, piece: Piece, axes: Sequence[int], outside: ir.Expr) -> ir.Expr:
        """Return the element of a piece where the loops are in its box, else `outside`."""
        element = self.operand(value, piece.operand)
        for axis in axes:
            access = self.nest.pieces[value, axis]
            low, high = piece.lows[axis], piece.lows[axis] + piece.sizes[axis]
            along = [(number, step) for number, step in enumerate(access.steps) if step]
            loop, step = along[0] if along else (0, 0)
            count = self.nest.sizes[loop] if along else 1
            first, last = span(access.start, step, low, high, count)
            if first == last:
                return outside
            if last < count:
                element = where(self._before(loop, last), element, outside)
            if first > 0:
                element = where(self._before(loop, first), outside, element)
        return element

    def _before(self, loop: int, bound: int) -> ir.Expr:
        """Return the condition that a loop has not come to an index."""
        if (loop, bound) not in self._bounds:
            self._bounds[loop, bound] = self.numbers.take(bound, "b")
        return self.cuts.before(
            self.indices[loop], self._bounds[loop, bound], bound, self.nest.sizes[loop]
        )


_ZERO: ir.Expr = ir.literal(0, ir.INDEX)
_ONE: ir.Expr = ir.literal(1, ir.INDEX)
_TWO: ir.Expr = ir.literal(2, ir.INDEX)
