"""Folders of Zarr are loaded chunk by chunk and saved as a whole, or not at all."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.errors import (
    DTypeError,
    FileFormatError,
    MissingFileError,
    ReadError,
    WriteError,
)
from tensorframe.frontend.files import zarr as ours

HELD = [dtype for dtype in dtypes.BY_NAME.values() if dtype not in dtypes.ADDED]


@pytest.mark.parametrize("shape", [(), (5,), (0, 3), (3, 1, 4)])
def test_every_dtype_and_shape_comes_back_bit_by_bit(shape, tmp_path):
    for dtype in HELD:
        raw = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 256, 400, np.uint8)
        count = int(np.prod(shape, dtype=int))
        array = raw[: count * dtype.itemsize].view(dtype).reshape(shape)
        tfr.save(tmp_path / "x.zarr", tfr.asarray(array))
        back = tfr.load(tmp_path / "x.zarr")
        assert (back.shape, back.dtype) == (shape, dtype)
        assert back.numpy().tobytes() == array.tobytes()
        assert zarr.open(tmp_path / "x.zarr", mode="r")[...].tobytes() == array.tobytes()


def test_the_sign_of_zeros_is_kept(tmp_path):
    """Zarr leaves chunks out that equal what is read where none is, and -0.0 equals 0.0."""
    tfr.save(tmp_path / "x.zarr", tfr.full(10, -0.0))
    assert np.signbit(tfr.load(tmp_path / "x.zarr").numpy()).all()


def test_several_arrays_are_a_group(tmp_path):
    path = tmp_path / "x.zarr"
    tfr.save(path, {"a": tfr.arange(3), "deep/b": tfr.ones((2, 2)), "deep/c": tfr.asarray(2.5)})
    back = tfr.load(f"{path}/")
    assert list(back) == ["a", "deep/b", "deep/c"]
    assert back["a"].tolist() == [0, 1, 2]
    assert (back["deep/b"] + back["deep/c"]).tolist() == [[3.5, 3.5]] * 2
    assert np.array_equal(zarr.open(path, mode="r")["deep"]["b"], np.ones((2, 2)))
    tfr.save(path, {})
    assert tfr.load(path) == {}


@pytest.mark.parametrize("version", [2, 3])
def test_what_zarr_wrote_is_read_chunk_by_chunk(version, tmp_path):
    array = np.arange(100 * 60, dtype="i4").reshape(100, 60)
    stored = zarr.create_array(
        tmp_path / "x.zarr", shape=array.shape, chunks=(10, 60), dtype="i4", zarr_format=version
    )
    stored[...] = array
    for name in ("c/5/0", "5.0"):  # by version
        (tmp_path / "x.zarr" / name).unlink(missing_ok=True)
    x = tfr.load(tmp_path / "x.zarr")
    assert np.array_equal((x * 2)[10:50:3, ::-1].numpy(), (array * 2)[10:50:3, ::-1])
    assert x[55, 3].item() == 0  # a chunk that is not there is zeros


@pytest.mark.parametrize(
    ("shape", "size", "chunks"),
    [
        ((), 8, ()),
        ((0, 3), 8, (1, 3)),
        ((100, 100), 8, (100, 100)),
        ((10_000, 1000), 4, (1048, 1000)),
        ((50, 2000, 2000), 4, (1, 524, 2000)),
        ((7, 3, 1 << 30), 8, (1, 1, 1 << 19)),
    ],
)
def test_chunks_are_consecutive_elements_of_some_megabytes(shape, size, chunks):
    assert ours.chunks_of(shape, size) == chunks


def test_a_chunk_that_is_damaged_names_the_line_that_loaded_it(tmp_path):
    path = tmp_path / "x.zarr"
    tfr.save(path, tfr.reshape(tfr.arange(10_000), (100, 100)))
    (chunk,) = [file for file in (path / "c").rglob("*") if file.is_file()]
    with chunk.open("r+b") as file:
        file.truncate(100)
    x = tfr.load(path)  # this line
    with pytest.raises(
        ReadError, match=r"reading \[3:4, 0:100\] of zarr.Array .* raised"
    ) as caught:
        (x + 1)[3].numpy()
    assert "# this line" in str(caught.value)


def test_what_is_no_folder_of_zarr_is_refused(tmp_path):
    with pytest.raises(MissingFileError, match="there is no file"):
        tfr.load(tmp_path / "x.zarr")
    (tmp_path / "x.zarr").mkdir()
    with pytest.raises(FileFormatError, match="not an array or a group of Zarr"):
        tfr.load(tmp_path / "x.zarr")
    (tmp_path / "y.zarr").write_text("text")
    with pytest.raises(FileFormatError, match="not an array or a group of Zarr"):
        tfr.load(tmp_path / "y.zarr")
    with pytest.raises(FileFormatError, match="no metadata"):
        tfr.save(tmp_path / "x.zarr", tfr.ones(3), metadata={"a": "b"})


def test_a_member_that_no_tensor_holds_leaves_the_others(tmp_path):
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    group.create_array("good", shape=(3,), dtype="f4")
    group.create_array("times", shape=(3,), dtype="M8[s]")
    back = tfr.load(tmp_path / "x.zarr")
    assert back["good"].tolist() == [0, 0, 0]
    with pytest.raises(FileFormatError, match="datetime64"):
        back["times"]
    assert list(back.unreadable) == ["times"]


def test_without_the_package_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(FileFormatError, match=r"pip install 'tensorframe-lazy\[zarr\]'"):
        tfr.save(tmp_path / "x.zarr", tfr.ones(3))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["../x", "a//b", "/a", ".", "a/../../b"])
def test_names_stay_in_the_group(name, tmp_path):
    with pytest.raises(DTypeError, match="cannot be the name"):
        tfr.save(tmp_path / "x.zarr", {name: tfr.ones(3)})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "tensors", [{"a": tfr.ones(3), "a/b": tfr.ones(3)}, tfr.ones(3, dtype=tfr.bfloat16)]
)
def test_what_zarr_does_not_take_leaves_nothing(tensors, tmp_path):
    with pytest.raises(DTypeError, match="Zarr does not take"):
        tfr.save(tmp_path / "x.zarr", tensors)
    assert os.listdir(tmp_path) == []


def test_a_folder_of_something_else_is_not_replaced(tmp_path):
    path = tmp_path / "x.zarr"
    path.mkdir()
    (path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileFormatError, match="is not of Zarr, and is not replaced"):
        tfr.save(path, tfr.ones(3))
    assert (path / "thesis.txt").read_text() == "years of work"
    assert os.listdir(tmp_path) == ["x.zarr"]


@pytest.mark.parametrize("where", ["write", "first name", "second name"])
def test_a_save_that_fails_leaves_the_old_folder_and_nothing_else(where, tmp_path, monkeypatch):
    path = tmp_path / "x.zarr"
    tfr.save(path, tfr.arange(3))
    rename, calls = Path.rename, []

    def fails(self, target):
        calls.append(target)
        if len(calls) == (1 if where == "first name" else 2):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    class Raises:
        shape, dtype = (100, 100), np.dtype("f4")

        def __getitem__(self, key):
            raise OSError("no")

    if where == "write":
        with pytest.raises(ReadError):
            tfr.save(path, tfr.from_reader(Raises()) + 1)
    else:
        monkeypatch.setattr(Path, "rename", fails)
        with pytest.raises(WriteError, match="the new folder cannot take its name: No space left"):
            tfr.save(path, tfr.arange(9))
        monkeypatch.undo()
    assert tfr.load(path).tolist() == [0, 1, 2]
    assert os.listdir(tmp_path) == ["x.zarr"]


def test_saving_over_the_folder_that_the_tensor_comes_from(tmp_path):
    path = tmp_path / "x.zarr"
    tfr.save(path, tfr.arange(3))
    tfr.save(path, tfr.load(path) * 2)
    assert tfr.load(path).tolist() == [0, 2, 4]
