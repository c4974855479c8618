"""Kernels in four languages, each an operation of the graph: `python -m examples.raw_kernels`."""
