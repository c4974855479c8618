"""Equal regions share what their kernels are made of, within a plan and between plans; unequal ones never do."""

import gc

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.plan_cache import PLANS
from tests.backends.devices import FOUND, some

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends.device import lowering as device_lowering
from tensorframe.backends.device import product as device_product
from tensorframe.backends.device import program as device_program
from tensorframe.backends.llvm import lowering, program

PLACES = [
    (program, "build"),
    (device_lowering, "build_groups"),
    (device_product, "build_product"),
]


def noting(made, call):
    def noted(first, *rest):
        made.append(first)
        return call(first, *rest)

    return noted


@pytest.fixture
def builds(monkeypatch):
    """The regions that kernels are built of, one by one."""
    made = []
    for module, name in PLACES:
        monkeypatch.setattr(module, name, noting(made, getattr(module, name)))
    PLANS.clear()
    yield made
    PLANS.clear()


@pytest.fixture
def prints(monkeypatch):
    """The kernels that are printed, one by one."""
    made = []
    monkeypatch.setattr(lowering, "printed_by_llvm", noting(made, lowering.printed_by_llvm))
    return made


def layers(x, weights):
    for weight in weights:
        x = tfr.softmax(tfr.tanh(x @ weight), axis=1)
    return x


@pytest.mark.parametrize("device", ["cpu", "llvm", *FOUND])
def test_equal_layers_are_built_and_printed_once(builds, prints, device):
    x = tfr.asarray(some((96, 80), "float32", 1), device=device)
    weights = [tfr.asarray(some((80, 80), "float32", seed), device=device) for seed in range(6)]
    one = layers(x, weights[:1]).numpy()
    built, printed = len(builds), len(prints)
    assert built > 0
    assert printed > 0 or device in FOUND
    six = layers(x, weights).numpy()
    assert len(builds) <= built + 1  # what comes between two layers may be another layout
    assert len(prints) <= printed + 1
    now = tfr.asarray(one, device=device)
    for weight in weights[1:]:
        now = layers(now, [weight]).compute()
    np.testing.assert_array_equal(six, now.numpy())


@pytest.mark.parametrize("device", ["llvm", *FOUND])
def test_another_plan_of_equal_regions_builds_nothing(builds, device):
    x = tfr.asarray(some((96, 80), "float32", 1), device=device)
    y = tfr.asarray(some((80, 80), "float32", 2), device=device)
    expected = tfr.softmax(tfr.tanh(x @ y), axis=1).numpy()
    built = len(builds)
    plans = len(PLANS)
    again, _ = tfr.compute(tfr.softmax(tfr.tanh(x @ y), axis=1), tfr.flip(y))
    assert len(PLANS) > plans
    assert len(builds) == built > 0
    np.testing.assert_array_equal(again.numpy(), expected)


@pytest.mark.parametrize("device", FOUND)
def test_kernels_of_a_device_are_shared_while_a_program_has_them(builds, device):
    x = tfr.asarray(some((96, 80), "float32", 1), device=device)
    expected = (tfr.sin(x) * 3).numpy()
    built = len(builds)
    assert built > 0
    PLANS.clear()
    gc.collect()
    assert not any(region in key for key in device_program._shared for region in builds)
    np.testing.assert_array_equal((tfr.sin(x) * 3).numpy(), expected)
    assert len(builds) == 2 * built


def test_another_layout_is_built(builds):
    x = some((300, 70), "float32", 1)
    straight = tfr.exp(tfr.asarray(x, device="llvm")).numpy()
    built = len(builds)
    across = tfr.exp(tfr.asarray(np.asfortranarray(x), device="llvm")).numpy()
    np.testing.assert_array_equal(straight, across)
    assert len(builds) == built + 1


@pytest.mark.parametrize("device", ["llvm", *FOUND])
def test_zeros_of_either_sign_are_kernels_of_their_own(device):
    x = tfr.asarray(np.ones(5000, np.float32), device=device)
    for zero in (0.0, -0.0, 0.0):
        padded = (tfr.pad(x, 3, constant_values=zero) * 1.5).numpy()
        assert np.all(np.signbit(padded[:3]) == np.signbit(zero))
        made = tfr.reciprocal(tfr.full((5000,), zero, dtype="float32", device=device)).numpy()
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
