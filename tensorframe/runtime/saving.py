"""Saving: results are computed into sinks, which take them by windows."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.registry import capabilities
from tensorframe.files.sink import Sink
from tensorframe.graph.node import Node, discover
from tensorframe.rewrite.views import Window
from tensorframe.runtime.evaluate import evaluate, host_array

# Bytes of all values on the way to results, up to which it is not checked whether they fit.
_LIGHT = 1 << 20


def _certainly_fits(roots: Sequence[Node]) -> bool:
    """Whether there is memory for everything that the results are made of, or it is all there, in one piece."""
    if all(root.storage is not None and not capabilities(root.device).chunked for root in roots):
        return True
    return sum([node.nbytes for node in discover(roots)]) < _LIGHT


def evaluate_into(roots: Sequence[Node], sinks: Sequence[Sink]) -> None:
    """Compute `roots` together, and write each to its sink, which is left open."""
    if not _certainly_fits(roots):
        # loaded by the first tensor that is saved before it is computed
        from tensorframe.runtime.streaming.out_of_core import stream_into

        if stream_into(roots, sinks):
            return
    evaluate(roots)
    for root, sink in zip(roots, sinks, strict=True):
        sink.write(Window.whole(root.shape), host_array(root))
