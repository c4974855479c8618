"""Compressed members are gone through once by who reads them in order, whatever their size."""

import tracemalloc
import zipfile

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import FileFormatError
from tensorframe.files.ahead import ReadAhead
from tensorframe.frontend.files import cursor
from tensorframe.rewrite.views import Window

MIB = 1 << 20


def reader_of(path, array):
    np.savez_compressed(path, x=array)
    return tfr.load(path)["x"].node.attrs[0]


def rows(count, size, width):
    return [
        Window((low, 0), (min(size, count - low), width), (1, 1)) for low in range(0, count, size)
    ]


@pytest.fixture
def opened(monkeypatch):
    """How often a member was opened to be unpacked."""
    calls = []
    plain = zipfile.ZipFile.open
    monkeypatch.setattr(
        zipfile.ZipFile, "open", lambda *a, **k: (calls.append(a[1]), plain(*a, **k))[1]
    )
    return calls


@pytest.mark.parametrize("kind", ["<f8", ">f4", "?", "c8"])
@pytest.mark.parametrize("order", "CF")
def test_windows_in_order_take_one_pass(kind, order, tmp_path, opened):
    array = (np.arange(100 * 30) % 7).reshape(100, 30).astype(kind, order=order)
    reader = reader_of(tmp_path / "x.npz", array)
    del opened[:]
    windows = (
        rows(100, 7, 30)
        if order == "C"
        else [Window((0, low), (100, 5), (1, 1)) for low in range(0, 30, 5)]
    )
    for window in windows * 2:
        out = np.empty(window.sizes, reader.dtype)
        assert np.array_equal(reader.read(window, out), array[window.key()])
    assert len(opened) == 2


def test_windows_in_any_order_are_read_too(tmp_path, opened):
    array = np.arange(3000.0).reshape(100, 30)
    reader = reader_of(tmp_path / "x.npz", array)
    del opened[:]
    for low in (50, 80, 20, 20, 0, 99):
        window = Window((low, 12), (1, 9), (1, -1 if low % 20 else 2))
        out = np.empty(window.sizes, reader.dtype)
        assert np.array_equal(reader.read(window, out), array[window.key()])
    assert len(opened) <= 4


def test_a_pass_takes_the_memory_of_its_tiles(tmp_path):
    array = np.zeros((1024, 4096))  # 32 MiB
    np.savez_compressed(tmp_path / "x.npz", x=array)
    leaf = tfr.load(tmp_path / "x.npz")["x"].node
    tiles = [[(leaf, window)] for window in rows(1024, 64, 4096)]
    tracemalloc.start()
    try:
        for _ in range(3):
            with ReadAhead(tiles) as ahead:
                assert not any(tile.any() for (tile,) in ahead)
        assert tracemalloc.get_traced_memory()[1] < (2 * 2 + 6) * MIB
    finally:
        tracemalloc.stop()


def test_damage_is_found_where_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(cursor, "SKIP", 100)
    path = tmp_path / "x.npz"
    noise = np.random.default_rng(0).integers(0, 256, (100, 300), np.uint8)
    reader = reader_of(path, noise)
    content = bytearray(path.read_bytes())
    content[len(content) - 400] ^= 255
    status = path.stat()
    path.write_bytes(content)
    object.__setattr__(reader.stamp, "modified", path.stat().st_mtime_ns)
    assert status.st_size == path.stat().st_size
    out = np.empty((10, 300), np.uint8)
    assert np.array_equal(reader.read(Window((0, 0), (10, 300), (1, 1)), out), noise[:10])
    with pytest.raises(FileFormatError, match="the zip file cannot be read"):
        reader.read(Window((90, 0), (10, 300), (1, 1)), out)
    assert np.array_equal(reader.read(Window((5, 0), (10, 300), (1, 1)), out), noise[5:15])


def test_a_file_that_changed_between_passes_is_found(tmp_path):
    path = tmp_path / "x.npz"
    reader = reader_of(path, np.arange(3000.0).reshape(100, 30))
    out = np.empty((10, 30))
    reader.read(Window((0, 0), (10, 30), (1, 1)), out)
    np.savez_compressed(path, x=np.ones((100, 31)))
    with pytest.raises(FileFormatError, match="changed since it was loaded"):
        reader.read(Window((0, 0), (10, 30), (1, 1)), out)
