"""The adapters that tests of WebGPU run on; they are skipped only where there is none."""

import pytest

from tensorframe.backends.wgpu.engine import WgpuBackend

DEVICE = "wgpu"
_found = WgpuBackend().probe()
needs_adapter = pytest.mark.skipif(isinstance(_found, str), reason=str(_found))
