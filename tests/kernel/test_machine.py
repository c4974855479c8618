"""The sizes of a machine are in one record: where it says otherwise, fusion, kernels and NumPy's engine all follow."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What a program sees of a machine on which rows of so many elements stay in a cache.
PROGRAM = """
import importlib.util
import sys

for name in ("quick_tuples", "machine"):
    spec = importlib.util.spec_from_file_location(f"tensorframe.{name}", f"tensorframe/{name}.py")
    machine = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(machine)
row = int(sys.argv[1])
machine.HOST = machine.Machine(row=row, second=4 * row)

import tensorframe as tfr
from tensorframe.backends.numpy.products import grid


def whole(rows):
    return tfr.asarray([[1.0, 2.0]] * rows, device="llvm").ravel()


at_most, longer = whole(row // 2), whole(row // 2 + 1)
print(tfr.softmax(at_most).explain().kernels, tfr.softmax(longer).explain().kernels)
short, long = [tfr.sum(whole(size) * 2).explain(source=True) for size in (row // 2, row + 1)]
print("part" in str(short), "part" in str(long))
print(len(grid.blocks((), 4, row // 2, 4)), tfr.config.get().block_bytes // row)
"""


@pytest.mark.parametrize("row", [1 << 10, 1 << 12])
def test_all_that_cuts_work_asks_one_record(row):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(row)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    fused, chunked, numpy = done.stdout.splitlines() or [done.stderr[-1500:]] * 3
    assert fused.split()[0] == "1", fused
    assert int(fused.split()[1]) > 1
    assert chunked == "False True"
    assert numpy == "1 4"
