"""The engine of compiled kernels: printed for LLVM, cached on disk as machine code, run by native threads."""

from tensorframe.backends.llvm.engine import LlvmBackend

__all__ = ["LlvmBackend"]
