"""What is known of devices: their limits, as opened ones have them, and the figures that were measured."""

import pytest

import tensorframe as tfr
from tensorframe.backends import Capabilities, DeviceInfo, limits
from tensorframe.backends.limits import Limits, keep
from tensorframe.backends.registry import backend_of
from tensorframe.errors import ArgumentError, DeviceError
from tensorframe.testing.boxed import BoxedBackend
from tests.backends.devices import on_every_device

FAST = Limits(copy_bandwidth=1e12, read_bandwidth=1e12, flops=1e13)
SLOW = Limits(copy_bandwidth=1e9, read_bandwidth=1e9, flops=1e10)


@pytest.fixture
def boxes(tmp_path, monkeypatch):
    """Three devices with memory of their own, and nothing that was measured of any."""
    monkeypatch.setattr(limits, "_known", {})
    names = ("quick", "slow", "unknown")
    for name in names:
        tfr.backends.register(BoxedBackend(name))
    with tfr.config.override(cache_dir=str(tmp_path), small_size=0):
        yield names
    for name in names:
        tfr.backends.unregister(name)


def info(name):
    return next(known for known in tfr.backends.devices() if known.device == name)


@on_every_device
def test_limits_are_those_of_the_device_that_opens(device):
    known = info(device)
    traits = backend_of(tfr.Device(device)).open_device(tfr.Device(device)).queue.traits
    assert traits.lanes <= known.max_group
    assert known.max_buffer > 0
    if known.max_binding is not None:
        assert traits.max_block == min(known.max_binding, known.max_buffer)
    if known.max_bindings is not None:
        assert traits.max_buffers == known.max_bindings
    assert known.shared_memory >= 16384  # what OpenCL and WebGPU promise
    assert "float32" in known.precisions


def test_the_host_has_no_limits_of_kernels():
    known = info("cpu")
    assert known.max_buffer is known.max_group is known.shared_memory is known.subgroup is None
    assert known.precisions == ("bfloat16", "float16", "float32", "float64")
    assert known.unified_memory


def test_measured_figures_are_known_once_they_were_measured(boxes):
    assert (info("quick").bandwidth, info("quick").flops) == (None, None)
    keep(tfr.Device("quick"), FAST)
    assert (info("quick").bandwidth, info("quick").flops) == (1e12, 1e13)
    assert info("slow").bandwidth is None


def test_estimates_predict_the_time_of_devices_that_were_measured(boxes):
    x = tfr.ones((1000, 1000), dtype="float32", device="slow").compute()
    estimate = tfr.estimate(-x)
    assert estimate.seconds is None
    assert "takes" not in repr(estimate)
    keep(tfr.Device("slow"), SLOW)
    assert tfr.estimate(-x).seconds == pytest.approx(8e6 / 1e9)
    assert repr(tfr.estimate(-x)).endswith("takes     8 ms at best")
    assert tfr.estimate(x @ x).seconds == pytest.approx(2e9 / 1e10)
    keep(tfr.Device("quick"), FAST)
    assert tfr.estimate(-x, device="quick").seconds == pytest.approx(8e6 / 1e12)
    moved = tfr.estimate((-x).to_device("quick"))
    # bytes that move are read and written, by the slower of both
    assert moved.seconds == pytest.approx(2 * 8e6 / 1e9)


def test_select_takes_the_fastest_of_those_that_were_measured(boxes):
    x = tfr.ones((1000, 1000), dtype="float32", device="slow").compute()
    work = tfr.estimate(x @ x)
    with pytest.raises(DeviceError, match=r"unknown: not measured: tfr.calibrate\('unknown'\)"):
        tfr.backends.select(boxes, fastest_for=work)
    keep(tfr.Device("slow"), SLOW)
    assert tfr.backends.select(boxes, fastest_for=work) == "slow"
    keep(tfr.Device("quick"), FAST)
    assert tfr.backends.select(["slow", "unknown", "quick"], fastest_for=work) == "quick"
    assert tfr.backends.select("slow", fastest_for=work) == "slow"
    # as long for both: the first one
    keep(tfr.Device("slow"), FAST)
    assert tfr.backends.select(["slow", "quick"], fastest_for=work) == "slow"
    with pytest.raises(ArgumentError, match="fastest_for takes an estimate, got 3"):
        tfr.backends.select(boxes, fastest_for=3)


def test_ops_are_placed_by_time_only_where_that_is_asked_for_and_known(boxes):
    """sin(b) and 1 + b * b are two transfers, b is one: but where they run takes long."""
    a = tfr.ones((500, 500), dtype="float32", device="slow").compute()
    b = tfr.ones((500, 500), dtype="float32", device="quick").compute()

    def moves():
        return (a + tfr.sin(b) * a / (1 + b * b)).explain().transfers

    with tfr.config.override(placement="time"):
        assert moves() == 1  # nobody knows what takes how long
        keep(tfr.Device("slow"), Limits(copy_bandwidth=1e9, read_bandwidth=1e9, flops=1e6))
        keep(tfr.Device("quick"), FAST)
        assert moves() == 2
        # moving takes long, and computing nowhere
        keep(tfr.Device("slow"), SLOW)
        keep(tfr.Device("quick"), SLOW)
        assert moves() == 1
    keep(tfr.Device("slow"), Limits(copy_bandwidth=1e9, read_bandwidth=1e9, flops=1e6))
    assert moves() == 1
    with pytest.raises(ArgumentError, match="option placement is 'bytes' or 'time', got 'speed'"):
        tfr.config.configure(placement="speed")


def test_a_description_says_what_is_known_and_leaves_out_the_rest():
    known = DeviceInfo(tfr.Device("crate"), "crates", Capabilities(), software=True, max_group=64)
    assert repr(known) == (
        "DeviceInfo(device=Device('crate'), name='crates', software=True, max_group=64)"
    )
    assert all(len(repr(found)) < 400 for found in tfr.backends.devices())
