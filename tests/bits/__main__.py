"""The contract of bits, thoroughly: 200 programs on each device, and random numbers with 100 keys.

python -m tests.bits --devices numpy,llvm
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator

import tensorframe as tfr
from tensorframe import random
from tests.bits.conditions import digests, violations
from tests.bits.draws import DRAWS, bits
from tests.bits.fresh import digests_of_a_fresh_process
from tests.bits.programs import Program, programs

KEYS = 100


def of_fresh_processes(chosen: list[Program], device: str, how: list[str]) -> Iterator[str]:
    """Yield the programs that have other bits in another process, on an empty cache of kernels and on a full one."""
    expected = digests(chosen, device)
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("a cold", "a warm"):
            found = digests_of_a_fresh_process(device, folder, how)
            for name, digest in expected.items():
                if found[name] != digest:
                    yield f"{device}: {name}, a fresh process with {cache} cache"


def of_draws(device: str, keys: int) -> Iterator[str]:
    """Yield the distributions that have other bits than on numpy, for any of so many keys."""
    for name, draw in DRAWS.items():
        for key in random.split(random.key(99), keys):
            one, other = (draw(1003, key=key, device=place) for place in (device, "numpy"))
            if bits(one) != bits(other):
                yield f"{device}: {name} with {key}"


def main() -> int:
    """Print what breaks the contract; the status is 1 if anything does."""
    parser = argparse.ArgumentParser(prog="python -m tests.bits", description=__doc__)
    here = [
        name
        for name in ("cpu", "numpy", "llvm", "opencl", "wgpu")
        if name in tfr.backends.available()
    ]
    parser.add_argument("--devices", default=",".join(here), help="which, with commas between")
    parser.add_argument("--quick", action="store_true", help="a selection of the programs")
    parser.add_argument("--every", type=int, default=1, help="one of so many programs, and of keys")
    parser.add_argument("--digests", action="store_true", help="only print digests, as JSON")
    said = parser.parse_args()
    chosen = programs(thorough=not said.quick)[:: said.every]
    devices = said.devices.split(",")
    if said.digests:
        sys.stdout.write(json.dumps(digests(chosen, devices[0])))
        return 0
    count = 0
    # what chooses the programs here has to choose those of other processes
    how = [*(["--quick"] if said.quick else []), "--every", str(said.every)]
    for device in devices:
        for found in (
            *[line for one in chosen for line in violations(one, device)],
            *of_fresh_processes(chosen, device, how),
            *of_draws(device, max(KEYS // said.every, 1)),
        ):
            count += 1
            sys.stdout.write(f"{found}\n")
    sys.stdout.write(f"{len(chosen)} programs on {', '.join(devices)}: {count} differences\n")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
