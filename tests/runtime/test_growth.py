"""A graph that only grows is told of once, at the line that makes it grow; graphs that are computed never are."""

import warnings

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import GrowingGraphWarning
from tensorframe.graph import growth
from tensorframe.graph.node import ticks
from tensorframe.runtime import evaluate
from tensorframe.runtime.eager import small_graphs

TURNS = 16_000  # of two ops and more: some of their nodes are looked at

pytestmark = pytest.mark.usefixtures("only_recorded")  # small tensors grow as large ones do


@pytest.fixture(autouse=True)
def small_graphs_are_large(monkeypatch):
    monkeypatch.setattr(growth, "_LARGE", 5_000)
    for name, value in (("after", 0), ("warned", set())):
        monkeypatch.setattr(growth.watcher, name, value)


def often(monkeypatch):
    """Have one node in 701 looked at."""
    monkeypatch.setattr(growth.watcher, "every", 701)
    monkeypatch.setattr(growth.watcher, "due", 0)
    ticks.update()


def told(work):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [one for one in found if one.category is GrowingGraphWarning]


def test_a_loop_that_is_never_computed_is_told_once_with_its_line_and_what_helps():
    def loop():
        x = tfr.zeros(4)
        for _ in range(3 * TURNS):
            x = x * 0.5 + 1

    (one,) = told(loop)
    text = str(one.message)
    assert "x = x * 0.5 + 1" in text
    assert "recorded at " in text
    assert "x.compute()" in text
    assert "@tfr.jit" in text
    assert one.filename == __file__
    assert not told(loop)  # each line once


def test_a_running_total_is_told_although_everything_else_is_computed():
    def training():
        total = tfr.zeros(())
        loss = tfr.ones(())
        for _ in range(TURNS):
            loss = (loss * 0.99 + 0.01).compute()
            total = total * 0.9 + loss * 0.1

    (one,) = told(training)
    assert "total = total * 0.9" in str(one.message)


def test_an_evaluation_of_very_many_ops_is_told(monkeypatch):
    x = tfr.asarray(np.zeros(4, np.float32))
    monkeypatch.setattr(growth.watcher, "after", 1 << 62)
    for _ in range(3000):
        x = -(x + 1)
    (one,) = told(x.compute)
    assert "x = -(x + 1)" in str(one.message)


@pytest.mark.parametrize("size", [4, 5000])
def test_a_loop_that_is_read_is_not_told(size):
    def loop():
        x = tfr.zeros(size)
        for turn in range(TURNS):
            x = x * 0.5 + 1
            if turn % 50 == 0:
                float(x[0])

    assert not told(loop)


def test_many_graphs_are_not_one_that_grows():
    def loop():
        x = tfr.zeros(4)
        return [x + number for number in range(2 * TURNS)]

    assert not told(loop)


def test_looking_walks_over_few_nodes_for_each_that_is_recorded(monkeypatch):
    walked = []

    def pending(node, pending=growth._pending):
        walked.append(pending(node))
        return walked[-1]

    monkeypatch.setattr(growth, "_pending", pending)
    monkeypatch.setattr(growth, "_LARGE", 1 << 17)
    often(monkeypatch)
    for _ in range(60):
        x = tfr.zeros(4)
        for _ in range(500):
            x = -(x + 1)
    assert len(walked) >= 2
    assert sum(map(len, walked[:-1])) <= 60_000 / 8


def test_what_jit_records_is_computed_in_every_call(monkeypatch):
    @tfr.jit
    def steps(x):
        for _ in range(5000):
            x = -(x + 1)
        return x

    # wherever in the recording, or in the passes over it, a node is looked at
    often(monkeypatch)
    assert not told(lambda: steps(tfr.zeros(4)))


def test_the_passes_over_a_large_graph_tell_nothing(monkeypatch):
    x = tfr.asarray(np.zeros(4, np.float32))
    with growth.not_looked_at():
        for _ in range(5000):
            x = -(x * 2)  # no other test has planned it
    often(monkeypatch)
    for module in (evaluate, small_graphs):
        monkeypatch.setattr(module, "tell_if_large", lambda _: None)
    assert not told(x.compute)
