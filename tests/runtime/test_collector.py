"""Planning a large graph does not have Python look for cycles, and leaves the collector as it was."""

import gc
import os
import threading

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.collector import paused


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("collecting", [True], indirect=True)
@pytest.mark.usefixtures("collecting")
def test_a_process_forked_meanwhile_collects():
    inside, done = threading.Event(), threading.Event()

    def pause():
        with paused():
            inside.set()
            done.wait(20)

    thread = threading.Thread(target=pause)
    thread.start()
    assert inside.wait(20)
    process = os.fork()
    if process == 0:
        os._exit(0 if gc.isenabled() else 1)
    assert not gc.isenabled()
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert gc.isenabled()
