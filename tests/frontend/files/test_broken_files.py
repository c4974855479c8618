"""Files that are not what they should be: a clear error, or a tensor, and nothing else."""

import os
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import FileFormatError, MissingFileError
from tests.frontend.file_cases import (
    SUFFIXES,
    damaged,
    entry,
    npy_file,
    save_one,
    tensor,
    write_safetensors,
)


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        ({"x": entry()}, bytes(7), "truncated: the tensors end at byte"),
        ({"x": entry()}, bytes(9), "1 bytes after the last tensor"),
        ({"x": entry(), "y": entry()}, bytes(8), "overlaps"),
        ({"x": entry(offsets=(8, 16))}, bytes(16), "hole"),
        ({"x": entry(dtype="F8_E5M2")}, bytes(8), "dtype 'F8_E5M2'"),
        ({"x": entry(dtype=3)}, bytes(8), "dtype 3"),
        ({"x": entry(shape=(3,))}, bytes(8), "needs 12 bytes but has 8"),
        ({"x": entry(shape=(-2,))}, bytes(8), "impossible shape"),
        ({"x": entry(shape=(True, 2))}, bytes(8), "impossible shape"),
        ({"x": entry(shape=(0, 2**62, 8), offsets=(0, 0))}, b"", "impossible shape"),
        ({"x": entry(shape=(1,) * 65)}, bytes(4), "impossible shape"),
        ({"x": entry(offsets=(8, 0))}, bytes(8), "data_offsets"),
        ({"x": {"dtype": "F32"}}, bytes(8), "must have dtype, shape and data_offsets"),
        ({"x": 5}, b"", "must have dtype"),
        ({"__metadata__": {"a": 1}}, b"", "strings to strings"),
        (b'{"x":1,"x":2}', b"", "'x' appears twice"),
        (b'{"x"', b"", "not valid JSON"),
        (b'{"\xff"}', b"", "not valid JSON"),
        (b"[" * 100, b"", "starts with"),
        (b'{"x":' + b"[" * 100_000, b"", "not valid JSON"),
    ],
)
def test_a_wrong_safetensors_header(header, data, message, tmp_path):
    path = write_safetensors(tmp_path, header, data)
    with pytest.raises(FileFormatError) as caught:
        tfr.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes, and the header's length takes 8"),
        (b"abc", "3 bytes"),
        ((1 << 60).to_bytes(8, "little"), "the header's length is 1152921504606846976"),
        ((500).to_bytes(8, "little") + b"{}", "truncated: the header has 500 bytes, the file 10"),
    ],
)
def test_a_file_too_short_for_its_safetensors_header(content, message, tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        tfr.load(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "truncated: float32 of shape"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': [2]}", "the shape [2]"),
        ("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "fortran_order 0"),
        ("{'descr': '<U4', 'fortran_order': False, 'shape': ()}", "dtype '<U4'"),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "the dtype [('a'"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': ()}", "pickled Python objects"),
        ("{'descr': '<f4'}", "cannot be read"),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
            "cannot be read: it needs",
        ),
        ("['descr', 'fortran_order', 'shape']", "cannot be read: it needs"),
        ("{'descr': '<04', 'fortran_order': False, 'shape': (3,)}", "dtype '<04'"),
        ("{'descr': '', 'fortran_order': False, 'shape': (3,)}", "dtype ''"),
        ("{'descr': '<f4,<f4', 'fortran_order': False, 'shape': ()}", "dtype '<f4,<f4'"),
        ("{'descr': 'V99999999999999', 'fortran_order': False, 'shape': ()}", "dtype 'V9999"),
        ("{'descr': '(2,)<f4', 'fortran_order': False, 'shape': ()}", "dtype '(2,)<f4'"),
        ("{'descr': 3, 'fortran_order': False, 'shape': ()}", "dtype 3"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "the shape (-1,)"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (True,)}", "the shape (True,)"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (10**9,)}", "cannot be read"),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 30 + ",)}",
            "the shape (9999",
        ),
        ("(" * 5000, "cannot be read"),
        ("{'descr'", "cannot be read"),
        ("__import__('os').getcwd()", "cannot be read"),
    ],
)
def test_a_wrong_npy_header(header, message, tmp_path):
    path = tmp_path / "x.npy"
    npy_file(path, header)
    with pytest.raises(FileFormatError) as caught:
        tfr.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_npy_file_of_another_kind(tmp_path):
    path = tmp_path / "x.npy"
    for content, message in (
        (b"PK\x03\x04", "starts with b'PK"),
        (b"\x93NUMPY\x09\x00", "version"),
        (b"\x93NUMPY\x01\x00\xff\xff", "a header of 65535 bytes"),
        (b"\x93NUMPY\x01\x00\x99\x00{", "truncated in the header"),
    ):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=message):
            tfr.load(path)


