"""Memory of other libraries: shared where nobody can write to it, copied where somebody might."""

from __future__ import annotations

import mmap
import pickle

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import register, unregister
from tensorframe.testing.boxed import Box, BoxedBackend

N = 6


def settled(values):
    values.flags.writeable = False
    return values


def shares(obj, memory):
    return np.shares_memory(tfr.asarray(obj).numpy(), memory)


def mapped(tmp_path, access):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(float(N)).tobytes())
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0, access=access)


def saved(tmp_path, mode):
    np.save(tmp_path / "x.npy", np.arange(float(N)))
    return np.load(tmp_path / "x.npy", mmap_mode=mode)


class TestShared:
    """Everything on the way to the owner is read-only, and the owner is known."""

    def test_arrays_that_own_their_memory(self):
        values = settled(np.arange(N))
        assert shares(values, values)
        assert shares(values[1::2], values)
        assert shares(values.reshape(2, -1).T[::-1], values)
        assert shares(np.broadcast_to(values, (3, N)), values)

    def test_bytes(self):
        data = b"abcdef"
        assert shares(data, np.frombuffer(data, np.uint8))
        assert shares(memoryview(data)[1:], np.frombuffer(data, np.uint8))
        assert shares(np.frombuffer(data, np.uint16), np.frombuffer(data, np.uint8))

    def test_files_that_are_mapped_to_be_read(self, tmp_path):
        values = saved(tmp_path, "r")
        assert shares(values, values)
        assert shares(np.asarray(values)[1:], values)
        buffer = np.frombuffer(mapped(tmp_path, mmap.ACCESS_READ))
        assert shares(buffer, buffer)


class OfInterface:
    """Describes its memory, without a word on who else knows it."""

    def __init__(self, values):
        self.values = values
        data, _ = values.__array_interface__["data"]
        self.__array_interface__ = {**values.__array_interface__, "data": (data, True)}


class Exporter:
    """Hands out its array by DLPack only."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class ArrayLike:
    """Hands out a read-only view by `__array__`."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return settled(self.values.view())


# read-only ways to look at an array that can be written to
LOOKS = {
    "the array": lambda values: values,
    "a view": lambda values: settled(values.view()),
    "a view of a view": lambda values: settled(values.view())[1:].view(),
    "broadcast": lambda values: np.broadcast_to(values, (3, N)),
    "windows": lambda values: np.lib.stride_tricks.sliding_window_view(values, 2),
    "an object with __array__": ArrayLike,
    "an object with __array_interface__": OfInterface,
    "DLPack": lambda values: Exporter(settled(values.view())),
    "a memoryview": lambda values: memoryview(values).toreadonly(),
    "a buffer": lambda values: np.frombuffer(memoryview(values).toreadonly(), values.dtype),
}


