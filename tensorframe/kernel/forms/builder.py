"""Builders: what the kernels of maps and of reductions have in common, the nest of loops and how it is launched."""

from __future__ import annotations

from functools import cache
from math import prod

from tensorframe.graph.region import Region
from tensorframe.graph.space import Space
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.forms.tiles import tile_of
from tensorframe.kernel.ir import Statement
from tensorframe.kernel.nest.assemble import Launch, finish
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.layout import Layout, output_buffers
from tensorframe.kernel.nest.passes.rare import FLAG, general, has_rare, speculative
from tensorframe.kernel.nest.passes.split import split
from tensorframe.kernel.nest.stages import Stages
from tensorframe.kernel.spaces.gather import with_bounds_checks
from tensorframe.machine import HOST

# Elements that one thread takes at a time: enough to hide handing them out, few enough to share out evenly. Where there
# are plenty they are more, since where a share begins nothing has been prefetched.
SHARE = 1 << 15
_MOST_SHARED, _SHARES = 1 << 17, 64
# Bytes of an output that are made before they are streamed: with more, the processor does nothing else meanwhile.
STREAM = 2048


class Builder:
    """Makes the kernels of a region in the form that its loops have in memory."""

    def __init__(self, region: Region, space: Space, layout: Layout) -> None:
        """Take a region, its loops, and how these go over memory."""
        self.region = region
        self.space = space
        self.nest = layout.nest
        self.layout = layout

    def streamed(self) -> list[int]:
        """Return the outputs that are so large that what of them is in a cache afterwards is of little use.

        A store of a line would read it first; past the caches it is only written.
        """
        nest = self.nest
        if nest.pieces or len(nest.reduced) > 1 or not nest.sizes:
            return []
        if nest.sizes[-1] < STREAM // 16 or (not nest.reduced and tile_of(nest)):
            return []
        return [value for value in self.region.outputs if self._is_streamed(value)]

    def _is_streamed(self, value: int) -> bool:
        nest, itemsize = self.nest, self.itemsize(value)
        # in a map, the ends of a row that is not whole lines would take longer than the rest saves
        whole = (
            bool(nest.reduced) or len(nest.kept) == 1 or nest.kept[-1] * itemsize % HOST.line == 0
        )
        along_memory = nest.accesses["out", value].steps[-1] == 1
        return whole and along_memory and prod(nest.sizes) * itemsize in HOST.streamed

    def itemsize(self, value: int) -> int:
        """Return the bytes of an element of a value."""
        return self.region.dtype_of(value).itemsize

    def form(self, stages: Stages) -> Form:
        """Return a form of these stages, over operands and outputs as they lie in memory."""
        layout = self.layout
        body = Body(self.region, self.nest, layout.reads, layout.lines)
        return Form(body, stages, output_buffers(self.region, layout))

    def launch(self, form: Form, body: tuple[Statement, ...], total: int, elements: int) -> Launch:
        """Return the launch of a kernel whose outermost loop runs `total` times over so many elements each."""
        grain = max(1, _share(total * elements) // max(elements, 1))
        numbers = tuple(form.body.numbers.values)
        statements = with_bounds_checks(split(body, form.body.cuts))
        if not has_rare(statements):
            return Launch(finish(form.body, statements), numbers, total, grain)
        quick = finish(form.body, statements, FLAG, runs=speculative(statements))
        full = cache(lambda: finish(form.body, general(statements), FLAG))
        return Launch(quick, numbers, total, grain, full)


def _share(elements: int) -> int:
    """Return how many of so many elements one thread takes at a time."""
    return min(max(SHARE, elements // _SHARES), _MOST_SHARED)
