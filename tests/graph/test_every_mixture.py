"""Random programs over every pair and triple of the devices that are here: NumPy's results, whoever computes what."""

import warnings
from itertools import combinations

import pytest

import tensorframe as tfr
from tensorframe.testing.random_graph import check

# one device of each backend: a second one of the same runs the same kernels
PRESENT = sorted(
    {str(info.device) for info in tfr.backends.devices() if info.capabilities.executes}
    & {"cpu", "numpy", "llvm", "opencl", "wgpu", "cuda"}
)
MIXTURES = [mixture for count in (2, 3) for mixture in combinations(PRESENT, count)]
SEEDS = 3


@pytest.mark.sweep(3)
@pytest.mark.parametrize("mixture", MIXTURES, ids="-".join)
def test_random_programs(mixture):
    first = 50_000 + SEEDS * MIXTURES.index(mixture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tfr.errors.FallbackWarning)
        for seed in range(first, first + SEEDS):
            check(seed, devices=mixture)
