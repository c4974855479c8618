"""The bits of programs in a process of its own, whose kernels are cached in a given folder, those of drivers too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType

_NOTHING: Mapping[str, str] = MappingProxyType({})


def digests_of_a_fresh_process(
    device: str, cache: str, how: list[str], environment: Mapping[str, str] = _NOTHING
) -> dict[str, str]:
    """Return the digests of programs by name; `how` are arguments of `tests.bits` that choose them."""
    command = [sys.executable, "-m", "tests.bits", "--digests", "--devices", device, *how]
    own = {"TENSORFRAME_CACHE_DIR": cache, "XDG_CACHE_HOME": cache}
    variables = {**os.environ, **own, **environment}
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found
