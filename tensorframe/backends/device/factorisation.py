"""Factorisations on devices: Cholesky, elimination for systems of equations, inverses and determinants, QR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, ClassVar

from tensorframe.backends.base import Program
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.make import Make, source_of
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.device.sort import Pair
from tensorframe.dtypes import DType, float32, float64, uint32
from tensorframe.errors import LinAlgError
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.cholesky import cholesky_launches
from tensorframe.kernel.groups.matrices.filling import Operands, Source
from tensorframe.kernel.groups.matrices.orthogonal import Rectangles, orthogonal_launches
from tensorframe.kernel.groups.matrices.small_systems import System
from tensorframe.kernel.groups.matrices.systems import pivot_launches, solving_launches
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.nest.assemble import Built, Launch, Partials
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.complex import Parts
from tensorframe.ops.elementwise import ABS, EXP, LOG, MULTIPLY, SIGN
from tensorframe.ops.linalg import CHOLESKY, DET, INV, QR, SLOGDET, SOLVE
from tensorframe.ops.reduction import PROD, SUM

_DTYPES = frozenset({float32, float64})
_SINGULAR = "singular matrix"
_RESULT = "y0"
# Memory between launches is the same on every device.
_ANY = Target(1, float64, uint32)


def can_factorise(operands: Sequence[DType]) -> bool:
    """Whether kernels factorise matrices of these dtypes; half precision and complex numbers are left to LAPACK."""
    return _DTYPES.issuperset(operands)


def factorisation_program(region: Region, make: Make) -> Program:
    """Return the program of `cholesky`, `solve` or `inv`."""
    return make(region, _LOWERINGS[region.ops[0].op.name])


def factorisation_bytes(region: Region) -> int:
    """Return what a factorisation takes beside operands and results: copies, and what is noted of them."""
    name = region.ops[0].op.name
    partials = _LOWERINGS[name](region).partials()
    between = sum([dtype.itemsize * size for dtype, size, _ in partials])
    if name in (DET.name, SLOGDET.name):
        shape, dtype = region.inputs[0]
        between += dtype.itemsize * prod(shape[:-1])  # pivots
    return between


def determinant_program(region: Region, make: Make) -> Program:
    """Return the program of `det` or `slogdet`, which is a pair: pivots, and what becomes of them."""
    (op,) = region.ops
    ((shape, dtype),) = region.inputs
    diagonals = shape[:-1]
    pivots = RegionOp(op.op, (), (0,), diagonals, dtype)
    program = _Determinants(
        make(Region(region.inputs, (pivots,), (1,)), _Pivots),
        make(_joined(diagonals, dtype, apart=op.op is SLOGDET), Lowering),
    )
    return Pair(program) if op.op is SLOGDET else program


def orthogonal_program(region: Region, make: Make) -> Program:
    """Return the program of `qr`, which is a pair."""
    (op,) = region.ops
    ((shape, dtype),) = region.inputs
    triangle = (*shape[:-2], op.shape[-1], shape[-1])
    factors = [
        RegionOp(op.op, (*op.attrs, part), (0,), size, dtype)
        for part, size in enumerate((op.shape, triangle))
    ]
    return Pair(make(Region(region.inputs, tuple(factors), (1, 2)), _Orthogonal))


def _joined(shape: Shape, dtype: DType, *, apart: bool) -> Region:
    """Return the region of the product of pivots: sign and logarithm `apart`, or as one number, by these."""
    result, axes = shape[:-1], ((len(shape) - 1,), False)
    ops = [
        RegionOp(SIGN, (), (0,), shape, dtype),
        RegionOp(PROD, axes, (1,), result, dtype),
        RegionOp(ABS, (), (0,), shape, dtype),
        RegionOp(LOG, (), (3,), shape, dtype),
        RegionOp(SUM, axes, (4,), result, dtype),
    ]
    if apart:
        return Region(((shape, dtype),), tuple(ops), (2, 5))
    ops += [
        RegionOp(EXP, (), (5,), result, dtype),
        RegionOp(MULTIPLY, (), (2, 6), result, dtype),
    ]
    return Region(((shape, dtype),), tuple(ops), (7,))


class _Determinants:
    """Two programs, the second of which joins the pivots that the first one gives."""

    quiet = True

    def __init__(self, pivots: Program, joined: Program) -> None:
        self._pivots, self._joined = pivots, joined

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        return self._joined(self._pivots(inputs, (None,)), buffers)

    def source(self) -> str:
        """Return the text of the kernels for an operand in C order."""
        return source_of(self._pivots) + source_of(self._joined)


class _Factorisation(Lowering):
    """A call whose operands are stacks of matrices."""

    asks_at_once = True

    def __init__(self, original: Region) -> None:
        self.original = self.region = original
        self.parts = Parts(original, {}, ())
        self.op = original.ops[0]
        self.shape, self.dtype = original.inputs[0]

    @property
    def size(self) -> int:
        """Rows of a square matrix."""
        return self.shape[-1]

    def refusal(self) -> Exception:
        """Return the error of a matrix that NumPy would factorise."""
        message = f"{self.op.op.name}: {self.problem} (operand of shape {self.shape})"
        return LinAlgError(message, suggestions=self.hints)

    problem: ClassVar[str] = _SINGULAR
    hints: ClassVar[tuple[str, ...]] = (
        "tfr.linalg.pinv(A) or tfr.linalg.lstsq(A, b)",
        "tfr.linalg.cond(A)",
    )

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernels for operands with these strides, in real elements."""
        assert into is None
        partials = self.partials()
        more = max([size for _, size, _ in partials], default=0)
        launches = self.launches(self.target(queue, strides, more=more), strides)
        return Built(tuple(launches), partials, self.layouts())

    def partials(self) -> Partials:
        """Return the arrays between operands and result."""
        return ()

    def layouts(self) -> tuple[tuple[int, ...], ...]:
        """Return the axes of each output in the order of its memory."""
        return tuple([tuple(range(len(op.shape))) for op in self.region.ops])

    def launches(self, target: Target, strides: Sequence[Strides]) -> list[Launch]:
        """Return the kernels in the order in which they run."""
        raise NotImplementedError

    def buffer(self, name: str) -> ir.Buffer:
        """Return a result."""
        return ir.Buffer(name, self.dtype, ir.Role.OUTPUT)

    def operand(self, index: int, steps: Strides, columns: int) -> Source:
        """Return an operand, with its steps along the stack of the result, rows and columns."""
        return Source(columns, ir.Buffer(f"x{index}", self.dtype, ir.Role.INPUT), steps)


