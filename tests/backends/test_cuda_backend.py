"""What the CUDA backend asks of CuPy: memory, transfers, launches, libraries, other libraries' arrays, errors."""

import ctypes
import gc
from types import SimpleNamespace

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DeviceError, KernelError, LinAlgError

pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")

import cupy

from tensorframe.backends import nvidia, objects
from tensorframe.backends.cuda import (
    arrays,
    compiler,
    devices,
    libraries,
    queue,
    staging,
    tensor_cores,
)
from tensorframe.backends.cuda.libraries import Call
from tensorframe.backends.registry import backend_of
from tensorframe.frontend.conversion.convert import stored_tensor
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.linalg import CHOLESKY
from tensorframe.ops.sorting import TOPK
from tests.backends.host_gpu import (
    COMPILER,
    LANES,
    MULTIPROCESSORS,
    HostMemory,
    HostStream,
    RuntimeFailedError,
    host_gpu,
)

CUDA = tfr.Device("cuda")
HOLDER = cupy.cuda.UnownedMemory(1024, 0, None, device_id=0)
runs = pytest.mark.skipif(COMPILER is None, reason="kernels are compiled by a C++ compiler here")


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.fixture
def gpu():
    with host_gpu() as found:
        yield found


def place():
    return backend_of(CUDA).open_device(CUDA)


def others_of(queue):
    """What the stream of kernels has waited for beside copies of its own."""
    return [stream for stream in queue.stream.waited if stream is not queue.copies]


def seen(array):
    """The elements of an array of CuPy's whose memory is the processor's."""
    low = array.data.ptr
    interface = {
        "shape": array.shape,
        "typestr": np.dtype(array.dtype).str,
        "data": (low, False),
        "strides": array.strides,
        "version": 3,
    }
    return np.asarray(type("Memory", (), {"__array_interface__": interface})())


def filled(values):
    """An array of CuPy's with these values."""
    made = cupy.ndarray(values.shape, values.dtype, cupy.cuda.alloc(max(values.nbytes, 1)))
    seen(made)[...] = values
    return made


class TestMemory:
    def test_what_is_freed_is_used_again(self, gpu):
        for _ in range(3):
            tfr.asarray(np.ones(1000, np.float32), device="cuda").numpy()
        assert place().pool.statistics.allocations == 1

    def test_a_refused_allocation_is_our_error_and_everything_goes_on(self):
        with host_gpu(limit=1 << 20):
            kept = tfr.asarray(np.arange(10, dtype=np.float32), device="cuda")
            with pytest.raises(MemoryError, match="out of memory"):
                tfr.asarray(np.zeros(1 << 20, np.float32), device="cuda").numpy()
            np.testing.assert_array_equal(kept.numpy(), np.arange(10))

    def test_what_is_kept_is_given_back_before_an_allocation_is_refused(self):
        with host_gpu(limit=1 << 20):
            tfr.asarray(np.zeros(180_000, np.float32), device="cuda").numpy()
            gc.collect()
            assert place().pool.statistics.pooled > 0
            tfr.asarray(np.zeros(100_000, np.float64), device="cuda").numpy()
            assert len(HostMemory.live) == 1


