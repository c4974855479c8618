"""What there is of ROCm, without importing CuPy: the driver of AMD's GPUs."""

from __future__ import annotations

import os
import sys

# what drivers make for programs that compute: on Linux itself, and on Linux inside Windows
_DRIVERS = ("/dev/kfd", "/dev/dxg")


def has_driver() -> bool:
    """Whether a driver may be here; elsewhere than on Linux nothing tells."""
    return not sys.platform.startswith("linux") or any(map(os.path.exists, _DRIVERS))
