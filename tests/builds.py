"""Kernels that are built again: what a process remembers of regions would hide how it is done now."""

import sys

from tensorframe.runtime.cache import PLANS


def forget_kernels() -> None:
    """Have the next plans build and print their kernels, where LLVM is loaded."""
    lowering = sys.modules.get("tensorframe.backends.llvm.lowering")
    if lowering is not None:
        lowering.forget()


def forget_builds() -> None:
    """Have the next computations make their plans, and these their kernels."""
    PLANS.clear()
    forget_kernels()
