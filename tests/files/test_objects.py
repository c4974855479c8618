"""Objects that show slices are read by windows; what they do wrong is an error that names who handed them over."""

import pickle
import threading
import tracemalloc

import h5py
import numpy as np
import pytest
import zarr

import tensorframe as tfr
from tensorframe.errors import DTypeError, ReadError, ShapeError
from tensorframe.frontend.files import objects
from tensorframe.rewrite.views import Window


class Recording:
    """Shows slices of an array, and what it was asked for."""

    def __init__(self, array, chunks=None):
        self.array = array
        self.chunks = chunks
        self.asked = []

    @property
    def shape(self):
        return self.array.shape

    @property
    def dtype(self):
        return self.array.dtype

    def __getitem__(self, key):
        self.asked.append(key)
        return self.array[key]

    @property
    def elements(self):
        """How many elements were asked for."""
        return sum(self.array[key].size for key in self.asked)


def counted(*shape, kind="f4"):
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


def zarr_array(folder, array):
    made = zarr.create_array(folder / "x.zarr", shape=array.shape, dtype=array.dtype, chunks=(7, 5))
    made[...] = array
    return made


def h5py_dataset(folder, array):
    return h5py.File(folder / "x.h5", "w").create_dataset("x", data=array, chunks=(7, 5))


def plain(_, array):
    return array


def memmap(folder, array):
    mapped = np.memmap(folder / "x.dat", array.dtype, "w+", shape=array.shape)
    mapped[...] = array
    return mapped


@pytest.mark.parametrize("made", [zarr_array, h5py_dataset, memmap, plain])
@pytest.mark.parametrize("kind", ["f4", ">f8", "?", "c8", "u2"])
def test_arrays_of_other_libraries_are_read_as_numpy_shows_them(made, kind, tmp_path):
    array = counted(30, 20, kind=kind)
    stored = made(tmp_path, array)
    x = tfr.from_reader(stored)
    assert (x.shape, x.dtype) == ((30, 20), array.dtype.newbyteorder("="))
    for key in (slice(3, 9), (slice(None, None, -3), slice(4, 20, 7)), (5, 6), ..., slice(0)):
        assert np.array_equal(tfr.from_reader(stored)[key].numpy(), array[key]), key


def test_no_elements_are_asked_for_until_they_are_needed():
    stored = Recording(counted(1000, 1000))
    x = tfr.from_reader(stored)
    y = (x * 2 + 1)[:10, 5]
    assert stored.asked == []
    assert y.numpy().tolist() == (counted(1000, 1000)[:10, 5] * 2 + 1).tolist()
    assert stored.elements == 10


DEVICES = [name for name in ("numpy", "opencl", "wgpu", "dask") if name in tfr.backends.available()]


@pytest.mark.parametrize("device", DEVICES)
def test_every_device_is_given_what_is_shown(device):
    stored = Recording(counted(500, 400))
    x = tfr.from_reader(stored, device=device)
    y = (x * 2)[10:20, ::3]
    assert y.device == device
    assert np.array_equal(y.numpy(), (stored.array * 2)[10:20, ::3])
    assert stored.elements == 10 * 134
    assert (x.to_backend("cpu")[3] + 1).numpy().tolist() == (stored.array[3] + 1).tolist()
    assert stored.elements == 10 * 134 + 400


def test_gradients_and_jit_take_what_is_read():
    stored = Recording(counted(500, 400))
    slope = tfr.grad(lambda w, x: tfr.sum(w * x[:2]))(tfr.ones((2, 400)), tfr.from_reader(stored))
    assert np.array_equal(slope.numpy(), stored.array[:2])
    assert stored.elements == 2 * 400
    double = tfr.jit(lambda x: x * 2)
    assert np.array_equal(double(tfr.from_reader(stored)).numpy(), stored.array * 2)


SHOWN = {
    "a slice": (lambda x: x[100:110], 10 * 1000),
    "a slice of a result": (lambda x: (x * 2)[100:110], 10 * 1000),
    "a slice of means": (lambda x: tfr.mean(x, axis=1)[::100], 10 * 1000),
    "a slice of a function": (lambda x: tfr.softmax(x, axis=1)[5], 1000),
    "a stencil": (lambda x: x[1:50, :8] - x[:49, :8], 50 * 8),
    "two ends": (lambda x: x[0] + x[999], 2 * 1000),
    "beside others": (lambda x: tfr.concat([x[:3], tfr.ones((2, 1000), dtype=x.dtype)]), 3 * 1000),
    "a transpose": (lambda x: x.T[3:5][::-1], 2 * 1000),
    "beside all": (lambda x: tfr.sum(x) + x[0, 0], 1000 * 1000),
}


