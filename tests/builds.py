"""Kernels that are built again: what a process remembers of regions would hide how it is done now."""

import sys

from tensorframe.runtime.plan_cache import PLANS


def forget_kernels() -> None:
    """Have the next plans build and print their kernels, where anything has been."""
    for name in ("llvm.lowering", "device.program"):
        module = sys.modules.get(f"tensorframe.backends.{name}")
        if module is not None:
            module.forget()


def forget_builds() -> None:
    """Have the next computations make their plans, and these their kernels."""
    PLANS.clear()
    forget_kernels()
