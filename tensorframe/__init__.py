"""One NumPy-like Tensor, recorded lazily into a graph, fused and run on whatever you have."""

from tensorframe.frontend.namespace import *  # noqa: F403 - the namespace is the package
from tensorframe.frontend.namespace import __all__  # noqa: F401 - and so is what it exports
from tensorframe.notebook import attach as _attach  # noqa: F401 - gives Tensor its pictures

__version__ = "0.1.0"
