"""What is there of CUDA, without importing CuPy: the driver's release, and which packages of CuPy are installed."""

from __future__ import annotations

import ctypes
import re
import sys

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_CUPY = re.compile(r"cupy(-cuda\d+x?|-rocm-\d+-\d+)?\Z")


def driver_release() -> int | None:
    """Return the release of CUDA that the driver runs, 12040 for 12.4; None if there is no driver."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    release = ctypes.c_int()
    # needs no cuInit, so a GPU that hangs is not asked
    status = library.cuDriverGetVersion(ctypes.byref(release))
    return release.value if status == 0 else None


def cupy_packages() -> tuple[str, ...]:
    """Return the installed packages that bring the module `cupy`: the last of several has overwritten the rest."""
    from importlib.metadata import distributions

    names = {str(one.metadata["Name"]).lower().replace("_", "-") for one in distributions()}
    return tuple(sorted(name for name in names if _CUPY.match(name)))
