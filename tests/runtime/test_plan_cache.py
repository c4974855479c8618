"""The plan cache: as many plans as the option says, those used latest, under the options that they were made with."""

import numpy as np

import tensorframe as tfr
from tensorframe.runtime.execution.events import Moment, listen
from tensorframe.runtime.plan_cache import PLANS
from tests.backends.devices import on_every_device


def made_by(*calls):
    """Return how many plans each of several calls makes."""
    counts = []
    for call in calls:
        made = []
        with listen(lambda event, made=made: made.append(event.moment)):
            call()
        counts.append(made.count(Moment.PLAN_MADE))
    return counts


def total(size):
    return lambda: tfr.sum(tfr.asarray(np.ones(size))).compute()


def test_the_least_recently_used_plan_goes_first():
    PLANS.clear()
    with tfr.config.override(small_size=0, small_nodes=0, plan_cache=2):
        assert made_by(total(3), total(4), total(3), total(5)) == [1, 1, 0, 1]
        assert len(PLANS) == 2
        assert made_by(total(3), total(5), total(4)) == [0, 0, 1]


def test_a_full_cache_drops_an_eighth_of_its_plans():
    PLANS.clear()
    with tfr.config.override(small_size=0, small_nodes=0, plan_cache=16):
        for size in range(1, 17):
            total(size)()
        assert len(PLANS) == 16
        total(17)()
        assert len(PLANS) == 14
        assert made_by(total(3), total(4)) == [1, 0]


def test_other_options_are_other_plans():
    PLANS.clear()
    for fuse in (True, False, True, False):
        with tfr.config.override(small_size=0, small_nodes=0, fuse=fuse):
            total(3)()
    assert len(PLANS) == 2


def test_no_plan_is_kept_where_the_option_says_none():
    PLANS.clear()
    with tfr.config.override(small_size=0, small_nodes=0, plan_cache=0):
        assert made_by(total(3), total(3)) == [1, 1]
    assert len(PLANS) == 0


@on_every_device
def test_the_second_expression_on_a_device_finds_the_plan_of_the_first(device):
    PLANS.clear()
    a, b = [tfr.asarray(np.full((9, 8), value, np.float32), device=device) for value in (1, 2)]
    first, *others = made_by(*[(a + b).compute for _ in range(4)])
    assert first == 2  # to upload takes a plan of its own
    assert others == [0, 0, 0]
    total = made_by(lambda: tfr.sum(a * b + 1).item(), lambda: tfr.sum(a * b + 1).item())
    assert total == [1, 0]
    # new operands of the same form, too
    c, d = [tfr.asarray(np.full((9, 8), value, np.float32), device=device) for value in (3, 4)]
    assert made_by(lambda: tfr.sum(c * d + 1).item()) == [0]
    assert float(tfr.sum(c * d + 1)) == 13 * 72


@on_every_device
def test_uploads_that_nobody_holds_are_part_of_the_plan(device):
    PLANS.clear()
    values = np.ones((9, 8), np.float32)

    def call():
        return (tfr.asarray(values, device=device) * 2).numpy()

    assert made_by(call, call, call) == [1, 0, 0]
