"""Merging: one group has nothing to merge with, so plans of one group load none of its passes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import capabilities
from tensorframe.schedule.capture import capture
from tensorframe.schedule.fusion.fuse import grow_regions
from tensorframe.schedule.fusion.merging import merged
from tensorframe.schedule.pipeline import transform

ROOT = Path(__file__).parents[2]

ALONE = {
    "map": lambda x, i: tfr.exp(x) + 1,
    "rows": lambda x, i: tfr.softmax(x, -1),
    "columns": lambda x, i: tfr.sum(x, axis=0),
    "product": lambda x, i: x @ x,
    "view": lambda x, i: tfr.permute_dims(x, (1, 0)),
    "gather": lambda x, i: tfr.take(x, i, axis=0),
    "pieces": lambda x, i: tfr.concat([x, x + 1]),
    "scan": lambda x, i: tfr.cumulative_sum(x, axis=1),
}


@pytest.mark.parametrize("make", ALONE.values(), ids=ALONE.keys())
def test_one_group_has_nothing_to_merge_with(make):
    x = tfr.asarray(np.ones((40, 40), np.float32))
    outputs = transform(capture((make(x, tfr.asarray(np.arange(30))).node,)).snapshot())
    groups = grow_regions(outputs, capabilities, enabled=True)
    assert len(groups) == 1
    known = [(group.nodes, group.inputs, group.sink) for group in groups]
    after = merged(list(groups), outputs, capabilities)
    assert [(group.nodes, group.inputs, group.sink) for group in after] == known


def test_plans_of_one_group_load_no_merging():
    program = """
import sys
import numpy
import tensorframe as tfr
tfr.exp(tfr.asarray(numpy.ones(100_000, numpy.float32))).compute()
print("tensorframe.schedule.pipeline" in sys.modules)
print("tensorframe.schedule.fusion.merging" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
