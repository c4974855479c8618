"""Programs of the NumPy engine: what runs a region, chosen by what the region begins with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tensorframe.backends.base import Program
from tensorframe.backends.numpy.epilogue_region import has_chain, has_epilogue
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.quantization import WHOLE_PRODUCTS

if TYPE_CHECKING:
    from tensorframe.backends.numpy.engine import NumpyBackend

# Each way imports what it needs: most programs go few of them, and the first result waits for that.


def program_of(region: Region, backend: NumpyBackend, device: Device) -> Program:
    """Return what runs the region: blocks of an elementwise one, the one NumPy call, or a sequence of both.

    A backend that has kernels for products, or for what is done to their blocks, says so by its methods.
    """
    first = region.ops[0].op
    if first.kind is Kind.CONTRACT or first in WHOLE_PRODUCTS:
        program = _product_program(region, backend, device)
        if program is not None:
            return program
    if all(op.op.kind is Kind.MAP for op in region.ops):
        from tensorframe.backends.numpy.region import elementwise_program

        return elementwise_program(region)
    if len(region.ops) > 1:
        from tensorframe.backends.numpy.sequence import sequence_program

        return sequence_program(region)
    from tensorframe.backends.numpy.call import single_call
    from tensorframe.backends.numpy.interruptible import interruptible

    (single,) = region.ops
    # a view is nothing to wait for, and a product is made in blocks
    brief = single.op.alias or single.op.kind is Kind.CONTRACT
    return single_call(region) if brief else interruptible(single_call(region), region)


def _product_program(region: Region, backend: NumpyBackend, device: Device) -> Program | None:
    """Return what runs a product and what is done to its blocks; None for one that is a single call."""
    compile_ = partial(backend.compile, device=device)
    first = region.ops[0].op
    if has_chain(region):
        from tensorframe.backends.numpy.products.sweep import chain_program

        return chain_program(region, compile_, backend.products(), backend.chains())
    if first in WHOLE_PRODUCTS:
        from tensorframe.backends.numpy.products.whole import Ways, WholeProgram

        ways = Ways(
            backend.quantized_products(),
            backend.small_products(),
            backend.products(),
            backend.native_products(),
        )
        return WholeProgram(region, ways, compile_)
    from tensorframe.backends.numpy import product_program as products

    is_small = products.reads_small_factors(region)
    if has_epilogue(region) or (first is MATMUL and not is_small):
        return products.ProductProgram(
            region,
            compile_,
            backend.convolution(),
            backend.products(),
            small_products=backend.small_products(),
            native_products=backend.native_products(),
        )
    if first is CONVOLUTION:
        return products.convolution_program(region, backend.convolution())
    return products.small_product_program(region, backend.small_products()) if is_small else None
