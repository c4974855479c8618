"""The table of all devices: `python -m tests.array_api --devices cpu,opencl --examples 20 --write docs/conformance.md`.

Runs the array standard's own tests, from the checkout that ARRAY_API_TESTS names, with each device as the default one.
Nothing is skipped and no failure is expected by us: what the table counts as skipped, the tests themselves skip.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import tensorframe as tfr

ROOT = Path(__file__).parents[2]
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|xfailed|xpassed|errors?)")

THOROUGH = (100, (11, 22, 33))  # examples and seeds

PAGE = """\
# Conformance

Every device is judged by the array standard's own tests,
[array-api-tests](https://github.com/data-apis/array-api-tests), with the standard of {standard} and its extensions
`linalg` and `fft`. Nothing is skipped and no failure is expected by us; five tests are skipped by the suite itself,
which calls them flaky. The table is written by `nox -s conformance`, given a checkout in `ARRAY_API_TESTS`.

{table}

- {facts}
- array-api-tests {commit}, {standard} of the standard
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What the tests gave on one device."""

    device: str
    name: str
    examples: int
    seeds: tuple[int, ...]
    counts: dict[str, int]
    lacking: tuple[str, ...]  # dtypes that the device does not have


def main() -> int:
    """Run, print the table, write the page; 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="tests.array_api", description=__doc__)
    parser.add_argument("--devices", default="", help="names with commas (all that compute)")
    parser.add_argument("--examples", type=int, default=20, help="for each property (20)")
    parser.add_argument("--seeds", default="1", help="numbers with commas (1)")
    parser.add_argument("--thorough", default="", help="names that get 100 examples and 3 seeds")
    parser.add_argument("--write", type=Path, metavar="PATH", help="write the page")
    parser.add_argument("--workers", default="0", help="processes that share the tests (one)")
    options = parser.parse_args()
    suite = Path(os.environ.get("ARRAY_API_TESTS", ""))
    if not (suite / "array-api" / "spec").is_dir():
        parser.error("set ARRAY_API_TESTS to a checkout of array-api-tests with its submodule")
    known = {str(one.device): one for one in tfr.backends.devices() if one.capabilities.executes}
    wanted = options.devices.split(",") if options.devices else list(known)
    seeds = tuple(map(int, options.seeds.split(",")))
    rows = []
    for device in wanted:
        effort = (options.examples, seeds)
        if device in options.thorough.split(","):
            effort = THOROUGH
        counts = measured(suite, device, *effort, options.workers)
        rows.append(Row(device, known[device].name, *effort, counts, lacking(device)))
        print(table(rows), flush=True)
        if options.write:
            options.write.write_text(page(suite, rows), encoding="utf-8")
    return int(any(row.counts.get("failed") or row.counts.get("errors") for row in rows))


def measured(
    suite: Path,
    device: str,
    examples: int,
    seeds: tuple[int, ...],
    workers: str,
    seconds: float | None = None,
) -> dict[str, int]:
    """Return how many tests ended how, over all seeds, each of which may take so many seconds."""
    total: dict[str, int] = {}
    for seed in seeds:
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "array_api_tests"),
            *("--max-examples", str(examples), "--disable-deadline", f"--hypothesis-seed={seed}"),
            *("--tb=short", "--no-showlocals", "-n", workers),
        ]
        environment = os.environ | {
            "TENSORFRAME_BACKEND": device,
            "ARRAY_API_TESTS_MODULE": "tensorframe",
            "PYTHONPATH": str(ROOT),
        }
        ran = subprocess.run(
            command,
            cwd=suite,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        *_, last = ran.stdout.strip().splitlines() or [ran.stderr]
        found = _COUNT.findall(last)
        if ran.returncode not in (0, 1) or not found:
            raise RuntimeError(f"the tests did not run on {device}: {last}\n{ran.stderr[-2000:]}")
        if ran.returncode:
            print(ran.stdout, file=sys.stderr)
        for count, how in found:
            name = "errors" if how == "error" else how
            total[name] = total.get(name, 0) + int(count)
    return total


def lacking(device: str) -> tuple[str, ...]:
    """Return the dtypes of the standard that a device does not have."""
    info = tfr.__array_namespace_info__()
    here, everywhere = info.dtypes(device=device), info.dtypes(device="cpu")
    return tuple([name for name in everywhere if name not in here])


def table(rows: list[Row]) -> str:
    """Return the rows in Markdown."""
    lines = [
        "| device | | examples | seeds | passed | failed | expected to fail | skipped | dtypes it lacks |"
    ]
    lines.append("|---|---|--:|---|--:|--:|--:|--:|---|")
    for row in rows:
        count = row.counts.get
        failed = count("failed", 0) + count("errors", 0)
        numbers = (count("passed", 0), failed, count("xfailed", 0), count("skipped", 0))
        cells = [row.device, row.name, row.examples, ", ".join(map(str, row.seeds)), *numbers]
        cells.append(", ".join(row.lacking) or "none")
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def page(suite: Path, rows: list[Row]) -> str:
    """Return the page."""
    facts = [
        datetime.now(UTC).date().isoformat(),
        f"Python {platform.python_version()}",
        f"NumPy {np.__version__}",
        f"tensorframe {tfr.__version__}",
    ]
    standard = tfr.__array_api_version__
    return PAGE.format(
        table=table(rows), facts=", ".join(facts), commit=_commit(suite), standard=standard
    )


def _commit(suite: Path) -> str:
    command = ["git", "-C", str(suite), "rev-parse", "--short", "HEAD"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout.strip() or "of unknown commit"


if __name__ == "__main__":
    sys.exit(main())
