"""Long rows in one pass: chunks take distances from a mean or maximum of their own, and are corrected when joined."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import capabilities
from tensorframe.kernel.groups import forms as groups
from tensorframe.kernel.ir import Allocate
from tensorframe.machine import HOST
from tensorframe.schedule import pipeline
from tensorframe.schedule.fusion import admission
from tests.kernel.interpreted import (
    Memory,
    in_groups,
    interpreted,
    interpreting,
    launches_of,
)
from tests.kernel.interpreted import (
    planned as planned_steps,
)

pytest.importorskip(
    "llvmlite", reason="the planner groups what kernels compute, where there are any"
)

# bytes of a group: a chunk of 16 elements, and no row
ENOUGH = 32 * 4 + 16 * 4


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def layer_norm(x):
    centred = x - tfr.mean(x, axis=1, keepdims=True)
    return centred / tfr.sqrt(tfr.mean(centred * centred, axis=1, keepdims=True) + 1e-5)


WRITING = {
    "softmax": lambda x: tfr.softmax(x, axis=1),
    "log_softmax": lambda x: tfr.log_softmax(x, axis=1),
    "layer norm": layer_norm,
    "attention's rows": lambda x: tfr.softmax(x * 0.3 + tfr.where(x > 1, 0.0, x), axis=1),
    "softmax without keeping axes": lambda x: (
        tfr.exp(x - tfr.max(x, axis=1)[:, None])
        / tfr.sum(tfr.exp(x - tfr.max(x, axis=1)[:, None]), axis=1)[:, None]
    ),
}
REDUCING = {
    "logsumexp": lambda x: tfr.logsumexp(x, axis=1),
    "variance": lambda x: tfr.var(x, axis=1),
    "mean and deviation": lambda x: tfr.mean(x, axis=1) + tfr.std(x, axis=1),
}
FUNCTIONS = WRITING | REDUCING


def matrix(*shape, dtype=np.float32):
    drawn = np.random.default_rng(shape[-1]).standard_normal(shape)
    return tfr.asarray((3 * drawn + 2).astype(dtype), device="llvm")


def with_reads(monkeypatch, function, x, *, rows, **target):
    """The result of a function, and how often its kernels read elements of the operand."""
    reads = Counter()
    get = Memory.__getitem__

    def counted(memory, place):
        if memory._array.shape == x.shape:
            reads[int(place)] += 1
        return get(memory, place)

    with in_groups(rows=rows, **target), interpreting(), monkeypatch.context() as patched:
        patched.setattr(Memory, "__getitem__", counted)
        (found,) = interpreted(function(x))
    return np.asarray(found), reads


# of few chunks, which a thread joins, and the last of one element
@pytest.mark.parametrize("length", [48, 65])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_element_is_read_once_and_once_again_to_write(name, length, monkeypatch):
    x = matrix(3, length)
    expected, often = with_reads(monkeypatch, FUNCTIONS[name], x, rows=0)
    found, reads = with_reads(monkeypatch, FUNCTIONS[name], x, rows=ENOUGH)
    assert set(reads.values()) == {2 if name in WRITING else 1}
    assert len(reads) == 3 * length
    assert min(often.values()) > max(reads.values())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["softmax", "logsumexp", "layer norm"])
def test_without_float64_sums_are_of_float32(name, monkeypatch):
    x = matrix(3, 65)
    expected, _ = with_reads(monkeypatch, FUNCTIONS[name], x, rows=0)
    found, reads = with_reads(
        monkeypatch, FUNCTIONS[name], x, rows=ENOUGH, widest=np.float32, index=np.uint32
    )
    assert max(reads.values()) <= 2
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


SPECIAL = {
    "a chunk of -inf": [(slice(16, 32), -np.inf)],
    "-inf alone": [(slice(None), -np.inf)],
    "small numbers beside -inf": [(slice(None), -1000.0), (slice(0, 16), -np.inf)],
    "inf": [(slice(16, 32), -np.inf), (40, np.inf)],
    "nan": [(3, np.nan)],
    "large numbers": [(slice(20, 40), 3e38)],
    "chunks far apart": [(slice(0, 16), -80.0), (slice(16, 32), 80.0)],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: tfr.softmax(x, axis=1),
        lambda x: tfr.logsumexp(x, axis=1),
        lambda x: tfr.sum(tfr.exp(x - tfr.max(x, axis=1, keepdims=True)), axis=1),
        lambda x: tfr.log_softmax(x, axis=1),
    ],
    ids=["softmax", "logsumexp", "sum of exponentials", "log_softmax"],
)
def test_special_values_are_those_of_three_passes(function, special, monkeypatch):
    values = matrix(2, 65).numpy().copy()
    for where, value in SPECIAL[special]:
        values[1, where] = value
    x = tfr.asarray(values, device="llvm")
    expected, _ = with_reads(monkeypatch, function, x, rows=0)
    found, _ = with_reads(monkeypatch, function, x, rows=ENOUGH)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_a_variance_far_from_zero_keeps_its_digits(monkeypatch):
    x = tfr.asarray(matrix(2, 65).numpy() + np.float32(4096), device="llvm")
    exact = np.var(x.numpy().astype(np.float64), axis=1)
    for widest in (np.float64, np.float32):
        found, _ = with_reads(monkeypatch, FUNCTIONS["variance"], x, rows=ENOUGH, widest=widest)
        np.testing.assert_allclose(found, exact, rtol=2e-6)


def kernels_in(function, *operands, rows=ENOUGH):
    with in_groups(rows=rows), interpreting():
        return len(launches_of(function(*operands)))


def test_two_kernels_reduce_and_a_third_one_writes():
    x = matrix(3, 65)
    assert kernels_in(FUNCTIONS["softmax"], x) == 3
    assert kernels_in(FUNCTIONS["logsumexp"], x) == 2
    # rows that are held, those of one chunk, and what needs no other reduction
    assert kernels_in(FUNCTIONS["softmax"], x, rows=1 << 12) == 1
    assert kernels_in(FUNCTIONS["softmax"], matrix(3, 20)) == 1
    assert kernels_in(lambda x: x / tfr.sum(x, axis=1, keepdims=True), matrix(5, 65)) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tfr.sum(tfr.exp(x - tfr.min(x, axis=1, keepdims=True)), axis=1),
        lambda x: tfr.sum(tfr.exp(x - 2 * tfr.max(x, axis=1, keepdims=True)), axis=1),
        lambda x: tfr.sum(tfr.exp(x - tfr.max(x * x, axis=1, keepdims=True)), axis=1),
        lambda x: tfr.sum((x - tfr.max(x, axis=1, keepdims=True)) ** 3, axis=1),
        lambda x: tfr.max(tfr.exp(x - tfr.max(x, axis=1, keepdims=True)), axis=1),
    ],
    ids=["from a minimum", "from twice a maximum", "from another maximum", "cubes", "a maximum"],
)
def test_other_sums_of_rows_have_a_pass_of_their_own(function):
    assert kernels_in(function, matrix(3, 65)) == 1


def test_chunks_that_are_larger_than_memory_are_not_held(monkeypatch):
    x = matrix(3, 65)
    with in_groups(rows=ENOUGH - 1), interpreting():
        launches = launches_of(FUNCTIONS["softmax"](x))
    assert not any(isinstance(one, Allocate) for one in launches[0].kernel.body)
    found, _ = with_reads(monkeypatch, FUNCTIONS["softmax"], x, rows=ENOUGH - 1)
    held, _ = with_reads(monkeypatch, FUNCTIONS["softmax"], x, rows=ENOUGH)
    assert found.tobytes() == held.tobytes()


@contextmanager
def planning_long_rows(*, able=True):
    """Plan as for a device whose kernels take rows of any length in one pass; 40 elements are many."""
    capable = replace(
        capabilities(tfr.Device("llvm")), long_rows=able, one_pass_variance=False, row_by_row=False
    )
    short = HOST._replace(row=40)
    with (
        patch.object(pipeline, "capabilities", lambda device: capable),
        patch.object(admission, "HOST", short),
        patch.object(groups, "HOST", short),
    ):
        yield


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_that_stay_in_no_cache_are_one_step(name, monkeypatch):
    x = matrix(3, 65)
    with planning_long_rows(able=False):
        apart, _ = planned_steps(FUNCTIONS[name](x))
    with planning_long_rows():
        together, _ = planned_steps(FUNCTIONS[name](x))
        found, reads = with_reads(monkeypatch, FUNCTIONS[name], x, rows=ENOUGH)
    assert together.kernels == 1 < apart.kernels
    assert set(reads.values()) == {2 if name in WRITING else 1}
    np.testing.assert_allclose(found, FUNCTIONS[name](x).numpy(), rtol=2e-6, atol=1e-7)


def test_chunks_share_out_few_long_rows_of_one_reduction():
    with planning_long_rows():
        assert kernels_in(lambda x: x / tfr.sum(x, axis=1, keepdims=True), matrix(3, 65)) == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * tfr.max(tfr.softmax(x, axis=1), axis=1, keepdims=True),
        lambda x: tfr.sum(tfr.exp(x - tfr.min(x, axis=1, keepdims=True)), axis=1),
        lambda x: tfr.cumulative_sum(x, axis=1) - tfr.max(x, axis=1, keepdims=True),
        lambda x: tfr.softmax(x, axis=0),
    ],
    ids=["three passes", "another pivot", "a scan", "columns"],
)
def test_what_takes_more_passes_stays_apart(function):
    x = matrix(65, 65)
    with planning_long_rows(able=False):
        apart, _ = planned_steps(function(x))
    with planning_long_rows():
        found, _ = planned_steps(function(x))
    assert 2 <= found.kernels <= apart.kernels
