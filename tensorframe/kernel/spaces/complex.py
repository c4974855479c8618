"""Complex numbers as pairs: a region over complex elements becomes one over their real and imaginary parts.

A complex array is an array of real numbers with one more axis of two, in the same memory. So nothing below this module
knows complex numbers, and a dialect without them has them all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tensorframe.dtypes import COMPLEX, DType, bool_, real_of
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.kernel.spaces.rewriting import Rewriting
from tensorframe.ops import elementwise as row
from tensorframe.ops.creation import FULL
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS
from tensorframe.ops.reduction import CUMULATIVE_SUM, SUM
from tensorframe.ops.term import Term
from tensorframe.ops.user import part_of
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Part:
    """A real value of the region over parts, as formulas see it."""

    value: int
    dtype: DType


# ops that treat both parts alike
_PARTWISE = frozenset(
    {row.ADD, row.SUBTRACT, row.NEGATIVE, row.POSITIVE, row.ROUND, SUM, CUMULATIVE_SUM}
    | {RESHAPE, PERMUTE, EXPAND, SLICE, WINDOWS}
)


class Parts(NamedTuple):
    """A region over parts. `imaginary` are the inputs that hold the imaginary part of a number passed by value.

    `places` are, for each output of the region, the array that it goes to and which part of its elements it is; None
    if they are real.
    """

    region: Region
    imaginary: dict[int, int]
    places: tuple[tuple[int, int | None], ...]


def in_parts(region: Region) -> Parts:
    """Return a region of the same meaning over real numbers."""
    dtypes = [dtype for _, dtype in region.inputs] + [op.dtype for op in region.ops]
    if COMPLEX.isdisjoint(dtypes):
        return Parts(region, {}, tuple([(index, None) for index in range(len(region.outputs))]))
    return _Splitting(region).parts()


class _Splitting(Rewriting):
    """The region over parts while it grows; `now` are the values, or pairs of values, that stand for the old ones."""

    def __init__(self, region: Region) -> None:
        inputs: list[tuple[Shape, DType]] = []
        self.imaginary: dict[int, int] = {}
        for shape, dtype in region.inputs:
            held = dtype not in COMPLEX or shape == ()
            inputs.append((shape if held else (*shape, 2), real_of(dtype)))
        for index, (shape, dtype) in enumerate(region.inputs):
            if dtype in COMPLEX and shape == ():
                self.imaginary[index] = len(inputs)
                inputs.append(((), real_of(dtype)))
        super().__init__(region, inputs)
        self.numbers: dict[tuple[str, DType], int] = {}
        self.now: list[int | Pair] = list(range(len(region.inputs)))
        for value, op in enumerate(region.ops, start=len(region.inputs)):
            converted = self._converted(value, op)
            self.now.append(converted)
            for part in (converted,) if isinstance(converted, int) else converted:
                self.put_in_place_of(part, value)

    def parts(self) -> Parts:
        """Return the finished region; each output is a value of its own."""
        outputs: list[int] = []
        places: list[tuple[int, int | None]] = []
        for array, value in enumerate(self.old.outputs):
            now = self._operand(value)
            single = [(now, None)] if isinstance(now, int) else list(zip(now, (0, 1), strict=True))
            for result, part in single:
                again = result in outputs or result < len(self.inputs)
                made = self.apply(row.POSITIVE, result) if again else result
                outputs.append(self.put_in_place_of(made, value))
                places.append((array, part))
        return Parts(self.region(outputs), self.imaginary, tuple(places))

    def _operand(self, value: int) -> int | Pair:
        """Return what stands for an operand. Each use of an input takes it apart anew: it may be at another place."""
        if value < len(self.old.inputs) and self.old.inputs[value][1] in COMPLEX:
            shape, dtype = self.old.inputs[value]
            return self._taken_apart(value, shape, real_of(dtype))
        return self.now[value]

    def _taken_apart(self, index: int, shape: Shape, dtype: DType) -> Pair:
        """Return both parts of an input."""
        if shape == ():
            return index, self.imaginary[index]
        real, imaginary = [self._part(index, shape, dtype, part) for part in (0, 1)]
        return real, imaginary

    def _part(self, index: int, shape: Shape, dtype: DType, part: int) -> int:
        starts = (0,) * len(shape) + (part,)
        attrs = (starts, (*shape, 1), (1,) * (len(shape) + 1))
        view = self.add(SLICE, attrs, (index,), (*shape, 1), dtype)
        return self.add(RESHAPE, (shape,), (view,), shape, dtype)

    def dtype_of(self, value: int) -> DType:
        """Return the dtype of a value."""
        return self.known(value)[1]

    def number(self, value: float, dtype: DType) -> int:
        """Return a number, one value for all its uses: it has no place."""
        key = (repr(value), dtype)
        if key not in self.numbers:
            self.numbers[key] = self.add(FULL, (value,), (), (), dtype)
        return self.numbers[key]

    def part(self, part: _Part | float, dtype: DType) -> int:
        """Return the value of a part, or a number of this dtype."""
        return part.value if isinstance(part, _Part) else self.number(part, dtype)

    def _converted(self, old: int, op: RegionOp) -> int | Pair:
        """Return what stands for the result of an op."""
        operands = [self._operand(source) for source in op.inputs]
        if all(isinstance(value, int) for value in operands) and op.dtype not in COMPLEX:
            numbers: list[int] = [value for value in operands if isinstance(value, int)]
            return self.keep(old, numbers)
        if op.op.compiled is not None:
            return self._called(op, operands)
        if op.op is FULL:
            real = real_of(op.dtype)
            value = complex(op.attrs[0])
            both = [
                self.add(FULL, (part,), (), op.shape, real) for part in (value.real, value.imag)
            ]
            return both[0], both[1]
        if op.op in _PARTWISE:
            return self._partwise(old, op, operands)
        rule = _RULES.get(op.op) or _written_out()[op.op]
        return rule(self, op, operands)

    def _called(self, op: RegionOp, operands: list[int | Pair]) -> int | Pair:
        """Return the result of a user's function, which takes parts one by one."""
        parts = [
            part for value in operands for part in (value if isinstance(value, tuple) else (value,))
        ]
        if op.dtype not in COMPLEX:
            return self.add(op.op, (), parts, op.shape, op.dtype)
        real, imaginary = [
            self.add(part_of(op.op, part), (), parts, op.shape, real_of(op.dtype))
            for part in (0, 1)
        ]
        return real, imaginary

    def _partwise(self, old: int, op: RegionOp, operands: list[int | Pair]) -> Pair:
        pairs = [value for value in operands if isinstance(value, tuple)]
        real, imaginary = [
            self.keep(old, [pair[part] for pair in pairs], real_of(op.dtype)) for part in (0, 1)
        ]
        return real, imaginary


