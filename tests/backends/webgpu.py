"""The adapters that tests of WebGPU run on; they are skipped only where there is none."""

import pytest

from tensorframe.backends.wgpu.engine import WgpuBackend

DEVICE = "wgpu"
_found = WgpuBackend().probe()
# each adapter by each interface: they have different dtypes, and round in different ways
DEVICES = [DEVICE] if isinstance(_found, str) else [str(one.device) for one in _found]
needs_adapter = pytest.mark.skipif(isinstance(_found, str), reason=str(_found))
