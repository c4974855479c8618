"""NumPy's functions of files: text, and several arrays in one archive. They compute, and read, at once.

`save` and `load` have formats of tensorframe's own, and read when values are needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.protocols.ufuncs import through_numpy

__all__ = ["fromfile", "genfromtxt", "loadtxt", "savetxt", "savez", "savez_compressed"]


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Write tensors to an archive of `.npy` files, `arr_0` and so on, or by the names of keyword arguments.

    >>> import io
    >>> file = io.BytesIO()
    >>> tfr.savez(file, x=tfr.arange(3))
    >>> sorted(np.load(io.BytesIO(file.getvalue())))
    ['x']
    """
    through_numpy(np.savez, (file, *args), kwds)


def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """Write tensors to a compressed archive of `.npy` files: see `savez`.

    Smaller files, which take longer to write and cannot be mapped when they are read.

    >>> import io
    >>> file = io.BytesIO()
    >>> tfr.savez_compressed(file, tfr.arange(3))
    >>> sorted(np.load(io.BytesIO(file.getvalue())))
    ['arr_0']
    """
    through_numpy(np.savez_compressed, (file, *args), kwds)


def savetxt(fname: Any, X: ArrayLike, *args: Any, **options: Any) -> None:
    r"""Write a vector or a matrix to a text file, with the arguments of NumPy's function of this name.

    >>> import io
    >>> file = io.StringIO()
    >>> tfr.savetxt(file, tfr.asarray([[1, 2], [3, 4]]), fmt="%d")
    >>> file.getvalue()
    '1 2\n3 4\n'
    """
    through_numpy(np.savetxt, (fname, X, *args), options)


def loadtxt(fname: Any, *args: Any, **options: Any) -> Any:
    r"""Return the numbers of a text file, with the arguments of NumPy's function of this name.

    >>> import io
    >>> tfr.loadtxt(io.StringIO("1 2\n3 4"), dtype=int).tolist()
    [[1, 2], [3, 4]]
    """
    return through_numpy(np.loadtxt, (fname, *args), options)


def genfromtxt(fname: Any, *args: Any, **options: Any) -> Any:
    """Return the numbers of a text file in which some are missing, with the arguments of NumPy's function of this name.

    >>> import io
    >>> tfr.genfromtxt(io.StringIO("1,,3"), delimiter=",", filling_values=0).tolist()
    [1.0, 0.0, 3.0]
    """
    return through_numpy(np.genfromtxt, (fname, *args), options)


def fromfile(file: Any, *args: Any, **options: Any) -> Any:
    """Return the numbers that the bytes of a file are, with the arguments of NumPy's function of this name.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "bytes")
    >>> tfr.asarray([1, 2]).tofile(path)
    >>> tfr.fromfile(path, dtype="int64").tolist()
    [1, 2]
    """
    return through_numpy(np.fromfile, (file, *args), options)
