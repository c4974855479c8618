"""Any window of a file is read as NumPy shows it, with no more memory than it takes, whatever lies around it."""

import errno
import os
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.errors import FileFormatError, ReadError
from tensorframe.files import access, windows
from tensorframe.files.reader import Reader, read_leaf
from tensorframe.frontend.files import segment
from tensorframe.rewrite.views import Window

MIB = 1 << 20


def reader_of(tensor) -> Reader:
    reader: Reader = tensor.node.attrs[0]
    return reader


def saved(path, array) -> Reader:
    """A reader of an array that NumPy wrote."""
    np.save(path, array)
    return reader_of(tfr.load(path))


@st.composite
def windows_of(draw, shape):
    axes = []
    for length in shape:
        first = draw(st.integers(0, length - 1))
        step = draw(st.sampled_from((1, 1, 1, 2, 3, -1, -2)))
        room = (length - 1 - first) // step if step > 0 else first // -step
        axes.append((first, draw(st.integers(0, room + 1)), step))
    return Window.of_axes(axes)


SHAPES = ((7,), (5, 6), (3, 1, 9), (2, 3, 4, 5))


@settings(max_examples=150)
@given(
    data=st.data(), order=st.sampled_from("CF"), kind=st.sampled_from(("<f4", ">f8", "?", ">c8"))
)
def test_any_window_of_any_layout_is_what_numpy_shows(data, order, kind, tmp_path_factory):
    shape = data.draw(st.sampled_from(SHAPES))
    count = int(np.prod(shape))
    array = (np.arange(count) % 5).reshape(shape).astype(kind, order=order)
    reader = saved(tmp_path_factory.mktemp("any") / "x.npy", array)
    window = data.draw(windows_of(shape))
    near, piece = data.draw(st.sampled_from(((1, 64), (64, 64), (windows.NEAR, windows.PIECE))))
    wanted = array[window.key()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "NEAR", near)
        patch.setattr(windows, "PIECE", piece)
        read = reader.read(window)
        given_array = np.empty(window.sizes, reader.dtype, order=data.draw(st.sampled_from("CF")))
        assert reader.read(window, given_array) is given_array
    assert read.dtype == reader.dtype
    assert read.dtype.isnative
    assert np.array_equal(read, wanted)
    assert np.array_equal(given_array, wanted)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_every_dtype_is_read_by_windows(suffix, tmp_path):
    window = Window((3,), (2,), (-2,))
    for dtype in dtypes.BY_NAME.values():
        if suffix == ".safetensors" and dtype == tfr.complex128:
            continue
        array = np.asarray([0, 1, 1, 0, 1]).astype(dtype)
        path = tmp_path / f"{dtype}{suffix}"
        tfr.save(path, tfr.asarray(array) if suffix == ".npy" else {"x": tfr.asarray(array)})
        loaded = tfr.load(path)
        reader = reader_of(loaded if suffix == ".npy" else loaded["x"])
        assert reader.dtype == dtype
        assert np.array_equal(reader.read(window), array[3::-2][:2]), dtype


def test_a_number_and_nothing_are_windows_too(tmp_path):
    assert saved(tmp_path / "x.npy", np.float32(2.5)).read(Window((), (), ())) == np.float32(2.5)
    none = Window((0, 0), (0, 3), (1, 1))
    assert saved(tmp_path / "y.npy", np.ones((4, 3))).read(none).shape == (0, 3)


def test_an_array_of_the_wrong_kind_is_not_filled(tmp_path):
    reader = saved(tmp_path / "x.npy", np.ones((4, 3)))
    window = Window((0, 0), (2, 3), (1, 1))
    with pytest.raises(
        ValueError, match=r"a window of x.npy is float64\[2, 3\], and out is float32"
    ):
        reader.read(window, np.empty((2, 3), np.float32))
    with pytest.raises(ValueError, match=r"out is float64\[3, 2\]"):
        reader.read(window, np.empty((3, 2)))


@pytest.mark.parametrize(
    "window",
    [
        Window((1000, 0), (2000, 256), (1, 1)),
        Window((0, 5), (4096, 1), (1, 1)),
        Window((4095, 255), (1000, 128), (-4, -2)),
    ],
)
@pytest.mark.parametrize("kind", ["<f8", ">f8", "?"])
def test_a_window_takes_no_more_memory_than_it_shows(window, kind, tmp_path):
    array = np.ones((4096, 256), kind)
    reader = saved(tmp_path / "x.npy", array)
    out = np.empty(window.sizes, reader.dtype)
    reader.read(window, out)
    tracemalloc.start()
    try:
        reader.read(window, out)
        assert tracemalloc.get_traced_memory()[1] < windows.PIECE + MIB // 4
    finally:
        tracemalloc.stop()


