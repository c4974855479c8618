"""Settings of devices: each wrong in each way raises with its name, and files and dicts say the same."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import configuration, configure
from tensorframe.backends.registry import backend_of
from tensorframe.errors import ArgumentError, DeviceError
from tests.backends.devices import on_every_device

ROOT = Path(__file__).parents[2]
WRONG: dict[str, tuple[Any, ...]] = {
    "memory_limit": ("lots", "4 Gb/s", -1, 0, 1.5, True, [4], "-4 GiB", float("inf")),
    "threads": (0, -1, 256, 1.5, "2", True, [2], float("nan")),
    "pinned": (1, 0, "yes", [], 1.0),
    "tensor_cores": (1, "tf32", [True], 0.0),
    "graphs": (0, "auto", {}, 1.0),
}
OF: dict[str, tuple[str, ...]] = {
    "cpu": ("memory_limit", "threads"),
    "numpy": ("memory_limit", "threads"),
}
HERE = [name for name in ("opencl", "wgpu") if name in tfr.backends.available()]
OF |= {name: ("memory_limit", "pinned")[: 2 if name == "opencl" else 1] for name in HERE}


@pytest.fixture(autouse=True)
def _as_before():
    before = tfr.config.get().threads
    yield
    for device, settings in configuration().items():
        configure(device, **dict.fromkeys(settings))
    tfr.config.configure(threads=before)


@pytest.mark.parametrize(
    ("device", "name", "value"),
    [
        (device, name, value)
        for device, names in OF.items()
        for name in names
        for value in WRONG[name]
    ],
)
def test_each_setting_wrong_in_each_way_raises_with_its_name(device, name, value):
    with pytest.raises(ArgumentError) as caught:
        configure(device, **{name: value})
    assert caught.value.message.startswith(f'configure("{device}"): {name} is ')
    assert repr(value)[:80] in caught.value.message
    assert configuration() == {}


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (device, name)
        for device, names in OF.items()
        for name in ("graphs", "tensor_cores", "pinned", "memry_limit", "chunk")
        if name not in names
    ],
)
def test_only_what_does_something_there_is_a_setting(device, name):
    with pytest.raises(ArgumentError, match=f"there is no setting '{name}'") as caught:
        configure(device, **{name: None})
    assert f"{device} has {', '.join(OF[device])}" in caught.value.suggestions


@pytest.fixture
def gpu():
    pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")
    from tests.backends.host_gpu import host_gpu

    with host_gpu() as fake:
        yield fake


@pytest.mark.parametrize("name", ["pinned", "tensor_cores", "graphs"])
def test_each_setting_of_cuda_wrong_in_each_way_raises_with_its_name(gpu, name):
    for value in WRONG[name]:
        with pytest.raises(ArgumentError) as caught:
            configure("cuda:0", **{name: value})
        assert caught.value.message.startswith(f'configure("cuda"): {name} is True, False')
        assert repr(value) in caught.value.message
    assert configuration() == {}
    for value in (True, False):
        configure("cuda:0", **{name: value})
        assert configuration() == {"cuda": {name: value}}
        assert f"devices.cuda.{name} = {value}" in tfr.config.describe()
        assert ("cuda", f"{name}={value}") in tfr.doctor().settings
        assert f"setting of cuda: {name}={value}" in str(tfr.doctor())
    configure("cuda:0", **{name: None})
    assert tfr.doctor().settings == ()


def test_amds_devices_have_no_setting_of_cudas_libraries():
    for family in ("cuda", "rocm"):
        settings = backend_of(tfr.Device(family)).device_settings(tfr.Device(family))
        more = {"tensor_cores", "graphs"} if family == "cuda" else set()
        assert set(settings) == {"memory_limit", "pinned"} | more


@on_every_device
def test_a_limit_of_memory_holds_and_survives_a_close(device):
    def squared(device):
        x = tfr.asarray(np.ones((600, 1000), np.float32), device=device)
        return (tfr.exp(x) @ x.T).numpy()

    for again in (False, True):
        if again:
            tfr.backends.close(device)
        else:
            configure(device, memory_limit="4 MiB")
        with pytest.raises(tfr.errors.OutOfMemoryError, match="4 MiB"):
            squared(device)
    configure(device, memory_limit=None)
    assert squared(device).shape == (600, 600)
    assert configuration() == {}


def test_threads_are_those_of_all_engines_of_the_host():
    configure("numpy", threads=1)
    assert tfr.config.get().threads == 1
    configure("numpy", threads=None)
    assert tfr.config.get().threads == 0


def test_several_devices_or_none():
    configure({"cpu": {"threads": 1, "memory_limit": 1 << 40}, "numpy": {}})
    assert configuration() == {"cpu": {"threads": 1, "memory_limit": 1 << 40}}
    with pytest.raises(ArgumentError, match="threads is"):
        configure({"cpu": {"memory_limit": None}, "numpy": {"threads": "all"}})
    assert configuration() == {"cpu": {"threads": 1, "memory_limit": 1 << 40}}
    with pytest.raises(ArgumentError, match="the settings of 'cpu' are a dict, got 3"):
        configure({"cpu": 3})
    for device, error in (("Abacus", ArgumentError), ("abacus", DeviceError), (3, ArgumentError)):
        with pytest.raises(error):
            configure(device, threads=1)


def test_files_and_dicts_say_the_same(tmp_path):
    options = {"plan_cache": 77, "progress": "off", "devices": {"cpu": {"memory_limit": "1 TiB"}}}
    before = {name: getattr(tfr.config.get(), name) for name in options if name != "devices"}
    try:
        tfr.config.load(options)
        said = tfr.config.to_dict()
        assert said["plan_cache"] == 77
        assert said["devices"] == {"cpu": {"memory_limit": 1 << 40}}
        path = tmp_path / 'a "file".toml'
        tfr.config.save(path)
        tfr.config.load({**before, "devices": {"cpu": {"memory_limit": None}}})
        assert tfr.config.to_dict()["devices"] == {}
        tfr.config.load(path)
        assert tfr.config.to_dict() == said
        assert "devices.cpu.memory_limit = 1099511627776" in tfr.config.describe()
    finally:
        tfr.config.load({**before, "devices": {"cpu": {"memory_limit": None}}})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("threads = 'many'", "option threads is an integer"),
        ("thread = 2", "there is no option 'thread'"),
        ("devices = 3", "devices is a table of tables"),
        ("[devices]\ncpu = 3", "the settings of 'cpu' are a dict"),
        ("[devices.cpu]\nthreads = 0", 'configure("cpu"): threads is'),
        ("[devices.cpu]\nspeed = 9", "there is no setting 'speed'"),
        ("[devices.'a b']\nthreads = 1", "'a b' is not a device"),
        ("plan_cache = 3\n[devices.cpu]\nthreads = 0", "threads is"),
        ("threads = ", "is no TOML"),
        ("\udcff", "is no TOML"),
    ],
)
def test_a_file_that_does_not_fit_changes_nothing(tmp_path, text, said):
    path = tmp_path / "wrong.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = tfr.config.to_dict()
    with pytest.raises(ArgumentError) as caught:
        tfr.config.load(path)
    assert said in caught.value.message
    assert tfr.config.to_dict() == before
    with pytest.raises(ArgumentError, match="cannot be read"):
        tfr.config.load(tmp_path)


def run(code, path, **environment):
    known = os.environ | {"PYTHONPATH": str(ROOT), "TENSORFRAME_CONFIG": str(path)} | environment
    done = subprocess.run(
        [sys.executable, "-c", code], env=known, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_the_environment_names_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("plan_cache = 5\njit_cache = 6\n[devices.numpy]\nmemory_limit = '1 TiB'\n")
    code = """
import tensorframe as tfr
print(tfr.config.get().plan_cache, tfr.config.get().jit_cache)
tfr.ones(2, device="numpy")
print(tfr.backends.configuration())
"""
    printed = run(code, path, TENSORFRAME_PLAN_CACHE="4").splitlines()
    assert printed == ["4 6", "{'numpy': {'memory_limit': 1099511627776}}"]
    path.write_text("[devices.numpy]\nmemory_limit = 'x'\n")
    assert f'{path} says: configure("numpy"): memory_limit is' in run(code, path)
    path.write_text("plan_cache = 'x'\n")
    assert f"TENSORFRAME_CONFIG={path}: option plan_cache is" in run(code, path)
