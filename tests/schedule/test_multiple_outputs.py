"""What several kernels read is stored by one of them, and small updates that are alike are one kernel."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.op import Kind
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.kernel.interpreted import planned

DEVICES = ["cpu", "llvm", *[name for name in ("opencl",) if name in tfr.backends.available()]]


def tensor(*shape, seed=0, device=None):
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return tfr.asarray(values, device=device)


def plan_of(*tensors):
    return planned(*tensors)[0]


def normalised(x):
    mean = tfr.mean(x, axis=-1, keepdims=True)
    variance = tfr.var(x, axis=-1, keepdims=True)
    return (x - mean) / tfr.sqrt(variance + 1e-5)


def test_a_layer_norm_with_its_gradient_is_one_kernel_forward():
    x, weight, bias, t = tensor(96, 128), tensor(128, seed=1), tensor(128, seed=2), tensor(128, 32)

    def loss(x, weight, bias):
        return tfr.sum(tfr.tanh(F.layer_norm(x, 128, weight, bias) @ t))

    plan = plan_of(*tfr.value_and_grad(loss, (0, 1, 2))(x, weight, bias)[1])
    kernels = [step for step in plan.steps if not step.is_view and step.kind.value == "region"]
    forward = [step for step in kernels if not step.direction]
    # the rows, and what backward needs of them, then one kernel for rows and one for columns
    assert len(forward) == 1
    assert len(forward[0].outputs) == 3
    assert len(kernels) <= 3


@pytest.mark.parametrize("device", DEVICES)
def test_stored_values_are_those_of_kernels_of_their_own(device):
    x, w = tensor(96, 64, device=device), tensor(64, 64, seed=1, device=device)

    def results():
        rows = normalised(x)
        total = tfr.sum(rows * w[0], axis=0)
        return rows @ w, tfr.tanh(rows[:, ::-1] * 2), total

    got = results()
    tfr.compute(*got)
    with tfr.config.override(fuse=False):
        wanted = results()
        tfr.compute(*wanted)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=2e-4, atol=2e-4)


def test_no_kernel_waits_for_itself():
    """One reader needs what another makes: only the one that runs first may store for both."""
    x, w = tensor(300, 64), tensor(64, 64, seed=1)
    shared = tfr.exp(tfr.sin(x) * tfr.cos(x) + tfr.sqrt(tfr.abs(x)))
    first = tfr.sum(shared, axis=0)
    second = (shared * first) @ w
    last = tfr.sum(shared * tfr.sum(second), axis=1)
    plan = plan_of(last)
    made = set(range(plan.leaves)) | set(plan.literals)
    for step in plan.steps:
        assert made.issuperset(step.inputs)
        made.update(step.outputs)
    s = np.exp(np.sin(x.numpy()) * np.cos(x.numpy()) + np.sqrt(np.abs(x.numpy()))).astype(
        np.float64
    )
    expected = (s * ((s * s.sum(0)) @ w.numpy()).sum()).sum(1)
    np.testing.assert_allclose(last.numpy(), expected, rtol=1e-3)


def test_a_matmul_keeps_its_epilogue():
    x, w, b = tensor(96, 64), tensor(64, 64, seed=1), tensor(64, seed=2)
    residual = x @ w + b + x
    plan = plan_of(normalised(residual) @ w, residual[::-1] @ w.T)
    product = next(step for step in plan.steps if step.region.ops[0].op.kind is Kind.CONTRACT)
    assert [op.op.name for op in product.region.ops] == ["matmul", "add", "add"]


def updates(count, rows=300, columns=64, device=None):
    weights = [tensor(columns, seed=i, device=device) for i in range(count)]
    made = [tensor(rows, columns, seed=50 + i, device=device) for i in range(count)]
    return [w - 0.1 * tfr.sum(g, axis=0) for w, g in zip(weights, made, strict=True)], weights, made


def test_updates_that_are_alike_are_one_kernel():
    assert plan_of(*updates(8)[0]).kernels == 1


@pytest.mark.parametrize(
    "device", [*DEVICES, *(["wgpu"] if "wgpu" in tfr.backends.available() else [])]
)
def test_merged_updates_have_the_values_of_each(device):
    results, weights, made = updates(4, device=device)
    tfr.compute(*results)
    for result, w, g in zip(results, weights, made, strict=True):
        expected = w.numpy() - 0.1 * g.numpy().astype(np.float64).sum(0)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_updates_of_other_shapes_and_large_ones_stay_apart():
    assert plan_of(*updates(2)[0], *updates(2, columns=32)[0]).kernels == 2
    large = [tensor(300, 300, seed=i) * 2 + tensor(300, 300, seed=9 + i) for i in range(3)]
    assert plan_of(*large).kernels == 3


def test_as_many_are_merged_as_a_kernel_has_room_for():
    results, *_ = updates(100)
    plan = plan_of(*results)
    assert 1 < plan.kernels < 20
    assert max(len(step.inputs) for step in plan.steps) <= 64


def test_what_others_wait_for_is_not_held_up():
    results, *_ = updates(2)
    plan = plan_of(results[0], tfr.tanh(results[1] @ tensor(64, 64)))
    assert (plan.kernels, plan.library_calls) == (2, 1)


def test_a_reader_has_no_place_for_results_that_it_does_not_read():
    """Positions and rows come of one kernel, and each is read by others."""
    x = tensor(200, 60)
    rows, places = tfr.exp(x), tfr.argmax(x, axis=1, keepdims=True)
    results = [
        rows + tfr.max(x, axis=1, keepdims=True),
        rows[::-1] * 3,
        places[:50],
        places[100:] + 1,
    ]
    tfr.compute(*results)
    np.testing.assert_array_equal(results[2].numpy(), x.numpy().argmax(1)[:50, None])
    np.testing.assert_allclose(results[1].numpy(), np.exp(x.numpy())[::-1] * 3, rtol=1e-5)
