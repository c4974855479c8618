"""`python -m tensorframe_abacus`: every promise of the interface, checked on the device; status 1 if one is broken."""

from __future__ import annotations

import argparse
import sys

from tensorframe.testing.conformance import conformance
from tensorframe_abacus.backend import AbacusBackend


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m tensorframe_abacus")
    parser.add_argument("--seeds", type=int, default=25, help="random programs to try")
    report = conformance(AbacusBackend(), seeds=parser.parse_args().seeds)
    print(report)
    return 0 if report.conforms else 1


if __name__ == "__main__":
    sys.exit(main())
