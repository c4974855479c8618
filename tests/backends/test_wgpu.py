"""Kernels on WebGPU: NumPy's results, for every form of kernel and every dtype, in as few submissions as possible."""

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
