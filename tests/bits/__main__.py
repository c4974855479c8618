"""The contract of bits, thoroughly: some 240 programs on each device, and random numbers with 100 keys.

python -m tests.bits --devices numpy,llvm
python -m tests.bits --devices opencl --programs :40 --progress
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from time import perf_counter

import tensorframe as tfr
from tensorframe import random
from tests.bits.conditions import digests, violations
from tests.bits.draws import DRAWS, bits
from tests.bits.fresh import digests_of_a_fresh_process
from tests.bits.programs import Program, programs
from tests.drivers import OPTIMIZED, compile_quickly

KEYS = 100
# One of so many programs is compiled by drivers with their optimisations too, where that takes 20 seconds a kernel.
OPTIMIZED_EVERY = 16
DRIVEN = ("opencl", "wgpu")


def of_fresh_processes(
    chosen: list[Program], device: str, said: argparse.Namespace
) -> Iterator[str]:
    """Yield the programs that have other bits in another process, on an empty cache of kernels and on a full one.

    Kernels that the drivers of processors optimise have the bits of those that they do not.
    """
    expected = digests(chosen, device)
    every, quick = said.every, said.quick
    # what chooses the programs here has to choose those of other processes
    how = [*(["--quick"] if quick else []), f"--programs={said.programs}", f"--every={every}"]
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("a cold", "a warm"):
            found = digests_of_a_fresh_process(device, folder, how)
            for name, digest in expected.items():
                if found[name] != digest:
                    yield f"{device}: {name}, a fresh process with {cache} cache"
        if device in DRIVEN:
            how[-1] = f"--every={every * OPTIMIZED_EVERY}"
            for name, digest in digests_of_a_fresh_process(device, folder, how, OPTIMIZED).items():
                if expected[name] != digest:
                    yield f"{device}: {name}, a fresh process whose driver optimises"


def of_draws(device: str, keys: int) -> Iterator[str]:
    """Yield the distributions that have other bits than on numpy, for any of so many keys."""
    for name, draw in DRAWS.items():
        for key in random.split(random.key(99), keys):
            one, other = (draw(1003, key=key, device=place) for place in (device, "numpy"))
            if bits(one) != bits(other):
                yield f"{device}: {name} with {key}"


def differences(chosen: list[Program], device: str, said: argparse.Namespace) -> Iterator[str]:
    """Yield all that breaks the contract on a device."""
    for count, program in enumerate(chosen):
        start = perf_counter()
        yield from violations(program, device)
        if said.progress:
            sys.stderr.write(f"{device} {count}: {program.name} {perf_counter() - start:.1f} s\n")
    yield from of_fresh_processes(chosen, device, said)
    if said.programs.startswith(":"):  # other parts have nothing to do with them
        yield from of_draws(device, max(KEYS // said.every, 1))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bits",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    here = [
        name
        for name in ("cpu", "numpy", "llvm", "opencl", "wgpu")
        if name in tfr.backends.available()
    ]
    parser.add_argument("--devices", default=",".join(here), help="which, with commas between")
    parser.add_argument("--quick", action="store_true", help="a selection of the programs")
    part = "a part of the programs, as START:STOP; the one without START draws random numbers"
    parser.add_argument("--programs", default=":", help=part)
    parser.add_argument("--every", type=int, default=1, help="one of so many programs, and of keys")
    parser.add_argument("--progress", action="store_true", help="say how long each program took")
    parser.add_argument("--digests", action="store_true", help="only print digests, as JSON")
    return parser.parse_args()


def main() -> int:
    """Print what breaks the contract; the status is 1 if anything does."""
    compile_quickly()
    said = _arguments()
    start, stop = [int(bound) if bound else None for bound in said.programs.split(":")]
    chosen = programs(thorough=not said.quick)[start : stop : said.every]
    devices = said.devices.split(",")
    if said.digests:
        sys.stdout.write(json.dumps(digests(chosen, devices[0])))
        return 0
    count = 0
    for device in devices:
        for found in differences(chosen, device, said):
            count += 1
            sys.stdout.write(f"{found}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} programs on {', '.join(devices)}: {count} differences\n")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
