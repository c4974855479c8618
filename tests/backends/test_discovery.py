"""Discovery reports every failure as a reason: backends that raise, plug-ins that do not load, packages that lack."""

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import tensorframe as tfr
from tensorframe.backends import amd, nvidia
from tensorframe.backends.cuda.devices import find as find_gpus
from tensorframe.backends.registry import backend_of
from tensorframe.errors import ArgumentError, BackendWarning, DeviceError
from tests.backends.fakes import Fake, info, registered

ROOT = Path(__file__).parents[2]


class PanicError(BaseException):
    """What bindings of Rust raise: no Exception."""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (OSError("libdriver.so: cannot open"), "OSError: libdriver.so: cannot open"),
        (SystemExit(1), "SystemExit: 1"),
        (PanicError("first\nsecond"), "PanicError: first"),
        (AssertionError(), "its probe fails: AssertionError"),
        ("no driver", "no driver"),
        ("", "it gives no reason"),
        ([], "it finds no device"),
        (None, "NoneType, not a list of DeviceInfo"),
        (["cuda:0"], "list, not a list of DeviceInfo"),
        ([info("other")], "the devices here are of other, not of broken"),
    ],
)
def test_whatever_a_probe_does_is_a_reason(answer, reason):
    with registered(Fake("broken", answer)):
        found = {one.name: one for one in tfr.backends.discover()}
        assert reason in found["broken"].reason
        assert not found["broken"].available
        assert found["cpu"].available
        assert reason in tfr.backends.summary()
        assert reason in repr(tfr.doctor())
        assert "broken" not in tfr.backends.available()
        with pytest.raises((DeviceError, BackendWarning)) as caught:
            tfr.zeros(1, device="broken")
        assert reason in str(caught.value)


def test_an_interrupt_is_no_reason():
    with registered(Fake("slow", KeyboardInterrupt())), pytest.raises(KeyboardInterrupt):
        tfr.backends.discover()


def test_who_asks_for_a_broken_plug_in_is_warned_once():
    with registered(Fake("broken", OSError("out of order"))):
        told = pytest.warns(BackendWarning, match="'broken' of the package tests")
        with told as caught, pytest.raises(DeviceError, match="out of order"):
            tfr.zeros(1, device="broken")
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(DeviceError, match="out of order"):
                tfr.zeros(1, device="broken")


def test_a_plug_in_that_works_and_finds_nothing_is_no_reason_to_warn():
    with registered(Fake("honest", "no such card here")), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeviceError, match="no such card here"):
            tfr.zeros(1, device="honest")


def test_probes_are_asked_once_and_again_by_discovery():
    backend = Fake("probed", [info("probed")])
    with registered(backend):
        for _ in range(3):
            tfr.zeros(2, device="probed").numpy()
        assert backend.probes == 1
        tfr.backends.discover()
        assert backend.probes == 2
        backend.answer = "unplugged"
        assert "probed" not in {str(device.device) for device in tfr.backends.devices()}


def test_a_backend_with_two_names_has_devices_of_each():
    both = Fake("one", [info("one"), info("other"), info("other:1")])
    with registered(both):
        tfr.backends.register(both, "other")
        try:
            found = {one.name: one for one in tfr.backends.discover()}
            assert [str(device.device) for device in found["one"].devices] == ["one"]
            assert [str(device.device) for device in found["other"].devices] == ["other", "other:1"]
            both.answer = "no driver"
            found = {one.name: one for one in tfr.backends.discover()}
            assert found["other"].reason == "as for one, no driver"
        finally:
            tfr.backends.unregister("other")


def test_threads_that_ask_at_once_probe_once():
    backend = Fake("probed", [info("probed")])
    with registered(backend), ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: tfr.zeros(2, device="probed").numpy(), range(32)))
        assert backend.probes == 1


