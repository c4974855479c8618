"""Saved tensors come back as they were, loading reads only headers, and damaged files give one kind of error."""

import contextlib
import io
import json
import os
import random
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.errors import DTypeError, FileFormatError, MissingFileError
from tensorframe.frontend.dispatch import data_node
from tensorframe.frontend.files import packed, slabs

SHAPES = ((), (1,), (5,), (0,), (2, 3), (0, 3), (2, 0, 3), (3, 1, 4))
ALL = list(dtypes.BY_NAME.values())
NUMBERS: Any = {"a": 1}
SUFFIXES = (".npz", ".npy", ".safetensors")
HELD = {".npz": ALL, ".npy": ALL, ".safetensors": [one for one in ALL if one != tfr.complex128]}


def tensor(array):
    return tfr.Tensor(data_node(np.asarray(array)))


def values(dtype, shape, seed=0):
    """Random elements, the bits of NaN included."""
    generator = np.random.default_rng(seed)
    count = int(np.prod(shape, dtype=int))
    if dtype == tfr.bool_:
        return generator.integers(0, 2, count).astype(dtype).reshape(shape)
    raw = generator.integers(0, 256, count * dtype.itemsize).astype(np.uint8)
    return raw.view(dtype).reshape(shape)


def same_bits(array, wanted):
    return (
        array.dtype == wanted.dtype
        and array.shape == wanted.shape
        and array.tobytes() == wanted.tobytes()
    )


def save_one(path, array):
    tfr.save(path, tensor(array) if path.suffix == ".npy" else {"x": tensor(array)})


