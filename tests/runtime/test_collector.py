"""Planning a large graph does not have Python look for cycles, and leaves the collector as it was."""

import gc

import numpy as np
import pytest

import tensorframe as tfr


@pytest.fixture(params=[True, False], ids=["collecting", "off"])
def collecting(request):
    before = gc.isenabled()
    gc.enable() if request.param else gc.disable()
    yield request.param
    gc.enable() if before else gc.disable()


def a_graph(length=2000):
    x = tfr.asarray(np.ones((4, 16), np.float32))
    for _ in range(length):
        x = x * 0.5 + tfr.sum(x, axis=1, keepdims=True)
    return x


@pytest.mark.usefixtures("only_recorded")
def test_planning_collects_nothing_and_leaves_the_collector_as_it_was(collecting):
    graph = a_graph()
    collections = []
    gc.callbacks.append(lambda phase, _: collections.append(phase))
    try:
        with tfr.config.override(plan_cache=0):
            assert tfr.explain(graph).kernels > 1
    finally:
        gc.callbacks.pop()
    # capturing the graph, before there is a plan, may collect a few times
    assert collections.count("start") <= 60
    assert gc.isenabled() == collecting


def test_a_plan_that_fails_leaves_the_collector_as_it_was(collecting, monkeypatch):
    monkeypatch.setattr("tensorframe.schedule.pipeline.lower", None)
    with tfr.config.override(plan_cache=0), pytest.raises(TypeError):
        tfr.explain(a_graph(3))
    assert gc.isenabled() == collecting