def test_a_backend_has_a_good_name_and_is_an_object():
    with pytest.raises(ArgumentError, match="is not a backend"):
        tfr.backends.register(Fake)
    for name in ("auto", "vulkan", "Upper", "a:0", "", 3):
        with pytest.raises(ArgumentError, match="cannot name a backend"):
            tfr.backends.register(Fake("good", []), name)


def test_a_registered_backend_computes_and_may_be_replaced():
    with registered(Fake("mine", [info("mine")])):
        assert (tfr.ones(2, device="mine") + 1).tolist() == [2.0, 2.0]
        tfr.backends.register(Fake("mine", "gone"))
        with pytest.raises(DeviceError, match="gone"):
            tfr.ones(2, device="mine")
    with pytest.raises(DeviceError, match="no package here"):
        tfr.ones(2, device="mine")


def test_names_of_tensorframe_are_replaced_only_on_purpose():
    mine = Fake("numpy", [info("numpy")])
    with pytest.raises(ArgumentError, match="'numpy' is a backend of tensorframe") as caught:
        tfr.backends.register(mine)
    assert caught.value.suggestions == (
        "register(backend, 'my_numpy')",
        "override=True, where that is meant",
    )
    with pytest.raises(ArgumentError, match="'cpu' is a backend"):
        tfr.backends.register(mine, "good", "cpu")
    with pytest.raises(ArgumentError, match="as 'good'"):
        tfr.backends.unregister("good")
    before = backend_of(tfr.Device("numpy"))
    tfr.backends.register(mine, override=True)
    try:
        assert backend_of(tfr.Device("numpy")) is mine
        assert tfr.ones(2, device="numpy").tolist() == [1.0, 1.0]
        with pytest.raises(ArgumentError, match="is a backend of tensorframe"):
            tfr.backends.register(Fake("numpy", []))
    finally:
        tfr.backends.unregister("numpy")
    assert backend_of(tfr.Device("numpy")) is before


@pytest.mark.parametrize("name", ["nobody", "cpu", "auto", "vulkan", "", 3, None])
def test_what_was_not_registered_cannot_be_forgotten(name):
    with pytest.raises(ArgumentError, match="unregister: no backend was registered as"):
        tfr.backends.unregister(name)
    assert tfr.ones(2).tolist() == [1.0, 1.0]
    with registered(Fake("mine", [])), pytest.raises(ArgumentError) as caught:
        tfr.backends.unregister(name)
    (registered_now,) = caught.value.suggestions
    assert "'mine'" in registered_now


def test_a_plug_in_that_was_replaced_comes_back(installed):
    folder = installed("good", PLUG_IN, plugged="good:Plugged")
    code = """
import tensorframe as tfr
from tensorframe.backends.dry import DryBackend
from tensorframe.backends.registry import backend_of
tfr.backends.register(DryBackend(), "plugged")
print(type(backend_of(tfr.Device("plugged"))).__name__)
tfr.backends.unregister("plugged")
print(tfr.ones(2, device="plugged").tolist())
"""
    assert run(code, folder).split("\n")[:2] == ["DryBackend", "[1.0, 1.0]"]


def run(code, *folders, **environment):
    """Run code in a process of its own, in which `folders` hold installed packages; return what it prints."""
    path = os.pathsep.join(map(str, [ROOT, *folders]))
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code],
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PLUG_IN = """
from tensorframe.backends import About
from tensorframe.backends.numpy.engine import NumpyBackend, host_device, CAPABILITIES
class Plugged(NumpyBackend):
    about = About(interface=(1, 0))
    name = "plugged"
    def probe(self):
        return [host_device("plugged", "a plug-in", CAPABILITIES)]
"""


@pytest.fixture
def installed(tmp_path):
    """Installs a package with a module and entry points."""

    def install(name, source, **points):
        (tmp_path / f"{name}.py").write_text(source)
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{point} = {target}" for point, target in points.items()]
        text = "\n".join(["[tensorframe.backends]", *lines, ""])
        (about / "entry_points.txt").write_text(text)
        return tmp_path

    return install


