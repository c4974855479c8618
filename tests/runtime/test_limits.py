"""Limits: measured once, kept where kernels are, measured again where the file is not what was written."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import limits, registry
from tensorframe.backends.base import DeviceInfo
from tensorframe.backends.limits import Limits, keep, limits_of
from tensorframe.backends.numpy.engine import CAPABILITIES, NumpyBackend
from tensorframe.errors import DeviceError, KernelError
from tensorframe.frontend.diagnostics import calibration
from tensorframe.graph.device import Device
from tensorframe.testing.boxed import BoxedBackend

MADE_UP = Limits(copy_bandwidth=2.5e10, read_bandwidth=2.5e10, flops=3e11)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, and no memory of what was measured before."""
    monkeypatch.setattr(limits, "_known", {})
    with tfr.config.override(cache_dir=str(tmp_path)):
        yield tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Measurements of a few elements."""
    monkeypatch.setattr(calibration, "_ENOUGH", 0.0)
    monkeypatch.setattr(calibration, "_ELEMENTS", (1 << 10,))
    monkeypatch.setattr(calibration, "_ROWS", (16,))


def forget():
    limits._known.clear()


def file_in(folder):
    (found,) = [one for one in os.listdir(folder) if one.endswith(".json")]
    return folder / found


def test_nothing_is_measured_by_asking(folder):
    assert limits_of("numpy") is None
    assert limits_of(Device("cpu")) is None
    assert os.listdir(folder) == []


def test_what_is_kept_is_read_by_another_process(folder):
    keep(Device("numpy"), MADE_UP)
    forget()
    assert limits_of("numpy") == MADE_UP
    assert limits_of("cpu") is None
    content = json.loads(file_in(folder).read_text(encoding="utf-8"))
    assert np.__version__ in content["identity"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights are those of the folder")
def test_the_file_is_the_users_own(folder):
    keep(Device("numpy"), MADE_UP)
    assert file_in(folder).stat().st_mode & 0o077 == 0


@pytest.mark.skipif(sys.platform == "win32", reason="rights are those of the folder")
def test_a_pipe_or_a_file_that_others_may_write_to_is_not_read(folder):
    keep(Device("numpy"), MADE_UP)
    path = file_in(folder)
    path.chmod(0o666)
    forget()
    assert limits_of("numpy") is None
    path.unlink()
    os.mkfifo(path)
    forget()
    assert limits_of("numpy") is None
    keep(Device("numpy"), MADE_UP)
    forget()
    assert limits_of("numpy") == MADE_UP


@pytest.mark.parametrize("content", ["[" * 30_000, '{"version": ' + "9" * 5000 + "}", "[]", ""])
def test_a_file_of_nonsense_is_a_device_that_was_not_measured(folder, content):
    keep(Device("numpy"), MADE_UP)
    file_in(folder).write_text(content, encoding="utf-8")
    forget()
    assert limits_of("numpy") is None


@pytest.mark.skipif(sys.platform == "win32", reason="rights are those of the folder")
def test_a_folder_that_others_may_write_to_is_not_used(folder):
    keep(Device("numpy"), MADE_UP)
    forget()
    Path(folder).chmod(0o777)
    assert limits_of("numpy") is None


CHANGES = {
    "empty": lambda _: b"",
    "cut off": lambda _: b"{",
    "a list": lambda _: b"[]",
    "no text": lambda _: b"\xff\xfe",
    "another version": lambda found: json.dumps({**found, "version": 0}).encode(),
    "another device": lambda found: json.dumps({**found, "identity": "another"}).encode(),
    "no number": lambda found: json.dumps({**found, "flops": "fast"}).encode(),
    "negative": lambda found: json.dumps({**found, "flops": -1.0}).encode(),
    "not a number": lambda found: json.dumps({**found, "copy_bandwidth": float("nan")}).encode(),
    "incomplete": lambda found: json.dumps({"version": found["version"]}).encode(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_is_not_what_was_written_is_measured_again(folder, quick, change):
    keep(Device("numpy"), MADE_UP)
    forget()
    path = file_in(folder)
    path.write_bytes(change(json.loads(path.read_text(encoding="utf-8"))))
    assert limits_of("numpy") is None
    (found,) = tfr.calibrate("numpy")
    assert found.measured
    forget()
    assert limits_of("numpy") == found.limits


def test_without_a_place_on_disk_limits_hold_as_long_as_the_process(folder):
    with tfr.config.override(cache_bytes=0):
        keep(Device("numpy"), MADE_UP)
        assert limits_of("numpy") == MADE_UP
        forget()
        assert limits_of("numpy") is None
    assert os.listdir(folder) == []


def test_devices_that_are_not_here_or_only_make_plans_have_no_limits(folder):
    for device in ("nowhere", "cuda:7", "dry"):
        assert limits_of(device) is None
        keep(Device(device), MADE_UP)
    assert os.listdir(folder) == []


def test_calibrating_measures_once(folder, quick):
    first = tfr.calibrate("numpy")["numpy"]
    again = tfr.calibrate("numpy")["numpy"]
    anew = tfr.calibrate("numpy", force=True)["numpy"]
    assert [first.measured, again.measured, anew.measured] == [True, False, True]
    assert again.limits == first.limits
    assert limits_of("numpy") == anew.limits
    assert first.limits.copy_bandwidth > 0
    assert first.limits.read_bandwidth > 0
    assert first.limits.flops > 0


def test_what_is_written_takes_what_a_copy_takes_beside_reading():
    limits = Limits(copy_bandwidth=2e9, read_bandwidth=4e9, flops=1.0)
    assert limits.seconds_of_bytes(4e9, 0) == 1
    assert limits.seconds_of_bytes(4e9, 4e9) == 4
    faster = Limits(copy_bandwidth=2e9, read_bandwidth=0.5e9, flops=1.0)
    assert faster.seconds_of_bytes(1e9, 1e9) == 2


def test_calibrating_knows_every_device_that_computes(folder, quick, monkeypatch):
    monkeypatch.setattr(calibration, "known_devices", lambda: (Device("cpu"), Device("numpy")))
    found = tfr.calibrate()
    assert [str(one.device) for one in found] == ["cpu", "numpy"]
    assert all(one.limits is not None for one in found)
    assert "GB/s" in str(found)
    assert "measured before" in str(tfr.calibrate())


def test_a_device_with_memory_of_its_own_is_waited_for(folder, quick):
    class Waiting(BoxedBackend):
        waits = 0

        def synchronize(self, device):
            self.waits += 1

    backend = Waiting("boxed")
    registry.register(backend)
    try:
        assert tfr.calibrate("boxed")["boxed"].measured
        # of copies, of products and of kernels that compute, three runs each
        assert backend.waits >= 9
    finally:
        registry.unregister("boxed")


def test_a_device_that_fails_says_so_in_its_row(folder, quick, monkeypatch):
    class Broken(NumpyBackend):
        name = "broken"

        def probe(self):
            return [DeviceInfo(Device("broken"), "does not compile", CAPABILITIES)]

        def compile(self, region, device):
            raise RuntimeError("the compiler is on holiday")

    registry.register(Broken())
    try:
        known = (Device("broken"), Device("numpy"))
        monkeypatch.setattr(calibration, "known_devices", lambda: known)
        found = tfr.calibrate()
        assert found["broken"].limits is None
        assert "holiday" in str(found)
        assert found["numpy"].limits is not None
        with pytest.raises(KernelError, match="holiday"):
            tfr.calibrate("broken")
    finally:
        registry.unregister("broken")
    with pytest.raises(DeviceError):
        tfr.calibrate("broken")


def test_a_profile_says_how_near_to_the_limits_a_kernel_is(folder):
    x = tfr.asarray(np.ones(100_000, np.float32))
    with tfr.profile() as before:
        (x + 1).compute()
    assert before.records[0].share_of_limit is None
    assert "tfr.calibrate()" in str(before)
    keep(Device("cpu"), MADE_UP)
    with tfr.profile() as after:
        (x + 1).compute()
    (record,) = after.records
    # memory is what an addition waits for: 8 bytes take longer than one operation
    least = (record.bytes_read + record.bytes_written) / MADE_UP.copy_bandwidth
    assert record.share_of_limit == pytest.approx(least / record.mean)
    assert "tfr.calibrate()" not in str(after)


def test_bandwidths_are_those_of_arrays_beyond_all_caches(folder, quick, monkeypatch):
    sizes = []

    def operand(_device, shape):
        sizes.append(shape)
        return tfr.ones(10, dtype="float32", device="numpy").compute()

    monkeypatch.setattr(calibration, "_ELEMENTS", (1 << 24, 1 << 26, 1 << 40))
    monkeypatch.setattr(calibration, "_operand", operand)
    monkeypatch.setattr(calibration, "_product", lambda _device: 1.0)
    monkeypatch.setattr(calibration, "_LARGE", 1 << 28)
    info = registry.info_of(Device("numpy"))

    def with_room(**changes):
        given = {entry.name: getattr(info, entry.name) for entry in fields(info)}
        return lambda _device: DeviceInfo(**{**given, **changes})

    monkeypatch.setattr(calibration, "info_of", with_room(free_memory=1 << 33))
    tfr.calibrate("numpy", force=True)
    assert sizes == [(1 << 26,), (1 << 26,)]
    sizes.clear()
    # a smaller one where memory, or a buffer, has no room for more
    for room in ({"free_memory": 1 << 27}, {"free_memory": 1 << 33, "max_buffer": 1 << 27}):
        monkeypatch.setattr(calibration, "info_of", with_room(**room))
        tfr.calibrate("numpy", force=True)
    assert sizes == [(1 << 24,)] * 4
