"""Drivers that run on the processor, and what has them compile in a fraction of the time.

PoCL compiles a sum of rows for 20 seconds with its optimisations and for one without, Mesa's llvmpipe for half as long
again; tests run each kernel once. To test what users run: `PYOPENCL_BUILD_OPTIONS= GALLIVM_PERF= python -m pytest`.
"""

from __future__ import annotations

import os

UNOPTIMIZED = {"PYOPENCL_BUILD_OPTIONS": "-cl-opt-disable", "GALLIVM_PERF": "nopt"}
OPTIMIZED = dict.fromkeys(UNOPTIMIZED, "")


def compile_quickly() -> None:
    """Have drivers leave out their optimisations, here and in processes that are started, unless the user chose."""
    for name, value in UNOPTIMIZED.items():
        os.environ.setdefault(name, value)
