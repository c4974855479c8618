"""Every function of the namespace beside NumPy's, on arrays of several sizes: what a single call costs.

    python -m tests.benchmarks.functions [--device cpu] [--sizes 10,10000,1000000] [--only trace,eye]
                                         [--one-thread] [--json PATH]

A call is a function and `compute()`, the best of several samples, by turns. Each library has a process of its own and
all threads, and the clock counts; with `--one-thread` both are in one process, and the processor's time counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from tests.benchmarks.functions.libraries import by_turns, in_one_thread

# Cases that are printed, the slowest first.
_SHOWN = 60


def main() -> None:
    """Measure, and print what is slowest beside NumPy."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.functions", description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sizes", default="10,10000,1000000")
    parser.add_argument("--only", type=lambda text: text.split(","), help="cases to run (all)")
    parser.add_argument("--one-thread", action="store_true", help="for versions: see above")
    parser.add_argument("--json", type=Path, help="write the seconds of every case")
    options = parser.parse_args()
    measured = in_one_thread if options.one_thread else by_turns
    seconds: dict[str, dict[str, tuple[float, float]]] = {}
    for size in options.sizes.split(","):
        known = seconds[size] = {}
        for name, ours, theirs in measured(options.device, int(size), options.only):
            known[name] = (ours, theirs)
            if options.json:
                options.json.write_text(json.dumps(seconds), encoding="utf-8")
        print(summary(size, known), flush=True)


def summary(size: str, seconds: Mapping[str, tuple[float, float]]) -> str:
    """Return the median of the ratios to NumPy, and the cases from the slowest down."""
    ratios = {name: ours / theirs for name, (ours, theirs) in seconds.items()}
    worst = sorted(ratios, key=ratios.__getitem__, reverse=True)
    lines = [f"{size} elements, {len(ratios)} cases: median {median(ratios.values()):.2f}"]
    for name in worst[:_SHOWN]:
        ours, theirs = seconds[name]
        lines.append(
            f"  {ratios[name]:6.1f}  {name:20} {ours * 1e6:10.1f} us {theirs * 1e6:10.1f} us"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
