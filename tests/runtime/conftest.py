"""Fixtures of tests of evaluation."""

import pytest

from tensorframe.backends import registry
from tensorframe.runtime.cache import PLANS
from tensorframe.testing.boxed import BoxedBackend


@pytest.fixture
def no_plans():
    """No plan and no call is known before a test, and none of its own afterwards."""
    PLANS.clear()
    yield
    PLANS.clear()


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
