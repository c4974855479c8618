"""Saving: results are computed into sinks, which take them by windows."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.files.sink import Sink
from tensorframe.graph.node import Node
from tensorframe.rewrite.views import Window
from tensorframe.runtime.evaluate import evaluate, host_array


def evaluate_into(roots: Sequence[Node], sinks: Sequence[Sink]) -> None:
    """Compute `roots` together, and write each to its sink, which is left open."""
    pending = any(root.storage is None for root in roots)
    if pending:
        # loaded by the first tensor that is saved before it is computed
        from tensorframe.runtime.streams import stream_into

        if stream_into(roots, sinks):
            return
    evaluate(roots)
    for root, sink in zip(roots, sinks, strict=True):
        sink.write(Window.whole(root.shape), host_array(root))
