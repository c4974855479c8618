"""`jit(updates=...)`: what a recorded function assigns to its arguments is there after the call, all or nothing."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, TracingError

HOSTS = ["cpu", "numpy", "llvm"]
DEVICES = HOSTS + [name for name in ("opencl", "wgpu", "cuda") if name in tfr.backends.available()]
SIZES = [6, 8, 3]


def network(device=None, seed=0):
    generator = np.random.default_rng(seed)
    layers = []
    for fan_in, fan_out in pairwise(SIZES):
        weight = generator.standard_normal((fan_in, fan_out)).astype(np.float32)
        layers.append(
            {"w": tfr.asarray(weight, device=device), "b": tfr.zeros(fan_out, device=device)}
        )
    return {"layers": layers}


def batch(device=None):
    generator = np.random.default_rng(1)
    x = generator.standard_normal((5, SIZES[0])).astype(np.float32)
    y = np.eye(SIZES[-1], dtype=np.float32)[generator.integers(0, SIZES[-1], 5)]
    return tfr.asarray(x, device=device), tfr.asarray(y, device=device)


def loss(params, x, y):
    first, second = params["layers"]
    hidden = tfr.tanh(x @ first["w"] + first["b"])
    scores = hidden @ second["w"] + second["b"]
    return -tfr.mean(tfr.sum(tfr.log_softmax(scores, axis=-1) * y, axis=-1))


def train(params, optimizer, x, y):
    value, gradients = tfr.value_and_grad(loss)(params, x, y)
    optimizer.update(params, gradients)
    return value


def leaves(params):
    return [tensor for layer in params["layers"] for tensor in layer.values()]


def initialised(params):
    optimizer = tfr.optim.AdamW(0.1)
    optimizer.init(params)
    return optimizer


@pytest.mark.parametrize("device", DEVICES)
def test_a_recorded_training_step_does_what_the_function_does(device):
    step = tfr.jit(train, updates=("params", "optimizer"))
    data = batch(device)
    plain, recorded = network(device), network(device)
    plain_state, recorded_state = initialised(plain), initialised(recorded)
    handles = leaves(recorded)
    for _ in range(4):
        wanted = train(plain, plain_state, *data)
        got = step(recorded, recorded_state, *data)
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-4)
    for got, wanted, handle in zip(leaves(recorded), leaves(plain), handles, strict=True):
        assert got is handle
        assert got.is_computed
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-3, atol=2e-4)
    assert recorded_state.step.item() == 4
    assert step.cache_info().recorded == 1


def test_no_gradient_is_an_array():
    """The update is the epilogue of the matmul, or part of the sum, that makes the gradient."""
    params = network()
    optimizer = initialised(params)
    plan = tfr.jit(train, updates=("params", "optimizer")).explain(params, optimizer, *batch())
    shapes = [tensor.shape for tensor in leaves(params)]
    made = [plan.slots[slot] for step in plan.steps if not step.is_view for slot in step.outputs]
    for shape in set(shapes):
        new = [slot for slot in made if slot.shape == shape]
        # a parameter and its two averages; no fourth array, which would be its gradient
        assert len(new) == 3 * shapes.count(shape), shape


def test_zeros_that_are_updated_need_the_kernels_of_later_calls(monkeypatch):
    """One number stands for all elements of new averages; its kernels would run in the first call alone."""
    pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")
    from tensorframe.backends.llvm import functions

    monkeypatch.setattr(functions, "_functions", {})

    @tfr.jit(updates="mean")
    def follow(mean, x):
        mean[...] = 0.9 * mean + 0.1 * tfr.exp(x)

    x = tfr.linspace(0, 1, 2371, device="llvm")
    mean = tfr.zeros(2371, device="llvm")
    counts = []
    for _ in range(3):
        follow(mean, x)
        counts.append(len(functions._functions))
    assert 0 < counts[0] == counts[-1]
    np.testing.assert_allclose(mean.numpy(), 0.271 * np.exp(x.numpy()), rtol=1e-6)


def test_another_learning_rate_records_nothing_again():
    step = tfr.jit(train, updates=("params", "optimizer"))
    params = network()
    optimizer = initialised(params)
    for rate in (0.1, 0.05, 0.025):
        optimizer.learning_rate = rate
        step(params, optimizer, *batch())
    assert step.cache_info().recorded == 1


@dataclass
class Pair:
    first: tfr.Tensor
    rest: list[tfr.Tensor]


def assign(pair, x):
    pair.first = x + pair.rest[0]
    pair.rest[0] *= 2
    pair.rest[1][...] = 7


def test_assignments_to_containers_reach_the_handles_outside():
    step = tfr.jit(assign, updates="pair")
    pair = Pair(tfr.zeros(2), [tfr.ones(2), tfr.zeros(2), tfr.zeros(3)])
    handles = [pair.first, *pair.rest]
    step(pair, tfr.asarray([1.0, 2.0]))
    assert [tensor.tolist() for tensor in handles] == [[2, 3], [2, 2], [7, 7], [0, 0, 0]]
    assert all(one is other for one, other in zip([pair.first, *pair.rest], handles, strict=True))


def test_other_arguments_stay_as_they_are():
    @tfr.jit(updates="a")
    def both(a, b):
        a += 1
        b += 1

    a, b = tfr.zeros(2), tfr.zeros(2)
    both(a, b)
    assert (a.tolist(), b.tolist()) == ([1, 1], [0, 0])


def test_arguments_may_be_named():
    @tfr.jit(updates=("a", "b"))
    def both(a, *, b):
        a += b
        b *= 2

    a, b = tfr.ones(2), tfr.ones(2)
    both(b=b, a=a)
    both(a, b=b)
    assert (a.tolist(), b.tolist()) == ([4, 4], [4, 4])


def test_values_may_be_exchanged():
    @tfr.jit(updates="named")
    def exchange(named):
        named["a"], named["b"] = named["b"], named["a"]

    named = {"a": tfr.zeros(2), "b": tfr.ones(2)}
    exchange(named)
    assert {name: tensor.tolist() for name, tensor in named.items()} == {"a": [1, 1], "b": [0, 0]}


@pytest.mark.parametrize("tied_first", [True, False])
def test_tied_tensors_stay_tied(tied_first):
    @tfr.jit(updates="named")
    def twice(named):
        named["a"] += 1
        named["b"] += 1

    weight = tfr.zeros(2)
    tied, apart = {"a": weight, "b": weight}, {"a": tfr.zeros(2), "b": tfr.zeros(2)}
    for named in (tied, apart) if tied_first else (apart, tied):
        twice(named)
    assert tied["a"] is tied["b"] is weight
    assert weight.tolist() == [2, 2]
    assert [tensor.tolist() for tensor in apart.values()] == [[1, 1], [1, 1]]
    assert twice.cache_info().recorded == 2


def test_a_recorded_function_inside_another_updates_its_arguments():
    @tfr.jit(updates="total")
    def add(total, x):
        total += x

    @tfr.jit(updates="total")
    def twice(total, x):
        add(total, x)
        add(x=x, total=total)

    @tfr.jit
    def inside(total, x):
        add(total, x)
        return total

    total = tfr.zeros(2)
    twice(total, tfr.ones(2))
    assert total.tolist() == [2, 2]
    assert inside(total, tfr.ones(2)).tolist() == [3, 3]
    assert total.tolist() == [2, 2]


def test_a_gradient_through_a_function_that_updates():
    @tfr.jit(updates="seen")
    def scaled(seen, x):
        seen += 1
        return x * 3

    seen = tfr.asarray(0.0)
    assert tfr.grad(lambda x: scaled(seen, x))(tfr.asarray(2.0)).item() == 3.0
    assert seen.item() == 1.0


def test_a_method_updates_a_container_that_it_is_given():
    class Trainer:
        @tfr.jit(updates="params")
        def step(self, params, rate):
            params["w"] -= rate * params["w"]

    params = {"w": tfr.ones(2)}
    Trainer().step(params, 0.5)
    assert params["w"].tolist() == [0.5, 0.5]


def test_old_values_are_let_go():
    @tfr.jit(updates="x")
    def step(x):
        x += 1

    x = tfr.zeros(1000).compute()
    old = weakref.ref(x.node)
    step(x)
    assert old() is None


def test_old_values_that_others_hold_stay():
    @tfr.jit(updates="x")
    def step(x):
        x += 1

    x = tfr.zeros(5000)
    before, seen = x + 0, x.numpy()
    for _ in range(3):
        step(x)
    assert before.numpy().max() == seen.max() == 0
    assert x.numpy().min() == 3


class Interrupting:
    """A plan's steps, of which one is interrupted when it has done its work."""

    def __init__(self, plan, number):
        self.runner = plan.runner
        self.actions = plan.runner.actions
        index, program, *rest = self.actions[number]

        def interrupted(inputs, buffers):
            program(inputs, buffers)
            raise KeyboardInterrupt

        changed = (*self.actions[:number], (index, interrupted, *rest), *self.actions[number + 1 :])
        self.runner.actions = changed

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runner.actions = self.actions


