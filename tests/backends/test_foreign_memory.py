"""Memory that other programs make: taken without a copy where it fits, refused with the reason where it does not."""

import gc
import sys

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import native_device
from tensorframe.backends.registry import backend_of
from tensorframe.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from tests.backends.devices import FOUND

BUFFERS = [name for name in FOUND if name in ("opencl", "wgpu")]
on_buffers = pytest.mark.parametrize(
    "device", BUFFERS or [pytest.param("opencl", marks=pytest.mark.skip(reason="no such device"))]
)
opencl_only = pytest.mark.skipif("opencl" not in FOUND, reason="no OpenCL device")
wgpu_only = pytest.mark.skipif("wgpu" not in FOUND, reason="no WebGPU device")

VALUES = np.linspace(-2, 2, 60, dtype=np.float32).reshape(3, 4, 5)


def buffer_of(device, values):
    """A buffer with these values, made by the device's own library."""
    owner = native_device(device)
    if device == "opencl":
        import pyopencl as cl

        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(owner.context, flags, hostbuf=values)
    import wgpu

    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    return owner.create_buffer_with_data(data=values, usage=usage)


def foreign_buffer(device, nbytes):
    """A buffer of a context, or device, that is not tensorframe's."""
    tfr.ones(2, device=device).compute()
    if device == "opencl":
        import pyopencl as cl

        return cl.Buffer(
            cl.Context([native_device(device).device]), cl.mem_flags.READ_WRITE, nbytes
        )
    import wgpu

    other = native_device(device).adapter.request_device_sync()
    return other.create_buffer(
        size=nbytes, usage=wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    )


def allocated(device):
    return backend_of(tfr.Device(device)).open_device(tfr.Device(device)).pool.statistics.in_use


