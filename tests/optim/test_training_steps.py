"""Training steps as one plan: how many kernels, no arrays of gradients, and the same losses on every device."""

from itertools import pairwise

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.op import Kind
from tests.optim.networks import LanguageModel, Perceptron, text, train

DEVICES = [name for name in ("opencl", "wgpu", "cuda") if name in tfr.backends.available()]
STEP = tfr.jit(train, updates=("model", "optimizer"))


def prepared(model, optimizer):
    optimizer.init(model)
    return model, optimizer


def plan_of(model, *data):
    return STEP.explain(*prepared(model, tfr.optim.AdamW(1e-3)), *data)


def arrays(plan):
    """The shapes of what steps store, views left out."""
    return [
        plan.slots[slot].shape for step in plan.steps if not step.is_view for slot in step.outputs
    ]


@pytest.fixture(scope="module")
def language_model_plan():
    return plan_of(LanguageModel(), *text(12, 64, 65))


def test_a_small_language_model_takes_at_most_60_kernels_beside_its_matmuls(language_model_plan):
    assert language_model_plan.kernels <= 60
    assert language_model_plan.fallbacks == 0


def test_its_memory_is_known_and_small(language_model_plan):
    (peak,) = language_model_plan.peak.values()
    assert peak <= 50 << 20  # what products take for themselves is counted


def test_updates_add_few_kernels_to_the_gradients(language_model_plan):
    def gradients(model, x, y):
        return tfr.value_and_grad(lambda model: loss_of(model, x, y))(model)

    def loss_of(model, x, y):
        scores = model(x)
        return tfr.nn.functional.cross_entropy(scores.reshape((-1, 65)), y.reshape(-1))

    alone = tfr.jit(gradients).explain(LanguageModel(), *text(12, 64, 65))
    # the number of the step, its two corrections, and what does not fit into one kernel any more
    assert language_model_plan.kernels <= alone.kernels + 8
    assert language_model_plan.library_calls == alone.library_calls


def test_weights_have_no_gradient_arrays():
    """A weight, its two averages: a fourth array of its shape would be its gradient."""
    sizes = (30, 20, 15, 10)
    plan = plan_of(Perceptron(sizes), tfr.zeros((8, 30)), tfr.zeros(8, dtype="int64"))
    stored = arrays(plan)
    for columns, rows in pairwise(sizes):
        assert stored.count((rows, columns)) == 3
        assert stored.count((columns, rows)) == 0


def test_with_clipping_there_are_gradients_and_a_norm():
    def clipped(model, optimizer, x, y):
        loss, gradients = tfr.value_and_grad(
            lambda model: tfr.nn.functional.cross_entropy(model(x), y)
        )(model)
        gradients, norm = tfr.optim.clip_grad_norm(gradients, 1.0)
        optimizer.update(model, gradients)
        return loss, norm

    model, optimizer = prepared(Perceptron((6, 5, 4)), tfr.optim.SGD(0.1))
    before = {name: parameter.numpy().copy() for name, parameter in model.named_parameters()}
    step = tfr.jit(clipped, updates=("model", "optimizer"))
    rng = np.random.default_rng(0)
    x = tfr.asarray(100 * rng.standard_normal((8, 6)).astype(np.float32))
    _, norm = step(model, optimizer, x, tfr.zeros(8, dtype="int64"))
    moved = [parameter.numpy() - before[name] for name, parameter in model.named_parameters()]
    assert norm.item() > 1
    length = np.sqrt(sum(float(np.sum(part.astype(np.float64) ** 2)) for part in moved))
    assert length == pytest.approx(0.1, rel=1e-4)


def small_run(device, steps):
    with tfr.use_backend(device):
        model = LanguageModel(letters=11, length=8, width=16, heads=2, layers=1)
        rng = np.random.default_rng(1)
        for _, parameter in model.named_parameters():
            values = 0.2 * rng.standard_normal(parameter.shape)
            parameter._rebind(tfr.asarray(values.astype(np.float32)).node)
        optimizer = tfr.optim.AdamW(0.01, weight_decay=0.1)
        optimizer.init(model)
        x, y = text(3, 8, 11)
        step = tfr.jit(train, updates=("model", "optimizer"))
        losses = [step(model, optimizer, x, y).item() for _ in range(steps)]
        return losses, [parameter.numpy() for _, parameter in model.named_parameters()]


def test_losses_fall_and_are_the_same_in_both_engines():
    losses, weights = small_run("numpy", 6)
    others, other_weights = small_run("llvm", 6)
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, others, rtol=1e-4)
    for one, other in zip(weights, other_weights, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_losses_on_devices_are_the_same_to_rounding(device):
    """A network whose kernels take these devices seconds to build; the larger one runs in both engines of the cpu."""
    losses = []
    for place in (device, "numpy"):
        with tfr.use_backend(place):
            rng = np.random.default_rng(2)
            weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((4, 6), (3, 4))]
            model, optimizer = prepared(Perceptron((6, 4, 3)), tfr.optim.AdamW(0.05))
            for layer, values in zip(model.layers, weights, strict=True):
                layer.weight = tfr.asarray(values)
                layer.bias = tfr.zeros(len(values))
            optimizer.init(model)
            x = tfr.asarray(rng.standard_normal((5, 6)).astype(np.float32))
            y = tfr.asarray(rng.integers(0, 3, 5))
            losses.append([STEP(model, optimizer, x, y).item() for _ in range(2)])
    np.testing.assert_allclose(*losses, rtol=1e-4)


def test_the_same_run_has_the_same_bits():
    losses, weights = small_run("cpu", 5)
    again, same = small_run("cpu", 5)
    assert losses == again
    for one, other in zip(weights, same, strict=True):
        np.testing.assert_array_equal(one, other)


def test_products_take_the_updates_in(language_model_plan):
    products = [
        step
        for step in language_model_plan.steps
        if any(op.op.kind is Kind.CONTRACT for op in step.region.ops)
    ]
    updating = [step for step in products if len(step.outputs) == 3]
    assert len(updating) == 17  # four of each block, and the head
