"""`python -m tensorframe_abacus`: every promise of the interface, checked on the device; status 1 if one is broken."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tensorframe.testing.conformance import check_op, conformance
from tensorframe_abacus.backend import AbacusBackend
from tensorframe_abacus.format import sample
from tensorframe_abacus.ops import lorentzian


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m tensorframe_abacus")
    parser.add_argument("--seeds", type=int, default=25, help="random programs to try")
    parser.add_argument("--devices", nargs="*", help="where to check the op; all that are here")
    options = parser.parse_args()
    report = conformance(AbacusBackend(), seeds=options.seeds)
    print(report)
    x, width = np.linspace(-3.0, 3.0, 101), np.linspace(0.5, 2.0, 101)
    check_op(lorentzian, x, width, devices=options.devices)
    with TemporaryDirectory() as folder:
        sample(Path(folder) / "sample.beads")
    print("the op and the format keep theirs")
    return 0 if report.conforms else 1


if __name__ == "__main__":
    sys.exit(main())
