"""Open files and buffers take and give arrays in NumPy's formats, as `np.save` and `np.load` have it."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, FileFormatError


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
