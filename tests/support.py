"""`python -m tests.support`: what devices compute themselves, as a page, and whether that is so.

--markdown docs/support.md   writes the page, from what `tfr.backends.supports` says of the devices that are here
--check opencl,wgpu          computes every operation of every dtype on them, and compares: minutes for each device
--check wgpu --part 2/4      a quarter of that, the second one
"""

import argparse
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import tensorframe as tfr
from tensorframe.backends import supports
from tensorframe.backends.registry import backend_of
from tensorframe.dtypes import ANY
from tensorframe.errors import FallbackWarning
from tensorframe.graph.op import Kind, find
from tensorframe.testing.conformance import operations as trials
from tensorframe.testing.conformance.calls import CALLS
from tensorframe.testing.conformance.subject import subjects
from tensorframe.testing.conformance.support import operations

DEVICES = ("cpu", "opencl", "wgpu", "dask")
DTYPES = sorted(ANY, key=lambda dtype: (dtype.kind, dtype.itemsize, dtype.name))

HEAD = """# What runs where

<!-- written by python -m tests.support --markdown docs/support.md -->

`tfr.backends.supports` says of an operation, a device and a dtype whether the device computes it itself, falls back to
the cpu, or does not define it at all:

```python
import tensorframe as tfr

answer = tfr.backends.supports("cholesky", "cpu", "float32")
assert answer and not answer.falls_back
print(tfr.backends.supports("bitwise_and", "cpu", "float32").reason)
```

It makes a plan of the operation, and reads it: nothing is computed. Functions are answered as well, as in
`supports(tfr.std, "wgpu", "float16")`. The tables are its answers on one machine: PoCL's OpenCL, WebGPU through
llvmpipe, Dask's threads. A GPU may lack float64, and then all that needs it. CUDA has the makers' libraries for
products, transforms and decompositions besides.
"""


def answers(device, dtypes=DTYPES):
    """Return, for each operation, the answer for each dtype that it is defined for."""
    found = {}
    for op in operations():
        told = {dtype: supports(op, device, dtype) for dtype in dtypes}
        found[op] = {dtype: one for dtype, one in told.items() if one.runs_on is not None}
    return found


def page(devices=DEVICES):
    """Return the page."""
    return HEAD + "".join(f"\n## {device}\n\n{section(answers(device))}" for device in devices)


def section(known):
    """Return what a device computes itself, and a table of what it does not."""
    whole = [op for op, told in known.items() if told and all(told.values())]
    lines = [f"Computed there, of every dtype that they are defined for: {listed(whole)}.\n"]
    groups = defaultdict(list)
    for op, told in known.items():
        lost = [dtype for dtype, one in told.items() if not one]
        if lost:
            dtypes = "every dtype" if len(lost) == len(told) else ", ".join(map(str, lost))
            groups[dtypes].append(op)
    if groups:
        lines += ["| falls back to the cpu | of |", "|---|---|"]
        lines += [f"| {listed(ops)} | {of} |" for of, ops in groups.items()]
    return "\n".join(lines) + "\n"


def listed(ops):
    return ", ".join(f"`{op}`" for op in ops)


def disagreements(subject, pairs):
    """Compute operations of dtypes, and return what `supports` says wrongly of them."""
    wrong = []
    with subject.registered():
        for op, dtype in pairs:
            told = supports(op, subject.device, dtype)
            if is_cast(find(op), dtype):
                continue  # to what is another pair, on values that not every operation is defined for
            for record in trials.recorders(find(op), dtype):
                happened = what_happens(subject, f"{op} of {dtype}", record)
                if happened != said(told):
                    wrong.append(f"{op} of {dtype}: supports says {told}, and it {happened}")
    return wrong


def is_cast(op, dtype):
    return op.name in CALLS and op.kind is not Kind.SOURCE and dtype not in op.accepts


def said(told):
    return "is not defined" if told.runs_on is None else "falls back" if told.falls_back else "runs"


def what_happens(subject, name, record):
    try:
        return "falls back" if trials.compare(subject, name, record) else "runs"
    except tfr.errors.DTypeError:
        return "is not defined"


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.support", description=__doc__)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--check", default="", help="devices, with commas between")
    parser.add_argument("--part", default="1/1", help="which part of how many")
    asked = parser.parse_args()
    part, parts = map(int, asked.part.split("/"))
    if asked.markdown:
        asked.markdown.write_text(page(), encoding="utf-8")
    wrong = []
    warnings.simplefilter("ignore", FallbackWarning)
    for name in filter(None, asked.check.split(",")):
        for subject in subjects(backend_of(tfr.Device(name)), 16, 0):
            pairs = [(op, dtype) for op in operations() for dtype in subject.dtypes()]
            wrong += disagreements(subject, pairs[part - 1 :: parts])
    print("\n".join(wrong) or "no disagreements")  # noqa: T201 - it is a program
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
