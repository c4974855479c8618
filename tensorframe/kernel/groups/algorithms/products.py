"""Which kernel makes a product: one for tensor cores where the device has them for its dtype, one of bytes, or any.

The next tiles are read ahead where a group has the memory for it, or copied where the device does that by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.graph.region import Region
from tensorframe.graph.space import Space
from tensorframe.kernel.groups.algorithms import byte_product, copied_tiles
from tensorframe.kernel.groups.algorithms.byte_product import OfBytes
from tensorframe.kernel.groups.algorithms.copied_tiles import CopiedAhead
from tensorframe.kernel.groups.algorithms.double_buffer import DoubleBuffered
from tensorframe.kernel.groups.algorithms.product import Tiled
from tensorframe.kernel.groups.algorithms.product_loops import Product
from tensorframe.kernel.groups.algorithms.tensor_product import OfTensorCores, takes
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.nest.layout import Strides


def build_product(
    region: Region,
    space: Space,
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
    product: Product,
    target: Target,
) -> Built:
    """Return the kernel of a product and of what `region` does to it, whose inputs have these strides."""
    given = (region, space, strides, places, product, target)
    if takes(region, product, target):
        of_tensor_cores = OfTensorCores(*given)
        if of_tensor_cores.fits:
            return of_tensor_cores.built()
    if byte_product.takes(region, product):
        return OfBytes(*given).built()
    if copied_tiles.takes(region, product, target):
        copied = CopiedAhead(*given)
        if copied.fits:
            return copied.built()
    if target.double_buffer:
        doubled = DoubleBuffered(*given)
        if doubled.fits:
            return doubled.built()
    return Tiled(*given).built()
