"""Every rule in every floating dtype, of both orders, with broadcasts and without elements; a part on every device."""

from itertools import islice

import numpy as np
import pytest

import tensorframe as tfr
from tests.backends.devices import on_every_device
from tests.gradient.sweep import (
    PRECISION,
    Case,
    all_cases,
    along_axes,
    check,
    check_curvature,
    elementwise,
)

# there is no largest of no elements, and nothing to take from them
REFUSED = {
    *[f"{name} of {shape}" for name in ("max", "ptp") for shape in [(0,), (3, 0)]],
    *[f"{name} of {shape}" for name in ("min", "take", "index_add") for shape in [(0,), (0, 3)]],
}
# where kernels are compiled, which takes long on some devices: one case in so many
SOME, FEW = 16, 50


@pytest.mark.sweep(2)
@pytest.mark.parametrize("dtype", PRECISION)
def test_every_rule(dtype):
    assert {case.name for case in all_cases() if not check(case, dtype)} == REFUSED


def test_every_rule_of_second_order():
    assert sum(check_curvature(case) for case in all_cases()) > 400


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_kernels(dtype):
    pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")
    for cases in (elementwise(), along_axes()):
        for case in islice(cases, 1, None, SOME):
            check(case, dtype, "llvm")


@on_every_device
def test_devices(device):
    checked = [
        check(case, "float32", device)
        for cases in (elementwise(), along_axes())
        for case in islice(cases, 0, None, FEW)
    ]
    assert sum(checked) >= 7


def test_a_wrong_rule_is_found():
    def wrong(x):
        return x if x.dtype == tfr.float64 else x * 1.01

    with pytest.raises(AssertionError, match="wrong"):
        check(Case("wrong", wrong, (np.ones(3),)), "float32")
