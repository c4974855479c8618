"""The NumPy engine: every op as a NumPy call, regions of elementwise ops in cache-sized blocks."""
