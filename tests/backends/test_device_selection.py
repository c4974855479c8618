"""Order statistics on devices: elements of long lines are selected, with the bits that sorting gives."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.device import program
from tensorframe.errors import IndexingError
from tensorframe.frontend.dispatch import call
from tensorframe.kernel.groups.algorithms import selection
from tensorframe.ops.rules import ordering
from tensorframe.ops.sorting import SELECT
from tensorframe.runtime.plan_cache import PLANS
from tests.backends.counts import counted
from tests.backends.devices import holds, on_every_device
from tests.backends.test_device_sorting import INTEGERS, some

pytestmark = on_every_device

LENGTH = 300  # of lines that are long here


@pytest.fixture(autouse=True)
def long_lines(device, monkeypatch):
    """Have lines of a hundred elements selected from, by a group each."""
    if not holds(device, "int64"):
        pytest.skip(f"{device} holds no places")
    monkeypatch.setattr(ordering, "_LONG", 20)


@pytest.fixture
def in_pieces(monkeypatch):
    """Have several groups count each line."""
    monkeypatch.setattr(selection, "_PIECE", 128)
    forget_kernels()
    yield
    forget_kernels()


def forget_kernels():
    PLANS.clear()
    program.forget()


def bits(x):
    return x.view(f"u{x.itemsize}")


def check(tensor, places):
    """Compare with lines in order, in which -0.0 is before 0.0, and NaN last."""
    found = call(SELECT, tensor, tfr.asarray(places, device=tensor.device))
    assert found.device == tensor.device
    x = tensor.numpy()
    order = np.lexsort((~np.signbit(x.astype(np.float64)), x)) if is_real(x) else np.argsort(x)
    expected = np.take_along_axis(np.take_along_axis(x, order, -1), places, -1)
    known = expected == expected
    np.testing.assert_array_equal(bits(found.numpy())[known], bits(expected)[known])
    assert (found.numpy() != found.numpy())[~known].all()


def is_real(x):
    return x.dtype.kind not in "biu"


PLACES = np.array([[0, 149, 150, 150, 299], [299, 7, 150, 149, 0]])


@pytest.mark.sweep(8)
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "float16", "bfloat16", "float32", "float64"])
def test_every_dtype(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    x = tfr.asarray(some((2, LENGTH), "float32" if dtype == "bfloat16" else dtype), device=device)
    check(x.astype(dtype), PLACES)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_pieces_of_long_lines(device, dtype, in_pieces):
    check(tfr.asarray(some((2, LENGTH), dtype), device=device), PLACES)


def test_views(device, in_pieces):
    x = tfr.asarray(some((LENGTH + 7, 4), "float32"), device=device)
    check(x[7:, ::-2].mT, PLACES)


def test_a_line_of_equal_elements_and_one_of_nan_have_the_bits_of_sorted_ones(device, in_pieces):
    x = np.full((2, LENGTH), -0.0, np.float32)
    x[0, ::2], x[1], x[1, 0] = 0.0, np.nan, -np.nan
    tensor = tfr.asarray(x, device=device)
    check(tensor, PLACES)
    found = call(SELECT, tensor, tfr.asarray(PLACES, device=device)).numpy()
    expected = np.take_along_axis(tfr.sort(tensor, axis=-1).numpy(), PLACES, -1)
    np.testing.assert_array_equal(bits(found), bits(expected))


STATISTICS = {
    "median": lambda x: tfr.median(x, axis=1),
    "median of all": tfr.median,
    "quantile": lambda x: tfr.quantile(x, 0.3, axis=1),
    "several quantiles": lambda x: tfr.quantile(x, [0.1, 0.5, 0.98], axis=1),
    "higher": lambda x: tfr.percentile(x, 77, axis=1, method="higher"),
    "nanmedian": lambda x: tfr.nanmedian(x, axis=1),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_are_those_of_the_host_and_sort_nothing(device, name):
    x = some((3, LENGTH), "float32")
    x[1] = np.abs(np.nan_to_num(x[1], posinf=1, neginf=0))
    found = STATISTICS[name](tfr.asarray(x, device=device).compute())
    plan = tfr.explain(found)
    assert str(found.device) == device
    assert not plan.fallbacks
    names = [op.op.name for step in plan.steps if step.region for op in step.region.ops]
    assert names.count("select") == 1
    assert not {"sort", "partition"} & {*names}
    assert plan.bytes_written < x.nbytes
    np.testing.assert_array_equal(found.numpy(), STATISTICS[name](tfr.asarray(x)).numpy())


@pytest.mark.sweep(5)
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize("kth", [150, [3, -1, 149]])
def test_partitions_sort_nothing(device, dtype, kth, in_pieces):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    x = some((LENGTH, 3), dtype)
    tensor, order = tfr.asarray(x, device=device), np.sort(x, axis=0)
    found, places = tfr.partition(tensor, kth, axis=0), tfr.argpartition(tensor, kth, axis=0)
    assert "merge" not in str(tfr.explain(found, source=True))
    assert str(found.device) == device
    np.testing.assert_array_equal(found.numpy()[kth], order[kth])
    np.testing.assert_array_equal(np.sort(found.numpy(), axis=0), order)
    np.testing.assert_array_equal(np.take_along_axis(x, places.numpy(), 0)[kth], order[kth])


def launches_of(device, x):
    places = tfr.asarray(np.array([[LENGTH // 2]]), device=device).compute()
    with tfr.config.override(small_size=0), counted(device) as counts:
        call(SELECT, x, places).compute()
    return counts["launch"]


def test_a_group_takes_one_launch(device):
    assert launches_of(device, tfr.asarray(some((1, LENGTH), "float32"), device=device)) == 1


def test_pieces_take_two_launches_for_each_digit(device, in_pieces):
    assert launches_of(device, tfr.asarray(some((1, LENGTH), "float32"), device=device)) == 18


def test_short_lines_are_sorted(device):
    x = tfr.asarray(some((3, 30), "float32"), device=device)
    (op,) = [
        op.op.name
        for step in tfr.explain(tfr.median(x, axis=1)).steps
        if step.region
        for op in step.region.ops
        if op.op.name in ("select", "partition")
    ]
    assert op == "partition"


def test_places_beyond_a_line_are_errors(device):
    x = tfr.asarray(some((1, LENGTH), "float32"), device=device)
    with pytest.raises(IndexingError, match="select: places from 300"):
        tfr.compute(call(SELECT, x, tfr.asarray(np.array([[LENGTH]]), device=device)))
