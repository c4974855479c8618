"""Gradients, thoroughly: hundreds of random programs on each device, first and second derivatives against differences.

python -m tests.gradient --devices numpy,llvm --count 200

With `--rules`, every rule in every floating dtype of each device instead, against float64 on the cpu.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

import tensorframe as tfr
from tests.gradient import sweep
from tests.gradient.programs import check


def main() -> int:
    """Run what the command line names; return how many programs have other derivatives than differences say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", help="separated by commas; all that are here without it")
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    parser.add_argument("--seed", type=int, default=1000, help="of the first program")
    parser.add_argument("--rules", action="store_true", help="every rule, not random programs")
    options = parser.parse_args()
    chosen = options.devices.split(",") if options.devices else tfr.backends.available()
    seeds = range(options.seed, options.seed + options.count)
    with tfr.config.override(small_size=0, small_nodes=0):
        return sum(rules(device) if options.rules else programs(device, seeds) for device in chosen)


def programs(device: str, seeds: Iterable[int]) -> int:
    """Check random programs; return how many have other derivatives than differences say."""
    checks = {f"seed {seed}": partial(check, seed, device, length=9) for seed in seeds}
    return _failed(device, "programs", checks)


def rules(device: str) -> int:
    """Check every rule in all dtypes of a device; return how many have other gradients than in float64."""
    info = next(each for each in tfr.backends.devices() if str(each.device) == device)
    held = info.capabilities.dtypes
    dtypes = [name for name in sweep.PRECISION if np.dtype(getattr(tfr, name)) in held]
    checks = {
        f"{case.name}, {dtype}": partial(sweep.check, case, dtype, device)
        for dtype in dtypes
        for case in sweep.all_cases()
    }
    return _failed(device, f"gradients in {', '.join(dtypes)}", checks)


def _failed(device: str, what: str, checks: dict[str, Callable[[], object]]) -> int:
    wrong = 0
    for name, run in checks.items():
        try:
            run()
        except AssertionError as error:
            wrong += 1
            print(f"{device}, {name}: {error}")
    print(f"{device}: {len(checks)} {what}, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
