"""The command line: how large the stack is, how much memory there may be, and where the files go."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import tensorframe as tfr
from examples.satellite.greenness import BANDS, run

DAYS = 365
UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 1 << 20, "GiB": 1 << 30}


def side_of(size: str) -> int:
    """Return the pixels of a side for which both bands take so many bytes."""
    number, unit = size.split()
    return int((float(number) * UNITS[unit] / (DAYS * 2 * len(BANDS))) ** 0.5)


def main() -> None:
    """Write the stack, clean and reduce it, and say what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="1 GB", help='of the stack, such as "20 GB"')
    parser.add_argument("--limit", default="1 GiB", help="of memory, for all of this program")
    parser.add_argument("--folder", type=Path, help="for the files; a temporary one by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, tfr.memory.limit(options.limit):
        folder = options.folder or Path(temporary)
        began = time.perf_counter()
        run(folder, DAYS, side_of(options.size))
        took = time.perf_counter() - began
        print(f"{options.size} of scenes in {took:.0f} s, within {options.limit}")
        greenness = tfr.load(folder / "greenness.safetensors")
        print(f"seen on {tfr.mean(greenness['seen']).item():.0f} of {DAYS} days")
        print(f"mean greenness {tfr.nanmean(greenness['mean']).item():.3f}")


if __name__ == "__main__":
    main()
