"""Autotuning of kernels that are no products: every way gives the same bits, and the best is found and kept."""

import json
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import limits
from tensorframe.backends.device import program, tuned
from tensorframe.backends.device.engine import KernelBackend
from tensorframe.backends.registry import backend_of, forget_plans
from tensorframe.frontend.diagnostics import autotuning
from tensorframe.kernel.groups import forms
from tensorframe.kernel.groups.choices import (
    COLUMN_PARTS,
    COLUMNS,
    MAP,
    ROW_PARTS,
    ROWS,
    SQUARES,
    Choice,
    Room,
)
from tests.backends.devices import on_every_device, some

# name -> shape, what is computed, and the forms that it may have
CASES = {
    "elementwise": ((70, 130), lambda x: tfr.exp(-x * x) * 2, {MAP}),
    "crossing": ((90, 80), lambda x: x[:80] + x[:80].T, {MAP, SQUARES}),
    "short rows": ((50, 20), lambda x: x.sum(1), {COLUMNS}),
    "rows": ((70, 300), lambda x: x.sum(1), {ROWS, COLUMNS, COLUMN_PARTS}),
    "columns": ((300, 70), lambda x: x.sum(0), {ROWS, COLUMNS, COLUMN_PARTS}),
    "two passes": ((30, 400), tfr.softmax, {ROWS, COLUMNS}),
    "largest": ((30, 400), lambda x: x.max(1), {ROWS, COLUMNS, COLUMN_PARTS}),
    "chunks": ((3, 9000), lambda x: x.sum(1), {ROWS, COLUMNS, ROW_PARTS, COLUMN_PARTS}),
    "long": ((70000,), lambda x: x.sum(), {ROWS, ROW_PARTS, COLUMN_PARTS}),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, in which nothing was tuned."""
    monkeypatch.setattr(limits, "_known", {})
    with tfr.config.override(cache_dir=str(tmp_path), small_size=0, small_nodes=0):
        yield tmp_path


@pytest.fixture
def tunings(folder, request):
    """Those of the device, which has none before and after."""
    device = request.getfixturevalue("device")
    tfr.backends.close(device)
    yield tunings_of(device)
    tfr.backends.close(device)
    begin_again()


def tunings_of(device):
    return backend_of(tfr.Device(device)).open_device(tfr.Device(device)).queue.tunings


def begin_again():
    program.forget()
    forget_plans()


def operand(device, shape, dtype="float32"):
    """Elements of many magnitudes, whose sum depends on the order to the last bit."""
    scale = 10.0 ** np.random.default_rng(1).integers(-2, 3, shape)
    return tfr.asarray((some(shape, dtype) * scale).astype(dtype), device=device).compute()


def asked_of(tunings, compute):
    """What a computation asks for, and its result."""
    begin_again()
    tunings.asked = {}
    result = compute().numpy()
    asked, tunings.asked = tunings.asked, None
    return asked, result


@pytest.mark.sweep(4)
@on_every_device
@pytest.mark.parametrize("case", CASES)
def test_every_way_gives_the_same_bits(device, tunings, case):
    shape, compute, forms = CASES[case]
    x = operand(device, shape)
    asked, expected = asked_of(tunings, lambda: compute(x))
    ((name, facts),) = asked.items()
    assert not facts.is_product
    ways = {facts.default, *facts.near(facts.default)}
    assert {way.form for way in ways} == forms
    for way in ways:
        tunings.kernels[name] = way
        begin_again()
        np.testing.assert_array_equal(compute(x).numpy(), expected, err_msg=str(way))


@on_every_device
def test_fewer_threads_and_more_turns_than_by_default_give_the_same_bits(device, tunings):
    x = operand(device, (70, 300))
    for compute, form in ((lambda: tfr.softmax(x), ROWS), (lambda: tfr.exp(x), MAP)):
        ((name, facts),) = asked_of(tunings, compute)[0].items()
        expected = compute().numpy()
        for lanes in (facts.default.lanes // 2, 32):
            for turns in (4, 16):
                tunings.kernels[name] = Choice(form, lanes, 1, turns)
                begin_again()
                np.testing.assert_array_equal(compute().numpy(), expected)


class Clock:
    """Time that passes while a kernel is made in some way: so much for each run."""

    def __init__(self, tunings, times, otherwise=1.0):
        self.tunings, self.times, self.otherwise, self.now, self.asked = (
            tunings,
            times,
            otherwise,
            0.0,
            0,
        )

    def __call__(self):
        ways = [*self.tunings.kernels.values()]
        self.now += self.times.get(ways[-1] if ways else None, self.otherwise)
        self.asked += 1
        return self.now


@on_every_device
@pytest.mark.parametrize("case", ["elementwise", "rows", "columns"])
def test_the_fastest_way_is_found_and_kept_for_later_processes(
    device, tunings, folder, monkeypatch, case
):
    shape, compute, _ = CASES[case]
    x = operand(device, shape)
    asked, expected = asked_of(tunings, lambda: compute(x))
    ((name, facts),) = asked.items()
    first, *_, last = facts.near(facts.default)
    clock = Clock(tunings, {None: 1.0, first: 0.9, last: 0.5})
    monkeypatch.setattr(autotuning, "perf_counter", clock)
    report = tfr.autotune(compute, x)
    (kernel,) = report.kernels
    assert (kernel.kernel, kernel.device) == (name, tfr.Device(device))
    assert (kernel.before, kernel.after) == pytest.approx((1.0, 0.5))
    # two looks at the clock for every run: of the way that it had, of each that was tried, and of two by turns
    assert clock.asked == 2 * autotuning._RUNS * (1 + kernel.tried + 2 * autotuning._TURNS)
    assert kernel.tried >= len([*facts.near(facts.default)])
    assert "50%" in repr(report)
    assert report.products == ()
    assert tunings.kernels == {name: last}
    tfr.backends.close(device)
    assert tunings_of(device).kernels == {name: last}
    begin_again()
    np.testing.assert_array_equal(compute(operand(device, shape)).numpy(), expected)


@on_every_device
def test_what_is_no_faster_is_left(device, tunings, monkeypatch):
    x = operand(device, (70, 300))
    monkeypatch.setattr(autotuning, "perf_counter", Clock(tunings, {None: 1.0}, 0.99))
    (kernel,) = tfr.autotune(lambda x: x.sum(1), x).kernels
    assert kernel.before == pytest.approx(kernel.after)
    assert tunings.kernels == {}


@on_every_device
def test_a_way_that_changes_a_bit_is_never_taken(device, tunings, monkeypatch):
    """Drivers have bugs: some cut loops short."""
    x = operand(device, (70, 300))
    (facts,) = asked_of(tunings, lambda: x.sum(1))[0].values()
    read = KernelBackend.download

    def deviating(backend, storage):
        array = read(backend, storage)
        return array + 1 if tunings.kernels else array

    clock = Clock(tunings, {None: 1.0, facts.default: 1.0}, 0.1)
    monkeypatch.setattr(autotuning, "perf_counter", clock)
    monkeypatch.setattr(KernelBackend, "download", deviating)
    (kernel,) = tfr.autotune(lambda x: x.sum(1), x).kernels
    assert kernel.after == kernel.before
    assert tunings.kernels == {}


@on_every_device
def test_a_kernel_that_comes_twice_is_tuned_once(device, tunings, monkeypatch):
    x, y = operand(device, (70, 300)), operand(device, (65, 290))
    monkeypatch.setattr(autotuning, "perf_counter", Clock(tunings, {None: 1.0}))
    report = tfr.autotune([x.sum(1), y.sum(1)])
    assert len(report.kernels) == 1


@on_every_device
def test_sizes_ops_dtypes_and_layouts_tell_kernels_apart(device, tunings):
    def name(compute, *facts):
        x = operand(device, *facts)
        (found,) = asked_of(tunings, lambda: compute(x))[0]
        return found

    rows = name(lambda x: x.sum(1), (70, 300))
    assert name(lambda x: x.sum(1), (100, 500)) == rows  # of the same class
    others = [
        name(lambda x: x.sum(1), (70, 600)),
        name(lambda x: x.sum(1), (300, 300)),
        name(lambda x: x.sum(0), (300, 70)),
        name(lambda x: x.max(1), (70, 300)),
        name(lambda x: (x * x).sum(1), (70, 300)),
        name(lambda x: x.sum(1), (70, 300), "int32"),
    ]
    assert len({rows, *others}) == 7


def test_what_does_not_fit_a_size_is_not_taken():
    room = Room((ROWS, COLUMNS), 256, 32, 300)
    assert room.fits(Choice(ROWS, 32, 1, 4))
    for wrong in (
        Choice(ROW_PARTS, 256),
        Choice(ROWS, 16),
        Choice(ROWS, 512),
        Choice(ROWS, 96),
        Choice(COLUMNS, 256, 2),
        Choice(COLUMNS, 256, 1, 0),
        Choice(COLUMNS, 256, 1, 64),
    ):
        assert not room.fits(wrong)
    assert room._replace(length=30000).fits(Choice(ROWS, 256))
    assert not room._replace(length=30000).fits(Choice(COLUMNS, 256))


@on_every_device
def test_a_way_for_other_sizes_of_the_class_leaves_the_default(device, tunings):
    x = operand(device, (70, 300))
    ((name, facts),) = asked_of(tunings, lambda: x.sum(1))[0].items()
    expected = x.sum(1).numpy()
    tunings.kernels[name] = Choice(ROW_PARTS, 256)  # for rows of several chunks
    assert tunings.chosen_kernel(name, facts.default, Room((ROWS,), 256, 32)) == facts.default
    begin_again()
    np.testing.assert_array_equal(x.sum(1).numpy(), expected)


@on_every_device
def test_a_damaged_file_is_none(device, tunings, folder, monkeypatch):
    x = operand(device, (70, 300))
    (facts,) = asked_of(tunings, lambda: x.sum(1))[0].values()
    clock = Clock(tunings, {None: 1.0, facts.default: 1.0}, 0.5)
    monkeypatch.setattr(autotuning, "perf_counter", clock)
    tfr.autotune(lambda x: x.sum(1), x)
    (path,) = Path(folder).rglob("*.tuned.json")
    whole = json.loads(path.read_text())
    (name,) = whole["kernels"]
    for kernels in (
        3,
        [],
        {name: 3},
        {name: ["rows", 32, 1]},
        {name: ["", 32, 1, 1]},
        {name: [[], 1, 1, 1]},
    ):
        path.write_text(json.dumps(whole | {"kernels": kernels}))
        tfr.backends.close(device)
        assert tunings_of(device).kernels == {}, kernels
    del whole["kernels"]  # as older versions wrote it
    path.write_text(json.dumps(whole))
    tfr.backends.close(device)
    assert tunings_of(device).kernels == {}


@on_every_device
def test_the_file_keeps_what_was_found_last(device, tunings, folder):
    for number in range(1000):
        tunings.kernels[f"{number} float32 a kernel with a long name {number:8}"] = Choice(MAP, 64)
    place = tfr.Device(device)
    tuned.keep(place, backend_of(place).open_device(place).queue)
    tfr.backends.close(device)
    kept = tunings_of(device).kernels
    assert len(kept) == tuned._MOST
    assert next(reversed(kept)).startswith("999 ")


def test_nothing_is_named_unless_something_was_tuned(monkeypatch):
    """Building kernels takes no longer for all who never tune."""
    monkeypatch.setattr(forms, "name_of", lambda *_: pytest.fail("a kernel was named"))
    x = tfr.asarray(np.ones((70, 300), np.float32))
    assert "__global__" in str(tfr.explain(x.sum(1), source="cuda"))
