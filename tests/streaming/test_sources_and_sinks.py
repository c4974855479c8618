"""Every kind of file, and objects, can be where a stream begins and where it ends."""

import os

import h5py
import numpy as np
import pytest
import zarr

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.errors import FileFormatError, OutOfMemoryError, ReadError, WriteError
from tensorframe.frontend.files import objects
from tensorframe.graph.device import CPU
from tensorframe.runtime.streaming import out_of_core

MEBI = 1 << 20
SHAPE = (3000, 500)  # 6 MB of float32
VALUES = np.random.default_rng(0).standard_normal(SHAPE, dtype=np.float32)


@pytest.fixture
def streamed(monkeypatch):
    """The streams that run, in the room of a few tiles."""
    runs = []
    run = out_of_core.run_stream

    def noted(planned, targets):
        runs.append(planned)
        run(planned, targets)

    monkeypatch.setattr(out_of_core, "run_stream", noted)
    budget = backend_of(CPU).budget(CPU)
    monkeypatch.setattr(type(budget), "room", lambda _: 4 * MEBI)
    monkeypatch.setattr(type(budget), "has_room", lambda *_: True)  # for the compiler
    budget.credit = 0
    return runs


def npy(folder, array):
    np.save(folder / "x.npy", array)
    return tfr.load(folder / "x.npy")


def stored(folder, array):
    np.savez(folder / "x.npz", x=array)
    return tfr.load(folder / "x.npz")["x"]


def compressed(folder, array):
    np.savez_compressed(folder / "x.npz", x=array)
    return tfr.load(folder / "x.npz")["x"]


def tensors(folder, array):
    tfr.save(folder / "x.safetensors", {"before": tfr.ones(3, dtype=tfr.bool_), "x": array})
    return tfr.load(folder / "x.safetensors")["x"]


def chunked(folder, array):
    made = zarr.create_array(folder / "x.zarr", shape=SHAPE, chunks=(70, 90), dtype=array.dtype)
    made[...] = array
    return tfr.load(folder / "x.zarr")


def hdf5(folder, array):
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("x", data=array, chunks=(70, 90))
    return tfr.from_reader(h5py.File(folder / "x.h5")["x"])


def memmap(folder, array):
    mapped = np.memmap(folder / "x.dat", array.dtype, "w+", shape=SHAPE)
    mapped[...] = array
    return tfr.from_reader(mapped)


SOURCES = [npy, stored, compressed, tensors, chunked, hdf5, memmap]
WAYS = {
    "as it is": lambda array: array,
    "foreign order": lambda array: array.astype(">f4"),
    "columns": np.asfortranarray,
    "bools": lambda array: array > 0,
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_stream_begins_anywhere(source, way, tmp_path, streamed):
    array = WAYS[way](VALUES)
    if source is tensors and not array.dtype.isnative:
        array = array.astype("f4")
    x = source(tmp_path, array)
    del streamed[:]
    tfr.save(tmp_path / "y.npy", tfr.where(x != 0, 2, 1) * x)
    assert len(streamed) == 1
    assert streamed[0].stream.tiles > 3
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.where(array != 0, 2, 1) * array)


def chunked_by_columns(folder, array):
    made = zarr.create_array(folder / "x.zarr", shape=SHAPE, chunks=(3000, 5), dtype=array.dtype)
    made[...] = array
    return tfr.load(folder / "x.zarr")


@pytest.mark.parametrize(
    ("source", "order", "axis"),
    [
        (npy, "C", 0),
        (npy, "F", 1),
        (compressed, "F", 1),
        (chunked, "C", 0),
        (chunked_by_columns, "C", 1),
    ],
)
def test_files_are_cut_where_parts_lie_together(source, order, axis, tmp_path, streamed):
    x = source(tmp_path, np.asarray(VALUES, order=order))
    del streamed[:]
    tfr.save(tmp_path / "y.npy", x * 2)
    (planned,) = streamed
    assert planned.stream.cut.axis == axis
    assert np.array_equal(np.load(tmp_path / "y.npy"), VALUES * 2)


def into_hdf5(folder):
    return h5py.File(folder / "y.h5", "w").create_dataset("y", SHAPE, "f4", chunks=(70, 90))


def into_zarr(folder):
    return zarr.create_array(folder / "y.zarr", shape=SHAPE, chunks=(70, 90), dtype="f4")


def into_memmap(folder):
    return np.memmap(folder / "y.dat", "f4", "w+", shape=SHAPE)


def into_array(_):
    return np.zeros(SHAPE, "f4")


@pytest.mark.sweep(2)
@pytest.mark.parametrize("cut", [0, 1])
@pytest.mark.parametrize("sink", [into_hdf5, into_zarr, into_memmap, into_array])
def test_a_stream_ends_in_any_object(sink, cut, tmp_path, streamed):
    x = npy(tmp_path, VALUES)
    target = sink(tmp_path)
    # what is sorted along the rows leaves only the other axis to cut
    tfr.save(target, x * 2 if cut == 0 else tfr.sort(x, axis=0))
    assert len(streamed) == 1
    assert np.array_equal(target[...], VALUES * 2 if cut == 0 else np.sort(VALUES, axis=0))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors", ".zarr"])
