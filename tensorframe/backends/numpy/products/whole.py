"""Rows that a backend computes as they are, and what is done to their results: products of several matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tensorframe.backends.bound import Bound
from tensorframe.backends.numpy.epilogue_region import with_positions
from tensorframe.backends.numpy.functions import Function, implementation, no_kernels
from tensorframe.backends.numpy.products.epilogue import Compile, Epilogue
from tensorframe.backends.numpy.products.joined_product import bound_joined
from tensorframe.backends.numpy.products.product import Multiply
from tensorframe.backends.numpy.products.quantized_product import bound_product
from tensorframe.backends.numpy.products.small_product import Find
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.ops.quantization import JOINED_MATMUL
from tensorframe.quick_tuples import NamedTuple

Array = Any


class Ways(NamedTuple):
    """How a backend multiplies: what finds kernels for quantised matrices and small elements, what makes products."""

    quantized: Any
    small: Find
    multiply: Multiply
    native: Callable[[], Any] = no_kernels

    def function(self, op: Op) -> Function:
        """Return what computes such a row."""
        if op is JOINED_MATMUL:
            return partial(implementation[op], multiply=self.multiply, small=self.small)
        return partial(implementation[op], find=self.quantized)


class WholeProgram:
    """The program of a row that devices may compute as it is, and of what is done to all of its result."""

    quiet = True

    def __init__(self, region: Region, ways: Ways, compile_: Compile) -> None:
        region, self._positions = with_positions(region)
        self._op = op = region.ops[0]
        self._ways = ways
        self._function = ways.function(op.op)
        self._epilogue = Epilogue(region, compile_)

    def __call__(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        """Return the outputs for these inputs."""
        with np.errstate(all="ignore"):
            factors = [inputs[source] for source in self._op.inputs]
            result = self._function(*factors, *self._op.attrs)
            return self._epilogue.of_whole(result, (*inputs, *self._positions), buffers)

    def bind(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Bound | None:
        """Return the calls of kernels for these operands, where there are kernels for all of it."""
        op, ways = self._op, self._ways
        factors = [inputs[source] for source in op.inputs]
        product: Bound | None
        if op.op is JOINED_MATMUL:
            product = bound_joined(factors, ways.multiply, ways.native())
        else:
            product = bound_product(factors, op.attrs, ways.quantized())
        if product is None:
            return None
        (result,) = product.outputs
        rest = self._epilogue.bind(result, (*inputs, *self._positions), buffers)
        return rest and Bound(rest.outputs, [*product.calls, *rest.calls])
