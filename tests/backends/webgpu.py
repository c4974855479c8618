"""The device of WebGPU that tests run on: the first adapter, skipped only where there is none."""

import pytest

from tensorframe.backends.wgpu.engine import WgpuBackend

DEVICE = "wgpu"
_found = WgpuBackend().probe()
needs_adapter = pytest.mark.skipif(isinstance(_found, str), reason=str(_found))
