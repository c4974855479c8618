"""Saving and loading: the same bits, what is read and when, what is written and how."""

import os

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.errors import DTypeError, FileFormatError
from tests.frontend.file_cases import (
    ALL,
    HELD,
    NUMBERS,
    SHAPES,
    SUFFIXES,
    load_one,
    same_bits,
    save_one,
    tensor,
    values,
    write_safetensors,
)


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
