"""Saving: results are computed into sinks, which take them by windows."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.files.sink import Sink
from tensorframe.graph.node import Node
from tensorframe.rewrite.views import Window
from tensorframe.runtime.evaluate import evaluate, host_array


def evaluate_into(roots: Sequence[Node], sinks: Sequence[Sink]) -> None:
    """Compute `roots` together, and write each to its sink, which is left open."""
    evaluate(roots)
    for root, sink in zip(roots, sinks, strict=True):
        sink.write(Window.whole(root.shape), host_array(root))
