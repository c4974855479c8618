"""What killed processes leave beside their targets goes with a later save; what somebody still writes stays."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.frontend.files import unfinished

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks of files that are removed open")

# Opens the sinks of a save, says so, and goes on writing until it is killed.
WRITER = """
import sys, time
from pathlib import Path
from tensorframe.frontend.files.unfinished import new_file, new_folder
path, file = new_file(Path(sys.argv[1]) / "x.npy")
file.write(b"half of it")
file.flush()
folder, lock = new_folder(Path(sys.argv[1]) / "y.zarr")
(folder / "zarr.json").write_text("{}")
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path):
    """A process that is in the middle of two saves."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


def names(folder):
    return sorted(path.name.split(".tensorframe-")[0] for path in folder.iterdir())


@posix
def test_what_a_killed_process_leaves_goes_with_a_later_save_and_not_before(tmp_path, writer):
    tfr.save(tmp_path / "a.npy", tfr.ones(3))
    assert names(tmp_path) == ["a.npy", "x.npy", "y.zarr"]  # it lives
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    tfr.save(tmp_path / "b.npy", tfr.ones(3))
    assert names(tmp_path) == ["a.npy", "b.npy", "x.npy", "y.zarr"]  # a process looks once
    unfinished._tidied.clear()
    tfr.save(tmp_path / "b.npy", tfr.ones(3))
    assert names(tmp_path) == ["a.npy", "b.npy"]


@posix
def test_files_of_this_process_stay_while_they_are_written(tmp_path):
    path, file = unfinished.new_file(tmp_path / "x.npy")
    with file:
        unfinished.remove_dead(tmp_path)
        assert path.exists()
    unfinished.remove_dead(tmp_path)
    assert not path.exists()


@posix
def test_a_file_of_another_machine_stays_for_a_day(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(unfinished.platform, "node", lambda: "another")
        path = unfinished.temporary(tmp_path / "x.npy")
    path.touch()
    unfinished.remove_dead(tmp_path)
    assert path.exists()
    before = time.time() - 2 * unfinished._OF_OTHERS
    os.utime(path, (before, before))
    unfinished.remove_dead(tmp_path)
    assert not path.exists()


@posix
def test_the_folder_that_was_to_be_replaced_stays_until_there_is_a_new_one(tmp_path):
    old = unfinished.replaced(tmp_path / "x.zarr")
    old.mkdir()
    unfinished.remove_dead(tmp_path)
    assert old.exists()  # the process was killed between two renamings
    (tmp_path / "x.zarr").mkdir()
    unfinished.remove_dead(tmp_path)
    assert not old.exists()


@posix
def test_names_that_are_not_ours_and_links_are_left_alone(tmp_path):
    target = tmp_path / "kept.bin"
    target.touch()
    for name in ("x.npy.1a2b3c4d.tmp", "x.tmp", ".tensorframe-000000-00000000.tmp"):
        (tmp_path / name).touch()
    link = unfinished.temporary(tmp_path / "x.npy")
    link.symlink_to(target)
    before = names(tmp_path)
    unfinished.remove_dead(tmp_path)
    assert names(tmp_path) == before
    assert target.exists()


def test_a_name_that_somebody_removed_at_once_is_given_up_for_another(tmp_path, monkeypatch):
    lock, removed = unfinished._lock, []

    def too_late(descriptor, **options):
        if not removed:
            (path,) = tmp_path.iterdir()
            path.unlink()
            removed.append(path)
        return lock(descriptor, **options)

    if sys.platform != "win32":
        monkeypatch.setattr(unfinished, "_lock", too_late)
    path, file = unfinished.new_file(tmp_path / "x.npy")
    with file:
        assert path.exists()
    assert path not in removed


def test_a_save_leaves_nothing_but_its_target_whether_it_ends_well_or_not(tmp_path):
    x = tfr.asarray(np.arange(10.0))
    tfr.save(tmp_path / "x.npy", x)
    with pytest.raises(tfr.errors.TensorFrameError):
        tfr.save(tmp_path / "x.npz", {"a": x, "b": tfr.take(x, tfr.asarray([99]))})
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]
