"""The numba engine: kernels printed as Python, compiled to machine code, kept on disk, run by native threads."""

from tensorframe.backends.numba.engine import NumbaBackend

__all__ = ["NumbaBackend"]
