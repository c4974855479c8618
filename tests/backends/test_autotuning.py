"""Autotuning: other tiles change no bit, the best are kept for a device and its driver; nothing is tried unasked."""

import json
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import limits
from tensorframe.backends.device import program
from tensorframe.backends.registry import backend_of, forget_plans
from tensorframe.errors import ArgumentError
from tensorframe.frontend.diagnostics import autotuning
from tensorframe.kernel.groups.algorithms import tunings as tunings_module
from tensorframe.kernel.groups.algorithms.blocking import Blocking, blocking_of
from tensorframe.kernel.groups.algorithms.tunings import Tiling, near
from tests.backends.devices import on_every_device, some

SHAPES = [
    *((64, 64, 64), (128, 16, 128), (33, 70, 41), (1, 200, 90), (90, 200, 1)),
    *((300, 5, 7), (16, 16, 300), (256, 40, 256), (100, 100, 100), (7, 300, 9)),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, in which nothing was tuned."""
    monkeypatch.setattr(limits, "_known", {})
    with tfr.config.override(cache_dir=str(tmp_path), small_size=0):
        yield tmp_path


@pytest.fixture
def tunings(folder, request):
    """Those of the device, which has none before and after."""
    device = request.getfixturevalue("device")
    tfr.backends.close(device)
    yield queue_of(device).tunings
    tfr.backends.close(device)
    program.forget()
    forget_plans()


def queue_of(device):
    return backend_of(tfr.Device(device)).open_device(tfr.Device(device)).queue


def factors(device, rows=40, length=33, columns=37):
    shapes = ((rows, length), (length, columns))
    return [
        tfr.asarray(some(shape, "float32", seed), device=device).compute()
        for seed, shape in enumerate(shapes)
    ]


def scripted(monkeypatch, *times):
    """Have the runs of tilings take these times, in turns, and only two be tried beside each."""
    left = list(times)
    monkeypatch.setattr(
        autotuning, "_seconds", lambda run, _queue: (run(), left.pop(0) if left else 1.0)[1]
    )
    monkeypatch.setattr(
        tunings_module, "near", lambda *facts, **more: list(near(*facts, **more))[:2]
    )
    monkeypatch.setattr(autotuning, "_ROUNDS", 1)


@on_every_device
def test_the_best_is_kept_for_later_processes(device, tunings, folder, monkeypatch):
    a, b = factors(device)
    before = (a @ b + 1).numpy()
    assert tunings.best == {}
    monkeypatch.setattr(autotuning, "_TURNS", 3)
    # another program slows the second turn, in which the best way runs first
    scripted(monkeypatch, 1.0, 0.9, 0.5, *(1.0, 0.5, 1.5, 3.0, 1.2, 0.6))
    (tuned,) = tfr.autotune(lambda x, y: x @ y + 1, a, b).products
    assert (tuned.product, tuned.before, tuned.after) == ("1 x 40 x 33 x 37 float32", 1.2, 0.6)
    assert tuned.tried == 2
    best = dict(tunings.best)
    assert list(best) == [tuned.product]
    # other tiles, the same bits
    np.testing.assert_array_equal((a @ b + 1).numpy(), before)
    tfr.backends.close(device)
    assert queue_of(device).tunings.best == best
    a, b = factors(device)
    np.testing.assert_array_equal((a @ b + 1).numpy(), before)


@on_every_device
def test_what_is_no_faster_changes_nothing(device, tunings, monkeypatch):
    a, b = factors(device)
    scripted(monkeypatch, 1.0, 0.99, 1.5)
    report = tfr.autotune(a @ b)
    assert tunings.best == {}
    assert report.products[0].after == 1.0
    assert "1 x 40 x 33 x 37 float32" in repr(report)
    assert "0%" in repr(report)


@on_every_device
@pytest.mark.parametrize(
    "turns",
    [(0.8, 0.4, 0.9, 0.8, 0.8, 0.9), (0.8, 0.4, 0.4, 0.8, 0.8, 0.4, 0.9, 0.8, 0.8, 0.9)],
    ids=["one of three", "three of five"],
)
def test_what_was_faster_by_chance_is_not_kept(turns, device, tunings, monkeypatch):
    a, b = factors(device)
    monkeypatch.setattr(autotuning, "_TURNS", len(turns) // 2)
    scripted(monkeypatch, 1.0, 0.5, 0.9, *turns)
    (tuned,) = tfr.autotune(a @ b).products
    assert tunings.best == {}
    assert (tuned.before, tuned.after) == (0.8, 0.8)


@on_every_device
def test_what_an_earlier_call_kept_is_dropped_for_a_default_that_is_no_slower(
    device, tunings, monkeypatch
):
    a, b = factors(device)
    scripted(monkeypatch, 1.0, 0.5, 0.9, *((1.0, 0.5, 0.5, 1.0) * 3 + (1.0, 0.5)))
    (tuned,) = tfr.autotune(a @ b).products
    assert list(tunings.best) == [tuned.product]
    scripted(monkeypatch, 0.5, 0.9, 0.9, *((0.5, 0.5) * autotuning._TURNS))
    (again,) = tfr.autotune(a @ b).products
    assert again.after == 0.5
    assert tunings.best == {}


def convolution(device):
    x = some((1, 2, 8, 8), "float32"), some((4, 2, 3, 3), "float32", 1)
    return tfr.nn.functional.conv2d(*[tfr.asarray(part, device=device) for part in x])


def attention(device):
    q, k, v = [tfr.asarray(some((1, 24, 8), "float32", n), device=device) for n in range(3)]
    return tfr.nn.functional.scaled_dot_product_attention(q, k, v)


@on_every_device
@pytest.mark.parametrize(("compute", "count"), [(convolution, 1), (attention, 2)])
def test_convolutions_and_attention_are_tuned_as_products(device, tunings, compute, count):
    tunings.asked = {}
    expected = compute(device).numpy()
    asked, tunings.asked = tunings.asked, None
    products = {name: facts for name, facts in asked.items() if facts.is_product}
    assert len(products) == count
    for name, facts in products.items():
        tunings.best[name] = next(iter(facts.near(facts.default)))
    program.forget()
    forget_plans()
    np.testing.assert_array_equal(compute(device).numpy(), expected)


@on_every_device
def test_a_file_that_is_damaged_or_of_another_driver_is_none(device, tunings, folder, monkeypatch):
    a, b = factors(device)
    scripted(monkeypatch, 1.0, 0.5, 0.6, *((1.0, 0.5, 0.5, 1.0) * 3 + (1.0, 0.5)))
    tfr.autotune(a @ b)
    (path,) = Path(folder).rglob("*.tuned.json")
    whole = json.loads(path.read_text())
    (name,) = whole["best"]
    wrong = [
        *(
            "",
            "{",
            "[]",
            "null",
            json.dumps(whole | {"best": 3}),
            json.dumps(whole | {"version": 0}),
        ),
        json.dumps(whole | {"best": {name: [3, 5, 7]}}),
        json.dumps(whole | {"best": {name: [1 << 40, 8, 8, 8, 8]}}),
        json.dumps(whole | {"best": {name: [7, 8, 3, 8, 4]}}),
        json.dumps(whole | {"identity": "another driver"}),
    ]
    for text in wrong:
        path.write_text(text)
        tfr.backends.close(device)
        assert queue_of(device).tunings.best == {}, text
    path.write_text(json.dumps(whole))
    tfr.backends.close(device)
    assert list(queue_of(device).tunings.best) == [name]
    monkeypatch.setattr(limits, "_processor", lambda: "another one")
    tfr.backends.close(device)
    assert queue_of(device).tunings.best == {}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("itemsize", [4, 8, 16])
def test_tilings_beside_one_fit_the_device(shape, itemsize):
    rows, _, columns = shape
    depth = {4: 16, 8: 8, 16: 4}[itemsize]
    default = Tiling(blocking_of(1, rows, columns, 256), depth)
    found = list(near(default, 256, itemsize))
    assert len(set(found)) == len(found)
    assert default not in found
    assert all(tiling.fits(256, itemsize) for tiling in found)
    assert not Tiling(Blocking(256, 256, 1, 1), 4).fits(256, 4)


@on_every_device
def test_every_tiling_gives_the_same_bits(device, tunings):
    """Of some shapes, one tiling of each, which is another one for each: drivers take long to compile them."""
    for index, shape in enumerate(SHAPES[::3]):
        a, b = factors(device, *shape)
        tunings.asked = {}
        expected = tfr.exp(a @ b / 100).numpy()
        asked, tunings.asked = tunings.asked, None
        for name, facts in asked.items():
            around = list(facts.near(facts.default))
            for tiling in around[5 * index % max(len(around), 1) :][:1]:
                tunings.best[name] = tiling
                program.forget()
                forget_plans()
                np.testing.assert_array_equal(tfr.exp(a @ b / 100).numpy(), expected)


@on_every_device
def test_nothing_is_tried_unless_somebody_asks(device, tunings, folder):
    a, b = factors(device)
    for _ in range(3):
        (a @ b).numpy()
    assert tunings.best == {}
    assert tunings.asked is None
    assert not list(Path(folder).rglob("*.tuned.json"))


def test_products_of_libraries_are_left_to_them():
    assert tfr.autotune(tfr.ones((30, 30)) @ tfr.ones((30, 30))).products == ()
    for nothing in (3, [], lambda: None):
        with pytest.raises(ArgumentError, match="autotune: there is no tensor in"):
            tfr.autotune(nothing)
