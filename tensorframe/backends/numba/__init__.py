"""The engine of compiled kernels: printed for LLVM, kept on disk as machine code, run by native threads."""

from tensorframe.backends.numba.engine import NumbaBackend

__all__ = ["NumbaBackend"]
