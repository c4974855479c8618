"""Every public function that is written in terms of others, with special values, beside NumPy's of the same name.

`python -m tests.values` does it in all dtypes on all devices, by kernels too.
"""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.dtypes import bool_, complex64, float16, float32, float64, int8, int64, uint32
from tests.values import special
from tests.values.agreement import mismatches
from tests.values.cases import Case
from tests.values.sweep import COMPILED, PLANNED, found_in
from tests.values.table import DIFFERENCES, TABLE, uncovered

# one dtype of each kind: the others are other widths of the same code
FEW = (bool_, int8, uint32, float16, float32, complex64)


@pytest.mark.parametrize("name", TABLE)
def test_special_values_are_numpys(name):
    with tfr.use_backend("numpy"):
        assert found_in(name, FEW) == []


@pytest.mark.parametrize("device", ["numpy", "cpu"])
def test_plans_give_the_same_as_ops_one_by_one(device):
    names = TABLE if device == "numpy" else PLANNED
    with tfr.use_backend(device), tfr.config.override(small_size=0, small_nodes=0):
        assert [words for name in names for words in found_in(name, (float32,), planned=True)] == []


@pytest.mark.parametrize(
    "device", sorted({"llvm", "opencl", "wgpu", "cuda"} & set(tfr.backends.available()))
)
def test_special_values_survive_kernels(device):
    with tfr.use_backend(device):
        assert [
            words
            for name in COMPILED
            for words in found_in(name, (float32,), few=True, planned=True)
        ] == []


def test_every_public_function_is_in_the_table_or_says_why_not():
    assert list(uncovered()) == [], "no row in tests/values: add one, or a reason to LEFT_OUT"


def test_a_new_function_is_missed(monkeypatch):
    monkeypatch.setattr(tfr, "halved", lambda x: x / 2, raising=False)
    assert list(uncovered()) == ["halved"]


@pytest.mark.parametrize("name", DIFFERENCES)
def test_every_difference_that_is_meant_is_there(name):
    dtypes = (float32, float64, int64)
    cases = [(case, dtype) for case in TABLE[name] for dtype in dtypes if dtype in case.dtypes]
    with tfr.use_backend("numpy"):
        seen = [found for case, dtype in cases for found in mismatches(case, dtype)]
    for difference in DIFFERENCES[name]:
        assert any(difference.holds(found) for found in seen), difference.reason


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.sum(axis=-1),
        lambda x: np.where(np.isnan(x), 0, x).max(axis=-1, initial=-np.inf),
        lambda x: x.max(axis=-1, initial=-np.inf).astype(np.float64),
        lambda x: x.max(axis=-1, initial=-np.inf, keepdims=True),
    ],
    ids=["other values", "no NaN", "another dtype", "another shape"],
)
def test_the_comparison_sees_what_is_wrong(wrong):
    case = Case(
        lambda xp, x: wrong(np.asarray(x)) if xp is tfr else x.max(axis=-1, initial=-np.inf),
        TABLE["max"][0].inputs,
    )
    assert any(mismatches(case, np.dtype(float32)))


def test_the_comparison_sees_signs_of_zeros():
    negative = Case(lambda xp, x: x * -0.0 if xp is tfr else x * 0.0, special.vectors)
    assert any("-0.0" in found.words for found in mismatches(negative, float32))
    assert not list(mismatches(negative._replace(zeros=False), float32))