@pytest.mark.parametrize("case", SHOWN)
def test_only_what_is_shown_is_read_and_once(case):
    take, most = SHOWN[case]
    stored = Recording(counted(1000, 1000))
    wanted = take(tfr.asarray(counted(1000, 1000))).numpy()
    assert np.array_equal(take(tfr.from_reader(stored)).numpy(), wanted)
    assert 0 < stored.elements <= most


def test_whoever_goes_on_taking_parts_gets_all_of_it_read_and_kept():
    """At most twice its bytes, and once more: a loop over the elements of a result does not read it each time."""
    stored = Recording(counted(200, 200))
    means = tfr.mean(tfr.from_reader(stored), axis=0)
    read = [means[column].item() for column in range(200)]
    assert np.allclose(read, counted(200, 200).mean(axis=0))
    assert stored.elements <= 3 * 200 * 200
    again = Recording(counted(200, 200))
    with tfr.config.override(reuse_bytes=1000):  # and nothing larger is kept
        x = tfr.from_reader(again)
        for row in range(200):
            for _ in range(4):
                x[row].sum().item()
    assert again.elements == 4 * 200 * 200


def test_plans_and_estimates_are_of_what_is_read():
    stored = Recording(counted(1000, 1000))
    y = (tfr.from_reader(stored) * 2)[:5]
    rows = 5 * 1000 * 4
    for found in (tfr.estimate(y), y.explain()):
        assert rows <= found.bytes_read < rows + 64  # and a number
        assert 2 * rows <= max(found.peak.values()) < 2 * rows + 64
    assert stored.asked == []


def test_what_was_read_as_a_whole_is_kept():
    stored = Recording(counted(100, 100))
    x = tfr.from_reader(stored)
    total = float(tfr.sum(x))
    assert float(tfr.sum(x * 1)) == total
    assert stored.elements == 100 * 100


def test_a_large_window_is_asked_for_in_parts_that_end_where_chunks_do(monkeypatch):
    monkeypatch.setattr(objects, "PIECE", 4 * 1000)
    stored = Recording(counted(100, 100), chunks=(8, 100))
    assert np.array_equal(tfr.from_reader(stored)[3:90].numpy(), stored.array[3:90])
    rows = [key[0] for key in stored.asked]
    assert [row.stop for row in rows[:-1]] == [row.start for row in rows[1:]]
    assert all(row.stop % 8 == 0 for row in rows[:-1])
    assert len(rows) == 12  # a chunk has 3200 bytes, two are too many


def test_reading_takes_the_memory_of_the_window_and_a_part(monkeypatch, tmp_path):
    monkeypatch.setattr(objects, "PIECE", 1 << 18)
    array = counted(2000, 500)  # 4 MB
    dataset = h5py.File(tmp_path / "x.h5", "w").create_dataset("x", data=array, chunks=(50, 500))
    reader = tfr.from_reader(dataset).node.attrs[0]
    window = Window((100, 0), (1500, 500), (1, 1))
    out = np.empty(window.sizes, reader.dtype)
    tracemalloc.start()
    try:
        reader.read(window, out)
        assert tracemalloc.get_traced_memory()[1] < 2 * (1 << 18)
        tracemalloc.reset_peak()
        made = reader.read(window)
        assert tracemalloc.get_traced_memory()[1] < made.nbytes + 2 * (1 << 18)
    finally:
        tracemalloc.stop()
    assert np.array_equal(made, out)
    dataset.file.close()


@pytest.mark.parametrize("chunks", [None, (8, 16), (100, 7)])
@pytest.mark.parametrize(
    "key", [..., (slice(3, 90, 4), slice(90, 2, -1)), (slice(5, 6), slice(0, 99)), 7]
)
def test_parts_make_the_window(chunks, key, monkeypatch):
    monkeypatch.setattr(objects, "PIECE", 256)
    stored = Recording(counted(100, 100), chunks)
    assert np.array_equal(tfr.from_reader(stored)[key].numpy(), stored.array[key])
    assert stored.elements == stored.array[key].size
    assert len(stored.asked) > 1


def test_a_number_is_an_array_too():
    assert float(tfr.from_reader(np.array(2.5))) == 2.5
    assert tfr.from_reader(Recording(np.ones((0, 4)))).numpy().shape == (0, 4)


def test_what_the_object_writes_to_later_does_not_change_what_was_read():
    array = counted(40, 40)
    x = tfr.from_reader(array)
    read = x[:5].numpy()
    whole = x.numpy()
    array[...] = -1
    assert np.array_equal(read, counted(40, 40)[:5])
    assert np.array_equal(whole, counted(40, 40))


class Fails(Recording):
    def __getitem__(self, key):
        raise OSError("the chunk 3.1 is truncated")


