"""Making programs: what those who take a region apart are given to have its parts compiled."""

from __future__ import annotations

from collections.abc import Callable

from tensorframe.backends.device.program import DeviceProgram, Form
from tensorframe.graph.region import Region

# makes the program of a region, whose kernels are those of a form
Make = Callable[[Region, Callable[[Region], Form]], DeviceProgram]