class TestCopied:
    """Somebody can write to the memory, though not through what is given."""

    @pytest.mark.parametrize("look", LOOKS)
    def test_read_only_views_of_arrays(self, look):
        values = np.arange(float(N))
        x = tfr.asarray(LOOKS[look](values))
        wanted, later = x.numpy(copy=True), x + 1
        values[:] = -1
        np.testing.assert_array_equal(x.numpy(), wanted)
        np.testing.assert_array_equal(later.numpy(), wanted + 1)

    def test_pandas(self):
        pandas = pytest.importorskip("pandas")
        series = pandas.Series([1.0, 2.0])
        frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
        column = frame["a"].to_numpy()
        looks = (series, series.to_numpy(), column, frame, series.index, series.array)
        results = [tfr.asarray(one) * 2 for one in looks]
        series.iloc[0] = frame.loc[0, "a"] = 100
        assert [result.tolist() for result in results] == [
            *[[2.0, 4.0]] * 3,
            [[2.0, 6.0], [4.0, 8.0]],
            [0, 2],
            [2.0, 4.0],
        ]

    def test_buffers_that_can_be_written_to(self):
        memory = bytearray(b"abc")
        results = [
            tfr.asarray(one)
            for one in (memory, memoryview(memory).toreadonly(), memoryview(memory))
        ]
        memory[0] = 0
        assert [result.tolist() for result in results] == [[97, 98, 99]] * 3

    def test_files_that_are_mapped_to_be_written_to(self, tmp_path):
        for values in (settled(saved(tmp_path, "r+")[1:]), saved(tmp_path, "c")):
            assert not shares(values, values)
        buffer = settled(np.frombuffer(mapped(tmp_path, mmap.ACCESS_WRITE)))
        assert not shares(buffer, buffer)

    def test_no_copy_shares_all_of_them(self):
        values = np.arange(float(N))
        for look in LOOKS.values():
            assert np.shares_memory(tfr.asarray(look(values), copy=False).numpy(), values)

    def test_what_elements_share_is_copied_once(self):
        values = np.arange(1000.0)
        windows = np.lib.stride_tricks.sliding_window_view(values[::-1], 500)[:, ::-2]
        for look in (windows, np.broadcast_to(values[:, None], (1000, 1000))):
            x = tfr.asarray(look)
            np.testing.assert_array_equal(x.numpy(), look)
            assert not np.shares_memory(x.numpy(), values)
            memory = x.numpy()
            while memory.base is not None:
                memory = memory.base
            assert memory.nbytes <= values.nbytes

    def test_buffers_that_were_pickled_apart(self):
        x = tfr.asarray(np.arange(float(N)))
        buffers = []
        text = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
        memory = [bytearray(buffer) for buffer in buffers]
        again = pickle.loads(text, buffers=memory)
        memory[0][:] = bytes(len(memory[0]))
        assert again.tolist() == x.tolist()

    def test_results_of_numpy_that_are_parts_of_arrays(self):
        array = np.arange(3.0)
        _, part = np.meshgrid(tfr.asarray([1.0]), array, copy=False)
        array[:] = -1
        assert part.tolist() == [[0.0], [1.0], [2.0]]


class Boxes(BoxedBackend):
    """A device whose boxes travel by DLPack."""

    def dlpack_home(self, kind, index):
        return self.device if (kind, index) == (12, 0) else None

    def import_dlpack(self, obj, device):
        return self.wrap(device, obj.box)


class ExportedBox:
    """A box of somebody else's, who goes on writing to it."""

    def __init__(self, values):
        self.box = Box(values)

    def __dlpack__(self, **options):
        raise AssertionError("it went through the host")

    def __dlpack_device__(self):
        return (12, 0)


@pytest.fixture(params=["by itself", "through the host"])
def boxes(request):
    backend = Boxes("boxes", neighbours=["boxes"] if request.param == "by itself" else ())
    register(backend)
    yield backend
    unregister("boxes")


class TestOnDevices:
    def test_memory_of_a_device_is_copied_there(self, boxes):
        values = np.arange(3.0)
        results = [
            tfr.asarray(ExportedBox(values), device="boxes"),
            tfr.from_dlpack(ExportedBox(values)),
            tfr.from_dlpack(ExportedBox(values), copy=True),
            tfr.asarray(tfr.from_native(Box(values)), copy=True),
        ]
        shared = [
            tfr.from_dlpack(ExportedBox(values), copy=False),
            tfr.asarray(ExportedBox(values), device="boxes", copy=False),
            tfr.from_native(Box(values)),
        ]
        assert {result.device for result in (*results, *shared)} == {boxes.device}
        values[0] = 9
        assert [result.tolist() for result in results] == [[0.0, 1.0, 2.0]] * 4
        assert [one.tolist() for one in shared] == [[9.0, 1.0, 2.0]] * 3
        reached = bool(boxes.neighbours)
        assert boxes.counts["copies"] == (4 if reached else 0)
        assert boxes.counts["uploads"] == (0 if reached else 4)
