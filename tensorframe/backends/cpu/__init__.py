"""The cpu: NumPy until a compiled kernel pays, then the kernel."""

from tensorframe.backends.cpu.engine import CpuBackend

__all__ = ["CpuBackend"]
