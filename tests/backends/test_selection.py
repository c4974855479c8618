"""Which device "auto" means, by order, memory and what is software; what names mean; what the environment says."""

import pytest

import tensorframe as tfr
from tensorframe.backends.selection import as_bytes
from tensorframe.errors import ArgumentError, DeviceError
from tests.backends.fakes import GIB, Fake, in_environment, info, registered

SEVEN_BILLION = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}

ABSENT = [Fake(name, "not here") for name in ("cuda", "rocm", "opencl", "wgpu")]


def machine(**devices):
    """Register backends with these devices; those that have none here are absent."""
    return registered(*(Fake(one.name, devices.get(one.name, "not here")) for one in ABSENT))


def test_auto_takes_the_first_in_the_order():
    gpu, browser = info("opencl"), info("wgpu", api="vulkan")
    with machine(opencl=[gpu], wgpu=[browser]):
        assert tfr.backends.best() == "opencl"
    with machine(wgpu=[browser], cuda=[info("cuda")]):
        assert tfr.backends.best() == "cuda"
    with machine(opencl=[gpu], wgpu=[info("wgpu", api="Metal")]):
        assert tfr.backends.best() == "wgpu", "Metal comes before OpenCL"


def test_auto_is_the_cpu_where_nothing_else_is():
    with machine():
        assert tfr.backends.best() is tfr.Device("cpu")
        assert tfr.zeros(2, device="auto").device == "cpu"


def test_software_is_never_chosen_automatically():
    pocl = info("opencl", software=True)
    with machine(opencl=[pocl], wgpu=[info("wgpu", api="vulkan", software=True)]):
        assert tfr.backends.best() == "cpu"
        tfr.set_backend_priority(["opencl", "vulkan"])
        with pytest.raises(DeviceError, match="software, taken only by name"):
            tfr.backends.best()
        assert tfr.ones(2, device="opencl").device == "opencl"
        assert tfr.ones(2, device="vulkan").device == "wgpu"


def test_hardware_behind_software_is_found():
    with machine(opencl=[info("opencl", software=True), info("opencl:1")]):
        assert tfr.backends.best() == "opencl:1"


def test_the_order_can_be_set_and_reset():
    with machine(opencl=[info("opencl")], cuda=[info("cuda")]):
        tfr.set_backend_priority(["numpy", "opencl"])
        assert tfr.backends.best() == "numpy"
        tfr.set_backend_priority(["wgpu", "opencl", "cuda"])
        assert tfr.backends.best() == "opencl"
        tfr.set_backend_priority(None)
        assert tfr.backends.best() == "cuda"


@pytest.mark.parametrize("names", [["abacus"], "cuda", [], [3], ["cuda:0"]])
def test_orders_of_what_is_no_backend_are_refused(names):
    with pytest.raises(ArgumentError, match="set_backend_priority"):
        tfr.set_backend_priority(names)
    assert tfr.backends.best() is not None


def test_an_order_without_any_device_says_why_for_each():
    with machine():
        tfr.set_backend_priority(["cuda", "gl"])
        with pytest.raises(DeviceError, match=r"cuda: not here; gl: not here"):
            tfr.zeros(1, device="auto")


def test_the_default_stays_the_cpu_until_somebody_asks():
    with machine(cuda=[info("cuda")]):
        assert tfr.zeros(2).device == "cpu"
        with tfr.use_backend("auto"):
            assert tfr.zeros(2).device == "cuda"
        assert tfr.zeros(2).device == "cpu"


def test_auto_moves_on_where_a_device_is_too_small():
    small = info("cuda", total_memory=8 * GIB, free_memory=2 * GIB)
    with machine(cuda=[small], opencl=[info("opencl", total_memory=16 * GIB)]):
        assert tfr.backends.select(memory="2 GiB") == "cuda"
        assert tfr.backends.select("auto", memory="4GiB") == "opencl", "8 GiB, of which 2 are free"
        model = tfr.nn.models.Llama(SEVEN_BILLION)
        needs = [tfr.nn.estimate_memory(model, context=4096, bits=bits) for bits in (None, 8, 4)]
        assert [tfr.backends.select("auto", memory=each) for each in needs[1:]] == ["opencl"] * 2
        assert tfr.backends.select("auto", memory=needs[2]._replace(cache=0, weights=GIB)) == "cuda"
        with pytest.raises(DeviceError, match=r"no device of cuda, opencl with 29\.1 GiB"):
            tfr.backends.select(["cuda", "opencl"], memory=needs[0])
        with pytest.raises(DeviceError, match=r"cuda: 2 GiB free; .*opencl: 16 GiB in all"):
            tfr.backends.select(memory="1000 TiB")
    with machine(cuda=[small], opencl=[info("opencl", total_memory=2 * GIB)]):
        assert tfr.backends.select(memory=3 * GIB, name=["cuda", "opencl", "numpy"]) == "numpy"


