"""1,000 random programs under a quarter of the memory that they take: equal to the bit, or refused before they read.

python -m tests.streaming --count 1000
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.streaming.programs import OBJECTS, run


def main(arguments=None):
    """Run seeds; the status is 1 if one has other bits, or takes more than its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.streaming")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--count", type=int, default=1000, help="how many (default 1000)")
    options = parser.parse_args(arguments)
    reasons, failed, shares = Counter(), [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.count):
            outcome = run(seed, Path(folder))
            reasons[outcome.refused or "streamed"] += 1
            if outcome.failed or not outcome.near:
                failed.append(outcome)
                print(outcome, flush=True)
            if outcome.measured > 8 * OBJECTS:
                shares.append(outcome.projected / outcome.measured)
    for reason, count in reasons.most_common():
        print(f"{count:6} {reason}")
    if shares:
        print(
            f"projected over measured: {min(shares):.2f} to {max(shares):.2f}, {len(shares)} programs"
        )
    print(f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
