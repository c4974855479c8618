"""One NumPy-like Tensor, recorded lazily into a graph, fused and run on whatever you have."""

from tensorframe.frontend.namespace import *  # noqa: F403 - the namespace is the package
