"""Products with an epilogue: what is done to each row of the product is done to blocks while they are in the cache.

The epilogue is a region of its own, compiled by whatever backend the product's step belongs to, for blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Protocol

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.base import Program, quiet, settled
from tensorframe.backends.bound import Bound, NativeCall, bound
from tensorframe.backends.foreseeing import StandIns, foresee
from tensorframe.backends.numpy.blas import takes
from tensorframe.backends.numpy.blas_calls import Matmul
from tensorframe.backends.numpy.convolution import (
    Make,
    Undilated,
    convolve,
    in_blocks,
    undilated,
)
from tensorframe.backends.numpy.epilogue_region import (
    epilogue_of,
    for_blocks,
    others_of,
    overwrites_product,
    permutation_of,
    with_positions,
)
from tensorframe.backends.numpy.functions import implementation, no_kernels
from tensorframe.backends.numpy.grid import Index
from tensorframe.backends.numpy.hidden import part_of
from tensorframe.backends.numpy.product import (
    IN_BLAS,
    Call,
    Compiled,
    Multiply,
    Native,
    Product,
    Products,
)
from tensorframe.backends.numpy.small_product import (
    Find,
    SmallProduct,
    reads_small,
    small_matmul,
)
from tensorframe.backends.silence import SILENT, begin, end
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION

# Columns of a product up to which enough rows for a block are not too many elements.
_SHORT_ROWS = 1 << 12
# Multiplications of a product that is one call of BLAS, whatever is known of it.
_LITTLE = 1 << 12
# Calls after which kernels of exact ops are compiled for products that need no interpreter: LLVM is loaded for these.
_CALLS = 3
# Multiplications, of all calls together, after which they are: some milliseconds, as compiling takes.
_LONG = 1 << 28

Array = Any
Compile = Callable[[Region], Program]


def convolution_program(region: Region, make: Make) -> Program:
    """Return the program of a convolution to which nothing is done."""
    (op,) = region.ops

    def run(inputs: Sequence[Array], _buffers: Sequence[Array | None]) -> Sequence[Array]:
        with np.errstate(all="ignore"):
            x, weight = [inputs[source] for source in op.inputs]
            return (convolve(x, weight, op.attrs, make),)

    return quiet(run)


def reads_small_factors(region: Region) -> bool:
    """Whether the first op of a region is a product with a factor of small elements."""
    op = region.ops[0]
    if op.op is not MATMUL:
        return False
    left, right = [region.dtype_of(source) for source in op.inputs]
    return reads_small(left, right, op.dtype)


def small_product_program(region: Region, find: Find) -> Program:
    """Return the program of a product of small elements to which nothing is done."""
    (op,) = region.ops

    def run(inputs: Sequence[Array], _buffers: Sequence[Array | None]) -> Sequence[Array]:
        with np.errstate(all="ignore"):
            x, y = [inputs[source] for source in op.inputs]
            return (small_matmul(x, y, op.dtype, find),)

    return quiet(run)


class Blocks(Protocol):
    """A product, or a convolution, that is made in blocks."""

    dtype: Any

    @property
    def blocks(self) -> list[Index]:
        """The indices of blocks."""

    def each(self, store: Callable[[Index, Array], None]) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""

    def array(self, out: Array | None = None) -> Array:
        """Return the product, in `out` if it is given."""


class ProductProgram:
    """Runs a contraction and its epilogue: block by block where BLAS multiplies, else one after the other."""

    quiet = True

    def __init__(
        self,
        region: Region,
        compile_: Compile,
        convolution: Make = undilated,
        multiply: Multiply = Product,
        *,
        as_recorded: bool = False,
        small_products: Find = no_kernels,
        native_products: Callable[[], Any] = no_kernels,
    ) -> None:
        """`convolution` makes those of inputs without zeros between their elements, `multiply` products.

        With `as_recorded`, blocks have the axes of the contraction, for who makes them: see `of_blocks`.
        """
        region, self._positions = with_positions(region)
        self._make_convolution, self._multiply = convolution, multiply
        self._native_products = native_products
        self._find, self._is_small = small_products, reads_small_factors(region)
        self._contraction = region.ops[0]
        self._permutation = permutation_of(region)
        # a transposed product is that of its transposed operands, and its rows lie in one piece
        matrices = all(len(region.shape_of(source)) > 1 for source in self._contraction.inputs)
        is_matmul = self._contraction.op is MATMUL and matrices and not as_recorded
        self._turns = is_matmul and _transposes(self._permutation)
        if self._turns:
            self._permutation = None
        # BLAS is done before its product could be cut into blocks
        self._is_little = is_matmul and self._permutation is None and _is_little(region)
        self._multiplications = _multiplications(region) if is_matmul else 0
        self._epilogue = epilogue_of(region)
        self._others = others_of(region)
        self._whole_rows = any(op.op.kind is Kind.REDUCE for op in region.ops)
        self._shape = region.ops[0 if permutation_of(region) is None else 1].shape
        self._overwrites = self._epilogue is not None and overwrites_product(self._epilogue)
        self._compile = compile_
        self._programs: dict[Shape, Program] = {}
        self._is_prepared = False
        self._run: Program = self._choose
        # what products without the interpreter are made by, by strides; None where they cannot be
        self._prepared: dict[tuple[Any, ...], Program | None] = {}
        self._calls = 0

    def __call__(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        """Return the outputs for these inputs."""
        return self._run(inputs, buffers)

    def _choose(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        """Run what is prepared for these strides, which is expected to be that of the next call too."""
        given = (*inputs, *self._positions)
        token = begin(SILENT)
        try:
            if self._is_little:
                return self._one_after_the_other(given, buffers)
            product = self._product(given)
            if product is None:
                return self._one_after_the_other(given, buffers)
            if isinstance(product, Native):
                run = self._native(product, inputs)
                if run is not None:
                    self._run = run
                    return run(inputs, buffers)
            if self._epilogue is None:
                out = self._new(product.dtype)
                product.array(self._as_product(out))
                return (out,)
            if not _in_blocks(product):
                return self._one_after_the_other(given, buffers)
            return self._block_by_block(product, given, buffers)
        finally:
            end(token)

    def _native(self, product: Native, inputs: Sequence[Array]) -> Program | None:
        """Return what makes such a product, and its epilogue, without the interpreter, if that is known by now."""
        key = tuple([getattr(operand, "strides", ()) for operand in inputs])
        if key in self._prepared:
            return self._prepared[key]
        self._calls += 1
        epilogue = self._epilogue
        results = []
        for kind in product.kinds if epilogue is not None else ():
            program = settled(self._program(kind), now=self._is_worth_kernels(self._calls))
            if program is None:
                return None
            results.append(program)
        run = None
        if epilogue is None or self._permutation is None:
            call = self._as_call(product.dtype, results, len(inputs))
            run = product.prepared(call, (*inputs, *self._positions), self._choose)
        self._prepared[key] = run
        return run

    def _is_worth_kernels(self, calls: int) -> bool:
        """Whether so many calls are worth kernels of exact ops, in a step that needs no interpreter with these."""
        return calls > _CALLS or calls * self._multiplications > _LONG

    def _as_call(self, dtype: Any, programs: Sequence[Program], given: int) -> Call:
        """Return what becomes of a product of a dtype in this step, which has so many inputs."""
        epilogue = self._epilogue
        dtypes = [dtype]
        if epilogue is not None:
            dtypes = [epilogue.dtype_of(value) for value in epilogue.outputs]
        left, right = self._contraction.inputs
        return Call(
            (right, left) if self._turns else (left, right),
            () if epilogue is None else self._others,
            programs,
            [partial(self._new, dtype) for dtype in dtypes],
            self._as_product(self._new(dtypes[-1])).strides,
            given,
            self._positions,
        )

    def bind(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Bound | None:
        """Return the calls that multiply, and those of kernels on all of the product, for these operands."""
        kernels = self._native_products()
        given = (*inputs, *self._positions)
        if kernels is None or self._contraction.op is not MATMUL or self._is_small:
            return None
        product = self._product(given)
        if not isinstance(product, Product | Compiled):
            return None
        plain = self._epilogue is None
        value = (
            self._as_product(self._new(product.dtype))
            if plain
            else np.empty(product.shape, product.dtype)
        )
        calls = self._multiplying(product, given, value, kernels)
        if calls is None:
            return None
        if plain:
            return Bound([self._seen(value)], calls)
        rest = bound(self._program(self._shape), self._operands(value, None, given), buffers)
        return rest and Bound(rest.outputs, [*calls, *rest.calls])

    def _multiplying(
        self, product: Product | Compiled, inputs: Sequence[Array], value: Array, kernels: Any
    ) -> list[NativeCall] | None:
        """Return the calls that write the product to `value`; None where it takes others than of BLAS or kernels."""
        if isinstance(product, Compiled):
            return product.calls(value)
        if product.in_parts:
            return None
        calls: list[NativeCall] | None = kernels.bound_matmuls(
            self._matmuls(product, inputs, value)
        )
        return calls

    def _matmuls(self, product: Product, inputs: Sequence[Array], value: Array) -> list[Matmul]:
        """Return the products of matrices that a call makes of these operands."""
        if self._epilogue is not None and not _in_blocks(product):
            x, y = self._factors(inputs)
            whole = Matmul(x, y, value)
            if not whole.is_long:
                return [whole]
        return product.matmuls(value)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is done to the product but that its axes change places."""
        return self._epilogue is None

    def new(self, dtype: Any) -> tuple[Array, Array]:
        """Return memory for the output, and its view with the axes that the product has."""
        out = self._new(dtype)
        return out, self._as_product(out)

    def of_blocks(
        self, product: Blocks, inputs: Sequence[Array], buffers: Sequence[Array | None]
    ) -> Sequence[Array]:
        """Return the outputs for a product that is made elsewhere, whose factors are not asked for."""
        inputs = (*inputs, *self._positions)
        if self._epilogue is not None:
            return self._block_by_block(product, inputs, buffers)
        out = self._new(product.dtype)
        product.array(self._as_product(out))
        return (out,)

    def _block_by_block(
        self, product: Blocks, inputs: Sequence[Array], buffers: Sequence[Array | None]
    ) -> Sequence[Array]:
        epilogue = self._epilogue
        assert epilogue is not None
        outputs = [
            self._new(epilogue.dtype_of(output)) if buffer is None else buffer
            for output, buffer in zip(epilogue.outputs, buffers, strict=True)
        ]

        def finish(index: Index, block: Array) -> None:
            operands = self._operands(block, index, inputs)
            turned = self._turned(index)
            targets = [out[turned] for out in outputs]
            pieces = self._overwrites and not targets[0].flags.c_contiguous
            buffers = [operands[0]] if pieces else targets  # kernels write in one piece
            results = self._program(operands[0].shape)(operands, buffers)
            for result, target in zip(results, targets, strict=True):
                if result is not target:
                    target[...] = result

        if not self._is_prepared:
            self._prepare(product, inputs)
        product.each(finish)
        return outputs

    def foresee(self, operands: Sequence[Array], stand_ins: StandIns) -> Sequence[Array] | None:
        """Have the kernels of the epilogue of a matmul made, for the blocks that it will have."""
        operands = (*operands, *self._positions)
        contraction, epilogue = self._contraction, self._epilogue
        factors = [operands[source] for source in contraction.inputs]
        lies = all(x.ndim > 1 and takes(x) for x in factors)
        if contraction.op is not MATMUL or self._is_small or not lies:
            return None
        product = self._product(operands)
        if product is None:
            return None
        if isinstance(product, Native):
            product.begin()
        if epilogue is None:
            return [stand_ins.new(self._shape, product.dtype, self._layout)]
        index = product.blocks[0] if _in_blocks(product) else None
        whole = self._shape if self._turns else contraction.shape
        shape = whole if index is None else _extents(index)
        given = self._operands(stand_ins.new(shape, product.dtype), index, operands)
        program = self._program(given[0].shape)
        if isinstance(product, Native) and (stand_ins.often or self._is_worth_kernels(1)):
            settled(program, now=True)
        outputs = foresee(program, given, stand_ins)
        if index is None:
            return outputs
        dtypes = [epilogue.dtype_of(value) for value in epilogue.outputs]
        return [stand_ins.new(self._shape, dtype, self._layout) for dtype in dtypes]

    def _prepare(self, product: Blocks, inputs: Sequence[Array]) -> None:
        """Have kernels of the epilogue made in this thread, once, before several need them at the same moment."""
        index = product.blocks[0]
        value = np.empty(_extents(index), product.dtype)
        operands = self._operands(value, index, inputs)
        prepare = getattr(self._program(operands[0].shape), "prepare", None)
        if prepare is not None:
            prepare(operands)
        self._is_prepared = True

    def _product(self, inputs: Sequence[Array]) -> Products | SmallProduct | Undilated | None:
        """Return the product if BLAS multiplies it as it is, or the convolution if it has blocks."""
        x, y = self._factors(inputs)
        if self._contraction.op is CONVOLUTION:
            if self._whole_rows:  # a block may have parts of them
                return None
            return in_blocks(x, y, self._contraction.attrs, self._make_convolution)
        if self._contraction.op is not MATMUL or min(x.ndim, y.ndim) < 2:
            return None
        # parts of rows are no pieces of the results' memory, and would be copied there
        whole = self._whole_rows or (self._turns and y.shape[-1] <= _SHORT_ROWS)
        if self._is_small:
            return SmallProduct(x, y, self._contraction.dtype, self._find, whole_rows=whole)
        return self._multiply(x, y, whole_rows=whole) if {x.dtype, y.dtype} <= IN_BLAS else None

    def _factors(self, inputs: Sequence[Array]) -> list[Array]:
        """Return what is multiplied."""
        x, y = [inputs[source] for source in self._contraction.inputs]
        return [y.swapaxes(-1, -2), x.swapaxes(-1, -2)] if self._turns else [x, y]

    def _one_after_the_other(
        self, inputs: Sequence[Array], buffers: Sequence[Array | None]
    ) -> Sequence[Array]:
        contraction = self._contraction
        operands = self._factors(inputs)
        if contraction.op is CONVOLUTION:
            x, weight = operands
            value = convolve(x, weight, contraction.attrs, self._make_convolution)
        elif self._is_small:
            x, y = operands
            value = small_matmul(x, y, contraction.dtype, self._find)
        else:
            value = implementation[contraction.op](*operands, *contraction.attrs)
        if self._epilogue is None:
            return (self._seen(value),)
        return self._program(self._shape)(self._operands(value, None, inputs), buffers)

    def _operands(self, value: Array, index: Index | None, inputs: Sequence[Array]) -> list[Array]:
        """Return what the epilogue reads: the product, or a block of it, and the other operands."""
        others = [inputs[other] for other in self._others]
        if index is not None:
            turned = self._turned(index)
            others = [part_of(other, turned) for other in others]
        return [self._seen(value), *others]

    def _program(self, shape: Shape) -> Program:
        """Return the program of the epilogue for blocks of a shape."""
        known = self._programs.get(shape)
        if known is None:
            assert self._epilogue is not None
            region = for_blocks(self._epilogue, self._shape, shape)
            known = self._programs[shape] = self._compile(region)
        return known

    def _new(self, dtype: Any) -> Array:
        """Return memory for an output."""
        return host_pool.empty(self._shape, dtype, self._layout)

    @property
    def _layout(self) -> list[int] | None:
        """The order of an output's axes in memory: rows lie in one piece, as in the product."""
        axes = self._permutation
        if axes is None or axes[-1] == len(axes) - 1:
            return None
        return [axes.index(axis) for axis in range(len(axes))]

    def _as_product(self, out: Array) -> Array:
        """Return an output with its axes as the product has them."""
        axes = self._permutation
        return out if axes is None else out.transpose(np.argsort(axes))

    def _seen(self, value: Array) -> Array:
        """Return the product, or a block of it, with its axes as its consumers see them."""
        return value if self._permutation is None else value.transpose(self._permutation)

    def _turned(self, index: Index) -> Index:
        axes = self._permutation
        return index if axes is None else tuple([index[axis] for axis in axes])


def _transposes(axes: tuple[int, ...] | None) -> bool:
    """Whether a permutation exchanges the last two axes, of at least two, and no others."""
    last = -1 if axes is None else len(axes) - 1
    return last > 0 and axes == (*range(last - 1), last, last - 1)


def _is_little(region: Region) -> bool:
    """Whether a region begins with a product of matrices of so few multiplications that one call of BLAS makes it."""
    dtypes = {region.dtype_of(source) for source in region.ops[0].inputs}
    return len(dtypes) == 1 and dtypes <= IN_BLAS and _multiplications(region) <= _LITTLE


def _multiplications(region: Region) -> int:
    """Return how many the product of matrices takes that a region begins with."""
    op = region.ops[0]
    return prod(op.shape) * region.shape_of(op.inputs[0])[-1]


def _in_blocks(product: Products | SmallProduct | Undilated) -> bool:
    """Whether a product has blocks enough to share out, or is made whole, and blocks are done when they are made."""
    compiled = isinstance(product, Native | Compiled)
    return (len(product.blocks) > 1 or compiled) and not product.in_parts


def _extents(index: Index) -> Shape:
    return tuple([part.stop - part.start for part in index])