def load_one(path):
    loaded = tfr.load(path)
    return loaded if path.suffix == ".npy" else loaded["x"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_dtype_and_shape_comes_back_bit_by_bit(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    for dtype in HELD[suffix]:
        for shape in SHAPES:
            array = values(dtype, shape)
            save_one(path, array)
            back = load_one(path)
            assert (back.dtype, back.shape) == (dtype, shape)
            assert same_bits(back.numpy(), array), (dtype, shape)


@settings(max_examples=60, deadline=None)
@given(
    suffix=st.sampled_from([".npz", ".safetensors"]),
    names=st.lists(st.text(min_size=1).filter(lambda name: "\0" not in name), unique=True),
    data=st.data(),
)
def test_any_mapping_comes_back_in_order(suffix, names, data, tmp_path_factory):
    # zip files know only forward slashes, as folders, and a few unprintable characters end a name
    names = [name for name in names if name.isprintable() and "\\" not in name and "/" not in name]
    arrays = {
        name: values(
            data.draw(st.sampled_from(HELD[suffix])), data.draw(st.sampled_from(SHAPES)), seed
        )
        for seed, name in enumerate(names)
    }
    path = tmp_path_factory.mktemp("any") / f"x{suffix}"
    tfr.save(path, {name: tensor(array) for name, array in arrays.items()})
    back = tfr.load(str(path))
    assert list(back) == names
    for name, array in arrays.items():
        assert same_bits(back[name].numpy(), array), name


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_views_are_saved_as_what_they_show(suffix, tmp_path):
    base = np.arange(24.0).reshape(4, 6)
    path = tmp_path / f"x{suffix}"
    for view in (base.T, base[::-2, 1::2], np.broadcast_to(base[0], (3, 6)), base[:, 2]):
        save_one(path, view)
        assert np.array_equal(load_one(path).numpy(), view)


def test_what_is_saved_is_computed_with_what_it_shares(tmp_path):
    x = tensor([1.0, 2.0])
    shared = x * 3.0
    tfr.save(tmp_path / "x.npz", {"up": shared + 1.0, "down": shared - 1.0})
    back = np.load(tmp_path / "x.npz")
    assert back["up"].tolist() == [4.0, 7.0]
    assert back["down"].tolist() == [2.0, 5.0]


def test_numpy_reads_what_we_write_and_we_what_numpy_writes(tmp_path):
    arrays = {dtype.name: values(dtype, (3, 4)) for dtype in ALL if dtype != tfr.bfloat16}
    tfr.save(tmp_path / "ours.npz", {name: tensor(array) for name, array in arrays.items()})
    with np.load(tmp_path / "ours.npz") as theirs:
        assert all(same_bits(theirs[name], array) for name, array in arrays.items())
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "theirs.npz", **arrays)
        back = tfr.load(tmp_path / "theirs.npz")
        assert all(same_bits(back[name].numpy(), array) for name, array in arrays.items())


def test_bfloat16_goes_through_numpys_formats(tmp_path):
    array = values(np.dtype(tfr.bfloat16), (5,))
    np.savez(tmp_path / "theirs.npz", x=array)
    assert same_bits(tfr.load(tmp_path / "theirs.npz")["x"].numpy(), array)
    tfr.save(tmp_path / "ours.npy", tensor(array))
    assert same_bits(np.load(tmp_path / "ours.npy").view(tfr.bfloat16), array)


@pytest.mark.parametrize("compress", [False, True])
def test_other_byte_order_and_column_order_are_read(compress, tmp_path):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    write = np.savez_compressed if compress else np.savez
    write(tmp_path / "x.npz", columns=array, big=array.astype(">f8"), both=array.T.astype(">i2"))
    back = tfr.load(tmp_path / "x.npz")
    assert back["big"].dtype == tfr.float64
    assert np.array_equal(back["columns"].numpy(), array)
    assert np.array_equal(back["big"].numpy(), array)
    assert np.array_equal(back["both"].numpy(), array.T)


def test_the_reference_reads_what_we_write_and_we_what_it_writes(tmp_path):
    arrays = {dtype.name: values(dtype, (3, 5)) for dtype in HELD[".safetensors"]}
    arrays |= {"scalar": np.array(2.5, np.float32), "empty": np.empty((0, 4), np.int16)}
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    tfr.save(ours, {name: tensor(array) for name, array in arrays.items()}, metadata={"by": "us"})
    read = safetensors.numpy.load_file(ours)
    assert all(same_bits(read[name], array) for name, array in arrays.items())
    with safetensors.safe_open(ours, "np") as file:
        assert file.metadata() == {"by": "us"}
    safetensors.numpy.save_file(arrays, theirs, metadata={"by": "them"})
    back = tfr.load(theirs)
    assert all(same_bits(back[name].numpy(), array) for name, array in arrays.items())
    assert tfr.load_metadata(theirs) == {"by": "them"}


def test_elements_that_are_not_aligned_are_read(tmp_path):
    header = {
        "byte": {"dtype": "I8", "shape": [1], "data_offsets": [0, 1]},
        "wide": {"dtype": "F64", "shape": [2], "data_offsets": [1, 17]},
    }
    path = write_safetensors(tmp_path, header, b"\7" + np.array([1.5, -2.0]).tobytes())
    back = tfr.load(path)
    assert back["wide"].numpy().tolist() == [1.5, -2.0]
    assert back["wide"].numpy().flags.aligned


def test_loading_and_a_slice_read_no_more_than_they_need(tmp_path):
    """A file of 1 TiB with a hole where its elements would be: reading them all would never end."""
    count = 1 << 38
    header = {"x": {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}
    path = write_safetensors(tmp_path, header, b"")
    start = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(start + 4 * count)
        file.seek(start + 4 * (count - 2))
        file.write(np.float32(7.0).tobytes())
    x = tfr.load(path)["x"]
    assert x.shape == (count,)
    assert x.compute()[-3:].numpy().tolist() == [0.0, 7.0, 0.0]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_elements_are_mapped_not_read(suffix, tmp_path):
    path = tmp_path / f"a file{suffix}"
    save_one(path, np.arange(1000.0))
    array = load_one(path).numpy()
    while isinstance(array.base, np.ndarray):
        array = array.base
    assert type(array.base).__name__ == "mmap"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_loaded_tensors_are_operands_like_others(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    save_one(path, np.arange(6.0).reshape(2, 3))
    x = load_one(path)
    assert np.array_equal((x * 2 + x).numpy(), np.arange(6.0).reshape(2, 3) * 3)
    assert not x.numpy().flags.writeable


@pytest.mark.parametrize("small_size", [0, 4096])
def test_what_was_read_once_stays(small_size, tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.arange(3.0))
    with tfr.config.override(small_size=small_size):
        x = tfr.load(path)["x"]
        assert (x + 1).numpy().tolist() == [1.0, 2.0, 3.0]
        path.unlink()
        assert (x + 2).numpy().tolist() == [2.0, 3.0, 4.0]


def test_a_device_may_be_named(tmp_path):
    save_one(tmp_path / "x.npz", np.ones(3))
    assert tfr.load(tmp_path / "x.npz", device="numpy")["x"].device == "numpy"
    with pytest.raises(tfr.errors.DeviceError):
        tfr.load(tmp_path / "x.npz", device="nowhere")


def test_equal_tensors_give_equal_files(tmp_path):
    for suffix in SUFFIXES:
        save_one(tmp_path / f"first{suffix}", np.arange(3))
        save_one(tmp_path / f"second{suffix}", np.arange(3))
        first, second = (tmp_path / f"{name}{suffix}" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()


# --- saving


def test_saving_over_the_file_the_tensors_come_from(tmp_path):
    path = tmp_path / "x.npz"
    save_one(path, np.arange(3.0))
    tfr.save(path, {"x": tfr.load(path)["x"] + 1.0})
    assert load_one(path).numpy().tolist() == [1.0, 2.0, 3.0]


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    save_one(path, np.arange(3))
    old = path.read_bytes()

    def disk_full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "pwrite", disk_full)
    with pytest.raises(OSError, match="no space"):
        save_one(path, np.arange(9))
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_saving_keeps_links_and_the_usual_permissions(tmp_path):
    target, link = tmp_path / "target.npy", tmp_path / "link.npy"
    plain = tmp_path / "plain"
    plain.touch()
    link.symlink_to(target)
    tfr.save(link, tensor([1, 2]))
    assert link.is_symlink()
    assert target.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize(
    ("name", "tensors", "message"),
    [
        ("x.npy", {"x": [1.0]}, "holds one tensor"),
        ("x.npz", None, "by name"),
        ("x.npz", {3: [1.0]}, "3 cannot be the name"),
        ("x.safetensors", {"__metadata__": [1.0]}, "cannot be the name"),
        ("x.safetensors", {"x": [1j]}, "cannot hold complex128, the dtype of 'x'"),
    ],
)
def test_what_cannot_be_saved(name, tensors, message, tmp_path):
    made = tensor([1.0]) if tensors is None else {key: tensor(one) for key, one in tensors.items()}
    with pytest.raises(DTypeError, match=message) as caught:
        tfr.save(tmp_path / name, made)
    assert list(tmp_path.iterdir()) == []
    assert __file__ in str(caught.value)


def test_metadata_are_strings_in_safetensors_only(tmp_path):
    with pytest.raises(FileFormatError, match="no metadata"):
        tfr.save(tmp_path / "x.npz", {}, metadata={"a": "b"})
    with pytest.raises(DTypeError, match="strings by name"):
        tfr.save(tmp_path / "x.safetensors", {}, metadata=NUMBERS)
    with pytest.raises(FileFormatError, match="not a safetensors or GGUF file"):
        tfr.load_metadata(tmp_path / "x.npz")


# --- files that are not what they should be


def write_safetensors(folder, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = folder / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


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


def npy_file(path, header, data=b""):
    text = header.encode("latin1")
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data)


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


def damaged(content, source):
    """One to three bytes changed, or an end or a middle cut out, or repeated."""
    content = bytearray(content)
    for _ in range(source.randint(1, 3)):
        at, width = source.randrange(len(content) + 1), source.randint(1, 16)
        kind = source.randrange(8)
        if kind == 0:
            del content[at:]
        elif kind == 1:
            del content[at : at + width]
        elif kind == 2:
            content[at:at] = content[at : at + width]
        elif content:
            content[at % len(content)] = source.choice([0, 255, source.randrange(256)])
    return bytes(content)


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


def npz_of(path, members, *, compressed=True):
    """A zip file of these bytes by name."""
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy_bytes(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), version=version)
    return file.getvalue()


def test_any_text_as_a_dtype_is_our_error_or_a_tensor(tmp_path):
    source, path = random.Random(5), tmp_path / "x.npy"
    letters = "<>=|bBhHiIlLqQfdgFDGSUVOMm?aceg0123456789,()[]: '"
    for _ in range(500):
        text = "".join(source.choice(letters) for _ in range(source.randint(0, 6)))
        npy_file(path, f"{{'descr': {text!r}, 'fortran_order': False, 'shape': ()}}", bytes(4))
        with contextlib.suppress(FileFormatError):
            tfr.load(path).numpy()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_version_of_the_format_is_read(version, order, tmp_path):
    array = np.asarray(values(dtypes.float64, (3, 4, 2)), order=order)
    (tmp_path / "x.npy").write_bytes(npy_bytes(array, version))
    npz_of(tmp_path / "x.npz", {"x.npy": npy_bytes(array, version)})
    assert same_bits(tfr.load(tmp_path / "x.npy").numpy(), array)
    assert same_bits(tfr.load(tmp_path / "x.npz")["x"].numpy(), array)


def test_a_header_that_python_2_wrote(tmp_path):
    path = tmp_path / "x.npy"
    npy_file(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 1L), }", bytes(8))
    assert tfr.load(path).tolist() == [[0.0], [0.0]]


def test_a_header_with_a_key_twice_is_refused_in_linear_time(tmp_path):
    keys = 20_000
    listed = ",".join(f'"k{index}":1' for index in [*range(keys), keys - 1])
    path = write_safetensors(tmp_path, b"{" + listed.encode() + b"}", b"")
    before = time.process_time()
    with pytest.raises(FileFormatError, match=rf"the key 'k{keys - 1}' appears twice"):
        tfr.load(path)
    # 20 ms here; counting each name took 5 s and more
    assert time.process_time() - before < 2


NOT_ARRAYS = {
    "notes.txt": (b"no array", "is not a NumPy array"),
    "empty.npy": (b"", "is not a NumPy array"),
    "version.npy": (b"\x93NUMPY\x07\x00" + bytes(50), "unknown format version"),
    "objects.npy": (npy_bytes(np.array([{}])), "pickled Python objects"),
    "text.npy": (npy_bytes(np.array(["text"])), "dtype '<U4'"),
    "short.npy": (npy_bytes(np.arange(9.0))[:-1], "takes 72 bytes, but there are 71"),
    "long.npy": (npy_bytes(np.arange(9.0)) + b"x", "takes 72 bytes, but there are 73"),
}


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("name", NOT_ARRAYS)
def test_a_member_that_is_no_array_leaves_the_others(name, compressed, tmp_path):
    content, message = NOT_ARRAYS[name]
    good, key = values(dtypes.int32, (2, 3)), name.removesuffix(".npy")
    members = {"a.npy": npy_bytes(good), name: content, "folder/": b"", "b.npy": npy_bytes(good)}
    found = tfr.load(npz_of(tmp_path / "x.npz", members, compressed=compressed))
    assert list(found) == ["a", key, "b"]
    assert key in found
    assert same_bits(found["a"].numpy(), good)
    assert same_bits(found["b"].numpy(), good)
    for touch in (
        lambda: found[key],
        lambda: found.get(key),
        lambda: dict(found),
        lambda: {**found},
    ):
        with pytest.raises(FileFormatError) as caught:
            touch()
        assert message in str(caught.value)
        assert str(tmp_path) in str(caught.value)
        assert __file__ in str(caught.value)
    assert list(found.unreadable) == [key]
    assert "unreadable" in repr(found)
    with pytest.raises(KeyError):
        found["nobody"]
    with pytest.raises(FileFormatError):
        tfr.save(tmp_path / "y.npz", found)
    assert not (tmp_path / "y.npz").exists()


def test_a_file_without_any_array_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"'notes\.txt' is not a NumPy array"):
        tfr.load(npz_of(tmp_path / "x.npz", {"notes.txt": b"no array"}))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors", "compressed"])
