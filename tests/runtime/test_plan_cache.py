"""The plan cache: as many plans as the option says, those used latest, under the options that they were made with."""

import numpy as np

import tensorframe as tfr
from tensorframe.runtime.cache import PLANS
from tensorframe.runtime.events import Moment, listen


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
