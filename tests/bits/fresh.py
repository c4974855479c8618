"""The bits of programs in a process of its own, whose cache of kernels is a given folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys


def digests_of_a_fresh_process(device: str, cache: str, how: list[str]) -> dict[str, str]:
    """Return the digests of programs by name; `how` are arguments of `tests.bits` that choose them."""
    command = [sys.executable, "-m", "tests.bits", "--digests", "--devices", device, *how]
    environment = os.environ | {"TENSORFRAME_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found
