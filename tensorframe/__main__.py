"""`python -m tensorframe`: the devices that are here, and whether each of them computes what NumPy does."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Sequence

import numpy as np

import tensorframe as tfr
from tensorframe.backends.discovery import columns, table
from tensorframe.backends.extension_points import EXTENSION, extension_row
from tensorframe.frontend.diagnostics import smoke


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is here; the status is 1 if a device gives a wrong result or fails."""
    argparse.ArgumentParser(
        prog="python -m tensorframe",
        description="List the devices, try each, and say what is missing. Status 1 if one is wrong.",
    ).parse_args(arguments)
    python = f"Python {platform.python_version()}, NumPy {np.__version__}"
    print(f"tensorframe {tfr.__version__}, {python}\n")
    diagnosis = tfr.doctor()
    print(table(diagnosis.probes))
    if diagnosis.extensions:
        print("\n" + "\n".join(columns([EXTENSION, *map(extension_row, diagnosis.extensions)])))
    devices = [info for probe in diagnosis.probes for info in probe.devices]
    trials = [smoke.attempt(info.device) for info in devices if info.capabilities.executes]
    print("\nsum(sin(x) * x + exp(-x * x), axis=1) of 64 x 500 numbers, computed a second time")
    print("\n".join(columns([(str(trial.device), str(trial)) for trial in trials])))
    missing = {probe.name for probe in diagnosis.probes if not probe.devices}
    told = [
        str(finding)
        for finding in diagnosis.findings
        if finding.subject.partition(" ")[0] not in missing
    ]
    if told:
        print("\n" + "\n".join(told))
    return 0 if all(trial.right for trial in trials) else 1


if __name__ == "__main__":
    sys.exit(main())
