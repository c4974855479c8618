"""Compiled calls: products, convolutions and chains of products that NumPy's engine has made by compiled code.

LLVM is loaded by the first of them; where it does not load, NumPy makes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorframe.backends.llvm.engine import unusable

if TYPE_CHECKING:
    from tensorframe.backends.numpy.convolution.convolution import Undilated
    from tensorframe.backends.numpy.products.chain import Tiles
    from tensorframe.backends.numpy.products.product import Products
    from tensorframe.backends.numpy.products.small_product import Kernels as SmallKernels
    from tensorframe.backends.numpy.products.weights import Weights
    from tensorframe.ops.convolution import Geometry

Array = Any


def compiled_convolution(x: Array, weight: Array, geometry: Geometry, groups: int) -> Undilated:
    """Return a convolution by compiled products; NumPy's where LLVM does not load."""
    if unusable() is not None:
        from tensorframe.backends.numpy.convolution.convolution import (
            undilated,  # few programs need it
        )

        return undilated(x, weight, geometry, groups)
    from tensorframe.backends.llvm.convolution.choice import compiled  # imports LLVM

    return compiled(x, weight, geometry, groups)


def small_kernels() -> SmallKernels | None:
    """Return the kernels for products of small elements; None where LLVM does not load."""
    if unusable() is not None:
        return None
    from tensorframe.backends.llvm import thin_product  # imports LLVM

    return thin_product


def quantized_kernels() -> Any:
    """Return the kernels for products with quantised matrices; None where LLVM does not load."""
    if unusable() is not None:
        return None
    from tensorframe.backends.llvm import quantized_product  # imports LLVM

    return quantized_product


def blas_kernels() -> Any:
    """Return what calls BLAS from compiled code; None where LLVM does not load."""
    if unusable() is not None:
        return None
    from tensorframe.backends.llvm import blas_calls  # imports LLVM

    return blas_calls


def compiled_product(x: Array, y: Array, *, whole_rows: bool = False) -> Products:
    """Return a product by compiled tiles; NumPy's where LLVM does not load."""
    if unusable() is not None:
        from tensorframe.backends.numpy.products.product import Product  # few programs need it

        return Product(x, y, whole_rows=whole_rows)
    from tensorframe.backends.llvm.products.packed import packed_or_blas  # imports LLVM

    return packed_or_blas(x, y, whole_rows=whole_rows)


def tiled_chain(weights: Weights) -> Tiles | None:
    """Return what makes the products of a chain by tiles, where LLVM loads."""
    if unusable() is not None:
        return None
    from tensorframe.backends.llvm.products.chain import TiledChain  # imports LLVM

    return TiledChain(weights)
