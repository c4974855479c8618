"""The doctor names what is missing with the exact command; the command line tries every device."""

from importlib import metadata

import pytest

import tensorframe as tfr
from tensorframe.__main__ import main
from tensorframe.backends import nvidia, remedies
from tests.backends.fakes import GIB, BuiltIn, Fake, Wrong, info, registered
from tests.testing.sample_backend import SampleBackend

ABSENT = [BuiltIn(name, "not here") for name in ("cuda", "rocm", "opencl", "wgpu")]


def fixes(subject):
    return [
        fix
        for finding in tfr.doctor().findings
        if finding.subject == subject
        for fix in finding.fixes
    ]


@pytest.fixture
def machine(monkeypatch):
    """Pretends that a driver and packages are here, and that backends find what is said."""

    def pretend(*, driver=None, packages=(), debian=True):
        monkeypatch.setattr(nvidia, "driver_release", lambda: driver)
        monkeypatch.setattr(nvidia, "cupy_packages", lambda: packages)
        monkeypatch.setattr(remedies, "is_debian", lambda: debian)
        monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")  # its absence is a finding too

    return pretend


@pytest.mark.parametrize(
    ("driver", "command"),
    [
        (None, "a driver from nvidia.com, if there is an NVIDIA GPU"),
        (12040, "pip install 'tensorframe-lazy[cuda12]'"),
        (13000, "pip install 'tensorframe-lazy[cuda13]'"),
    ],
)
def test_the_extra_for_cuda_is_that_of_the_driver(machine, driver, command):
    machine(driver=driver)
    with registered(BuiltIn("cuda", "CuPy is not installed")):
        assert fixes("cuda") == [command]


def test_two_packages_of_cupy_are_one_too_many(machine):
    machine(driver=12040, packages=("cupy-cuda12x", "cupy-cuda13x"))
    assert (
        "pip uninstall --yes cupy-cuda12x cupy-cuda13x, then pip install 'tensorframe-lazy[cuda12]'"
        in fixes("cuda")
    )


def test_cupy_for_a_newer_driver_is_told(machine):
    machine(driver=12080, packages=("cupy-cuda13x",))
    assert "cupy-cuda13x needs CUDA 13, and the driver runs 12.8" in repr(tfr.doctor())


def test_no_driver_for_opencl_and_vulkan_is_a_package_of_debian(machine):
    machine()
    with registered(BuiltIn("opencl", "no platform"), BuiltIn("wgpu", "no adapter")):
        assert fixes("opencl")[0].startswith("sudo apt install one of intel-opencl-icd, ")
        assert "pip install 'tensorframe-lazy[pocl]'" in fixes("opencl")[1]
        assert fixes("wgpu") == ["sudo apt install libvulkan1 mesa-vulkan-drivers"]
    machine(debian=False)
    with registered(BuiltIn("opencl", "no platform"), BuiltIn("wgpu", "no adapter")):
        assert not any("apt" in fix for fix in [*fixes("opencl"), *fixes("wgpu")])


def test_software_alone_is_told(machine):
    machine()
    with registered(Fake("opencl", [info("opencl", software=True)])):
        assert "only software that runs on the processor (a opencl)" in repr(tfr.doctor())


def test_a_runtime_directory_that_is_missing_is_told(machine, monkeypatch):
    pytest.importorskip("wgpu")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert 'export XDG_RUNTIME_DIR="$(mktemp -d)"' in fixes("wgpu")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/somewhere")
    assert 'export XDG_RUNTIME_DIR="$(mktemp -d)"' not in fixes("wgpu")


@pytest.mark.parametrize(
    ("release", "works"), [("0.32.1", True), ("0.31.0", False), ("1.0", False)]
)
def test_releases_of_wgpu_that_do_not_work_are_told(machine, monkeypatch, release, works):
    pytest.importorskip("wgpu")
    machine()
    monkeypatch.setattr(metadata, "version", lambda name: release)
    told = f"release {release} is not one that works here" in repr(tfr.doctor())
    assert told is not works


def test_the_diagnosis_prints_as_text():
    text = repr(tfr.doctor())
    assert text == str(tfr.doctor())
    assert text.startswith("devices that compute: ")
    assert "cpu" in text


def test_the_summary_says_what_a_device_has():
    told = info(
        "cuda",
        total_memory=80 * GIB,
        free_memory=79 * GIB,
        driver="CUDA 12.4",
        compute_capability=(9, 0),
    )
    with registered(Fake("cuda", [told])):
        line = next(one for one in tfr.backends.summary().splitlines() if one.startswith("cuda"))
    assert line.endswith("CUDA 12.4, compute capability 9.0, 79 GiB free of 80 GiB")


def test_the_command_line_tries_every_device(capsys):
    with registered(Fake("good", [info("good")]), SampleBackend(), *ABSENT):
        assert main([]) == 0
    printed = capsys.readouterr().out
    for name in ("numpy", "cpu", "good", "sample", "sample:1"):
        assert f"\n{name} " in printed
    assert printed.count("right, ") >= 3
    assert '"auto" looks for: cuda' in printed


@pytest.mark.parametrize("kind", ["wrong", "fails"])
def test_a_device_that_computes_wrongly_is_told_by_the_status(capsys, monkeypatch, kind):
    backend = Wrong("liar", [info("liar")])
    if kind == "fails":
        monkeypatch.setattr(backend, "compile", lambda *_: 1 / 0, raising=False)
    with registered(backend, *ABSENT):
        assert main([]) == 1
    line = next(one for one in capsys.readouterr().out.splitlines() if f"  {kind}: " in one)
    assert line.startswith("liar ")


def test_the_command_line_explains_itself(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert "python -m tensorframe" in capsys.readouterr().out
