"""The namespace `tfr.lib`: what programs name of NumPy's `lib`; text, versions and files of it are NumPy's own."""

from numpy.lib import NumpyVersion, array_utils, format, mixins

from tensorframe.frontend.numpy_names import stride_tricks

__all__ = ["NumpyVersion", "array_utils", "format", "mixins", "stride_tricks"]

# a package to the import system, so that `from tensorframe.lib.stride_tricks import as_strided` looks here
__path__: list[str] = []
