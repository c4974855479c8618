"""The shortest path: what is ready runs at once, and never where somebody looks on or anything else matters."""

import pytest

import tensorframe as tfr
from tensorframe.runtime import plan_cache
from tensorframe.runtime.eager import ufuncs
from tensorframe.runtime.execution.events import listen
from tensorframe.runtime.plan_cache import PLANS
from tests.runtime.small_calls import operands

pytestmark = pytest.mark.usefixtures("no_plans")


def watched(name):
    """What looks at every step."""
    return {
        "listener": lambda: listen(lambda _event: None),
        "profile": tfr.profile,
        "validate": lambda: tfr.config.override(validate=True),
        "check_nan": lambda: tfr.config.override(check_nan=True),
    }[name]()


@pytest.mark.parametrize("name", ["listener", "profile", "validate", "check_nan"])
def test_who_looks_on_is_told_of_what_was_ready_before(name, monkeypatch):
    x, y = operands(10)
    for _ in range(3):
        (x - y).compute()
    assert ufuncs.run_ufunc((x - y).node)
    with watched(name):
        (x + y).compute()  # would be remembered here, if it were
        assert not ufuncs.run_ufunc((x - y).node)
        assert not ufuncs.run_ufunc((x + y).node)
    (x - y).compute()
    assert ufuncs.run_ufunc((x - y).node)


def test_what_is_ready_is_forgotten_with_the_options_and_is_not_too_much(monkeypatch):
    x, y = operands(10)
    (x - y).compute()
    assert PLANS.ready[1]
    with tfr.config.override(fuse=False):
        (x - y).compute()
        assert not ufuncs.run_ufunc((x * y).node)
    PLANS.clear()
    assert not PLANS.ready[1]
    monkeypatch.setattr(plan_cache, "_MOST_CALLS", 4)
    for size in range(1, 20):
        x, y = operands(size)
        (x - y).compute()
        assert len(PLANS.ready[1]) <= 4


def test_what_is_ready_keeps_its_inputs_while_a_gradient_is_recorded():
    def cubed(x):
        square = x * x
        square.compute()
        return tfr.sum(square * x)

    x = tfr.asarray([1.0, 2.0])
    for _ in range(3):
        (x * x).compute()
        assert tfr.grad(cubed)(x).tolist() == [3.0, 12.0]


def test_a_failure_of_what_is_ready_is_explained_and_changes_nothing(monkeypatch):
    x, y = operands(10)
    for _ in range(3):
        (x - y).compute()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ufuncs, "silently", interrupted)
    pending = x - y
    with pytest.raises(tfr.errors.CancelledError):
        pending.compute()
    assert not pending.is_computed

    def failing(*_):
        raise MemoryError

    monkeypatch.setattr(ufuncs, "silently", failing)
    assert pending.numpy().tobytes() == (x.numpy() - y.numpy()).tobytes()