def test_a_plug_in_is_found_by_its_entry_point(installed):
    folder = installed("good", PLUG_IN, plugged="good:Plugged")
    code = """
import sys, tensorframe as tfr
tfr.zeros(2).numpy()
assert "good" not in sys.modules, "loaded before anybody asked"
x = tfr.ones(3, device="plugged") * 2
print(x.tolist(), x.device, "plugged" in tfr.backends.available())
"""
    assert run(code, folder).split("\n")[0] == "[2.0, 2.0, 2.0] plugged True"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import does_not_exist", "ModuleNotFoundError: No module named 'does_not_exist'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("class Plugged: pass", "Plugged is not a Backend"),
        ("def Plugged(): raise OSError('no library')", "OSError: no library"),
    ],
)
def test_a_plug_in_that_does_not_load_breaks_nothing(installed, source, reason):
    folder = installed("bad", source, bad_one="bad:Plugged")
    code = f"""
import warnings, tensorframe as tfr
assert tfr.ones(2).tolist() == [1.0, 1.0]
assert "cpu" in tfr.backends.available()
for text in (repr(tfr.doctor()), tfr.backends.summary()):
    assert {reason!r} in text and "bad_one (bad)" in text, text
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        try:
            tfr.ones(2, device="bad_one")
        except tfr.errors.DeviceError as error:
            assert {reason!r} in str(error), error
        else:
            raise AssertionError("no error")
print(len(caught), caught[0].category.__name__)
"""
    assert run(code, folder).strip() == "1 BackendWarning"


def test_plug_ins_do_not_take_names(installed):
    folder = installed("thief", PLUG_IN, cpu="thief:Plugged", auto="thief:Plugged")
    code = """
import sys, tensorframe as tfr
assert tfr.ones(2).tolist() == [1.0, 1.0]
text = repr(tfr.doctor())
print("thief" in sys.modules, "thief: its backend is left out" in text)
"""
    assert run(code, folder).strip() == "False True"


def test_nothing_is_loaded_before_it_is_asked_for():
    code = """
import sys, tensorframe as tfr
devices = ("opencl", "wgpu", "cuda", "llvm", "cpu")
print([name for name in devices if f"tensorframe.backends.{name}" in sys.modules])
(tfr.ones(3) + 1).numpy()
optional = {"pyopencl", "wgpu", "cupy", "numba"}
print(sorted(optional & set(sys.modules)))
"""
    assert run(code).split("\n")[:2] == ["[]", "[]"]