class TestTransfers:
    @pytest.mark.parametrize("nbytes", [1, 100, 4 << 20, (9 << 20) + 5])
    def test_bytes_arrive(self, gpu, nbytes):
        data = np.random.default_rng(0).integers(0, 256, nbytes, np.uint8)
        tensor = tfr.asarray(data, device="cuda")
        data_then = data.copy()
        data[:] = 0
        np.testing.assert_array_equal(tensor.numpy(), data_then)

    def test_they_go_through_pinned_memory_in_pieces(self, gpu):
        nbytes = 2 * staging._PIECE + 7
        tfr.asarray(np.zeros(nbytes, np.uint8), device="cuda").numpy()
        pieces = [staging._PIECE, staging._PIECE, 7]
        assert gpu.runtime.copies == [(kind, piece) for kind in (1, 2) for piece in pieces]

    def test_where_nothing_may_be_pinned_the_driver_copies(self, gpu, monkeypatch):
        def refused(nbytes):
            raise RuntimeFailedError(2, "cudaErrorMemoryAllocation: out of memory")

        monkeypatch.setattr(gpu.cuda, "alloc_pinned_memory", refused)
        data = np.arange(5 << 20, dtype=np.uint8)
        np.testing.assert_array_equal(tfr.asarray(data, device="cuda").numpy(), data)
        assert [kind for kind, _ in gpu.runtime.copies] == [1, 2]

    def test_another_gpu_copies_without_the_host(self):
        with host_gpu(count=2) as gpu:
            x = tfr.asarray(np.arange(6, dtype=np.int16), device="cuda:0")
            tfr.compute(x)
            gpu.runtime.copies.clear()
            y = x.to_device("cuda:1")
            tfr.compute(y)
            assert gpu.runtime.copies == [((0, 1), 12)]
            np.testing.assert_array_equal(y.numpy(), np.arange(6))
            backend = backend_of(CUDA)
            first, second = [backend.open_device(tfr.Device("cuda", at)).queue for at in (0, 1)]
            assert others_of(second) == [first.stream]
            assert others_of(first) == [second.stream]


@runs
class TestLaunches:
    def test_the_grid_covers_all_elements_within_the_limit(self, gpu):
        x = tfr.asarray(np.ones(1000, np.float32), device="cuda")
        assert float(tfr.max(x + 1)) == 2
        most = 32 * MULTIPROCESSORS
        assert gpu.driver.launches
        assert all(groups <= most and lanes == LANES for groups, lanes in gpu.driver.launches)

    def test_arguments_are_pointers_and_one_struct_of_words(self, gpu, monkeypatch):
        given = []
        launch = gpu.driver.launchKernel

        def noting(*said):
            addresses = ctypes.cast(said[9], ctypes.POINTER(ctypes.c_uint64))
            pointers = [ctypes.c_uint64.from_address(addresses[at]).value for at in (0, 1)]
            words = (ctypes.c_uint32 * 2).from_address(addresses[2])
            given.append((pointers, list(words)))
            launch(*said)

        monkeypatch.setattr(gpu.driver, "launchKernel", noting)
        x = tfr.asarray(np.arange(8, dtype=np.float32), device="cuda")
        y = x[3:] * 2
        np.testing.assert_array_equal(y.numpy(), np.arange(3, 8) * 2)
        (((first, second), words),) = given
        assert first == x.node.storage.handle.block.buffer.ptr
        assert second == y.node.storage.handle.block.buffer.ptr
        assert words[0] == 5  # how often the loop runs

    def test_the_gpu_is_the_current_one_in_every_call(self):
        with host_gpu(count=2):
            for device in ("cuda:1", "cuda:0"):
                x = tfr.asarray(np.arange(8, dtype=np.float32), device=device)
                np.testing.assert_array_equal((x + 1).numpy(), np.arange(1, 9))

    def test_a_kernel_is_loaded_once(self, gpu, monkeypatch):
        loads = []
        load = queue.Loaded

        def noting(*said):
            loads.append(said)
            return load(*said)

        monkeypatch.setattr(queue, "Loaded", noting)
        for size in (10, 20, 30):
            tfr.compute(tfr.asarray(np.ones(size, np.float32), device="cuda") * 3 + 1)
        assert len(loads) == 1

    def test_what_goes_wrong_later_is_told(self, gpu, monkeypatch):
        x = tfr.asarray(np.ones(4, np.float32), device="cuda")
        tfr.compute(x)

        def failed(*_):
            raise RuntimeFailedError(700, "cudaErrorIllegalAddress: an illegal memory access")

        monkeypatch.setattr(gpu.runtime, "memcpyAsync", failed)
        with pytest.raises(KernelError, match="CUDA: cudaErrorIllegalAddress"):
            x.numpy()