def test_a_named_device_that_is_too_small_is_refused():
    with machine(cuda=[info("cuda", free_memory=GIB), info("cuda:1", free_memory=3 * GIB)]):
        with pytest.raises(DeviceError, match="no device of cuda with 2 GiB"):
            tfr.backends.select("cuda", memory="2GiB")
        assert tfr.backends.select(["cuda:0", "cuda:1"], memory="2GiB") == "cuda:1"
        assert tfr.backends.select("cuda:1") == "cuda:1"


def test_what_is_free_is_asked_again():
    backend = Fake("cuda", [info("cuda", free_memory=GIB)])
    with registered(backend):
        assert tfr.backends.select("cuda", memory=GIB) == "cuda"
        backend.answer = [info("cuda", free_memory=GIB - 1)]
        with pytest.raises(DeviceError, match="free"):
            tfr.backends.select("cuda", memory=GIB)


def test_an_estimate_says_how_much_memory_is_needed():
    x = tfr.ones((1000, 1000))
    found = tfr.estimate(tfr.sort(x * 2, axis=1))
    need = sum(found.peak.values())
    for free, chosen in ((need, "cuda"), (need - 1, "cuda:1")):
        with machine(cuda=[info("cuda", free_memory=free), info("cuda:1", free_memory=GIB)]):
            assert tfr.backends.select(["cuda", "cuda:1"], memory=found) == chosen


def test_a_device_that_cannot_tell_its_memory_is_taken():
    with machine(wgpu=[info("wgpu", api="vulkan")]):
        assert tfr.backends.select("wgpu", memory="500 TiB") == "wgpu"


def test_memory_that_is_shared_is_the_hosts():
    shared = info("wgpu", api="vulkan", unified_memory=True)
    with machine(wgpu=[shared]), pytest.raises(DeviceError, match="no device of wgpu"):
        tfr.backends.select("wgpu", memory="500 TiB")


def test_a_list_without_any_device_says_why_for_each():
    with machine(), pytest.raises(DeviceError, match=r"cuda: .*not here.*abacus: .*no package"):
        tfr.backends.select(["cuda", "abacus"])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (5, 5),
        ("6", 6),
        ("4GiB", 4 * GIB),
        ("1.5 gib", 3 * GIB // 2),
        ("512 MB", 512 * 10**6),
        ("2k", 2000),
        ("3 B", 3),
    ],
)
def test_amounts_of_memory(text, count):
    assert as_bytes(text) == count


@pytest.mark.parametrize("text", ["", "GiB", "-3 GB", "4 XB", "1e3", -1, 2.5, True, "4 i"])
def test_what_is_no_amount_of_memory(text):
    with pytest.raises(ArgumentError, match="no amount of memory"):
        as_bytes(text)


def test_graphics_interfaces_name_adapters():
    adapters = [
        info("wgpu", api="Vulkan"),
        info("wgpu:1", api="OpenGL"),
        info("wgpu:2", api="Vulkan"),
        info("wgpu:3", api="D3D12"),
    ]
    with machine(wgpu=adapters):
        found = {
            name: str(tfr.zeros(1, device=name).device)
            for name in ("wgpu", "vulkan", "vulkan:1", "gl", "dx12")
        }
        assert found == {
            "wgpu": "wgpu",
            "vulkan": "wgpu",
            "vulkan:1": "wgpu:2",
            "gl": "wgpu:1",
            "dx12": "wgpu:3",
        }
        with pytest.raises(DeviceError, match="metal"):
            tfr.zeros(1, device="metal")
        with pytest.raises(DeviceError, match="no device 'vulkan:2'"):
            tfr.zeros(1, device="vulkan:2")


def test_names_of_one_device_are_one_object():
    assert tfr.Device("wgpu:0") is tfr.Device("wgpu")
    assert {tfr.Device("cuda:1"): 1}[tfr.Device("cuda", 1)] == 1
    assert tfr.zeros(1, device="cpu:0").device is tfr.Device("cpu")


def test_a_device_that_is_not_there_says_which_are():
    with machine(cuda=[info("cuda"), info("cuda:1")]):
        with pytest.raises(DeviceError) as caught:
            tfr.zeros(1, device="cuda:7")
        assert "one of cuda, cuda:1" in str(caught.value)
    with pytest.raises(DeviceError, match="no package here brings a backend of this name"):
        tfr.zeros(1, device="abacus")


def test_the_environment_names_the_default(monkeypatch):
    in_environment(monkeypatch, "numpy")
    assert tfr.zeros(2).device == "numpy"
    with tfr.use_backend("cpu"):
        assert tfr.zeros(2).device == "cpu"
    in_environment(monkeypatch, "auto")
    with machine(opencl=[info("opencl")]):
        assert tfr.zeros(2).device == "opencl"


@pytest.mark.parametrize("name", ["abacus", "CUDA 0", "cuda:0", "cpu:9"])
def test_bad_names_in_the_environment_are_told_at_first_use(monkeypatch, name):
    in_environment(monkeypatch, name)
    with machine(), pytest.raises(DeviceError, match=f"TENSORFRAME_BACKEND={name}") as caught:
        tfr.zeros(2)
    assert "unset TENSORFRAME_BACKEND" in caught.value.suggestions
