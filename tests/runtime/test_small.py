"""The small path: what runs op by op at once, and what gets a plan instead."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.events import Moment, listen


def plans_run(compute):
    started = []
    with listen(lambda event: started.append(event.moment)):
        compute()
    return started.count(Moment.PLAN_STARTED)


@pytest.fixture
def large():
    return tfr.asarray(np.ones((300, 40), np.float32)).compute()


@pytest.mark.parametrize(
    "reduce", [tfr.sum, tfr.max, tfr.argmin, tfr.var], ids=lambda f: f.__name__
)
def test_a_small_result_of_many_elements_gets_a_plan(large, reduce):
    assert plans_run(reduce(large).compute) == 1


def test_a_small_view_of_a_large_tensor_gets_none(large):
    assert plans_run((large[3, :5] * 2).compute) == 0


def test_what_is_costly_on_the_way_is_kept():
    x = tfr.asarray(np.arange(6))
    total = tfr.sum(x)
    assert plans_run((x / total).compute) == 0
    assert total.is_computed
