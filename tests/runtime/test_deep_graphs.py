"""Depth is no limit: chains of 100,000 ops and wide diamonds record, plan, compute and vanish in linear time."""

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.plan_cache import PLANS

ROOT = Path(__file__).parents[2]
DEEP = 100_000

pytestmark = pytest.mark.usefixtures("only_recorded")


def chain(length, start=0.0):
    x = tfr.asarray(np.full(4, start, np.float32))
    for _ in range(length // 2):
        x = -x
        x = x + 1.0
    return x


def test_a_chain_of_100_000_ops_computes():
    # -x + 1, twice, is x
    assert chain(DEEP, start=5.0).numpy().tolist() == [5.0] * 4


def test_a_chain_of_100_000_views_computes():
    x = tfr.asarray(np.arange(6).reshape(2, 3))
    y = x
    for _ in range(DEEP // 4):
        y = tfr.flip(tfr.permute_dims(y, (1, 0)))
    assert np.array_equal(y.numpy(), x.numpy())


def test_a_chain_of_10_000_reductions_computes():
    x = tfr.asarray(np.ones((2, 3), np.float32))
    for _ in range(5_000):
        x = x - tfr.sum(x, axis=1, keepdims=True) + 3.0
    assert np.isfinite(x.numpy()).all()


def test_10_000_diamonds_are_no_tree():
    x = tfr.asarray(np.array([1, 2, 3], np.uint64))
    for _ in range(10_000):
        x = (x + 1) ^ (x * 3)
    expected = np.array([1, 2, 3], np.uint64)
    for _ in range(10_000):
        expected = (expected + 1) ^ (expected * 3)
    assert np.array_equal(x.numpy(), expected)


def test_a_node_with_10_000_consumers():
    x = tfr.asarray(np.arange(3.0))
    shared = tfr.exp(x)
    results = [shared + float(number) for number in range(10_000)]
    tfr.compute(*results)
    assert np.array_equal(results[-1].numpy(), np.exp(np.arange(3.0)) + 9999)


def test_a_sum_of_10_000_operands():
    parts = [tfr.asarray(np.full(2, float(number))) for number in range(10_000)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert total.numpy().tolist() == [9999 * 5000.0] * 2


def test_concat_of_10_000_operands():
    parts = [tfr.asarray(np.full(2, number)) for number in range(10_000)]
    assert np.array_equal(tfr.concat(parts).numpy(), np.repeat(np.arange(10_000), 2))


@pytest.mark.parametrize("computed", [False, True])
def test_a_deep_graph_is_let_go_without_recursion(computed):
    """In a process of its own: overflowing the C stack would end it."""
    program = f"""
import numpy as np, tensorframe as tfr
x = tfr.asarray(np.zeros(4, np.float32))
for _ in range({DEEP}):
    x = -x
if {computed}:
    y = x + 1.0
    x.compute()
del x
print("gone")
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "gone\n"), done.stderr[-500:]


def seconds(work, *arguments):
    """Return the least that it takes this process, whatever others do meanwhile."""
    taken = []
    for _ in range(3):
        gc.collect()
        start = time.process_time()
        work(*arguments)
        taken.append(time.process_time() - start)
    return min(taken)


def test_recording_computing_and_letting_go_are_linear():
    """Ten times as many ops take about ten times as long; a quadratic step would take a hundred times."""

    def work(length):
        PLANS.clear()
        x = chain(length)
        x.compute()
        del x

    work(1_000)
    assert seconds(work, 10_000) < 40 * seconds(work, 1_000)


def test_letting_go_of_what_was_never_computed_is_linear():
    def work(length):
        x = chain(length)
        del x

    work(1_000)
    assert seconds(work, 20_000) < 40 * seconds(work, 2_000)


def test_nothing_of_a_computed_graph_stays_behind():
    def held():
        gc.collect()
        return sum(type(one).__name__ == "Node" for one in gc.get_objects())

    before = held()
    x = chain(1_000)
    x.compute()
    assert held() - before < 20
    del x
    assert held() - before < 10
