"""Fixtures of tests of evaluation."""

import pytest

from tensorframe.runtime.cache import PLANS


@pytest.fixture
def no_plans():
    """No plan and no call is known before a test, and none of its own afterwards."""
    PLANS.clear()
    yield
    PLANS.clear()