def test_a_stream_ends_in_any_file(suffix, tmp_path, streamed):
    x = npy(tmp_path, VALUES)
    path = tmp_path / f"y{suffix}"
    if suffix == ".npy":
        tfr.save(path, x * 2)
        assert len(streamed) == 1
        assert np.array_equal(np.load(path), VALUES * 2)
    else:
        tfr.save(path, {"a": x * 2, "total": tfr.sum(x)})
        assert len(streamed) == 1
        loaded = tfr.load(path)
        back = [loaded["a"][low : low + 300].numpy() for low in range(0, 3000, 300)]
        assert np.array_equal(np.concatenate(back), VALUES * 2)
        assert loaded["total"].numpy() == tfr.sum(tfr.asarray(VALUES)).numpy()


def test_one_tensor_and_equal_ones_are_saved_under_each_name(tmp_path, streamed):
    """Names of one tensor, of two that are recorded alike, and of totals, which are written at the end."""
    x = npy(tmp_path, VALUES)
    made, total = x * 2, tfr.sum(x, axis=0)
    tensors = {"a": made, "b": made, "c": x * 2, "d": total, "e": total, "f": tfr.sum(x, axis=0)}
    tfr.save(tmp_path / "y.safetensors", tensors)
    assert len(streamed) == 1
    loaded = tfr.load(tmp_path / "y.safetensors")
    for name in "abc":
        back = [loaded[name][low : low + 300].numpy() for low in range(0, 3000, 300)]
        assert np.array_equal(np.concatenate(back), VALUES * 2), name
    sums = tfr.sum(tfr.asarray(VALUES), axis=0).numpy()
    assert all(np.array_equal(loaded[name].numpy(), sums) for name in "def")


def test_equal_tensors_are_computed_together_in_memory(tmp_path, streamed):
    x = npy(tmp_path, VALUES)
    one, two = tfr.exp(x)[::8] + 1, tfr.exp(x)[::8] + 1
    tfr.compute(one, two)
    assert len(streamed) == 1
    assert np.array_equal(one.numpy(), two.numpy())
    assert np.array_equal(one.numpy(), (tfr.exp(tfr.asarray(VALUES[::8])) + 1).numpy())


def test_large_chunks_are_counted(tmp_path, streamed, monkeypatch):
    """A chunk is read as a whole for any of its elements, so it has to fit beside the tiles."""
    monkeypatch.setattr(objects, "PIECE", 1 << 16)
    peaks = []
    for rows in (10, 100):
        made = h5py.File(tmp_path / f"{rows}.h5", "w").create_dataset(
            "x", data=VALUES, chunks=(rows, 500)
        )
        tfr.save(tmp_path / "y.npy", tfr.from_reader(made) * 2)
        planned = streamed[-1]
        peaks.append(planned.peak[CPU] - planned.tile_bytes * 4)
    assert 2 * 4 * 500 * 100 <= peaks[1] - peaks[0] < 2 * 4 * 500 * 100 + 4096
    huge = h5py.File(tmp_path / "huge.h5", "w").create_dataset("x", data=VALUES, chunks=SHAPE)
    with pytest.raises(OutOfMemoryError, match="not even the smallest tiles along axis 0 fit"):
        tfr.save(tmp_path / "y.npy", tfr.from_reader(huge) * 2)


# --- what goes wrong in the middle


class Fails:
    """An array whose last rows cannot be read."""

    shape, dtype = SHAPE, np.dtype("f4")

    def __init__(self, error):
        self.error = error

    def __getitem__(self, key):
        if key[0].stop > 2500:
            raise self.error
        return VALUES[key]


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors", ".zarr"])
@pytest.mark.parametrize(
    "error", [OSError("the archive is gone"), KeyboardInterrupt(), MemoryError("full")]
)
def test_what_breaks_while_it_is_read_leaves_the_old_file(suffix, error, tmp_path, streamed):
    path = tmp_path / f"y{suffix}"
    named = (lambda t: t) if suffix in (".npy", ".zarr") else (lambda t: {"x": t})
    tfr.save(path, named(tfr.ones(3)))
    kind = ReadError if type(error) is OSError else type(error)
    x = tfr.from_reader(Fails(error))  # this line
    with pytest.raises(kind) as caught:
        tfr.save(path, named(x * 2))
    assert len(streamed) == 1
    if kind is ReadError:
        assert "# this line" in str(caught.value)
        assert "the archive is gone" in str(caught.value)
    back = tfr.load(path)
    assert (back["x"] if isinstance(back, dict) else back).tolist() == [1, 1, 1]
    assert os.listdir(tmp_path) == [path.name]


def test_a_file_that_is_cut_off_while_it_streams(tmp_path, streamed, monkeypatch):
    x = npy(tmp_path, VALUES)
    made = x * 2
    read = type(x.node.attrs[0]).read

    def cut(self, window=None, out=None):
        if window is not None and window.starts[0] > 1500:
            os.truncate(tmp_path / "x.npy", 1000)
        return read(self, window, out)

    monkeypatch.setattr(type(x.node.attrs[0]), "read", cut)
    with pytest.raises(FileFormatError, match=r"changed since it was loaded: it had 6000128 bytes"):
        tfr.save(tmp_path / "y.npy", made)
    assert os.listdir(tmp_path) == ["x.npy"]


def test_an_object_that_stops_taking_tiles(tmp_path, streamed):
    class Stops:
        shape, dtype = SHAPE, np.dtype("f4")
        rows = 0

        def __getitem__(self, key):
            raise AssertionError("nobody asked")

        def __setitem__(self, key, values):
            if key[0].stop > 2000:
                raise OSError("the connection is closed")
            self.rows = key[0].stop

    target = Stops()
    with pytest.raises(WriteError, match="the connection is closed; what was written before stays"):
        tfr.save(target, npy(tmp_path, VALUES) * 2)
    assert 0 < target.rows <= 2000