def test_a_file_of_the_other_byte_order_or_of_bools_is_checked_where_it_is_read(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(100, bool))
    with path.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\7")
    reader = reader_of(tfr.load(path))
    assert not reader.read(Window((0,), (99,), (1,))).any()
    with pytest.raises(FileFormatError, match="neither 0 nor 1"):
        reader.read(Window((90,), (10,), (1,)))


def test_a_file_that_was_cut_off_is_an_error_not_a_fault(tmp_path):
    """Its stamp says so; and where that cannot, the bytes that are not there do."""
    path = tmp_path / "x.npy"
    reader = saved(path, np.arange(1000.0))
    with path.open("r+b") as file:
        file.truncate(4000)
    with pytest.raises(FileFormatError, match=r"changed since it was loaded: it had 8128 bytes"):
        reader.read(Window((0,), (10,), (1,)))
    status = path.stat()
    object.__setattr__(reader.stamp, "size", status.st_size)
    object.__setattr__(reader.stamp, "modified", status.st_mtime_ns)
    assert reader.read(Window((0,), (10,), (1,)))[-1] == 9
    with pytest.raises(FileFormatError, match=r"x.npy: truncated: it ends at byte 4000"):
        reader.read(Window((400,), (200,), (1,)))


def damaged_npz(path):
    np.savez(path, x=np.arange(3000.0).reshape(100, 30))
    content = bytearray(path.read_bytes())
    at = content.index(np.float64(1500).tobytes())
    content[at] ^= 1
    path.write_bytes(content)
    return reader_of(tfr.load(path)["x"])


@pytest.mark.parametrize("rows", [1, 7, 50])
def test_a_checksum_is_compared_by_who_reads_in_order_and_nothing_is_read_twice(
    rows, tmp_path, monkeypatch
):
    reader = damaged_npz(tmp_path / "x.npz")
    parts = [Window((low, 0), (min(rows, 100 - low), 30), (1, 1)) for low in range(0, 100, rows)]
    for _ in range(2):
        for window in parts[:-1]:
            reader.read(window)
        with pytest.raises(FileFormatError, match="'x' is damaged: its CRC-32 does not match"):
            reader.read(parts[-1])
    read = []
    take = segment.read_at
    monkeypatch.setattr(segment, "read_at", lambda *a: (read.append(len(a[3])), take(*a)))
    reader.read(parts[0])
    assert sum(read) == rows * 240 + 128  # the header stands before the elements


def test_windows_out_of_order_are_not_taken_for_all_of_it(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, x=np.arange(3000.0).reshape(100, 30))
    reader = reader_of(tfr.load(path)["x"])
    for low in (50, 0, 0, 25, 50, 75):
        assert reader.read(Window((low, 0), (25, 30), (1, 1)))[0, 0] == low * 30


@pytest.mark.parametrize("compress", [False, True])
def test_readers_go_to_other_processes(compress, tmp_path):
    (np.savez_compressed if compress else np.savez)(tmp_path / "x.npz", x=np.arange(10))
    reader = reader_of(tfr.load(tmp_path / "x.npz")["x"])
    again = pickle.loads(pickle.dumps(reader))
    assert again == reader
    assert again.read(Window((2,), (3,), (1,))).tolist() == [2, 3, 4]


@pytest.mark.parametrize("slice_of", [False, True])
def test_a_disk_that_fails_names_the_byte_and_the_line_that_loaded(slice_of, tmp_path, monkeypatch):
    """The second piece that is read: the first shows that it is a file like others."""
    np.save(tmp_path / "x.npy", np.arange(1000.0).astype(">f8"))
    leaf = tfr.load(tmp_path / "x.npy").node  # this line
    read, calls = access._read, []

    def fails(file, position, buffer):
        calls.append(position)
        if len(calls) > 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(file, position, buffer[:16])

    monkeypatch.setattr(access, "_read", fails)
    window = Window((500,), (100,), (1,)) if slice_of else None
    out = np.empty(100 if slice_of else 1000)
    place = 128 + 16 + (4000 if slice_of else 0)
    with pytest.raises(ReadError, match=f"x.npy: reading failed at byte {place}: ") as caught:
        read_leaf(leaf, window, out)
    assert caught.value.errno == errno.EIO
    assert "# this line" in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)
