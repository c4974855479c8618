"""The page of a GPU, by one command: `python -m tests.benchmarks.gpu [--device cuda] [--markdown PATH] ...`.

First the device is shown to be right (`--checks`, with commas: conformance, programs, array-api; the last needs
a checkout in ARRAY_API_TESTS), then its limits are measured, and then the workloads. Each line is the best of several
calls under `jit`, the device idle before and after, as a share of what the device copies: bytes that have to move over
the bandwidth of its own copy. CuPy, and PyTorch's compiler, compute the same beside it where they have the device.

All of it takes `--minutes`, ten unless told: what has not begun by then is named at the end, and the status is 1.
`--markdown` writes the page line by line, so that a run that is cut short leaves what it measured; `--only` takes the
lines that begin so; `--scale` divides sizes, to try the command on a device of software.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import tensorframe as tfr
from tensorframe.backends.registry import info_of
from tests.benchmarks.gpu.checks import CHECKS, FailedError
from tests.benchmarks.gpu.clock import Clock
from tests.benchmarks.gpu.models import Decoding, Memory, models
from tests.benchmarks.gpu.peers import PEERS
from tests.benchmarks.gpu.works import Work, works

SECONDS = 0.5  # of a line, and of each peer in it


class Run:
    """A run of the command: what it yields, and what failed."""

    def __init__(self, said: argparse.Namespace) -> None:
        self._said = said
        self._device = tfr.Device(said.device)
        self._clock = Clock(self._device, SECONDS)
        self._end = monotonic() + 60 * said.minutes
        self.failed: list[str] = []

    def page(self) -> Iterator[str]:
        """Yield the lines of the page."""
        yield "# Measured on a GPU\n"
        info = info_of(self._device)
        yield f"{info.name}, {info.driver}; {datetime.now(UTC):%Y-%m-%d %H:%M}, tensorframe {tfr.__version__}.\n"
        for name in filter(None, self._said.checks.split(",")):
            yield f"{self._checked(name)}\n"
        yield f"{self._limits()}\n"
        yield f"| workload | time | share | {' | '.join(PEERS)} |"
        yield f"| --- | ---: | --- |{' --- |' * len(PEERS)}"
        for line in lines(self._said.scale):
            if line.name.startswith(self._said.only):
                yield from self._measured(line)

    def _checked(self, name: str) -> str:
        check, share = CHECKS[name]
        try:
            return check(self._device, 60 * self._said.minutes * share)
        except FailedError as error:
            self.failed.append(str(error))
            return f"**{name} failed**: {str(error).partition(chr(10))[0]}"

    def _limits(self) -> str:
        copied = self._clock.measure_copy(int((1 << 30) / self._said.scale))
        scaled = f", sizes divided by {self._said.scale:g}" if self._said.scale != 1 else ""
        said = f"It copies {copied / 1e9:.0f} GB/s{scaled}"
        if self._said.scale != 1:
            return f"{said}."
        (found,) = tfr.calibrate(self._device, force=True)
        assert found.limits is not None
        kernels, flops = found.limits.copy_bandwidth, found.limits.flops
        return f"{said}, {kernels / 1e9:.0f} GB/s by a kernel, and computes {flops / 1e12:.2f} TFLOP/s of float32."

    def _measured(self, line: Work | Memory | Decoding) -> Iterator[str]:
        if monotonic() > self._end:
            self.failed.append(f"{line.name}: not begun within {self._said.minutes:g} minutes")
            return
        try:
            yield f"| {' | '.join(line.cells(self._clock))} |"
        except (MemoryError, tfr.errors.TensorFrameError) as error:
            self.failed.append(f"{line.name}: {error!r}")


def lines(scale: float) -> Iterator[Work | Memory | Decoding]:
    """Yield all lines, with sizes divided by `scale`."""
    yield from works(scale)
    yield from models(scale)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page, and write it; 1 if something was wrong or did not run."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--checks", default=",".join(CHECKS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", type=Path)
    said = parser.parse_args(arguments)
    run, page = Run(said), list[str]()
    for text in run.page():
        print(text, flush=True)
        page.append(text)
        if said.markdown is not None:
            said.markdown.write_text("\n".join(page) + "\n", encoding="utf-8")
    print("\n".join(run.failed), file=sys.stderr)
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
