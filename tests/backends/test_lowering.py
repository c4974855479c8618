"""Equal regions share what their kernels are made of, within a plan and between plans; unequal ones never do."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.cache import PLANS
from tests.backends.devices import some

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends.llvm import lowering, program


@pytest.fixture
def builds(monkeypatch):
    """The regions that kernels are built of, one by one."""
    made, build = [], program.build

    def counted(region, *rest):
        made.append(region)
        return build(region, *rest)

    monkeypatch.setattr(program, "build", counted)
    PLANS.clear()
    yield made
    PLANS.clear()


@pytest.fixture
def prints(monkeypatch):
    """The kernels that are printed, one by one."""
    made, printed = [], lowering.printed_by_llvm

    def counted(kernel, target):
        made.append(kernel)
        return printed(kernel, target)

    monkeypatch.setattr(lowering, "printed_by_llvm", counted)
    return made


def layers(x, weights):
    for weight in weights:
        x = tfr.softmax(tfr.tanh(x @ weight), axis=1)
    return x


@pytest.mark.parametrize("device", ["cpu", "llvm"])
def test_equal_layers_are_built_and_printed_once(builds, prints, device):
    x = tfr.asarray(some((96, 80), "float32", 1), device=device)
    weights = [tfr.asarray(some((80, 80), "float32", seed), device=device) for seed in range(6)]
    one = layers(x, weights[:1]).numpy()
    built, printed = len(builds), len(prints)
    assert built > 0
    assert printed > 0
    PLANS.clear()
    six = layers(x, weights).numpy()
    assert len(builds) <= built + 1  # what comes between two layers may be another layout
    assert len(prints) <= printed + 1
    now = tfr.asarray(one, device=device)
    for weight in weights[1:]:
        now = layers(now, [weight]).compute()
    np.testing.assert_array_equal(six, now.numpy())


def test_another_plan_of_equal_regions_builds_nothing(builds):
    def run(x):
        return tfr.exp(x) * 2 + tfr.sin(x)

    first = tfr.asarray(some((300, 70), "float32", 1), device="llvm")
    expected = run(first).numpy()
    built = len(builds)
    PLANS.clear()
    np.testing.assert_array_equal(run(first).numpy(), expected)
    assert len(builds) == built > 0


def test_another_layout_is_built(builds):
    x = some((300, 70), "float32", 1)
    straight = tfr.exp(tfr.asarray(x, device="llvm")).numpy()
    built = len(builds)
    across = tfr.exp(tfr.asarray(np.asfortranarray(x), device="llvm")).numpy()
    np.testing.assert_array_equal(straight, across)
    assert len(builds) == built + 1


def test_zeros_of_either_sign_are_kernels_of_their_own():
    x = tfr.asarray(np.ones(5000), device="llvm")
    for zero in (0.0, -0.0, 0.0):
        padded = (tfr.pad(x, 3, constant_values=zero) * 1.5).numpy()
        assert np.all(np.signbit(padded[:3]) == np.signbit(zero))
        made = tfr.reciprocal(tfr.full((5000,), zero, dtype="float64", device="llvm")).numpy()
        assert np.all(np.signbit(made) == np.signbit(zero))


def test_a_build_that_fails_is_not_remembered(monkeypatch):
    x = tfr.asarray(some((300, 70), "float32", 1), device="llvm")

    def failing(*_):
        raise ValueError("nothing is built")

    with monkeypatch.context() as changed:
        changed.setattr(program, "build", failing)
        with pytest.raises(tfr.errors.KernelError, match="nothing is built"):
            tfr.exp(x).compute()
    y = tfr.exp(x)
    np.testing.assert_allclose(y.numpy(), np.exp(x.numpy()), rtol=1e-6)
