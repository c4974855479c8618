"""1,000 random programs under a quarter of the memory that they take: equal to the bit, or refused before they read.

`python -m tests.streaming --count 1000` runs them. With `--record FILE --minutes 4` outcomes are added to a file, and a
run ends after so long; the next one goes on with the seeds that the file does not have of this state of the package, so
that pieces that end at any time make one sweep. Pieces may run at once, each with seeds of its own.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from hashlib import sha256
from pathlib import Path
from time import monotonic

import tensorframe
from tests.streaming import programs
from tests.streaming.programs import BESIDE, OBJECTS, Outcome, run


def state():
    """Return a name of the code, the package's and that of the programs: equal for equal code."""
    digest = sha256()
    for path in [*sorted(Path(tensorframe.__file__).parent.rglob("*.py")), Path(programs.__file__)]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def recorded(path, code):
    """Return the outcomes that a file has of a state of the code, by seed."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    outcomes = [Outcome(*line["outcome"]) for line in lines if line["state"] == code]
    return {outcome.seed: outcome for outcome in outcomes}


def has_failed(outcome):
    """Whether a program has other bits, takes more than its limit, or not what was projected."""
    return outcome.failed or not outcome.near


def swept(seeds, seconds, path, code):
    """Return the outcomes of those seeds that are recorded or run within so many seconds, the last one to its end."""
    outcomes = recorded(path, code)
    end = monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            if seed in outcomes:
                continue
            if monotonic() > end:
                break
            outcomes[seed] = outcome = run(seed, Path(folder))
            if has_failed(outcome):
                print(outcome, flush=True)
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"state": code, "outcome": outcome}) + "\n")
    return [outcomes[seed] for seed in seeds if seed in outcomes]


def report(outcomes):
    """Print how programs went, and return how many failed."""
    for reason, count in Counter(one.refused or "streamed" for one in outcomes).most_common():
        print(f"{count:6} {reason}")
    large = [one for one in outcomes if one.measured > OBJECTS]
    if large:
        least = min((one.projected + BESIDE) / one.measured for one in large)
        most = max(one.projected / one.measured for one in large)
        print(
            f"of {len(large)} programs above 1 MiB: projected over measured {most:.2f} at most, and "
            f"{least:.2f} at least with {BESIDE >> 10} KiB of Python's and NumPy's own"
        )
    failed = [outcome.seed for outcome in outcomes if has_failed(outcome)]
    print(f"{len(failed)} failed", *failed)
    return len(failed)


def main(arguments=None):
    """Run seeds; the status is 1 if one has other bits, takes more than its limit, or not what was projected."""
    parser = argparse.ArgumentParser(prog="python -m tests.streaming")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--count", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--record", type=Path, help="a file that outcomes are added to")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="to run for")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.count)
    code = state()
    outcomes = swept(seeds, 60 * options.minutes, options.record, code)
    print(f"{len(outcomes)} of {len(seeds)} seeds from {seeds.start} on, on code {code}")
    return 1 if report(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
