"""Profiles of first uses: opening a device is a line of its own, and no other's."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import registry, spans
from tensorframe.graph.device import Device
from tensorframe.runtime.plan_cache import PLANS


class TestOpeningDevices:
    """The first use of a device loads drivers and gets it ready: a line of its own, and no other's."""

    @pytest.fixture
    def slow_to_open(self):
        """A device like those with queues of their own, which has not been opened yet, and takes a while to."""
        from tests.backends.devices import FOUND

        if "opencl" not in FOUND:
            pytest.skip("no OpenCL device")
        from tensorframe.backends.opencl.engine import OpenClBackend

        class Slow(OpenClBackend):
            def open_queue(self, device):
                time.sleep(0.2)
                queue = super().open_queue(device)
                with spans.spanned(spans.Work.COMPILE, "a trial", "opencl"):
                    time.sleep(0.1)
                return queue

        registry.register(Slow(), "opencl", override=True)
        PLANS.clear()
        yield "opencl"
        PLANS.clear()
        registry.unregister("opencl")

    @pytest.mark.parametrize("by", ["upload", "plan"])
    def test_opening_is_its_own_line(self, slow_to_open, by):
        with tfr.profile() as p:
            if by == "upload":
                x = tfr.asarray(np.ones(1000, np.float32), device=slow_to_open)
            else:
                x = tfr.arange(1000.0, device=slow_to_open)
            with tfr.config.override(small_size=0):
                (x + 1).compute()
        found = p.summary
        assert found.opening >= 0.3
        assert found.opened == ("opencl",)
        assert sum(found.steps.values()) + found.planning + found.making < found.seconds - 0.3
        assert found.accounted == pytest.approx(found.seconds, rel=0.02)
        assert not any(one.name == "a trial" for one in p.kernels_made)
        assert "opening devices" in repr(p)
        assert any("opening devices" in text for text in (p._repr_html_(),))
        opening = [one for one in p.slices if one.lane.group == "devices opened"]
        assert [one.name for one in opening if one.ended - one.began > 3e8] == ["opening opencl"]

    def test_a_second_use_opens_nothing(self, slow_to_open):
        tfr.ones(1000, device=slow_to_open).compute()
        with tfr.profile() as p:
            (tfr.arange(1000.0, device=slow_to_open) + 1).compute()
        assert (p.summary.opening, p.summary.opened) == (0.0, ())
        assert "opening" not in repr(p)

    def test_finding_a_backends_devices_is_opening_too(self):
        from tests.backends.fakes import Fake, info, registered

        class Slow(Fake):
            def probe(self):
                time.sleep(0.1)
                return super().probe()

        with registered(Slow("found", [info("found")])):
            with tfr.profile() as p:
                tfr.ones(3, device="found")
                tfr.ones(3, device="found")
            assert p.summary.opened == ("found",)
            assert p.summary.opening >= 0.1
            assert p.summary.outside < p.summary.seconds - 0.1
            (one,) = [one for one in p.slices if one.lane.group == "devices opened"]
            assert one.name == "finding devices of found"

    def test_a_device_that_does_not_open_is_told_and_forgotten(self, slow_to_open, monkeypatch):
        backend = registry.backend_of(Device(slow_to_open))

        def broken(device):
            raise RuntimeError("no queue")

        with monkeypatch.context() as patches:
            patches.setattr(backend, "open_queue", broken)
            with tfr.profile() as p, pytest.raises(Exception, match="no queue"):
                tfr.asarray(np.ones(10_000, np.float32), device=slow_to_open).compute()
            assert p.summary.opened == ("opencl",)
        assert not spans.opening
        assert tfr.ones(3, device=slow_to_open).tolist() == [1.0, 1.0, 1.0]