def everything(params, optimizer):
    tensors = {**dict(enumerate(leaves(params))), **optimizer.state_dict()}
    return {name: tensor.numpy().copy() for name, tensor in tensors.items()}


@pytest.mark.parametrize("device", HOSTS)
def test_what_is_interrupted_in_any_step_leaves_everything_as_it_was(device):
    step = tfr.jit(train, updates=("params", "optimizer"))
    params, data = network(device), batch(device)
    optimizer = initialised(params)
    step(params, optimizer, *data)
    plan = step.explain(params, optimizer, *data)
    before = everything(params, optimizer)
    for number in range(len(plan.steps)):
        with Interrupting(plan, number), pytest.raises(KeyboardInterrupt):
            step(params, optimizer, *data)
        for name, array in everything(params, optimizer).items():
            np.testing.assert_array_equal(array, before[name])
    step(params, optimizer, *data)
    assert optimizer.step.item() == 2


def test_a_function_that_fails_while_it_is_recorded_changes_nothing():
    @tfr.jit(updates="x")
    def step(x):
        x += 1
        raise RuntimeError("stopped")

    x = tfr.zeros(2)
    with pytest.raises(RuntimeError, match="stopped"):
        step(x)
    assert x.tolist() == [0, 0]


def add_entry(named):
    named["new"] = named["w"] + 1


