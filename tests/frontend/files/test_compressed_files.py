"""Compressed members of `.npz`: which versions and members are read, and parts of them in pieces."""

import contextlib
import json
import os
import random
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.errors import DTypeError, FileFormatError, MissingFileError
from tensorframe.frontend.files import packed, slabs
from tests.frontend.file_cases import (
    load_one,
    npy_bytes,
    npy_file,
    npz_of,
    same_bits,
    save_one,
    tensor,
    values,
    write_safetensors,
)


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