class TestLibraries:
    def test_a_result_is_in_our_memory_and_not_copied(self, gpu, monkeypatch):
        made = []

        def product(left, right):
            assert HostStream.current == [place().queue.stream]
            made.append(filled(seen(left) @ seen(right)))
            return made[0]

        monkeypatch.setattr(libraries, "CALLS", {MATMUL: Call(product, operands=2)})
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        y = tfr.asarray(x, device="cuda") @ tfr.asarray(x, device="cuda").T
        np.testing.assert_array_equal(y.numpy(), x @ x.T)
        block = y.node.storage.handle.block
        assert block.buffer.ptr == made[0].data.ptr
        assert block is made[0].data.mem.block

    def test_the_first_few_elements_of_rows_are_selected_by_kernels(self, gpu, monkeypatch):
        """CuPy would sort the rows, as it does where so many are wanted that groups have no memory for them."""

        def sorts(*_):
            raise NotImplementedError("sorted")

        monkeypatch.setattr(libraries, "CALLS", {TOPK: Call(sorts)})
        rows = np.random.default_rng(0).permutation(3 * 70).astype(np.float32).reshape(3, 70)
        for x, count in ((rows, 3), (rows[:, :9], 9)):
            values, places = tfr.topk(tfr.asarray(x, device="cuda"), count)
            np.testing.assert_array_equal(values.numpy(), -np.sort(-x)[:, :count])
            np.testing.assert_array_equal(places.numpy(), np.argsort(-x)[:, :count])
        with pytest.raises(KernelError, match="topk, by CuPy: sorted"):
            tfr.topk(tfr.asarray(rows, device="cuda"), 30)[0].numpy()

    def test_products_of_float32_are_rounded_for_tensor_cores_where_that_is_set(
        self, gpu, monkeypatch
    ):
        ways, seen_ways = SimpleNamespace(COMPUTE_TYPE_TF32="tf32", way="default"), []
        ways.get_compute_type = lambda _: ways.way
        ways.set_compute_type = lambda dtype, way: setattr(ways, "way", (dtype.name, way)[1])
        monkeypatch.setattr(tensor_cores, "_compute_types", lambda: ways)

        def product(left, right):
            seen_ways.append(ways.way)
            return filled(seen(left) @ seen(right))

        monkeypatch.setattr(libraries, "CALLS", {MATMUL: Call(product, operands=2)})

        def multiply(dtype):
            x = tfr.asarray(np.ones((3, 3), dtype), device="cuda")
            (x @ x).numpy()
            assert ways.way == "default"  # between products it is as it was
            return seen_ways.pop()

        assert multiply(np.float32) == "default"
        tfr.backends.configure("cuda", tensor_cores=True)
        try:
            assert (multiply(np.float32), multiply(np.float64)) == ("tf32", "default")
            tfr.backends.close("cuda")
            assert multiply(np.float32) == "tf32"  # of a device that opens again
        finally:
            tfr.backends.configure("cuda", tensor_cores=None)
        assert multiply(np.float32) == "default"

    def test_a_dtype_that_is_not_ours_is_an_error(self, gpu, monkeypatch):
        def product(left, right):
            return filled((seen(left) @ seen(right)).astype(np.float64))

        monkeypatch.setattr(libraries, "CALLS", {MATMUL: Call(product, operands=2)})
        x = tfr.asarray(np.ones((3, 3), np.float32), device="cuda")
        with pytest.raises(KernelError, match=r"float64\[3, 3\] instead of float32\[3, 3\]"):
            (x @ x).numpy()

    def test_a_failed_decomposition_is_a_linear_algebra_error(self, gpu, monkeypatch):
        def failed(x, upper):
            raise np.linalg.LinAlgError("The leading minor is not positive definite")

        monkeypatch.setattr(libraries, "CALLS", {CHOLESKY: Call(failed)})
        x = tfr.asarray(np.ones((3, 3), np.float32), device="cuda")
        with pytest.raises(LinAlgError, match="cholesky: the leading minor"):
            tfr.linalg.cholesky(x).numpy()

    def test_cupy_without_what_it_needs_is_an_error_that_says_so(self, gpu, monkeypatch):
        def failed(left, right):
            raise ImportError("libcublas.so.12: cannot open shared object file")

        monkeypatch.setattr(libraries, "CALLS", {MATMUL: Call(failed, operands=2)})
        x = tfr.asarray(np.ones((3, 3), np.float32), device="cuda")
        with pytest.raises(KernelError, match="matmul, by CuPy: libcublas"):
            (x @ x).numpy()

    def test_what_a_library_cannot_do_is_left_to_others(self):
        assert libraries.has_call(MATMUL, [np.dtype("float16")] * 2)
        assert not libraries.has_call(MATMUL, [np.dtype("int32")] * 2)
        assert not libraries.has_call(CHOLESKY, [np.dtype("float16")])