class _Cholesky(_Factorisation):
    """Factors; upper ones are the transposes of those of transposed matrices."""

    problem = "matrix is not positive definite"
    hints = ("tfr.linalg.eigvalsh(A) to see which eigenvalues are not",)

    def launches(self, target: Target, strides: Sequence[Strides]) -> list[Launch]:
        """Return the kernels in the order in which they run."""
        (upper,) = self.op.attrs
        *stack, down, across = strides[0]
        steps = (*stack, across, down) if upper else (*stack, down, across)
        shape = self.shape[:-2]
        operands = Operands(self.dtype, shape, [self.operand(0, steps, self.size)], lower=True)
        return cholesky_launches(
            target, self.dtype, self.buffer(_RESULT), shape, self.size, operands
        )

    def layouts(self) -> tuple[tuple[int, ...], ...]:
        """Return the axes of the factor in the order of its memory."""
        (upper,), axes = self.op.attrs, tuple(range(len(self.shape)))
        return ((*axes[:-2], axes[-1], axes[-2]),) if upper else (axes,)


class _Pivots(_Factorisation):
    """Pivots of eliminated matrices, with the signs of exchanges."""

    def launches(self, target: Target, strides: Sequence[Strides]) -> list[Launch]:
        """Return the kernels in the order in which they run."""
        return pivot_launches(self._system(target, strides[0]), self.buffer(_RESULT))

    def partials(self) -> Partials:
        """Return the memory of the matrices, and of the numbers of their pivots' rows."""
        return self._system(_ANY, strides_of(self.shape)).partials

    def _system(self, target: Target, strides: Strides) -> System:
        stack, size = self.shape[:-2], self.size
        operands = Operands(self.dtype, stack, [self.operand(0, strides, size)])
        return System(target, self.dtype, stack, size, 0, operands)


