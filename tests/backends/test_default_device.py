"""Where new tensors live: `set_backend` for every thread, `use_backend` for a block, the environment before both."""

import asyncio
import threading

import pytest

import tensorframe as tfr
from tensorframe.backends import registry
from tensorframe.errors import ArgumentError, DeviceError
from tests.backends.fakes import Fake, in_environment, info, registered


@pytest.fixture(autouse=True)
def nothing_set():
    yield
    tfr.set_backend(None)


@pytest.fixture
def other():
    with registered(Fake("other", [info("other"), info("other:1")])):
        yield


def in_new_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return str(found[0])


def default():
    """The device of a new tensor, which is what `get_backend` says."""
    device = tfr.ones(2).device
    assert tfr.get_backend() is device
    return str(device)


def test_the_process_has_a_default_that_every_thread_sees(other):
    assert default() == "cpu"
    tfr.set_backend("other:1")
    assert default() == in_new_thread(default) == "other:1"
    tfr.set_backend(tfr.Device("numpy"))
    assert default() == in_new_thread(default) == "numpy"
    tfr.set_backend(None)
    assert default() == in_new_thread(default) == "cpu"


def test_a_running_thread_sees_what_another_one_sets():
    ready, done, found = threading.Event(), threading.Event(), []

    def look():
        tfr.ones(2)
        ready.set()
        assert done.wait(60)
        found.append(default())

    thread = threading.Thread(target=look)
    thread.start()
    assert ready.wait(60)
    tfr.set_backend("numpy")
    done.set()
    thread.join()
    assert found == ["numpy"]


def test_a_block_goes_before_the_process_in_its_own_thread(other):
    tfr.set_backend("numpy")
    with tfr.use_backend("other") as device:
        assert device == default() == "other"
        assert in_new_thread(default) == "numpy"
        tfr.set_backend("other:1")
        assert default() == "other"
        assert in_new_thread(default) == "other:1"
        with tfr.use_backend("cpu"):
            assert default() == "cpu"
        assert default() == "other"
    assert default() == "other:1"


def test_the_process_goes_before_the_environment(monkeypatch, other):
    in_environment(monkeypatch, "other")
    assert default() == "other"
    tfr.set_backend("cpu")
    assert default() == "cpu"
    tfr.set_backend(None)
    assert default() == "other"
    monkeypatch.setenv("TENSORFRAME_BACKEND", "numpy")
    assert default() == "other", "read once"
    in_environment(monkeypatch, " ")
    assert default() == "cpu"


def test_auto_is_chosen_when_it_is_set():
    with registered(Fake("cuda", [info("cuda")])):
        tfr.set_backend("auto")
    assert registry.chosen_device() == "cuda"


@pytest.mark.parametrize("name", ["nonsense", "CUDA", "cpu:9", "", 3, ["cpu"]])
def test_wrong_names_are_refused_at_once_and_change_nothing(name):
    tfr.set_backend("numpy")
    for function in (tfr.set_backend, tfr.use_backend, tfr.ones(2).to_backend):
        with pytest.raises(DeviceError):
            function(name)
    assert default() == "numpy"


@pytest.mark.parametrize("name", ["to_device", "to_backend", "use_backend", "select"])
def test_none_names_no_device(name):
    owners = (tfr.ones(2), tfr.backends, tfr)
    function = next(getattr(owner, name) for owner in owners if hasattr(owner, name))
    with pytest.raises((DeviceError, ArgumentError), match=rf"{name}: takes the name of a device"):
        function(None)


@pytest.mark.parametrize("wrong", [None, [], 3])
def test_select_takes_a_name_or_several(wrong):
    with pytest.raises(ArgumentError, match="select: takes the name of a device, or a list"):
        tfr.backends.select(wrong)


def test_recorded_functions_follow_the_default():
    made = tfr.jit(lambda: tfr.ones(3) * 2)
    assert made().device == "cpu"
    tfr.set_backend("numpy")
    assert made().device == "numpy"
    with tfr.use_backend("cpu"):
        assert made().device == "cpu"
    assert made().device == "numpy"


def test_tasks_inherit_the_block_and_keep_their_own():
    async def inside(name):
        with tfr.use_backend(name):
            await asyncio.sleep(0)
            return default()

    async def main():
        with tfr.use_backend("numpy"):
            tasks = [asyncio.create_task(inside(name)) for name in ("cpu", "numpy")]
            return default(), [await task for task in tasks], default()

    assert asyncio.run(main()) == ("numpy", ["cpu", "numpy"], "numpy")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CUDA", "'cuda'"),
        ("Cuda:1", "'cuda:1'"),
        ("cuda1", "'cuda:1'"),
        ("CUDA 0", "'cuda'"),
        ("gpu", "'auto', the best device that is here"),
        ("GPU:1", "'auto', the best device that is here"),
        ("webgpu", "'wgpu'"),
        ("WebGPU", "'wgpu'"),
        ("opncl", "'opencl'"),
        ("mps", "'metal'"),
        ("hip:1", "'rocm:1'"),
        ("D3D12", "'dx12'"),
        ("OpenGL", "'gl'"),
        ("amd", "'rocm'"),
        ("NumPy", "'numpy'"),
    ],
)
def test_names_that_others_use_lead_to_ours(name, hint):
    with pytest.raises(DeviceError) as caught:
        tfr.zeros(1, device=name)
    assert caught.value.suggestions[0] == hint


@pytest.mark.parametrize("name", ["xyzzy", "", "---", 3, "cuda:" + "9" * 5000])
def test_names_that_mean_nothing_get_no_guess(name):
    with pytest.raises(DeviceError) as caught:
        tfr.zeros(1, device=name)
    assert "'cpu'" in str(caught.value) or '"cpu"' in str(caught.value)


@pytest.mark.parametrize("arguments", [("cuda", -1), ("cuda", "1"), ("cuda", True), ("cuda:1", 2)])
def test_an_index_is_one_number_from_zero_on(arguments):
    with pytest.raises(DeviceError, match="index"):
        tfr.Device(*arguments)
    assert tfr.Device("cuda:1", 1) is tfr.Device("cuda", 1)


def test_an_index_that_is_not_there_lists_those_that_are(other):
    with pytest.raises(
        DeviceError, match=r"no device 'other:9' here\n.*\n  try: one of other, other:1"
    ):
        tfr.set_backend("other:9")
