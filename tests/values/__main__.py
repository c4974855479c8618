"""The thorough comparison with NumPy: `python -m tests.values --devices cpu,opencl --only median,interp`.

All public functions with special values in all dtypes, on every device, and by kernels where the device has any:
their number makes this take minutes on each.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import tensorframe as tfr
from tensorframe.dtypes import BY_NAME
from tests.values.sweep import found_in
from tests.values.table import TABLE


def main() -> int:
    """Compare, print what differs; 1 if anything does."""
    parser = argparse.ArgumentParser(prog="tests.values", description=__doc__)
    parser.add_argument("--devices", default="", help="names with commas (all that compute)")
    parser.add_argument("--dtypes", default=",".join(BY_NAME), help="names with commas (all)")
    parser.add_argument("--only", default="", help="functions, with commas (all)")
    parser.add_argument(
        "--one-by-one", action="store_true", help="without plans, as small graphs run"
    )
    chosen = parser.parse_args()
    devices = chosen.devices.split(",") if chosen.devices else tfr.backends.available()
    dtypes = [BY_NAME[name] for name in chosen.dtypes.split(",")]
    names = chosen.only.split(",") if chosen.only else TABLE
    options = {} if chosen.one_by_one else {"small_size": 0, "small_nodes": 0}
    warnings.simplefilter("ignore", tfr.errors.FallbackWarning)
    wrong = 0
    for device in devices:
        with tfr.use_backend(device), tfr.config.override(**options):
            for name in names:
                for words in found_in(name, dtypes, planned=not chosen.one_by_one):
                    print(f"{device}: {words}", flush=True)
                    wrong += 1
                print(f"{device}: {name}", file=sys.stderr, flush=True)
        print(f"{device}: {len(names)} functions compared", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
