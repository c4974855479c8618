"""Regions of several parts: each work-group makes the first ones for itself, and one kernel is all of them."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.queue import Queue
from tensorframe.graph.region import Region
from tensorframe.kernel.groups.prologue import build_with_prologue
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.analyse import NotFusibleError, analyse
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.kernel.spaces.expand import expanded
from tensorframe.kernel.spaces.prologue import made_first, parts_of


def has_prologue(region: Region) -> bool:
    """Whether a region has reductions that come before its loops: they are over other axes than those."""
    return region.space is None and bool(made_first(region)) and isinstance(analyse(region), str)


class WithPrologue(Lowering):
    """A region whose last part has the loops that groups share."""

    def __init__(self, original: Region) -> None:
        self.original = original
        self.parts = in_parts(expanded(original))
        self.region = self.parts.region
        made = parts_of(self.region)
        if isinstance(made, str):
            raise NotFusibleError(made)
        self._made = made

    def built(
        self, queue: Queue, strides: Sequence[tuple[int, ...]], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernel for operands with these strides; outputs go to new arrays."""
        assert into is None
        target = self.target(queue, strides)
        return build_with_prologue(self.region, self._made, strides, self.parts.places, target)
