"""Split outputs: a region with more results than a kernel may have buffers runs as several, each with some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.kernel.spaces.rewriting import pruned


def split_outputs(region: Region, most: int) -> list[Region]:
    """Return regions with the same inputs, each with some of the outputs, that need at most so many buffers.

    What several of them need is computed in each. One output is never taken apart.
    """
    count = len(region.outputs)
    if count == 1 or _buffers(region) <= most:
        return [region]
    halves = (region.outputs[: count // 2], region.outputs[count // 2 :])
    return [
        part
        for outputs in halves
        for part in split_outputs(pruned(replace(region, outputs=outputs)), most)
    ]


def _buffers(region: Region) -> int:
    """Return how many buffers a kernel has at most, with partial results and a mark for wrong indices."""
    first = len(region.inputs)
    read = {source for op in region.ops for source in op.inputs if source < first}
    partial = sum(op.op.kind is Kind.REDUCE for op in region.ops)
    return len(read) + max(len(region.outputs), partial) + 1


class SplitProgram:
    """Runs one program after the other on the same inputs, and returns the outputs of all."""

    quiet = True

    def __init__(self, programs: Sequence[Program]) -> None:
        self._programs = programs

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs; the device has new memory for them."""
        return [value for program in self._programs for value in program(inputs, buffers)]