def drop_entry(named):
    del named["w"]


def change_number(named):
    named["rate"] = named["rate"] * 2


def change_setting(named):
    named["mode"] = "other"


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (add_entry, r"named\['rate'\], has other parts"),
        (drop_entry, "has other parts"),
        (change_setting, "has other parts"),
        (change_number, r"changes the number named\['rate'\]"),
    ],
)
def test_what_is_no_new_value_of_a_tensor_is_refused(function, text):
    named = {"rate": 0.5, "w": tfr.ones(2), "mode": "one"}
    with pytest.raises(TracingError, match=text):
        tfr.jit(function, updates="named")(named)
    assert list(named) == ["rate", "w", "mode"]


def test_an_optimiser_without_its_state_names_the_way_out():
    with pytest.raises(TracingError, match=r"optimizer\.init\(parameters\)"):
        tfr.jit(train, updates=("params", "optimizer"))(network(), tfr.optim.AdamW(0.1), *batch())


def test_arrays_cannot_be_updated():
    with pytest.raises(DTypeError, match="argument x is updated, and has a ndarray in it"):
        tfr.jit(lambda x: x, updates="x")(np.zeros(2))


def test_names_that_no_parameter_has_are_refused():
    with pytest.raises(ArgumentError, match="updates='model'"):
        tfr.jit(lambda x: x, updates="model")


def test_donated_memory_is_written_over():
    params = network()
    optimizer = initialised(params)
    kept = tfr.jit(train, updates=("params", "optimizer"))
    donated = tfr.jit(train, updates=("params", "optimizer"), donate=True)
    plan, other = (step.explain(params, optimizer, *batch()) for step in (donated, kept))
    taken = {slot for step in plan.steps for slot in step.donors if slot is not None}
    shapes = [plan.slots[slot].shape for slot in taken if slot < plan.leaves]
    for layer in params["layers"]:
        assert shapes.count(layer["w"].shape) == 3  # the weight and both averages
    cpu = tfr.zeros(1).device
    size = 4 * sum(3 * tensor.size for tensor in leaves(params))
    assert other.peak[cpu] - plan.peak[cpu] > 0.6 * size


@pytest.mark.parametrize("device", DEVICES)
def test_donation_changes_no_value(device):
    kept = tfr.jit(train, updates=("params", "optimizer"))
    donated = tfr.jit(train, updates=("params", "optimizer"), donate=True)
    results = []
    for step in (kept, donated):
        params = network(device)
        optimizer = initialised(params)
        losses = [step(params, optimizer, *batch(device)).item() for _ in range(3)]
        results.append((losses, [tensor.numpy() for tensor in leaves(params)]))
    (losses, tensors), (others, other_tensors) = results
    assert losses == others
    for one, other in zip(tensors, other_tensors, strict=True):
        np.testing.assert_array_equal(one, other)


def test_donated_memory_that_others_see_is_not_written_to():
    @tfr.jit(updates="x", donate=True)
    def step(x):
        x *= 2

    x = (tfr.arange(5000) + 1.0).compute()
    snapshot, array, view = tfr.Tensor(x.node), x.numpy(), x[10:]
    for _ in range(3):
        step(x)
    np.testing.assert_array_equal(x.numpy(), 8 * (np.arange(5000) + 1.0))
    for seen in (snapshot.numpy(), array):
        np.testing.assert_array_equal(seen, np.arange(5000) + 1.0)
    np.testing.assert_array_equal(view.numpy(), np.arange(10, 5000) + 1.0)


def test_donated_tensors_of_a_call_that_did_not_finish_raise():
    step = tfr.jit(train, updates=("params", "optimizer"), donate=True)
    params, data = network(), batch()
    optimizer = initialised(params)
    step(params, optimizer, *data)
    plan = step.explain(params, optimizer, *data)
    with Interrupting(plan, len(plan.steps) - 1), pytest.raises(KeyboardInterrupt):
        step(params, optimizer, *data)
    tensor = params["layers"][0]["w"]
    assert tensor.shape == (6, 8)
    with pytest.raises(TracingError, match=r"donated to a call that did not finish"):
        tensor.numpy()
    with pytest.raises(TracingError, match=r"donated to a call that did not finish"):
        step(params, optimizer, *data)


def test_donate_without_updates_is_refused():
    with pytest.raises(ArgumentError, match="donate=True"):
        tfr.jit(lambda x: x, donate=True)
