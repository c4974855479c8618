"""The cpu: compiled kernels, and NumPy where it gives the same bits and is sooner done."""

from tensorframe.backends.cpu.engine import CpuBackend

__all__ = ["CpuBackend"]
