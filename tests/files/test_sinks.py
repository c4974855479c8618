"""Sinks take windows in any order; what they make appears whole or not at all."""

import errno
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import zipfile

import h5py
import numpy as np
import pytest
import safetensors.numpy
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.errors import DTypeError, FileFormatError, KernelError, ShapeError, WriteError
from tensorframe.files import windows
from tensorframe.frontend.files import archive, write
from tensorframe.frontend.files.npy import npy_sink
from tensorframe.frontend.files.safetensors import sinks
from tensorframe.rewrite.views import Window

FILES = (".npy", ".npz", ".safetensors")


def save_one(path, tensor):
    tfr.save(path, tensor if path.suffix == ".npy" else {"x": tensor})


def cut(shape, data):
    """Windows that show each element once: every axis in two parts, steps of two and backwards among them."""
    ranges = []
    for size in shape:
        at = data.draw(st.integers(0, size))
        parts = [(0, at, 1), (size - 1, size - at, -1)]
        if data.draw(st.booleans()):
            parts = [(0, -(-size // 2), 2), (1, size // 2, 2)]
        ranges.append(parts)
    picked = [[]]
    for parts in ranges:
        picked = [[*axes, part] for axes in picked for part in parts]
    return [Window.of_axes(axes) for axes in picked]


@settings(max_examples=80)
@given(data=st.data(), piece=st.sampled_from((8, 64, windows.PIECE)))
def test_windows_in_any_order_make_the_array(data, piece, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    shape = data.draw(st.sampled_from(((), (7,), (4, 5), (2, 3, 4))))
    kind = data.draw(st.sampled_from(("f4", "?", "c16")))
    array = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(kind)
    held = np.empty(shape, kind)
    sink = npy_sink(str(folder / "x.npy"), shape, np.dtype(kind))
    into = [sink, *([objects_sink(held)] if shape else [])]
    with pytest.MonkeyPatch.context() as patch, write.written(into):
        patch.setattr(windows, "PIECE", piece)
        for window in data.draw(st.permutations(cut(shape, data))):
            part = array[window.key()]
            for one in into:
                one.write(window, np.asfortranarray(part) if data.draw(st.booleans()) else part)
    assert np.array_equal(np.load(folder / "x.npy"), array)
    assert not shape or np.array_equal(held, array)
    assert os.listdir(folder) == ["x.npy"]


def objects_sink(array):
    from tensorframe.frontend.files.objects import sink_of

    return sink_of(array, array.shape, array.dtype)


def test_several_tensors_of_a_file_appear_when_the_last_is_complete(tmp_path):
    path = tmp_path / "x.safetensors"
    kinds = {"small": ((3,), np.dtype("u1")), "large": ((2, 2), np.dtype("f8"))}
    small, large = sinks(str(path), kinds, {})
    large.write(Window.whole((2, 2)), np.ones((2, 2)))
    large.close()
    assert not path.exists()
    small.write(Window.whole((3,)), np.arange(3, dtype="u1"))
    small.close()
    assert safetensors.numpy.load_file(path)["small"].tolist() == [0, 1, 2]
    small, large = sinks(str(path), kinds, {})
    small.close()
    large.abort()
    assert os.listdir(tmp_path) == ["x.safetensors"]
    assert safetensors.numpy.load_file(path)["small"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("limit", [archive.LIMIT, 10, 1500])
@pytest.mark.parametrize("most", [archive.MOST_MEMBERS, 1])
def test_archives_are_zip_files_whatever_their_size(limit, most, tmp_path, monkeypatch):
    """Numbers beyond limits have other places; with lower limits, those of small files are beyond them, too."""
    monkeypatch.setattr(archive, "MOST_MEMBERS", most)
    arrays = {"a": np.arange(300.0), "äö €": np.zeros((2, 0)), "deep/b": np.array(True)}
    monkeypatch.setattr(archive, "LIMIT", limit)
    tfr.save(tmp_path / "x.npz", arrays)
    with zipfile.ZipFile(tmp_path / "x.npz") as file:
        assert file.testzip() is None
        assert file.namelist() == [f"{name}.npy" for name in arrays]
    with np.load(tmp_path / "x.npz") as back:
        assert all(np.array_equal(back[name], array) for name, array in arrays.items())
    assert all(
        np.array_equal(tfr.load(tmp_path / "x.npz")[name].numpy(), arrays[name]) for name in arrays
    )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_members_have_their_checksums_in_whatever_order_they_are_written(order, tmp_path):
    array = np.arange(3000.0).reshape(30, 100)
    kinds = {"x": ((30, 100), array.dtype), "y": ((5,), np.dtype("u1"))}
    first, second = into = archive.npz_sinks(str(tmp_path / "x.npz"), kinds)
    with write.written(into):
        second.write(Window((0,), (5,), (1,)), np.arange(5, dtype="u1"))
        for part in order:
            window = Window((10 * part, 0), (10, 100), (1, 1))
            first.write(window, array[window.key()])
    with zipfile.ZipFile(tmp_path / "x.npz") as file:
        assert file.testzip() is None
    assert np.array_equal(np.load(tmp_path / "x.npz")["x"], array)


def test_names_that_no_archive_holds(tmp_path):
    with pytest.raises(DTypeError, match="too long"):
        tfr.save(tmp_path / "x.npz", {"n" * 70_000: tfr.ones(3)})
    assert os.listdir(tmp_path) == []


# --- objects


@pytest.mark.parametrize("kind", ["h5py", "zarr", "memmap", "array"])
def test_objects_of_other_libraries_take_a_tensor(kind, tmp_path):
    made = {
        "h5py": lambda: h5py.File(tmp_path / "x.h5", "w").create_dataset("x", (30, 20), "f4"),
        "zarr": lambda: zarr.create_array(
            tmp_path / "x.zarr", shape=(30, 20), chunks=(7, 7), dtype="f4"
        ),
        "memmap": lambda: np.memmap(tmp_path / "x.dat", ">f4", "w+", shape=(30, 20)),
        "array": lambda: np.zeros((30, 20), "f4"),
    }[kind]()
    x = tfr.reshape(tfr.arange(600, dtype=tfr.float32), (30, 20))
    tfr.save(made, x * 2)
    assert np.array_equal(np.asarray(made[...]), x.numpy() * 2)


@pytest.mark.parametrize(
    ("into", "tensor", "error", "message"),
    [
        (
            np.zeros((3, 4)),
            np.ones((4, 3)),
            ShapeError,
            r"shape \(4, 3\) does not go into .* \(3, 4\)",
        ),
        (
            np.zeros(3),
            np.ones(3, "f4"),
            DTypeError,
            "a tensor of float32 does not go into .*float64",
        ),
        (np.zeros(3, "M8[s]"), np.ones(3), DTypeError, "datetime64"),
        ([1, 2], np.ones(2), DTypeError, "assignment to slices, is written to, got list"),
        (4.5, np.ones(2), DTypeError, "got float"),
        (np.zeros(3), {"x": np.ones(3)}, DTypeError, "holds one tensor, got a mapping"),
    ],
    ids=["shape", "dtype", "no dtype of ours", "list", "number", "mapping"],
)
def test_objects_that_cannot_take_a_tensor_are_refused_before_it_is_computed(
    into, tensor, error, message
):
    with pytest.raises(error, match=message):
        tfr.save(into, tensor)


def test_what_an_object_raises_names_the_slice(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=np.zeros(3))
    message = r"writing \[0:3\] of h5py.Dataset '/x' raised"
    with (
        h5py.File(tmp_path / "x.h5", "r") as file,
        pytest.raises(WriteError, match=message) as caught,
    ):
        tfr.save(file["x"], tfr.ones(3, dtype=tfr.float64))
    assert caught.value.__cause__ is not None
    with pytest.raises(FileFormatError, match="takes no metadata"):
        tfr.save(np.zeros(3), np.zeros(3), metadata={"a": "b"})


# --- what fails


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize("call", ["pwrite", "replace"])
def test_a_disk_that_fails_leaves_the_old_file_and_nothing_else(
    call, suffix, tmp_path, monkeypatch
):
    path = tmp_path / f"x{suffix}"
    save_one(path, tfr.arange(3))
    old = path.read_bytes()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "replace":
        monkeypatch.setattr("pathlib.Path.replace", full)
    elif suffix == ".npz":
        monkeypatch.setattr("tensorframe.files.access._write", full)
    else:
        monkeypatch.setattr("tensorframe.files.access._write", full)
    with pytest.raises(WriteError, match="No space left on device") as caught:
        save_one(path, tfr.arange(9))
    assert caught.value.errno == errno.ENOSPC
    assert __file__ in str(caught.value)
    assert "make room" in str(caught.value)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits of processes")
@pytest.mark.parametrize("suffix", FILES)
def test_a_limit_on_files_is_met_by_real_writes(suffix, tmp_path):
    """A process that may write 64 KiB: the system takes the first bytes of a file and refuses the others."""
    path = tmp_path / f"x{suffix}"
    save_one(path, tfr.arange(3))
    old = path.read_bytes()
    program = f"""
        import resource, tensorframe as tfr
        x = tfr.ones(100_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
        try:
            tfr.save({str(path)!r}, {"x" if suffix == ".npy" else "{'x': x}"})
        except tfr.errors.WriteError as error:
            print("refused", error.errno)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["refused", str(errno.EFBIG)], ran.stderr
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [*FILES, ".zarr"])
def test_a_disk_that_is_really_full(suffix, tmp_path):
    """A disk of 256 KiB in memory, in a namespace of its own, which a file of 400 KB fills."""
    program = f"""
        import os, shutil, numpy as np, tensorframe as tfr
        path = "disk/x{suffix}"
        noise = np.random.default_rng(0).random(50_000)
        save = lambda x: tfr.save(path, x if "{suffix}" in (".npy", ".zarr") else {{"x": x}})
        save(noise[:100])
        shutil.disk_usage = lambda _: (_ for _ in ()).throw(OSError)  # somebody else fills it meanwhile
        try:
            save(noise)
        except tfr.errors.WriteError as error:
            print("refused")
        back = tfr.load(path)
        back = back["x"] if isinstance(back, dict) else back
        print(np.array_equal(back.numpy(), noise[:100]), os.listdir("disk"))
    """
    (tmp_path / "disk").mkdir()
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    mounted = f"mount -t tmpfs -o size=256k none disk && exec {sys.executable} program.py"
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    if (
        not shutil.which("unshare")
        or subprocess.run(
            [*apart, "sh", "-c", "mount -t tmpfs none disk"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        ).returncode
    ):
        pytest.skip("no disks can be made here")
    ran = subprocess.run(
        [*apart, "sh", "-c", mounted], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.stdout.splitlines() == ["refused", f"True ['x{suffix}']"], ran.stderr


def test_a_disk_without_room_is_an_error_before_anything_is_computed(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    x = tfr.arange(1 << 17) * 2
    with pytest.raises(WriteError, match=r"takes 1048704 bytes, and the disk has 1000"):
        tfr.save(tmp_path / "x.npy", x)
    assert x.node.storage is None
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_a_save_that_is_interrupted_leaves_the_old_file(suffix, error, tmp_path):
    path = tmp_path / f"x{suffix}"
    save_one(path, tfr.arange(3))
    old = path.read_bytes()

    class Raises:
        shape, dtype = (100, 100), np.dtype("f4")

        def __getitem__(self, key):
            raise error("now")

    with pytest.raises(error if error is not RuntimeError else OSError):
        save_one(path, tfr.from_reader(Raises()) * 2)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [path.name]


def test_nobody_sees_half_a_file(tmp_path):
    """Readers in another thread, while a file is saved again and again."""
    path = tmp_path / "x.npy"
    tfr.save(path, tfr.zeros(20_000))
    done = threading.Event()
    seen = set()

    def look():
        while not done.is_set():
            array = np.load(path)
            assert array.min() == array.max()
            seen.add(float(array[0]))

    thread = threading.Thread(target=look)
    thread.start()
    for number in range(20):
        tfr.save(path, tfr.full(20_000, float(number)))
    done.set()
    thread.join()
    assert seen <= set(map(float, range(20)))


def test_a_tensor_that_cannot_be_computed_leaves_no_file(tmp_path, monkeypatch):
    def fails(*_):
        raise KernelError("no")

    monkeypatch.setattr("tensorframe.runtime.saving.evaluate", fails)
    with pytest.raises(KernelError):
        tfr.save(tmp_path / "x.npy", tfr.ones(3))
    assert os.listdir(tmp_path) == []
