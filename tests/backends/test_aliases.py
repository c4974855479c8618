"""A backend's alias means the backend wherever a device is named, and is never what a device says it is."""

import os
import pickle
import subprocess
import sys

import pytest

import tensorframe as tfr
from tensorframe.backends.dry import DryBackend
from tensorframe.backends.registry import backend_of
from tensorframe.errors import ArgumentError

LLVM = tfr.Device("llvm")


def test_an_alias_is_the_same_device():
    assert tfr.Device("numba") is LLVM
    assert tfr.Device("numba:1") is tfr.Device("llvm", 1)
    assert LLVM == "numba"
    assert str(LLVM) == "llvm"
    assert pickle.loads(pickle.dumps(tfr.Device("numba"))) is LLVM


def test_an_alias_names_a_device_everywhere():
    x = tfr.ones(3, device="numba")
    assert str(x.device) == x.backend == "llvm"
    assert tfr.ones(3).to_backend("numba").device is LLVM
    assert tfr.ones(3).to_device("numba").device is LLVM
    assert tfr.backends.select(["numba", "cpu"], memory=1) is LLVM
    with tfr.use_backend("numba"):
        assert tfr.get_backend() is LLVM
    tfr.set_backend("numba")
    assert tfr.get_backend() is LLVM
    tfr.set_backend(None)


def test_an_alias_stands_in_the_order_of_auto():
    tfr.set_backend_priority(["numba"])
    try:
        assert tfr.backends.best() is LLVM
        assert tfr.backends.summary().endswith('"auto" looks for: llvm')
    finally:
        tfr.set_backend_priority(None)


def test_the_environment_may_name_an_alias():
    code = "import tensorframe as tfr; print(tfr.ones(2).device)"
    environment = os.environ | {"TENSORFRAME_BACKEND": "numba"}
    printed = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert printed.strip() == "llvm"


def test_a_device_is_listed_under_its_own_name_once():
    assert [str(info.device) for info in tfr.backends.devices()].count("llvm") == 1
    assert [found.name for found in tfr.doctor().probes].count("llvm") == 1
    assert "numba" not in tfr.backends.available()


def test_a_trial_tries_a_device_of_two_names_once():
    report = tfr.verify(tfr.exp(tfr.ones(3)), backends=["numba", "llvm", LLVM])
    assert [one.backend for one in report] == ["numpy", "llvm"]
    assert report["numba"] is report["llvm"]


def test_registering_an_alias_means_the_backend():
    before = backend_of(LLVM)
    mine = DryBackend()
    with pytest.raises(ArgumentError, match="'numba' is a backend of tensorframe"):
        tfr.backends.register(mine, "numba")
    tfr.backends.register(mine, "numba", override=True)
    assert backend_of(LLVM) is mine
    tfr.backends.unregister("numba")
    assert backend_of(LLVM) is before
