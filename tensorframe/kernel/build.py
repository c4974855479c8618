"""Building: a region and the layout of its operands become kernels, and the numbers to call them with."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.graph.space import Space
from tensorframe.kernel.forms import builder
from tensorframe.kernel.forms.form import map_loops
from tensorframe.kernel.forms.tiles import tile_of, tiles
from tensorframe.kernel.nest.assemble import Built, Launch
from tensorframe.kernel.nest.layout import Strides, lay_out
from tensorframe.kernel.nest.stages import stages_of
from tensorframe.kernel.spaces.analyse import space_of
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.kernel.spaces.expand import expanded

if TYPE_CHECKING:
    from tensorframe.kernel.forms.reductions import OnePass


def build(
    region: Region,
    space: Space,
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
) -> Built:
    """Return the kernels of a region whose inputs have these strides, for threads that run ranges of a loop.

    `places` are the array that each output goes to, and which part of its complex elements it is, or None.
    """
    layout = lay_out(region, space, strides, places, in_order=True)
    if not space.reduced:
        return Built((_MapBuilder(region, space, layout).map(),), (), layout.layouts)
    from tensorframe.kernel.forms.reductions import ReductionBuilder  # most first kernels are maps

    launches, partials = ReductionBuilder(region, space, layout).launches()
    return Built(launches, partials, layout.layouts)


def one_pass_of(region: Region) -> OnePass | None:
    """Return the sums of squared distances that a region's kernels take in one pass, for operands in C order."""
    parts = in_parts(expanded(region))
    space = space_of(parts.region)
    strides = [strides_of(shape) for shape, _ in parts.region.inputs]
    if not space.reduced:
        return None
    from tensorframe.kernel.forms.reductions import ReductionBuilder  # as above

    layout = lay_out(parts.region, space, strides, parts.places, in_order=True)
    return ReductionBuilder(parts.region, space, layout).one_pass()


class _MapBuilder(builder.Builder):
    """Makes the kernel of a region without reductions."""

    def map(self) -> Launch:
        """Return the kernel: blocks of a row, tiles where operands lie across each other, or whole rows."""
        form = self.form(stages_of(self.region, self.space, scratch=False))
        sizes = self.nest.kept
        streamed = self.streamed()
        if streamed:
            width = _evenly(sizes[-1], builder.STREAM // max(map(self.itemsize, streamed)))
            total = prod(sizes[:-1]) * -(-sizes[-1] // width)
            return self.launch(form, map_loops(form, width, streamed), total, width)
        if len(sizes) < 2:
            total = prod(sizes)
            return self.launch(form, map_loops(form, 0), total, 1)
        tile = tile_of(self.nest)
        if tile is not None:
            body = tiles(form, tile)
            return self.launch(form, body, tile.count(self.nest), tile.height * tile.width)
        outer, inner = prod(sizes[:-1]), sizes[-1]
        if inner <= 2 * builder.SHARE:
            return self.launch(form, map_loops(form, 0), outer, inner)
        total = outer * -(-inner // builder.SHARE)
        return self.launch(form, map_loops(form, builder.SHARE), total, builder.SHARE)


def _evenly(size: int, most: int) -> int:
    """Return a length, in whole lines of a cache, for equal pieces of a loop."""
    return -(-size // (-(-size // most) * 64)) * 64
