"""The numba engine: kernels printed as Python, compiled to machine code, kept on disk, run by native threads."""
