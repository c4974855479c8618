"""Fixtures of tests of evaluation."""

from math import inf

import pytest

from tensorframe.backends import registry
from tensorframe.graph.node import ticks
from tensorframe.runtime.evaluate import early
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.testing.boxed import BoxedBackend


@pytest.fixture
def no_plans():
    """No plan and no call is known before a test, and none of its own afterwards."""
    PLANS.clear()
    yield
    PLANS.clear()


@pytest.fixture
def only_recorded():
    """Long graphs of small tensors wait until their values are needed, as those of large ones do."""
    due, early.due = early.due, inf
    ticks.update()
    yield
    early.due = due
    ticks.update()


@pytest.fixture
def boxed():
    """A device with memory of its own, which says how often it was waited for."""

    class Waiting(BoxedBackend):
        waits = 0

        def synchronize(self, device):
            self.waits += 1

    backend = Waiting("boxed")
    registry.register(backend)
    PLANS.clear()
    yield backend
    PLANS.clear()
    registry.unregister("boxed")