class TestOtherLibraries:
    def test_a_native_array_has_the_same_memory(self, gpu):
        x = tfr.asarray(np.arange(12, dtype=np.float32).reshape(3, 4), device="cuda")
        tfr.compute(x)
        y = x.T[1:]
        tfr.compute(y)
        native = backend_of(CUDA).native(y.node.storage)
        assert isinstance(native, cupy.ndarray)
        np.testing.assert_array_equal(seen(native), np.arange(12).reshape(3, 4).T[1:])
        block = x.node.storage.handle.block
        assert block.buffer.ptr <= native.data.ptr < block.buffer.ptr + block.nbytes

    def test_streams_wait_for_each_other(self, gpu):
        x = tfr.asarray(np.arange(12, dtype=np.float32), device="cuda")
        tfr.compute(x)
        native = backend_of(CUDA).native(x.node.storage)
        assert gpu.default.waited == [place().queue.stream]
        del native
        assert others_of(place().queue) == [gpu.default]

    @pytest.mark.parametrize("kind", ["CuPy's", "PyTorch's", "protocol", "address"])
    @pytest.mark.parametrize("way", ["there", "back", "stays"])
    def test_copies_are_made_in_the_order_of_a_stream(self, gpu, kind, way):
        source, target = {"there": ("cpu", CUDA), "back": (CUDA, "cpu"), "stays": (CUDA,) * 2}[way]
        x = tfr.asarray(np.arange(6, dtype=np.float32), device=source)
        if kind == "CuPy's":
            theirs = stream = gpu.cuda.Stream(non_blocking=True)
        else:
            stream = {
                "PyTorch's": SimpleNamespace(cuda_stream=64, wait_event=None),
                "protocol": SimpleNamespace(__cuda_stream__=lambda: (0, 64)),
                "address": 64,
            }[kind]
        y = (x + 1).to_device(target, stream=stream)
        theirs = theirs if kind == "CuPy's" else HostStream.external[64]
        assert y.is_computed
        assert others_of(place().queue) == [theirs]
        assert theirs.waited == [place().queue.stream]
        assert y.tolist() == [1, 2, 3, 4, 5, 6]

    def test_what_is_no_stream_is_refused(self, gpu):
        x = tfr.asarray([1.0], device="cuda")
        for wrong in ("main", -1, True, object()):
            with pytest.raises(DeviceError, match="takes no stream"):
                x.to_device("cpu", stream=wrong)

    @pytest.mark.parametrize(
        "view",
        [lambda x: x, lambda x: x.T, lambda x: x[::-1, 1:], lambda x: x[1:2, ::-2]],
        ids=["whole", "transposed", "upside down", "in steps"],
    )
    @runs
    def test_an_adopted_array_is_read_where_it_is(self, gpu, view, monkeypatch):
        memory = np.arange(12, dtype=np.int32).reshape(3, 4)
        holder = cupy.cuda.UnownedMemory(
            memory.__array_interface__["data"][0], memory.nbytes, memory, device_id=0
        )
        monkeypatch.setitem(HostMemory.live, holder.ptr, memory.reshape(-1).view(np.uint8))
        array = view(cupy.ndarray((3, 4), np.int32, cupy.cuda.MemoryPointer(holder, 0)))
        queue_of = place().queue
        found = arrays.borrowed(array, queue_of, place().pool)
        assert isinstance(found.block, arrays.Borrowed)
        assert found.block.buffer.ptr + 4 * found.offset == array.data.ptr
        storage = backend_of(CUDA).wrap(CUDA, found)
        np.testing.assert_array_equal(backend_of(CUDA).download(storage), view(memory))

    def test_memory_that_its_owner_may_write_to_is_copied_on_the_gpu(self, gpu, monkeypatch):
        class Exporter:
            def __dlpack_device__(self):
                return (2, 0)

            def __dlpack__(self, **options):
                raise AssertionError("the array is imported below")

        memory = np.arange(12, dtype=np.int32)
        holder = cupy.cuda.UnownedMemory(
            memory.__array_interface__["data"][0], memory.nbytes, memory, device_id=0
        )
        monkeypatch.setitem(HostMemory.live, holder.ptr, memory.view(np.uint8))
        array = cupy.ndarray((12,), np.int32, cupy.cuda.MemoryPointer(holder, 0))
        monkeypatch.setattr(arrays, "imported", lambda *_: array)
        copies = [tfr.from_dlpack(Exporter()), tfr.from_dlpack(Exporter(), copy=True)]
        assert gpu.runtime.copies == [((0, 0), memory.nbytes)] * 2
        copies.append(tfr.asarray(stored_tensor(backend_of(CUDA).adopt(array)), copy=True))
        shared = tfr.from_dlpack(Exporter(), copy=False)
        assert {copy.device for copy in (*copies, shared)} == {CUDA}
        memory[0] = 99
        assert [copy[0].item() for copy in (*copies, shared)] == [0, 0, 0, 99]

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64", "uint64"])
    def test_a_tensor_goes_out_and_comes_back(self, gpu, dtype):
        x = tfr.asarray(np.ones((3, 4)), device="cuda").astype(dtype)
        native = x.native()
        assert (native.shape, str(native.dtype)) == ((3, 4), dtype)
        back = tfr.from_native(native.T)
        assert back.device == CUDA
        assert back.node.storage.handle.block is x.node.storage.handle.block
        assert (back.shape, str(back.dtype)) == ((4, 3), dtype)

    def test_a_tensor_without_elements_goes_out_and_comes_back(self, gpu, monkeypatch):
        made = cupy.ndarray((0, 3), np.float32, cupy.cuda.MemoryPointer(HOLDER, 0))
        monkeypatch.setattr(arrays.cupy, "empty", lambda shape, dtype: made, raising=False)
        native = tfr.zeros((0, 3), device="cuda", dtype=tfr.float32).native()
        assert tfr.from_native(native).shape == (0, 3)

    def test_dlpack_knows_the_devices_that_are_here(self, gpu):
        backend = backend_of(CUDA)
        assert backend.dlpack_home(2, 0) is CUDA
        assert backend.dlpack_home(2, 1) is None
        assert backend.dlpack_home(1, 0) is None
        assert backend.dlpack_home(10, 0) is None
        x = tfr.asarray(np.ones(3), device="cuda")
        tfr.compute(x)
        assert backend.export_dlpack(x.node.storage).__dlpack_device__() == (2, 0)
        assert backend.import_dlpack(np.ones(3), CUDA) is None
        assert backend.adopt(np.ones(3)) is None