class _Solved(_Factorisation):
    """Solutions of systems of equations; those of an identity are an inverse."""

    def __init__(self, original: Region) -> None:
        super().__init__(original)
        # one right-hand side for the whole stack
        self._is_vector = self.op.op is SOLVE and len(original.shape_of(self.op.inputs[1])) == 1
        self._stack = self.op.shape[:-1] if self._is_vector else self.op.shape[:-2]

    def launches(self, target: Target, strides: Sequence[Strides]) -> list[Launch]:
        """Return the kernels in the order in which they run."""
        return solving_launches(self._system(target, strides), self.buffer(_RESULT))

    def partials(self) -> Partials:
        """Return the memory of the matrices, and of the numbers of their pivots' rows."""
        strides = [strides_of(shape) for shape, _ in self.original.inputs]
        return self._system(_ANY, strides).partials

    def _system(self, target: Target, strides: Sequence[Strides]) -> System:
        further = 1 if self._is_vector else self.op.shape[-1]
        right = Source(further)
        if self.op.op is SOLVE:
            right = self._operand(1, strides, further)
        left = self._operand(0, strides, self.size)
        operands = Operands(self.dtype, self._stack, [left, right])
        return System(target, self.dtype, self._stack, self.size, further, operands)

    def _operand(self, number: int, strides: Sequence[Strides], columns: int) -> Source:
        """Return an operand of the op; both may be one input of the region."""
        index = self.op.inputs[number]
        shape = self.original.shape_of(index)
        own = [0 if size == 1 else step for size, step in zip(shape, strides[index], strict=True)]
        if number and self._is_vector:
            return self.operand(index, (*(0,) * len(self._stack), *own, 0), columns)
        missing = len(self._stack) + 2 - len(own)
        return self.operand(index, (*(0,) * missing, *own), columns)


class _Orthogonal(_Factorisation):
    """Orthonormal columns, and the triangle that combines them."""

    def launches(self, target: Target, strides: Sequence[Strides]) -> list[Launch]:
        """Return the kernels in the order in which they run."""
        factors = [self.buffer(name) for name in (_RESULT, "y1")]
        return orthogonal_launches(self._rectangles(target, strides[0]), *factors)

    def partials(self) -> Partials:
        """Return the memory of triangles, vectors and their products."""
        return self._rectangles(_ANY, strides_of(self.shape)).partials

    def _rectangles(self, target: Target, strides: Strides) -> Rectangles:
        *stack, rows, columns = self.shape
        operands = Operands(self.dtype, tuple(stack), [self.operand(0, strides, columns)])
        wanted = self.op.shape[-1]
        return Rectangles(target, self.dtype, tuple(stack), rows, columns, wanted, operands)


_LOWERINGS: dict[str, type[_Factorisation]] = {
    CHOLESKY.name: _Cholesky,
    SOLVE.name: _Solved,
    INV.name: _Solved,
    DET.name: _Pivots,
    SLOGDET.name: _Pivots,
    QR.name: _Orthogonal,
}

FACTORISATIONS: Mapping[Op, Callable[[Region, Make], Program]] = {
    CHOLESKY: factorisation_program,
    SOLVE: factorisation_program,
    INV: factorisation_program,
    DET: determinant_program,
    SLOGDET: determinant_program,
    QR: orthogonal_program,
}
