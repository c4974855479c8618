"""Making programs: what those who take a region apart are given to have its parts compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.program import DeviceProgram
from tensorframe.graph.region import Region

# makes the program of a region, whose kernels are those of its lowering
Make = Callable[[Region, Callable[[Region], Lowering]], DeviceProgram]


def source_of(program: Any) -> str:
    """Return the text of a program's kernels; empty if it has none."""
    source = getattr(program, "source", None)
    return "" if source is None else str(source())