class TestProbing:
    def test_two_packages_of_cupy(self, monkeypatch):
        monkeypatch.setattr(nvidia, "cupy_packages", lambda: ("cupy-cuda12x", "cupy-cuda13x"))
        assert "cupy-cuda12x and cupy-cuda13x are installed at once" in devices.find()

    def test_no_driver(self, monkeypatch):
        monkeypatch.setattr(nvidia, "cupy_packages", lambda: ("cupy-cuda12x",))
        monkeypatch.setattr(nvidia, "driver_release", lambda: None)
        assert devices.find() == "there is no NVIDIA driver"

    def test_a_driver_that_is_too_old(self, monkeypatch):
        monkeypatch.setattr(nvidia, "cupy_packages", lambda: ("cupy-cuda13x",))
        monkeypatch.setattr(nvidia, "driver_release", lambda: 12040)
        assert devices.find() == "the driver runs CUDA 12.4, and cupy-cuda13x needs 13.0"

    def test_cupy_that_finds_nothing(self, monkeypatch):
        monkeypatch.setattr(nvidia, "cupy_packages", lambda: ("cupy",))
        assert isinstance(devices.find(), str if nvidia.driver_release() is None else list)

    def test_no_gpu(self):
        with host_gpu(count=0) as gpu:
            assert devices._usable(gpu, 0) == "there is no GPU"

    def test_a_broken_gpu_leaves_the_others(self, monkeypatch):
        with host_gpu(count=2) as gpu:
            facts = gpu.runtime.getDeviceProperties

            def some(index):
                if index == 0:
                    raise RuntimeFailedError(46, "cudaErrorDevicesUnavailable: busy\nmore")
                return facts(index)

            monkeypatch.setattr(gpu.runtime, "getDeviceProperties", some)
            (info,) = devices._usable(gpu, 2)
            assert info.device is tfr.Device("cuda", 1)
            assert devices._usable(gpu, 1) == "GPU 0: cudaErrorDevicesUnavailable: busy"

    def test_what_is_known_of_a_gpu(self, gpu):
        (info,) = devices._usable(gpu, 1)
        assert info.name == "Host 0"
        assert info.compute_capability == (9, 0)
        assert info.total_memory == HostMemory.limit
        assert info.driver == "CUDA 13.2"

    def test_a_busy_gpu_is_a_clear_error(self, gpu, monkeypatch):
        def busy(**_):
            raise RuntimeFailedError(46, "cudaErrorDevicesUnavailable: busy or unavailable")

        monkeypatch.setattr(gpu.cuda, "Stream", busy)
        with pytest.raises(DeviceError, match=r"cuda cannot be used: .*busy or unavailable"):
            tfr.asarray(np.ones(3), device="cuda").numpy()

    def test_free_memory_is_unknown_without_the_management_library(self, monkeypatch):
        monkeypatch.setattr(nvidia, "_MANAGEMENT", "no-such-library.so")
        assert nvidia.free_memory(0, 1, 0) is None


class TestCompiler:
    @pytest.mark.parametrize(
        ("capability", "expected"),
        [((9, 0), "sm_90"), ((8, 6), "sm_86"), ((12, 1), "compute_120"), ((7, 0), None)],
    )
    def test_what_a_gpu_is_compiled_for(self, capability, expected):
        assert compiler.architecture_for(capability, (75, 80, 86, 90, 100, 120)) == expected

    def test_code_is_kept_on_disk(self, tmp_path, monkeypatch):
        compilations = []
        monkeypatch.setattr(
            compiler, "compiled", lambda *said: compilations.append(said) or b"code"
        )
        with tfr.config.override(cache_dir=str(tmp_path)):
            for architecture in ("sm_80", "sm_90", "sm_80"):
                assert compiler.code_of("k", "source", architecture) == b"code"
            assert len(objects.sizes(str(tmp_path))) == 2
        assert [compilation[2] for compilation in compilations] == ["sm_80", "sm_90"]