Rule = Callable[[_Splitting, RegionOp, list[Any]], int | Pair]


def _multiply(build: _Splitting, _one: RegionOp, operands: list[Any]) -> Pair:
    (a, b), (c, d) = operands
    real = build.apply(
        row.SUBTRACT, build.apply(row.MULTIPLY, a, c), build.apply(row.MULTIPLY, b, d)
    )
    imaginary = build.apply(
        row.ADD, build.apply(row.MULTIPLY, a, d), build.apply(row.MULTIPLY, b, c)
    )
    return real, imaginary


def _formula(written: Callable[..., tuple[Term, Term]]) -> Rule:
    """An op whose parts have formulas over rows of real ops."""

    def rule(build: _Splitting, op: RegionOp, operands: list[Any]) -> Pair:
        dtype = real_of(op.dtype)
        known: dict[tuple[Op, tuple[int, ...]], int] = {}

        def apply(op: Op, *values: _Part | float) -> _Part:
            inputs = tuple([build.part(value, dtype) for value in values])
            value = known.get((op, inputs))
            if value is None:
                value = known[op, inputs] = build.apply(op, *inputs)
            return _Part(value, build.dtype_of(value))

        parts = [Term(_Part(part, dtype), apply) for pair in operands for part in pair]
        real, imaginary = written(*parts)
        return real.node.value, imaginary.node.value

    return rule


