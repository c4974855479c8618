"""Subgroups of OpenCL: threads of a group that read each other's values from registers, where a device has shuffles.

Which threads these are, the device decides, and a compiler how many for each kernel. So a trial tells whether they are
neighbours, and each kernel with shuffles is asked for the size of its own.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyopencl as cl

from tensorframe.kernel import ir

_EXTENSIONS = frozenset({"cl_khr_subgroups", "cl_khr_subgroup_shuffle"})
SIZES = (ir.WARP, ir.CLASS)
"""How many neighbours kernels may take for a subgroup, whatever more it has."""


def language(device: Any) -> str | None:
    """Return the version of OpenCL C in which a device has shuffles; None if it has none, or runs on the processor.

    On processors what a group shares is memory like any other, and its compiler makes vectors of threads.
    """
    is_processor = device.type & cl.device_type.CPU
    if is_processor or not set(device.extensions.split()) >= _EXTENSIONS:
        return None
    version = device.version.removeprefix("OpenCL ")
    return "CL3.0" if version >= "3" else "CL2.0" if version >= "2" else None


def size_in(kernel: Any, device: Any, lanes: int) -> int:
    """Return how many threads the subgroups of a kernel have, in groups of so many threads; 0 if nobody says."""
    with suppress(cl.Error):
        query = cl.kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE
        return int(kernel.get_sub_group_info(device, query, [lanes]))
    return 0
