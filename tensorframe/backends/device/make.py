"""Making programs: what those who take a region apart are given to have its parts compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.backends.device.program import DeviceProgram, Form
from tensorframe.graph.region import Region

# makes the program of a region, whose kernels are those of a form
Make = Callable[[Region, Callable[[Region], Form]], DeviceProgram]


def source_of(program: Any) -> str:
    """Return the text of a program's kernels; empty if it has none."""
    source = getattr(program, "source", None)
    return "" if source is None else str(source())