def test_pickled_objects_are_refused_and_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "exploded"),))

    np.savez(tmp_path / "x.npz", bomb=np.array([Bomb()], dtype=object))
    with pytest.raises(FileFormatError, match="pickled") as caught:
        tfr.load(tmp_path / "x.npz")
    assert "allow_pickle" in str(caught.value)
    assert not (tmp_path / "exploded").exists()


def test_an_npz_file_with_a_name_twice(tmp_path):
    path = tmp_path / "x.npz"
    tfr.save(path, {"x": tensor([1.0]), "y": tensor([2.0])})
    path.write_bytes(path.read_bytes().replace(b"y.npy", b"x.npy"))
    with pytest.raises(FileFormatError, match="'x' appears twice"):
        tfr.load(path)


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_a_wrong_checksum_is_found_when_the_elements_are_needed(write, tmp_path):
    path = tmp_path / "x.npz"
    write(path, x=np.arange(1000.0))
    content = bytearray(path.read_bytes())
    content[600] ^= 1
    path.write_bytes(content)
    x = tfr.load(path)["x"]
    with pytest.raises(FileFormatError) as caught:
        x.numpy()
    assert str(path) in str(caught.value)
    assert f"{Path(__file__)}, line" in str(caught.value)


def test_a_bool_that_is_neither(tmp_path):
    path = write_safetensors(tmp_path, {"x": entry("BOOL", (2,), (0, 2))}, b"\1\2")
    with pytest.raises(FileFormatError, match="neither 0 nor 1"):
        tfr.load(path)["x"].numpy()


def test_a_file_that_changed_or_went_away(tmp_path):
    path = tmp_path / "x.npy"
    save_one(path, np.arange(3))
    first, second, third = (tfr.load(path) for _ in range(3))
    os.utime(path, ns=(0, 0))
    with pytest.raises(FileFormatError, match="changed since it was loaded: it was written to"):
        first.numpy()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 8)
    with pytest.raises(FileFormatError, match="it had 152 bytes and has 144"):
        second.numpy()
    path.unlink()
    with pytest.raises(MissingFileError, match=r"there is no file .*x\.npy"):
        third.numpy()


def test_a_missing_file_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        tfr.load(tmp_path / "no" / "such.npz")
    assert "such.npz" in str(caught.value)
    assert repr(str(tmp_path)) in caught.value.suggestions[0]
    assert __file__ in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)


def test_an_unknown_suffix(tmp_path):
    for name in ("x.txt", "x", ".npz"):
        with pytest.raises(FileFormatError, match="the suffix says the format") as caught:
            tfr.load(tmp_path / name)
        assert ".safetensors" in caught.value.suggestions[0]


@pytest.mark.parametrize("kind", [*SUFFIXES, "compressed"])
def test_damaged_files_give_our_error_or_a_tensor(kind, tmp_path):
    path = tmp_path / f"x{'.npz' if kind == 'compressed' else kind}"
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    if kind == "compressed":
        np.savez_compressed(path, x=array, y=np.ones(3) > 0)
    elif kind == ".npy":
        tfr.save(path, tensor(array))
    else:
        tfr.save(path, {"x": tensor(array), "y": tensor(np.ones(3) > 0)})
    content, source = path.read_bytes(), random.Random(17)
    refused = accepted = 0
    for _ in range(600):
        path.write_bytes(damaged(content, source))
        try:
            loaded = tfr.load(path)
            for one in loaded.values() if isinstance(loaded, Mapping) else [loaded]:
                one.numpy()
        except FileFormatError as error:
            refused += str(path) in error.message
        else:
            accepted += 1
    assert refused > 200
    assert refused + accepted == 600
