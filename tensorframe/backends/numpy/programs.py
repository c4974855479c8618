"""Programs of the NumPy engine: what runs a region, chosen by what the region begins with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tensorframe.backends.base import Program
from tensorframe.backends.numpy.call import single_call
from tensorframe.backends.numpy.epilogue import (
    ProductProgram,
    convolution_program,
    reads_small_factors,
    small_product_program,
)
from tensorframe.backends.numpy.epilogue_region import has_chain, has_epilogue
from tensorframe.backends.numpy.interruptible import interruptible
from tensorframe.backends.numpy.region import elementwise_program
from tensorframe.backends.numpy.sequence import sequence_program
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.quantization import WHOLE_PRODUCTS

if TYPE_CHECKING:
    from tensorframe.backends.numpy.engine import NumpyBackend


def program_of(region: Region, backend: NumpyBackend, device: Device) -> Program:
    """Return what runs the region: blocks of an elementwise one, the one NumPy call, or a sequence of both.

    A backend that has kernels for products, or for what is done to their blocks, says so by its methods.
    """
    if has_chain(region):
        from tensorframe.backends.numpy.sweep import chain_program  # it looks at kernels

        compile_ = partial(backend.compile, device=device)
        return chain_program(region, compile_, backend.products(), backend.chains())
    if region.ops[0].op in WHOLE_PRODUCTS:
        from tensorframe.backends.numpy.whole import Ways, WholeProgram  # few programs do

        compile_ = partial(backend.compile, device=device)
        ways = Ways(
            backend.quantized_products(),
            backend.small_products(),
            backend.products(),
            backend.native_products(),
        )
        return WholeProgram(region, ways, compile_)
    is_small = reads_small_factors(region)
    if has_epilogue(region) or (region.ops[0].op is MATMUL and not is_small):
        compile_ = partial(backend.compile, device=device)
        return ProductProgram(
            region,
            compile_,
            backend.convolution(),
            backend.products(),
            small_products=backend.small_products(),
            native_products=backend.native_products(),
        )
    if region.ops[0].op is CONVOLUTION:
        return convolution_program(region, backend.convolution())
    if is_small:
        return small_product_program(region, backend.small_products())
    if all(op.op.kind is Kind.MAP for op in region.ops):
        return elementwise_program(region)
    if len(region.ops) > 1:
        return sequence_program(region)
    (single,) = region.ops
    # a view is nothing to wait for, and a product is made in blocks
    brief = single.op.alias or single.op.kind is Kind.CONTRACT
    return single_call(region) if brief else interruptible(single_call(region), region)