@pytest.mark.parametrize(
    ("module", "device", "said", "fix"),
    [
        ("pyopencl", "opencl", "PyOpenCL is not installed", "tensorframe-lazy[opencl]"),
        ("wgpu", "vulkan", "wgpu is not installed", "tensorframe-lazy[wgpu]"),
        (
            "llvmlite",
            "llvm",
            "llvmlite is not installed",
            "pip install --force-reinstall llvmlite",
        ),
        ("cupy", "cuda:1", "CuPy is not installed", ""),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(module, device, said, fix):
    code = f"""
import sys
sys.modules[{module!r}] = None
import tensorframe as tfr
try:
    tfr.ones(1, device={device!r})
except tfr.errors.DeviceError as error:
    print(error)
print(tfr.doctor())
assert tfr.ones(2).tolist() == [1.0, 1.0]
"""
    printed = run(code)
    assert printed.count(said) >= 2
    assert fix in printed


def test_a_broken_llvm_leaves_numpy():
    code = """
import sys
import numpy as np
import llvmlite
llvmlite.__file__ = "/nowhere/__init__.py"  # where its library would be
sys.modules["llvmlite.binding"] = None
import tensorframe as tfr
from tensorframe.backends.cpu import choice
choice.ENOUGH = -1  # kernels of exact ops begin at once, too
x = tfr.asarray(np.arange(20_000.0))
for _ in range(3):
    assert np.array_equal((x * 2 + 1).numpy(), np.arange(20_000.0) * 2 + 1)
assert np.allclose(tfr.exp(-x / 20_000).numpy(), np.exp(-np.arange(20_000.0) / 20_000))
assert np.allclose(tfr.exp(-x[:9]).numpy(), np.exp(-np.arange(9.0)))
assert str((x + 1).explain(source=True))
try:
    tfr.ones(1, device="llvm")
except tfr.errors.DeviceError as error:
    print(error)
print(tfr.doctor())
"""
    printed = run(code)
    assert printed.count("llvmlite does not load") >= 2
    assert "pip install --force-reinstall llvmlite" in printed


def test_a_bad_name_in_the_environment_does_not_stop_the_import():
    code = """
import tensorframe as tfr
print(tfr.asarray([1.0], device="cpu").tolist(), "TENSORFRAME_BACKEND" in repr(tfr.doctor()))
"""
    assert run(code, TENSORFRAME_BACKEND="abacus").strip() == "[1.0] True"


def test_the_namespace_lists_a_processor_in_software_once():
    listed = tfr.__array_namespace_info__().devices()
    known = {info.device: info for info in tfr.backends.devices()}
    software = [(one.backend, known[one].name) for one in listed if known[one].software]
    assert len(set(software)) == len(software)
    assert {one.backend for one in listed} == set(tfr.backends.available())


@pytest.mark.parametrize(
    ("family", "packages", "nvidia_driver", "amd_driver", "reason"),
    [
        ("cuda", ("cupy-cuda12x",), None, True, "there is no NVIDIA driver"),
        ("rocm", ("cupy-cuda12x",), 12040, False, "there is no AMD driver"),
        ("rocm", ("cupy-cuda12x",), None, True, "cupy-cuda12x is here, but built for CUDA"),
        ("rocm", ("cupy-rocm-5-0",), 12040, False, "there is no AMD driver"),
        ("cuda", ("cupy-rocm-5-0",), 12040, True, "cupy-rocm-5-0 is here, but built for ROCm"),
        ("rocm", ("cupy-cuda12x", "cupy-rocm-5-0"), 12040, True, "are installed at once"),
    ],
)
def test_cuda_and_rocm_have_reasons_of_their_own(
    monkeypatch, family, packages, nvidia_driver, amd_driver, reason
):
    monkeypatch.setattr(nvidia, "cupy_packages", lambda: packages)
    monkeypatch.setattr(nvidia, "driver_release", lambda: nvidia_driver)
    monkeypatch.setattr(amd, "has_driver", lambda: amd_driver)
    assert reason in find_gpus(family)


@pytest.mark.parametrize(("family", "is_hip"), [("cuda", True), ("rocm", False)])
def test_a_cupy_from_source_that_is_built_for_the_other_maker(monkeypatch, family, is_hip):
    runtime = SimpleNamespace(is_hip=is_hip)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(nvidia, "cupy_packages", lambda: ("cupy",))
    monkeypatch.setattr(amd, "has_driver", lambda: True)
    assert "CuPy is here, but built for " in find_gpus(family)


@pytest.mark.parametrize(
    ("name", "system", "reason"),
    [("metal", "darwin", "Metal is Apple's"), ("dx12", "win32", "Direct3D 12 is Microsoft's")],
)
def test_interfaces_of_one_system_say_which(monkeypatch, name, system, reason):
    with registered(Fake("wgpu", "no adapter")):
        monkeypatch.setattr(sys, "platform", "linux")
        with pytest.raises(DeviceError, match=reason) as caught:
            tfr.ones(1, device=name)
        assert "vulkan" not in str(caught.value)
        monkeypatch.setattr(sys, "platform", system)
        with pytest.raises(DeviceError, match="no adapter"):
            tfr.ones(1, device=name)