class Gives(Recording):
    def __init__(self, array, given):
        super().__init__(array)
        self.given = given

    def __getitem__(self, key):
        return self.given


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (
            Fails(counted(100, 100)),
            r"reading \[2:4, 0:100\] of .*Fails raised OSError: the chunk 3.1 is truncated",
        ),
        (
            Gives(counted(100, 100), np.zeros((3, 100), "f4")),
            r"gave float32\[3, 100\] for \[2:4, 0:100\], which is float32\[2, 100\]",
        ),
        (
            Gives(counted(100, 100), np.zeros((2, 100), "f8")),
            r"gave float64\[2, 100\] for \[2:4, 0:100\], which is float32\[2, 100\]",
        ),
        (Gives(counted(100, 100), "text"), "gave <U4"),
        (Gives(counted(100, 100), None), "gave object"),
        (
            Gives(counted(100, 100), np.ma.masked_less(counted(2, 100), 5)),
            "some of the elements are masked",
        ),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_what_an_object_does_wrong_names_the_line_that_handed_it_over(stored, message, device):
    x = tfr.from_reader(stored, device=device)  # this line
    y = x + 1
    with pytest.raises(ReadError, match=message) as caught:
        y[2:4].numpy()
    assert "# this line" in str(caught.value)
    with pytest.raises(ReadError) as caught:
        y.numpy()
    assert "# this line" in str(caught.value)


def test_an_object_whose_shape_changed_is_not_read():
    stored = Recording(counted(100, 100))
    x = tfr.from_reader(stored)
    stored.array = counted(200, 100)
    with pytest.raises(ReadError, match=r"had the shape \(100, 100\) .* and has \(200, 100\)"):
        x.numpy()


def test_after_an_error_the_tensor_can_be_read():
    stored = Fails(counted(100, 100))
    y = tfr.from_reader(stored) + 1
    with pytest.raises(ReadError):
        y.numpy()
    stored.__class__ = Recording
    assert np.array_equal(y.numpy(), counted(100, 100) + 1)


def test_interrupts_and_lack_of_memory_stay_what_they_are():
    class Raises(Recording):
        def __getitem__(self, key):
            raise self.error

    stored = Raises(counted(100, 100))
    stored.error = MemoryError("full")
    x = tfr.from_reader(stored)
    with pytest.raises(tfr.errors.OutOfMemoryError):
        x.numpy()
    stored.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        x.numpy()


@pytest.mark.parametrize(
    ("thing", "error", "message"),
    [
        ([1, 2], DTypeError, "an object with shape, dtype and slices is read, got list"),
        (3.5, DTypeError, "got float"),
        (np.array(["a"]), DTypeError, "numpy.ndarray has elements of <U1"),
        (np.zeros(3, "M8[s]"), DTypeError, "datetime64"),
        (np.zeros(3, [("a", "f4")]), DTypeError, "'a'"),
        (np.array([None]), DTypeError, "object"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_at_once(thing, error, message):
    with pytest.raises(error, match=message):
        tfr.from_reader(thing)


def test_arrays_in_memory_of_other_libraries_are_pointed_to_dlpack():
    class Theirs(Recording):
        dtype = "theirs.float32"

        def __dlpack__(self):
            raise AssertionError("nobody asked")

    with pytest.raises(DTypeError, match=r"has elements of theirs\.float32") as caught:
        tfr.from_reader(Theirs(counted(2)))
    assert "tfr.from_dlpack" in str(caught.value)


def test_shapes_that_are_none_are_refused():
    class Odd(Recording):
        shape = (3, None)

    with pytest.raises(ShapeError, match=r"has the shape \(3, None\)"):
        tfr.from_reader(Odd(counted(2)))
    with pytest.raises(DTypeError, match="is a Tensor already"):
        tfr.from_reader(tfr.ones(3))


@pytest.mark.parametrize("made", [zarr_array, h5py_dataset, memmap])
def test_readers_go_to_other_processes(made, tmp_path):
    array = counted(30, 20)
    stored = made(tmp_path, array)
    sent = pickle.dumps(tfr.from_reader(stored).node.attrs[0])
    if made is h5py_dataset:
        stored.file.close()
    again = pickle.loads(sent)
    assert np.array_equal(again.read(Window((3, 0), (4, 20), (1, 1))), array[3:7])
    if made is h5py_dataset:
        again.array.file.close()


def test_objects_of_unknown_libraries_are_asked_by_one_thread_at_a_time():
    class Slow(Recording):
        inside = 0
        most = 0

        def __getitem__(self, key):
            Slow.inside += 1
            Slow.most = max(Slow.most, Slow.inside)
            for _ in range(1000):
                pass
            result = super().__getitem__(key)
            Slow.inside -= 1
            return result

    tensors = [tfr.from_reader(Slow(counted(300, 300))) for _ in range(4)]
    threads = [
        threading.Thread(target=lambda x=x: [x[k : k + 9].numpy() for k in range(50)])
        for x in tensors
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Slow.most == 1