def _logical(build: _Splitting, op: RegionOp, operands: list[Any]) -> int:
    """Logic of numbers: those are true that are not zero."""
    return build.apply(op.op, *[_truth(build, value) for value in operands])


def _truth(build: _Splitting, value: int | Pair) -> int:
    if isinstance(value, int):
        return value
    return build.apply(
        row.LOGICAL_OR, *[build.apply(row.CAST, part, attrs=(bool_,)) for part in value]
    )


def _both(op: Op, joined: Op) -> Rule:
    """A test of both parts, and how the answers are joined."""

    def rule(build: _Splitting, _one: RegionOp, operands: list[Any]) -> int:
        tests = [build.apply(op, *[pair[part] for pair in operands]) for part in (0, 1)]
        return build.apply(joined, *tests)

    return rule


def _where(build: _Splitting, _one: RegionOp, operands: list[Any]) -> Pair:
    condition, left, right = operands
    parts = [build.apply(row.WHERE, condition, left[part], right[part]) for part in (0, 1)]
    return parts[0], parts[1]


def _cast(build: _Splitting, op: RegionOp, operands: list[Any]) -> int | Pair:
    (value,) = operands
    if op.dtype not in COMPLEX:
        if op.dtype == bool_:
            return _truth(build, value)
        return build.apply(row.CAST, value[0], attrs=(op.dtype,))
    attrs = (real_of(op.dtype),)
    if isinstance(value, tuple):
        real, imaginary = [build.apply(row.CAST, part, attrs=attrs) for part in value]
        return real, imaginary
    real = build.apply(row.CAST, value, attrs=attrs)
    zero = build.number(0.0, attrs[0])
    # a choice between zeros, for a part that may leave the region has to be somewhere in its loops
    return real, build.apply(row.WHERE, build.apply(row.EQUAL, real, real), zero, zero)


def _conj(build: _Splitting, _one: RegionOp, operands: list[Any]) -> Pair:
    ((real, imaginary),) = operands
    return real, build.apply(row.NEGATIVE, imaginary)


_RULES: dict[Op, Rule] = {
    row.MULTIPLY: _multiply,
    row.ABS: lambda build, _one, operands: build.apply(row.HYPOT, *operands[0]),
    row.LOGICAL_AND: _logical,
    row.LOGICAL_OR: _logical,
    row.LOGICAL_XOR: _logical,
    row.LOGICAL_NOT: _logical,
    row.EQUAL: _both(row.EQUAL, row.LOGICAL_AND),
    row.NOT_EQUAL: _both(row.NOT_EQUAL, row.LOGICAL_OR),
    row.ISNAN: _both(row.ISNAN, row.LOGICAL_OR),
    row.ISINF: _both(row.ISINF, row.LOGICAL_OR),
    row.ISFINITE: _both(row.ISFINITE, row.LOGICAL_AND),
    row.WHERE: _where,
    row.CAST: _cast,
    row.CONJ: _conj,
    row.REAL_PART: lambda _build, _one, operands: operands[0][0],
    row.IMAG: lambda _build, _one, operands: operands[0][1],
}


@cache
def _written_out() -> dict[Op, Rule]:
    """Return the rules of functions that have formulas."""
    from tensorframe.kernel.math.complex.table import FORMULAS  # few programs need them

    return {op: _formula(written) for op, written in FORMULAS.items()}


def computable_in_parts(op: Op) -> bool:
    """Whether an op on complex numbers is known in terms of their parts."""
    known = op in _PARTWISE or op in _RULES or op is FULL or op.compiled is not None
    return known or op in _written_out()
