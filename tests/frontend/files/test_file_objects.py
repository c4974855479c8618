"""Open files and buffers take and give arrays in NumPy's formats, as `np.save` and `np.load` have it."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, FileFormatError


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int8", "bool", "bfloat16"])
def test_what_is_saved_to_a_buffer_is_loaded_from_it(dtype):
    x = tfr.asarray([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    buffer = io.BytesIO()
    tfr.save(buffer, x.T)
    buffer.seek(0)
    loaded = tfr.load(buffer)
    assert loaded.dtype == x.dtype
    assert loaded.tolist() == x.T.tolist()


def test_arrays_follow_each_other_in_an_open_file(tmp_path):
    with open(tmp_path / "two", "wb") as file:
        tfr.save(file, tfr.arange(3))
        np.save(file, np.arange(4.0))
    with open(tmp_path / "two", "rb") as file:
        assert np.load(file).tolist() == [0, 1, 2]
        assert tfr.load(file).tolist() == [0.0, 1.0, 2.0, 3.0]
        with pytest.raises(FileFormatError, match="holds no array"):
            tfr.load(file)


def test_compressed_files_and_archives_are_read_when_they_are_open(tmp_path):
    with gzip.open(tmp_path / "x.npy.gz", "wb") as file:
        tfr.save(file, tfr.asarray([1.5, 2.5]))
    with gzip.open(tmp_path / "x.npy.gz", "rb") as file:
        assert tfr.load(file).tolist() == [1.5, 2.5]
    for save in (tfr.savez, tfr.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, tfr.arange(2), y=tfr.ones(3))
        buffer.seek(0)
        assert {name: x.tolist() for name, x in tfr.load(buffer).items()} == {
            "arr_0": [0, 1],
            "y": [1.0, 1.0, 1.0],
        }
    buffer = io.BytesIO()
    tfr.save(buffer, {"x": tfr.arange(2), "file": tfr.ones(1)})
    buffer.seek(0)
    saved = np.load(buffer)
    assert saved["x"].tolist() == [0, 1]
    assert saved["file"].tolist() == [1.0]


def test_what_takes_and_gives_text_or_is_pickled_is_refused():
    with pytest.raises(DTypeError, match="takes no bytes"):
        tfr.save(io.StringIO(), tfr.arange(3))
    buffer = io.BytesIO()
    np.save(buffer, np.array([object()]), allow_pickle=True)
    buffer.seek(0)
    with pytest.raises(FileFormatError):
        tfr.load(buffer)
    with pytest.raises(FileFormatError):
        tfr.load(io.BytesIO(b"no array at all"))


def test_numpys_arguments_are_taken(tmp_path):
    path, x = tmp_path / "x.npy", tfr.asarray([1.0, 2.0])
    tfr.save(path, x, allow_pickle=False)
    for mode in (None, "r", "c"):
        loaded = tfr.load(path, mode, allow_pickle=True, fix_imports=False, encoding="latin1")
        assert loaded.tolist() == [1.0, 2.0]
    assert tfr.load(file=path, mmap_mode="r", max_header_size=1000).tolist() == [1.0, 2.0]
    for mode in ("r+", "w+"):
        with pytest.raises(ArgumentError, match="would write to the file") as caught:
            tfr.load(path, mmap_mode=mode)
        assert "memmap" in str(caught.value)
    with pytest.raises(ArgumentError, match="no mmap_mode"):
        tfr.load(path, mmap_mode="rw")


def test_paths_without_a_suffix_get_numpys(tmp_path):
    tfr.save(tmp_path / "array", [1, 2])
    tfr.save(tmp_path / "several", {"x": tfr.ones(2)})
    assert np.load(tmp_path / "array.npy").tolist() == [1, 2]
    assert tfr.load(tmp_path / "several.npz")["x"].tolist() == [1.0, 1.0]


def test_archives_are_used_as_numpys_are(tmp_path):
    path = tmp_path / "archive.npz"
    np.savez(path, x=np.arange(3), y=np.ones(2))
    with open(path, "rb") as file:
        archives = [tfr.load(path), tfr.load(file)]
    for loaded in archives:
        with loaded as archive:
            assert archive.files == ["x", "y"]
            total = archive["x"].sum() + archive["y"].sum()
        loaded.close()
        assert total.item() == 5.0
        assert isinstance(loaded, dict)
        doubled = tfr.jit(lambda tensors: {name: 2 * x for name, x in tensors.items()})(loaded)
        assert doubled["x"].tolist() == [0, 2, 4]
        tfr.save(tmp_path / "again.npz", loaded)
        assert np.load(tmp_path / "again.npz").files == ["x", "y"]
