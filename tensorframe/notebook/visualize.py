"""Drawing graphs: `tfr.visualize` and `t.visualize()`; what draws is loaded with the first picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorframe.frontend.operands import nodes_of
from tensorframe.frontend.tensor import Tensor, method

if TYPE_CHECKING:
    from tensorframe.notebook.picture import Picture

__all__ = ["visualize"]


@method
def visualize(*tensors: Tensor, stage: str | None = None, collapse: bool | None = None) -> Picture:
    """Return a picture of what was recorded for `tensors`, or of any `stage` on the way to what runs.

    Stages are `recorded` (the default), the passes core, canonical, simplify, narrow, place, fuse, order and memory,
    and `plan`: what `compute` will run. From `fuse` on, kernels are boxes around the ops that they fuse, coloured by
    device, transfers are marked with their bytes, and values have the names of `print(t.explain())`. `collapse`
    closes kernels, and runs of recorded ops, to one box each, and draws many equal boxes as a stack; by default that
    happens where there are many ops. Another stage raises ArgumentError. Nothing is computed.

    The picture shows itself in a notebook, as SVG that needs no script; `save` writes `.svg`, `.png`, `.dot` and
    `.graphml`.

    >>> x = tfr.asarray([1.0, 2.0, 3.0])
    >>> y = tfr.exp(x) * 2
    >>> y.visualize()
    Picture(recorded graph: 2 ops, 1 input)
    >>> tfr.visualize(y, tfr.sum(y), stage="plan").graph().number_of_nodes()
    6
    """
    from tensorframe.notebook.stages import picture_of

    return picture_of(nodes_of("visualize", tensors), stage, collapse)
