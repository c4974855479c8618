"""Programs of products and convolutions: in blocks, which go through the epilogue in the thread that made them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.base import Program, quiet, settled
from tensorframe.backends.bound import Bound, NativeCall
from tensorframe.backends.foreseeing import StandIns, foresee
from tensorframe.backends.numpy.convolution.convolution import (
    Make,
    Undilated,
    convolve,
    in_blocks,
    undilated,
)
from tensorframe.backends.numpy.epilogue_region import with_positions
from tensorframe.backends.numpy.functions import implementation, no_kernels
from tensorframe.backends.numpy.products.blas import ONE_THREAD_ANYWAY, takes
from tensorframe.backends.numpy.products.blas_calls import Matmul
from tensorframe.backends.numpy.products.contraction import multiplied
from tensorframe.backends.numpy.products.epilogue import Compile, Epilogue
from tensorframe.backends.numpy.products.product import (
    IN_BLAS,
    Call,
    Compiled,
    Multiply,
    Native,
    Product,
    Products,
    as_folded,
    extents,
    in_batch,
)
from tensorframe.backends.numpy.products.small_product import (
    Find,
    SmallProduct,
    reads_small,
    small_matmul,
)
from tensorframe.backends.silence import SILENT, begin, end
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION

# Multiplications of a product that is one call of BLAS, whatever is known of it.
_LITTLE = 1 << 12
# Calls after which kernels of exact ops are compiled for products that need no interpreter: LLVM is loaded for these.
_CALLS = 3
# Multiplications, of all calls together, after which they are: some milliseconds, as compiling takes.
_LONG = 1 << 28

Array = Any


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
        small_products: Find = no_kernels,
        native_products: Callable[[], Any] = no_kernels,
    ) -> None:
        """`convolution` makes those of inputs without zeros between their elements, `multiply` products."""
        region, self._positions = with_positions(region)
        self._make_convolution, self._multiply = convolution, multiply
        self._native_products = native_products
        self._find, self._is_small = small_products, reads_small_factors(region)
        self._contraction = region.ops[0]
        matrices = all(len(region.shape_of(source)) > 1 for source in self._contraction.inputs)
        is_matmul = self._contraction.op is MATMUL and matrices
        self._epilogue = Epilogue(region, compile_)
        # BLAS is done before its product could be cut into blocks
        self._is_little = is_matmul and self._epilogue.permutation is None and _is_little(region)
        self._multiplications = _multiplications(region) if is_matmul else 0
        # a vector's product has no blocks, but takes several threads
        self._is_shared_out = not matrices and _is_shared_out(region)
        self._whole_rows = any(op.op.kind is Kind.REDUCE for op in region.ops)
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
            if self._epilogue.region is None or _in_blocks(product):
                return self._epilogue.of(product, given, buffers)
            return self._one_after_the_other(given, buffers)
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
        for kind in product.kinds if epilogue.region is not None else ():
            program = settled(epilogue.program(kind), now=self._is_worth_kernels(self._calls))
            if program is None:
                return None
            results.append(program)
        run = None
        if epilogue.region is None or epilogue.permutation is None:
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
        dtypes = epilogue.dtypes(dtype)
        left, right = self._contraction.inputs
        return Call(
            (left, right),
            () if epilogue.region is None else epilogue.others,
            programs,
            [partial(epilogue.new, dtype) for dtype in dtypes],
            epilogue.as_product(epilogue.new(dtypes[-1])).strides,
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
        epilogue = self._epilogue
        value = (
            epilogue.as_product(epilogue.new(product.dtype))
            if epilogue.region is None
            else np.empty(product.shape, product.dtype)
        )
        calls = self._multiplying(product, given, value, kernels)
        if calls is None:
            return None
        rest = epilogue.bind(value, given, buffers)
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
        if self._epilogue.region is not None and not _in_blocks(product):
            x, y = self._factors(inputs)
            x, y = [in_batch(factor, value.shape[:-2]) for factor in (x, y)]
            whole = Matmul(*as_folded(x, y, value))
            if not whole.is_long:
                return [whole]
        return product.matmuls(value)

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
        if epilogue.region is None:
            return [stand_ins.new(epilogue.shape, product.dtype, epilogue.layout)]
        index = product.blocks[0] if _in_blocks(product) else None
        shape = contraction.shape if index is None else extents(index)
        given = epilogue.operands(stand_ins.new(shape, product.dtype), index, operands)
        program = epilogue.program(given[0].shape)
        if isinstance(product, Native) and (stand_ins.often or self._is_worth_kernels(1)):
            settled(program, now=True)
        outputs = foresee(program, given, stand_ins)
        if index is None:
            return outputs
        dtypes = epilogue.dtypes(product.dtype)
        return [stand_ins.new(epilogue.shape, dtype, epilogue.layout) for dtype in dtypes]

    def _product(self, inputs: Sequence[Array]) -> Products | SmallProduct | Undilated | None:
        """Return the product if BLAS multiplies it as it is, or the convolution if it has blocks."""
        x, y = self._factors(inputs)
        if self._contraction.op is CONVOLUTION:
            if self._whole_rows:  # a block may have parts of them
                return None
            return in_blocks(x, y, self._contraction.attrs, self._make_convolution)
        if self._contraction.op is not MATMUL or min(x.ndim, y.ndim) < 2:
            return None
        whole = self._whole_rows
        if self._is_small:
            return SmallProduct(x, y, self._contraction.dtype, self._find, whole_rows=whole)
        return self._multiply(x, y, whole_rows=whole) if {x.dtype, y.dtype} <= IN_BLAS else None

    def _factors(self, inputs: Sequence[Array]) -> list[Array]:
        """Return what is multiplied."""
        return [inputs[source] for source in self._contraction.inputs]

    def _one_after_the_other(
        self, inputs: Sequence[Array], buffers: Sequence[Array | None]
    ) -> Sequence[Array]:
        contraction = self._contraction
        x, y = self._factors(inputs)
        if contraction.op is CONVOLUTION:
            value = convolve(x, y, contraction.attrs, self._make_convolution)
        elif self._is_small:
            value = small_matmul(x, y, contraction.dtype, self._find)
        elif self._is_shared_out:
            value = multiplied(x, y, self._multiply)
        else:
            value = implementation[contraction.op](x, y, *contraction.attrs)
        return self._epilogue.of_whole(value, inputs, buffers)


def _is_little(region: Region) -> bool:
    """Whether a region begins with a product of matrices of so few multiplications that one call of BLAS makes it."""
    dtypes = {region.dtype_of(source) for source in region.ops[0].inputs}
    return len(dtypes) == 1 and dtypes <= IN_BLAS and _multiplications(region) <= _LITTLE


def _is_shared_out(region: Region) -> bool:
    """Whether a region begins with a product, in BLAS's dtypes, of more multiplications than one thread makes."""
    op = region.ops[0]
    dtypes = {region.dtype_of(source) for source in op.inputs}
    is_product = op.op is MATMUL and len(dtypes) == 1 and dtypes <= IN_BLAS
    return is_product and _multiplications(region) > ONE_THREAD_ANYWAY


def _multiplications(region: Region) -> int:
    """Return how many the product takes that a region begins with."""
    op = region.ops[0]
    return prod(op.shape) * region.shape_of(op.inputs[0])[-1]


def _in_blocks(product: Products | SmallProduct | Undilated) -> bool:
    """Whether a product has blocks enough to share out, or is made whole, and blocks are done when they are made."""
    compiled = isinstance(product, Native | Compiled)
    return (len(product.blocks) > 1 or compiled) and not product.in_parts