@on_buffers
class TestBuffers:
    def test_a_buffer_is_a_tensor_without_a_copy(self, device):
        buffer = buffer_of(device, VALUES)
        before = allocated(device)
        x = tfr.from_native(buffer, shape=VALUES.shape, dtype="float32", device=device)
        assert allocated(device) == before
        assert (str(x.device), x.shape, x.dtype) == (device, VALUES.shape, tfr.float32)
        assert x.native() is buffer
        np.testing.assert_array_equal(x.numpy(), VALUES)
        np.testing.assert_array_equal((x[1:, ::2].mT + x.sum()).numpy().shape, (2, 5, 2))
        np.testing.assert_allclose((x * 2 + 1).numpy(), VALUES * 2 + 1)

    @pytest.mark.parametrize("shape", [7, (2, 3), (), (0, 5), [60]])
    def test_a_buffer_may_be_larger(self, device, shape):
        x = tfr.from_native(buffer_of(device, VALUES), shape=shape, dtype=np.float32)
        wanted = VALUES.reshape(-1)[: x.size].reshape(x.shape)
        assert x.shape == ((shape,) if shape == 7 else tuple(shape))
        np.testing.assert_array_equal((x + 0).numpy(), wanted)

    @pytest.mark.parametrize("dtype", ["int32", "uint32", "complex64", "float16", "uint8", "bool"])
    def test_what_memory_holds_is_taken_and_what_it_holds_otherwise_is_refused(self, device, dtype):
        values = np.arange(8).astype(dtype)
        held = backend_of(tfr.Device(device)).open_device(tfr.Device(device)).queue.traits.held
        buffer = buffer_of(device, values)
        kind = tfr.dtypes.as_dtype(dtype)
        if kind not in held:
            found = tfr.from_native(buffer, shape=8, dtype=dtype)
            np.testing.assert_array_equal(found.numpy(), values)
            return
        with pytest.raises(
            DTypeError, match=f"memory holds {dtype} as {held[kind].name}"
        ) as caught:
            tfr.from_native(buffer, shape=8, dtype=dtype)
        assert held[kind].name in caught.value.suggestions[0]
        lent = tfr.asarray(values, device=device)
        words = tfr.from_native(lent.native(), shape=8, dtype=held[kind])
        np.testing.assert_array_equal(words.astype(dtype).numpy(), values)

    def test_the_buffer_lives_as_long_as_a_tensor_uses_it(self, device):
        x = tfr.from_native(buffer_of(device, VALUES), shape=VALUES.shape, dtype="float32")
        y = x.mT * 1
        del x
        gc.collect()
        tfr.ones(VALUES.shape, device=device).compute()
        np.testing.assert_array_equal(y.numpy(), VALUES.swapaxes(-1, -2))

    def test_buffers_that_come_and_go_are_told_apart(self, device):
        for number in range(20):
            values = np.full(100, number, np.float32)
            x = tfr.from_native(buffer_of(device, values), shape=100, dtype="float32")
            np.testing.assert_array_equal((x + 1).numpy(), values + 1)

    def test_what_native_lends_comes_back_as_the_same_memory(self, device):
        x = tfr.asarray(VALUES, device=device)
        y = tfr.from_native(x.native(), shape=VALUES.shape, dtype="float32")
        assert y.node.storage.handle.block is x.node.storage.handle.block
        del x
        gc.collect()
        others = [tfr.full(VALUES.shape, 7.0, device=device).compute() for _ in range(4)]
        np.testing.assert_array_equal(y.numpy(), VALUES)
        del others

    def test_memory_of_a_tensor_that_is_gone_is_refused(self, device):
        x = tfr.asarray(VALUES, device=device)
        buffer = x.native()
        del x
        gc.collect()
        with pytest.raises(ArgumentError, match="lent by a tensor that is gone"):
            tfr.from_native(buffer, shape=VALUES.shape, dtype="float32")

    @pytest.mark.parametrize(
        ("said", "missing"),
        [
            ({}, "shape and dtype"),
            ({"dtype": "float32"}, "shape"),
            ({"shape": (60,)}, "dtype"),
        ],
    )
    def test_a_buffer_needs_a_shape_and_a_dtype(self, device, said, missing):
        with pytest.raises(ArgumentError, match=f"is bytes without {missing}\n") as caught:
            tfr.from_native(buffer_of(device, VALUES), **said)
        assert "(60,)" in caught.value.suggestions[0]

    @pytest.mark.parametrize(
        ("shape", "dtype"), [(61, "float32"), ((1 << 40,), "int32"), ((8, 4), "complex64")]
    )
    def test_a_buffer_that_is_too_small_is_refused(self, device, shape, dtype):
        with pytest.raises(ShapeError, match=r"takes bytes 0 to \d+, and the .* has 240"):
            tfr.from_native(buffer_of(device, VALUES), shape=shape, dtype=dtype)

    def test_another_context_is_refused(self, device):
        buffer = foreign_buffer(device, 1024)
        with pytest.raises(DeviceError, match="belongs to another context") as caught:
            tfr.from_native(buffer, shape=4, dtype="float32")
        assert f"native_device('{device}')" in caught.value.suggestions[0]

    def test_another_device_is_refused(self, device):
        buffer = buffer_of(device, VALUES)
        with pytest.raises(DeviceError, match=f"the memory is {device}'s, not cpu's"):
            tfr.from_native(buffer, shape=60, dtype="float32", device="cpu")
        with pytest.raises(DeviceError, match="no device 'nonsense'"):
            tfr.from_native(buffer, shape=60, dtype="float32", device="nonsense")

    @pytest.mark.parametrize(
        "wrong", [{"shape": (-1,)}, {"shape": "60"}, {"dtype": "float31"}, {"dtype": ">f4"}]
    )
    def test_wrong_words_are_refused_and_change_nothing(self, device, wrong):
        buffer = buffer_of(device, VALUES)
        before = allocated(device)
        with pytest.raises(tfr.errors.TensorFrameError):
            tfr.from_native(buffer, **{"shape": 60, "dtype": "float32", **wrong})
        assert allocated(device) == before

    @pytest.mark.parametrize("nbytes", [-1, -(10**30)])
    def test_less_memory_than_none_is_refused(self, device, nbytes):
        with pytest.raises(ArgumentError, match="there are no -"):
            backend_of(tfr.Device(device)).allocate(tfr.Device(device), nbytes)


