"""Every function of the namespace beside NumPy's, on arrays of several sizes: what a single call costs.

    python -m tests.benchmarks.functions [--device cpu] [--sizes 10,10000,1000000] [--only trace,eye] [--json PATH]

A call is a function and `compute()`, in one thread, and what is compared is processor time: the best of several
samples, by turns. So a busy machine does not matter much, and versions are compared by their ratios to NumPy.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import tensorframe as tfr
from tests.benchmarks.functions.cases import CASES, Case, operands

Call = Callable[[], Any]

# Seconds of processor time: before measuring, when kernels are compiled, and in a sample.
_WARM, _SAMPLE = 0.15, 0.002
_SAMPLES = 7
# Cases that are printed, the slowest first.
_SHOWN = 60


def _ours(value: Any) -> Any:
    parts = value if isinstance(value, tuple | list) else (value,)
    tensors = [part for part in parts if isinstance(part, tfr.Tensor)]
    if tensors:
        tfr.compute(*tensors)
    return value


def _put(target: Any, where: Any, value: Any) -> Any:
    """Return a copy of `target` with a value assigned, which no library can leave out."""
    target = tfr.asarray(target, copy=True) if isinstance(target, tfr.Tensor) else target.copy()
    target[where] = value
    return target


def call_of(case: Case, namespace: Any, given: Mapping[str, Any]) -> Call:
    """Return the call of a case in a namespace, and of `compute` where it gives tensors.

    NameErrors are for who calls.
    """
    names = {**given, "xp": namespace, "put": _put}
    call: Call = eval(f"lambda: {case.text}", names)
    with np.errstate(all="ignore"):
        value = call()
    if isinstance(
        value, tfr.Tensor
    ):  # written out: another function around it costs half as much as it does
        computed: Call = eval(f"lambda: ({case.text}).compute()", names)
        return computed
    parts = value if isinstance(value, tuple | list) else ()
    return (lambda: _ours(call())) if any(isinstance(part, tfr.Tensor) for part in parts) else call


def _best(calls: Sequence[Call]) -> list[float]:
    """Return the seconds of processor time of each call, measured by turns."""
    counts = []
    for call in calls:
        begin, done = process_time(), 0
        while True:
            call()
            done += 1
            took = process_time() - begin
            if took > _WARM and done >= 2:
                break
        counts.append(max(1, int(_SAMPLE * done / took)))
    best = [float("inf")] * len(calls)
    for _ in range(_SAMPLES):
        for index, (call, count) in enumerate(zip(calls, counts, strict=True)):
            begin = process_time()
            for _ in range(count):
                call()
            best[index] = min(best[index], (process_time() - begin) / count)
    return best


def measured(
    device: str, size: int, only: Sequence[str] | None = None
) -> Iterator[tuple[str, float, float]]:
    """Yield each case that both libraries have, with the seconds that ours and NumPy take."""
    arrays = operands(size)
    tensors = {
        name: tfr.asarray(value, device=device).compute()
        if isinstance(value, np.ndarray)
        else value
        for name, value in arrays.items()
    }
    for case in CASES:
        if only and case.name not in only:
            continue
        try:
            ours = call_of(case, tfr, tensors)
            theirs = call_of(case, np, arrays)
            with np.errstate(all="ignore"):
                ours(), theirs()
        except (AttributeError, TypeError, tfr.errors.TensorFrameError):
            continue
        gc.collect()
        with np.errstate(all="ignore"):
            seconds, numpy_seconds = _best([ours, theirs])
        yield case.name, seconds, numpy_seconds


def main() -> None:
    """Measure, and print what is slowest beside NumPy."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.functions", description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sizes", default="10,10000,1000000")
    parser.add_argument("--only", type=lambda text: text.split(","), help="cases to run (all)")
    parser.add_argument("--json", type=Path, help="write the seconds of every case")
    options = parser.parse_args()
    tfr.config.configure(threads=1)
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