def test_claims_beyond_the_option_are_refused(suffix, tmp_path):
    path, array = tmp_path / f"x{suffix if suffix[0] == '.' else '.npz'}", np.zeros(1000)
    if suffix == "compressed":
        np.savez_compressed(path, x=array)
    else:
        save_one(path, array)
    with tfr.config.override(load_bytes=8000):
        assert load_one(path).size == 1000
    with tfr.config.override(load_bytes=7999), pytest.raises(FileFormatError) as caught:
        tfr.load(path)
    assert "claims 8000 bytes, and the option load_bytes allows 7999" in str(caught.value)
    assert "load_bytes=8000" in caught.value.suggestions[0]


def test_claims_that_no_compression_keeps_are_refused(tmp_path):
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (999999999,)}"
    text = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    path = npz_of(tmp_path / "x.npz", {"x.npy": text})
    content = bytearray(path.read_bytes())
    claimed = (999_999_999 + len(text)).to_bytes(4, "little")
    at = content.index(b"PK\x01\x02")
    content[at + 24 : at + 28] = claimed
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="cannot unpack to 1000000"):
        tfr.load(path)


def test_pipes_devices_and_folders_are_refused_at_once(tmp_path):
    (tmp_path / "folder.npz").mkdir()
    names = ["folder.npz"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.npy")
        (tmp_path / "zeros.npy").symlink_to("/dev/zero")
        names += ["pipe.npy", "zeros.npy"]
    for name in names:
        with pytest.raises(FileFormatError, match="not a file"):
            tfr.load(tmp_path / name)
    with pytest.raises(FileFormatError, match="a folder is in the way"):
        tfr.save(tmp_path / "folder.npz", {"x": tensor([1.0])})
    for write in (tfr.load, lambda path: tfr.save(path, {"x": tensor([1.0])})):
        with pytest.raises(MissingFileError, match="there is no file"):
            write(tmp_path / "no" / "x.npz")
        with pytest.raises(FileFormatError, match="null character"):
            write("a\0b.npz")


def test_names_that_no_file_can_spell_are_refused(tmp_path):
    for suffix in (".npz", ".safetensors"):
        with pytest.raises(DTypeError, match="cannot be the name"):
            tfr.save(tmp_path / f"x{suffix}", {"\ud800": tensor([1.0])})
    with pytest.raises(DTypeError, match="metadata are strings"):
        tfr.save(tmp_path / "x.safetensors", {}, metadata={"a": "\udfff"})


WINDOWS = [
    np.s_[0],
    np.s_[-1, -1, -1],
    np.s_[:, 3],
    np.s_[..., 2],
    np.s_[2:5, ::-2, 1:],
    np.s_[::-3],
    np.s_[6, 4:1:-1, ::3],
    np.s_[3:3],
    np.s_[:],
    np.s_[..., None, 1, :],
]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("piece", [8, 40, 100, 1000, 1 << 20])
def test_parts_of_compressed_arrays_are_what_numpy_shows(order, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(slabs, "PIECE", piece)
    monkeypatch.setattr(packed, "PASSES", 10**6)
    array = np.asarray(np.arange(7 * 6 * 5, dtype=np.float64).reshape(7, 6, 5), order=order)
    np.savez_compressed(tmp_path / "x.npz", x=array, y=array[:, 0, 0], z=array[0, 0, 0])
    found = tfr.load(tmp_path / "x.npz")
    with tfr.config.override(small_size=0):
        for window in WINDOWS:
            assert np.array_equal(found["x"][window].numpy(), array[window]), window
        assert found["y"][-2].item() == array[-2, 0, 0]
        assert found["z"].item() == array[0, 0, 0]
        assert np.array_equal(
            (found["y"][::2] + found["y"][1]).numpy(), array[::2, 0, 0] + array[1, 0, 0]
        )
        assert np.array_equal(found["x"].numpy(), array)


def test_one_element_of_a_compressed_array_takes_a_pieces_memory(tmp_path):
    size = 16 << 20
    np.savez_compressed(tmp_path / "x.npz", x=np.arange(size // 8).reshape(-1, 64))
    x = tfr.load(tmp_path / "x.npz")["x"]
    tracemalloc.start()
    try:
        assert x[-1, 5].item() == size // 8 - 64 + 5
        assert repr(x).count("...") > 0
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 8 << 20
        tracemalloc.reset_peak()
        assert x.numpy()[-1, -1] == size // 8 - 1
        _, peak = tracemalloc.get_traced_memory()
        assert size <= peak < size + (8 << 20)
    finally:
        tracemalloc.stop()


def test_whoever_goes_on_slicing_gets_all_of_it_read_once(tmp_path, monkeypatch):
    passes = []
    unpacked = packed.PackedMember._unpacked
    monkeypatch.setattr(
        packed.PackedMember,
        "_unpacked",
        lambda self, windows: passes.append(len(windows)) or unpacked(self, windows),
    )
    array = np.arange(20_000.0).reshape(100, 200)
    np.savez_compressed(tmp_path / "x.npz", x=array)
    x = tfr.load(tmp_path / "x.npz")["x"]
    for index in range(100):
        assert np.array_equal(x[index].numpy(), array[index])
    assert passes == [1] * (packed.PASSES + 1)
    assert np.array_equal(x.numpy(), array)
    assert np.array_equal(tfr.load(tmp_path / "x.npz")["x"][3:5].sum().numpy(), array[3:5].sum())
    assert len(passes) == packed.PASSES + 2


def test_slices_beside_the_whole_are_read_with_it(tmp_path, monkeypatch):
    array = np.arange(20_000.0).reshape(100, 200)
    np.savez_compressed(tmp_path / "x.npz", x=array)
    x = tfr.load(tmp_path / "x.npz")["x"]
    monkeypatch.setattr(packed.PackedMember, "parts", None)
    assert np.array_equal((x + x[3]).numpy(), array + array[3])


def test_a_damaged_part_is_found_whatever_is_asked_for(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.random.default_rng(1).random(20_000))
    content = bytearray(path.read_bytes())
    content[-5000] ^= 1
    path.write_bytes(content)
    x = tfr.load(path)["x"]
    for part in (x[0], x[:5], x):
        with pytest.raises(FileFormatError) as caught:
            part.numpy()
        assert f"{Path(__file__)}, line" in str(caught.value)


def test_threads_that_slice_a_compressed_array_at_once(tmp_path):
    array = np.arange(50_000.0).reshape(50, 1000)
    np.savez_compressed(tmp_path / "x.npz", x=array)
    x, found = tfr.load(tmp_path / "x.npz")["x"], []

    def look(at):
        found.append(np.array_equal(x[at].numpy(), array[at]))

    threads = [threading.Thread(target=look, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


STRANGE: list[Any] = [
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    True,
    None,
    1.5,
    float("nan"),
    "x",
    "\ud800",
    [],
    {},
    [[]],
]


def test_any_header_of_safetensors_is_our_error_or_tensors(tmp_path):
    source, refused = random.Random(11), 0

    def strange(normal):
        return source.choice(STRANGE) if source.random() < 0.15 else normal

    for _ in range(500):
        header, position = {}, 0
        for index in range(source.randint(0, 4)):
            size = source.choice([0, 1, 2])
            end = position + 4 * size
            one = {
                "dtype": strange("F32"),
                "shape": strange([strange(size)]),
                "data_offsets": strange([strange(position), strange(end)]),
            }
            header[source.choice(["x", "", "\ud800", f"name {index}", "__metadata__"])] = strange(
                one
            )
            position = end
        if source.random() < 0.2:
            header["__metadata__"] = strange({"a": strange("b")})
        path = write_safetensors(tmp_path, json.dumps(header).encode(), bytes(position))
        try:
            for one in tfr.load(path).values():
                one.numpy()
        except FileFormatError:
            refused += 1
    assert 200 < refused < 450


def test_a_slice_of_a_result_of_a_compressed_array_takes_a_pieces_memory(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.zeros((4000, 1000)))
    x = tfr.load(path)["x"]
    tracemalloc.start()
    try:
        assert (x * 2 + 1)[7, 3:5].tolist() == [1.0, 1.0]
        assert tracemalloc.get_traced_memory()[1] < 5 * slabs.PIECE
    finally:
        tracemalloc.stop()