@opencl_only
class TestArraysOfOpenCl:
    @pytest.fixture
    def array(self):
        import pyopencl.array

        return pyopencl.array.to_device(native_device("opencl"), VALUES)

    def test_an_array_knows_its_layout(self, array):
        x = tfr.from_native(array)
        assert (str(x.device), x.dtype) == ("opencl", tfr.float32)
        np.testing.assert_array_equal(x.numpy(), VALUES)
        for key in [np.s_[1:], np.s_[:, 1:3, ::2], np.s_[2], np.s_[..., 4]]:
            np.testing.assert_array_equal(tfr.from_native(array[key]).numpy(), VALUES[key])
        np.testing.assert_array_equal((tfr.from_native(array.T) + 1).numpy(), VALUES.T + 1)

    def test_work_in_another_queue_is_waited_for(self):
        import pyopencl as cl
        import pyopencl.array

        queue = cl.CommandQueue(native_device("opencl").context)
        array = pyopencl.array.zeros(queue, 1 << 16, np.float32)
        for _ in range(10):
            array = array + 1
        assert tfr.sum(tfr.from_native(array)).item() == 10 * (1 << 16)

    def test_what_is_said_has_to_agree(self, array):
        assert tfr.from_native(array, shape=(3, 4, 5), dtype="float32", device="opencl").ndim == 3
        with pytest.raises(ShapeError, match=r"has shape \(3, 4, 5\), not \(60,\)"):
            tfr.from_native(array, shape=60)
        with pytest.raises(DTypeError, match="has dtype float32, not int32"):
            tfr.from_native(array, dtype="int32")

    def test_an_array_without_elements(self):
        import pyopencl.array

        array = pyopencl.array.zeros(native_device("opencl"), (0, 3), np.float32)
        assert tfr.from_native(array).shape == (0, 3)

    def test_elements_that_are_not_aligned_are_refused(self, array):
        import pyopencl.array

        queue = native_device("opencl")
        odd = pyopencl.array.Array(queue, (5,), np.float32, data=array.base_data, offset=2)
        with pytest.raises(ArgumentError, match="the origin is at byte 2"):
            tfr.from_native(odd)
        odd = pyopencl.array.Array(queue, (5,), np.float32, data=array.base_data, strides=(6,))
        with pytest.raises(ArgumentError, match=r"the strides are \(6,\)"):
            tfr.from_native(odd)

    def test_an_array_beyond_its_buffer_is_refused(self, array):
        import pyopencl.array

        queue = native_device("opencl")
        long = pyopencl.array.Array(queue, (61,), np.float32, data=array.base_data)
        with pytest.raises(ShapeError, match="takes bytes 0 to 244"):
            tfr.from_native(long)

    def test_dtypes_that_tensors_have_not_are_refused(self):
        import pyopencl.array

        array = pyopencl.array.zeros(native_device("opencl"), 4, np.dtype("i4,f4"))
        with pytest.raises(DTypeError, match="which tensors have not"):
            tfr.from_native(array)

    def test_a_part_of_a_buffer_that_a_tensor_lends_keeps_the_tensors_memory(self):

        x = tfr.asarray(np.arange(1 << 12, dtype=np.float32), device="opencl")
        buffer = x.native()
        align = native_device("opencl").device.mem_base_addr_align // 8
        y = tfr.from_native(buffer.get_sub_region(align, 400), shape=100, dtype="float32")
        del x
        gc.collect()
        tfr.ones(1 << 12, device="opencl").compute()
        np.testing.assert_array_equal(y.numpy(), np.arange(100) + align // 4)

    def test_an_image_is_refused(self):
        import pyopencl as cl

        kind = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
        context, flags = native_device("opencl").context, cl.mem_flags.READ_WRITE
        image = cl.create_image(context, flags, kind, shape=(4, 4))
        with pytest.raises(ArgumentError, match="no buffer of bytes"):
            tfr.from_native(image, shape=4, dtype="float32")

    @pytest.mark.parametrize("flag", ["WRITE_ONLY", "HOST_NO_ACCESS", "HOST_WRITE_ONLY"])
    def test_memory_that_cannot_be_read_is_refused(self, flag):
        import pyopencl as cl

        buffer = cl.Buffer(native_device("opencl").context, getattr(cl.mem_flags, flag), 64)
        with pytest.raises(ArgumentError, match=f"the buffer is {flag}"):
            tfr.from_native(buffer, shape=4, dtype="float32")


@wgpu_only
class TestBuffersOfWebGpu:
    def test_the_usage_has_to_allow_kernels_and_copies(self):
        import wgpu

        made = native_device("wgpu").create_buffer(size=64, usage=wgpu.BufferUsage.COPY_SRC)
        with pytest.raises(ArgumentError, match="usage lacks STORAGE") as caught:
            tfr.from_native(made, shape=4, dtype="float32")
        assert caught.value.suggestions == ("wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC",)

    def test_a_mapped_buffer_is_refused(self):
        import wgpu

        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
        made = native_device("wgpu").create_buffer(size=64, usage=usage, mapped_at_creation=True)
        with pytest.raises(ArgumentError, match="is mapped"):
            tfr.from_native(made, shape=4, dtype="float32")

    def test_bytes_beyond_the_last_whole_word_are_not_seen(self):
        import wgpu

        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
        made = native_device("wgpu").create_buffer(size=18, usage=usage)
        assert tfr.from_native(made, shape=4, dtype="uint32").tolist() == [0] * 4
        with pytest.raises(ShapeError, match="has 16"):
            tfr.from_native(made, shape=5, dtype="uint32")

    def test_what_was_written_before_is_seen(self):
        buffer = buffer_of("wgpu", VALUES)
        x = tfr.from_native(buffer, shape=VALUES.shape, dtype="float32")
        y = tfr.asarray(VALUES, device="wgpu")
        np.testing.assert_array_equal((x - y).numpy(), np.zeros_like(VALUES))


class TestHostMemory:
    def test_what_is_said_has_to_agree(self):
        array = np.arange(6.0)
        x = tfr.from_native(array, shape=6, dtype=float, device="numpy")
        assert str(x.device) == "numpy"
        assert np.shares_memory(x.numpy(), array)
        with pytest.raises(ShapeError, match=r"has shape \(6,\), not \(2, 3\)"):
            tfr.from_native(array, shape=(2, 3))
        with pytest.raises(DTypeError, match="has dtype float64, not float32"):
            tfr.from_native(array, dtype="float32")

    def test_tensors_are_what_they_are(self):
        x = tfr.ones(3)
        assert tfr.from_native(x, shape=3, device="cpu").node is x.node
        with pytest.raises(DeviceError, match="the memory is cpu's, not numpy's"):
            tfr.from_native(x, device="numpy")

    def test_host_devices_have_no_library_of_their_own(self):
        for device in ("cpu", "numpy"):
            with pytest.raises(DeviceError, match="works in host memory"):
                native_device(device)

    @pytest.mark.parametrize("device", ["cpu", "numpy", "dry", "dry:1", *FOUND])
    @pytest.mark.parametrize(
        ("nbytes", "error"),
        [(-1, ArgumentError), (-(sys.maxsize**2), ArgumentError), (sys.maxsize + 1, MemoryError)],
        ids=["one less than none", "far less than none", "too many"],
    )
    def test_memory_that_cannot_be_is_refused_everywhere(self, device, nbytes, error):
        with pytest.raises(error):
            backend_of(tfr.Device(device)).allocate(tfr.Device(device), nbytes)
