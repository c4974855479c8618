"""Kernels on WebGPU: NumPy's results, for every form of kernel and every dtype, in as few submissions as possible."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.testing.compare import assert_close
from tensorframe.testing.random_graph import check
from tests.backends.webgpu import DEVICE, needs_adapter
from tests.kernel.form_cases import CASES, by_numpy, operand

pytestmark = needs_adapter


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.mark.filterwarnings("ignore::tensorframe.errors.FallbackWarning")
@pytest.mark.parametrize("name", CASES)
def test_every_form(name):
    one = CASES[name]
    x = operand(one)
    with tfr.use_backend(DEVICE):
        found = one.program(tfr, tfr.asarray(x))
    found = found if isinstance(found, list) else [found]
    for value, expected in zip(found, by_numpy(one, x), strict=True):
        assert_close(value.numpy(), expected, ulp=one.ulp)


@pytest.mark.filterwarnings("ignore::tensorframe.errors.FallbackWarning")
@pytest.mark.parametrize("start", range(41_000, 41_100, 20))
def test_random_programs(start):
    for seed in range(start, start + 20):
        check(seed, device=DEVICE)


@pytest.mark.parametrize("name", ["softmax", "normalised", "variance", "argmax"])
def test_long_columns_are_within_what_a_thread_may_loop(name: str) -> None:
    """llvmpipe ends a thread's loops, silently, after 65,535 iterations in all: passes over a column add up."""
    length = 70000 if name == "argmax" else 30000
    x = np.random.default_rng(0).normal(size=(length, 3)).astype(np.float32)
    t, exact = tfr.asarray(x, device="wgpu"), x.astype(np.float64)
    powers = np.exp(exact - exact.max(0))
    centred = exact - exact.mean(0)
    cases = {
        "softmax": (lambda: tfr.softmax(t, axis=0), powers / powers.sum(0)),
        "normalised": (
            lambda: (t - tfr.mean(t, axis=0)) / tfr.std(t, axis=0),
            centred / exact.std(0),
        ),
        "variance": (lambda: tfr.var(t, axis=0), exact.var(0)),
        "argmax": (lambda: tfr.argmax(t, axis=0), exact.argmax(0)),
    }
    compute, expected = cases[name]
    np.testing.assert_allclose(
        compute().numpy(), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max()
    )
