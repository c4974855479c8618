"""Gradients, thoroughly: hundreds of random programs on each device, first and second derivatives against differences.

python -m tests.gradient --devices numpy,llvm --count 200
"""

from __future__ import annotations

import argparse
import sys

import tensorframe as tfr
from tests.gradient.programs import check


def main() -> int:
    """Run what the command line names; return how many programs have other derivatives than differences say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", help="separated by commas; all that are here without it")
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    parser.add_argument("--seed", type=int, default=1000, help="of the first program")
    options = parser.parse_args()
    chosen = options.devices.split(",") if options.devices else tfr.backends.available()
    wrong = 0
    for device in chosen:
        for seed in range(options.seed, options.seed + options.count):
            try:
                with tfr.config.override(small_size=0, small_nodes=0):
                    check(seed, device, length=9)
            except AssertionError as error:
                wrong += 1
                print(f"{device}, seed {seed}: {error}")
        print(f"{device}: {options.count} programs")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
