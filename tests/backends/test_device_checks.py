"""Indices on devices: a plan asks once whether one was out of bounds, and says which and where."""

from functools import partial

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import IndexingError
from tensorframe.runtime.checks import indices as runtime_checking
from tests.backends.counts import counted
from tests.backends.devices import on_every_device


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def on(device, *values):
    tensors = [tfr.asarray(np.asarray(value), device=device) for value in values]
    tfr.compute(*tensors)
    return tensors


def looked_up(np, x, first, second):
    """Three look-ups, whose kernels are apart: rows are sorted between them."""
    chosen = np.sort(x[first]) / np.sum(x[second])
    y = chosen + 1
    y[second] = 0.0
    return np.sum(y[first] * chosen)


@on_every_device
def test_a_plan_asks_once(device):
    given = np.arange(1, 9, dtype=np.float32), np.array([0, 2, 1]), np.array([2, 1])
    expected = looked_up(np, *given)
    function = tfr.jit(partial(looked_up, tfr))
    tensors = on(device, *given)
    function(*tensors)
    with counted(device) as counts:
        found = function(*tensors)
    assert (counts["read"], counts["write"]) == (1, 1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@on_every_device
def test_only_plans_that_may_set_a_mark_make_what_asks_for_it(device, monkeypatch):
    made = []
    checking = runtime_checking.checking
    monkeypatch.setattr(
        runtime_checking, "checking", lambda perform: made.append(perform) or checking(perform)
    )
    x, index = on(device, np.ones((3, 4), np.float32), [2, 0])
    for program, asks in (
        (lambda x, _: tfr.softmax(tfr.exp(x) + 1), False),
        (lambda x, _: x @ x.mT, False),
        (partial(tfr.take, axis=0), True),
        (lambda x, _: tfr.sort(x), True),
    ):
        function = tfr.jit(program)
        for _ in range(3):
            made.clear()
            function(x, index)
        assert bool(made) == asks


@on_every_device
@pytest.mark.parametrize(("first", "second", "said"), [([0, 9], [1], "9"), ([0, 2], [-12], "-12")])
def test_the_index_and_its_line_are_named(device, first, second, said):
    def program(x, first, second):
        chosen = x[first]
        least = tfr.sort(chosen)[0]
        return x[second] * least

    x, first, second = on(device, np.arange(8, dtype=np.float32), first, second)
    for _ in range(3):
        with pytest.raises(IndexingError, match=f"index {said} is out of bounds") as caught:
            tfr.jit(program)(x, first, second)
        line = "chosen = x[first]" if said == "9" else "return x[second] * least"
        assert line in str(caught.value)
    np.testing.assert_array_equal(x[first * 0].numpy(), np.zeros(2))  # all goes on


@on_every_device
def test_computed_indices_are_made_again_to_say_what_is_wrong(device):
    x, places = on(device, np.arange(8, dtype=np.float32), [1, 2])
    with pytest.raises(IndexingError, match="index 14 is out of bounds"):
        tfr.compute(tfr.sum(x[places * 7]) + x[places])


@on_every_device
def test_many_indices_are_asked_for_at_once(device):
    """They would have to be kept until the plan has run."""
    x, places = on(device, np.arange(8, dtype=np.float32), np.arange(40_000) % 8)
    gathered = tfr.jit(lambda x, places: tfr.sum(x[places]))
    assert gathered(x, places).item() == 140_000
    wrong = tfr.asarray(np.arange(40_000) % 9, device=device)
    with pytest.raises(IndexingError, match="index 8 is out of bounds"):
        gathered(x, wrong)


@on_every_device
def test_scatters_and_lookups_along_axes(device):
    x, places, values = on(
        device, np.zeros((2, 3), np.float32), [[0], [5]], np.ones((2, 1), np.float32)
    )
    with pytest.raises(IndexingError, match="5 is out of bounds"):
        tfr.compute(tfr.sum(tfr.take_along_axis(x, places, axis=1)))

    @tfr.jit(updates="x")
    def put(x, places, values):
        x[places[:, 0]] = values

    before = x.numpy()
    with pytest.raises(IndexingError, match="5 is out of bounds"):
        put(x, places, values)
    np.testing.assert_array_equal(x.numpy(), before)
