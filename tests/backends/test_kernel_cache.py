"""Compiled kernels on disk: nothing is compiled twice, and nothing wrong with the disk is ever an error."""

import json
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tests.backends.kernels import evaluate, slots, text

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends import objects
from tensorframe.backends.llvm import functions
from tensorframe.backends.llvm.key import object_key

ROOT = Path(__file__).parents[2]
KEY = bytes(range(32))
CODE = b"not really machine code" * 100


@pytest.fixture(autouse=True)
def place(tmp_path):
    """An empty folder for the kernels of all threads."""
    where, before = tmp_path / "kernels", tfr.config.get().cache_dir
    tfr.config.configure(cache_dir=str(where))
    yield where
    tfr.config.configure(cache_dir=before)


def the_file(place):
    (found,) = place.iterdir()
    return found


def made(salt):
    """A kernel that no other test makes."""
    x = np.arange(4.0)
    (y,) = evaluate([("float64", lambda a: a + a)], x, salt=salt)
    assert y.tolist() == [0, 2, 4, 6]


def compilations():
    return tfr.cache.info().compilations


PROGRAM = """
import json, sys
import numpy as np
import tensorframe as tfr
from tensorframe.kernel.ir.formula import fma
from tests.backends.kernels import evaluate
x = np.arange(5.0)
(y,) = evaluate([("float64", lambda a: fma(a, a, a))], x)
info = tfr.cache.info()
print(json.dumps([y.tolist(), info.compilations, info.hits, info.misses, "numba" in sys.modules]))
"""


def run(program, place, **changes):
    environment = {**os.environ, "TENSORFRAME_CACHE_DIR": str(place), **changes}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_second_process_compiles_nothing(place):
    expected = [0, 2, 6, 12, 20]
    assert run(PROGRAM, place) == [expected, 1, 0, 1, False]
    assert run(PROGRAM, place) == [expected, 0, 1, 0, False]


FIRST = """
import json, sys
import numpy as np
import tensorframe as tfr
x = tfr.asarray(np.linspace(0.0, 1.0, 10_000), device="llvm")
(tfr.exp(x) * tfr.sin(x) + x / (1 + x * x)).compute()
unwanted = {"numba", "scipy", "cffi"}
print(json.dumps([tfr.cache.info().compilations > 0, [one for one in sys.modules if one.split(".")[0] in unwanted]]))
"""


def test_compiling_imports_no_numba(place):
    assert run(FIRST, place) == [True, []]


EIGHT = """
import json, os
import numpy as np
import tensorframe as tfr
import tensorframe.backends.llvm.compile
from tests.backends.kernels import evaluate

def child():
    x = np.arange(5.0)
    for power in range(3):
        (y,) = evaluate([("float64", lambda a: a * float(power))], x)
        assert (y == x * power).all()

children = []
for _ in range(8):
    process = os.fork()
    if process == 0:
        try:
            child()
        except BaseException:
            os._exit(1)
        os._exit(0)
    children.append(process)
ends = [os.waitpid(process, 0)[1] for process in children]
print(json.dumps([ends, tfr.cache.info().files]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_many_processes_share_a_cold_folder(place):
    assert run(EIGHT, place, PYTHONWARNINGS="ignore::DeprecationWarning") == [[0] * 8, 3]


EXPRESSIONS = """
import json, os, sys
import tensorframe as tfr
from tests.kernel.form_cases import CASES, operand, tensors

NAMES = ["map", "rows with scratch memory", "columns", "parts of everything", "pad", "gather"]

def computed():
    results = [one for name in NAMES for one in tensors(CASES[name], operand(CASES[name]))]
    return [one.tolist() for one in results]
"""
ONE_PROCESS = f"""{EXPRESSIONS}
found = computed()
print(json.dumps([found, tfr.cache.info().compilations, "numba" in sys.modules]))
"""
SEVERAL_PROCESSES = f"""{EXPRESSIONS}
import multiprocessing
import tensorframe.backends.llvm.compile  # once, for all

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(8) as pool:
        found = [pool.apply_async(computed) for _ in range(8)]
        print(json.dumps([one.get(600) for one in found]))
"""


def test_tensors_of_a_second_process_compile_nothing(place):
    first, compilations, numba = run(ONE_PROCESS, place)
    assert compilations > 5
    assert not numba
    assert run(ONE_PROCESS, place) == [first, 0, False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_tensors_of_many_processes_share_a_cold_folder(place):
    found = run(SEVERAL_PROCESSES, place)
    assert found == [found[0]] * 8
    first, compilations, _ = run(ONE_PROCESS, place)
    assert (first, compilations) == (found[0], 0)


def test_what_is_written_is_read(place):
    objects.write(KEY, CODE)
    assert objects.read(KEY) == CODE
    assert objects.read(bytes(32)) is None
    assert the_file(place).stat().st_mode & 0o777 in (0o600, 0o666)


DAMAGES = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[:-1],
    "header only": lambda content: content[:88],
    "longer": lambda content: content + b"x",
    "changed code": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "changed key": lambda content: content[:20] + b"\xff" + content[21:],
    "older format": lambda content: b"tensorframe 0" + content[13:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_noticed_and_replaced(place, damage):
    salt = f"damage {damage}"
    made(salt)
    file = the_file(place)
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    functions._functions.clear()
    before = compilations()
    made(salt)
    assert compilations() == before + 1
    assert file.read_bytes() == whole
    functions._functions.clear()
    made(salt)
    assert compilations() == before + 1


def test_code_that_does_not_link_is_compiled_anew(place):
    name, source = text([("float64", lambda a: a + a)], ["float64"], salt="unlinkable")
    objects.write(object_key(name, source), CODE)
    before = compilations()
    made("unlinkable")
    assert compilations() == before + 1


def test_a_kernel_in_memory_is_neither_read_nor_compiled():
    made("memory")
    before = tfr.cache.info()
    made("memory")
    assert tfr.cache.info() == before


def test_a_changed_text_or_name_is_another_key():
    keys = {object_key("a", "x"), object_key("b", "x"), object_key("a", "y"), object_key("ax", "")}
    assert len(keys) == 4


def test_info_and_clear(place):
    assert tfr.cache.info().files == 0
    objects.write(KEY, CODE)
    info = tfr.cache.info()
    assert (info.directory, info.problem, info.files) == (str(place), None, 1)
    assert info.bytes == the_file(place).stat().st_size > len(CODE)
    assert "1 kernel" in str(info)
    (place / "notes.txt").write_text("the user's")
    tfr.cache.clear()
    assert [one.name for one in place.iterdir()] == ["notes.txt"]
    assert tfr.cache.info().files == 0


def test_the_kernels_used_last_are_kept_within_the_limit(place):
    keys = [bytes([k]) * 32 for k in range(10)]
    for age, key in enumerate(keys):
        objects.write(key, CODE)
        os.utime(place / f"{key.hex()}.kernel", (1e9 - age, 1e9 - age))
    objects.read(keys[-1])  # the oldest, but used now
    size = tfr.cache.info().bytes // 10
    with tfr.config.override(cache_bytes=5 * size):
        objects.write(bytes(32), CODE)
        kept = [key for key in keys if objects.read(key) is not None]
        assert objects.read(bytes(32)) == CODE
    assert keys[-1] in kept
    assert keys[-2] not in kept
    assert 3 * size <= tfr.cache.info().bytes <= 5 * size


def test_a_limit_of_nothing_keeps_nothing(place):
    with tfr.config.override(cache_bytes=0):
        objects.write(KEY, CODE)
        assert objects.read(KEY) is None
        assert tfr.cache.info().directory is None
        assert "cache_bytes" in str(tfr.cache.info())
        made("no cache")
    assert not place.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_a_folder_that_others_may_write_to_is_not_used(place):
    objects.write(KEY, CODE)
    place.chmod(0o770)
    assert objects.read(KEY) is None
    assert "other users" in str(tfr.cache.info())
    place.chmod(0o700)
    assert objects.read(KEY) == CODE


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_a_folder_of_somebody_else_is_not_used(place, monkeypatch):
    objects.write(KEY, CODE)
    assert place.stat().st_mode & 0o777 == 0o700
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert objects.read(KEY) is None
    assert "another user" in str(tfr.cache.info())
    tfr.cache.clear()
    monkeypatch.undo()
    assert objects.read(KEY) == CODE


def test_where_nothing_can_be_written_kernels_are_compiled(tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way")
    with tfr.config.override(cache_dir=str(file / "kernels")):
        made("not writable")
        assert tfr.cache.info().files == 0


def test_a_full_disk_leaves_no_part_of_a_file(place, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    objects.write(bytes(32), CODE)
    monkeypatch.setattr(os, "replace", full)
    objects.write(KEY, CODE)
    assert objects.read(KEY) is None
    assert the_file(place).name.startswith("00")


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    with tfr.config.override(cache_dir=""):
        made("homeless")
        assert tfr.cache.info().directory is None


@pytest.mark.parametrize(
    ("system", "variable", "value", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "/elsewhere", "/elsewhere/tensorframe/kernels"),
        ("linux", "XDG_CACHE_HOME", "relative", "~/.cache/tensorframe/kernels"),
        ("darwin", "XDG_CACHE_HOME", "/elsewhere", "~/Library/Caches/tensorframe/kernels"),
    ],
)
def test_the_platforms_folder(monkeypatch, system, variable, value, expected):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv(variable, value)
    with tfr.config.override(cache_dir=""):
        assert objects.folder() == os.path.expanduser(expected)


def test_files_that_interrupted_writers_left_are_removed(place):
    objects.write(KEY, CODE)
    left, fresh = place / "a.kernel.1.1.part", place / "b.kernel.1.1.part"
    for one in (left, fresh):
        one.write_bytes(b"part")
    os.utime(left, (1e9, 1e9))
    objects._trim(str(place), 1 << 20)
    assert not left.exists()
    assert fresh.exists()


def test_a_folder_of_many_kernels_takes_no_memory_to_count(place):
    """A process within a limit has none for a list of tens of thousands of files."""
    place.mkdir(exist_ok=True)
    for number in range(3000):
        (place / f"{number:064x}.kernel").write_bytes(b"kernel")
    tracemalloc.start()
    try:
        assert objects._trim(str(place), 1 << 20) == 18_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_threads_compile_a_kernel_once(place):
    name, source = text([("float64", lambda a: a * a)], ["float64"], salt="threads")
    before = compilations()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: functions.kernel_function(name, source), range(8)))
    assert len(set(map(id, found))) == 1
    assert compilations() == before + 1
    x, y = np.arange(3.0), np.zeros(3)
    found[0].call(0, 3, slots(x, y), b"")
    assert y.tolist() == [0, 1, 4]


def others_file(path, monkeypatch):
    """Have files seem to belong to another user, but not the folder they are in."""
    real = os.fstat

    def of_somebody_else(file):
        found = list(real(file))
        found[4] += 1
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", of_somebody_else)


def writable(mode):
    return lambda path, _: path.chmod(mode)


def instead(make):
    """Something else than a regular file under the kernel's name."""

    def put(path, _):
        path.rename(path.with_name("elsewhere"))
        make(path)

    return put


IN_PLACE = {
    "of another user": others_file,
    "writable by a group": writable(0o620),
    "writable by all": writable(0o606),
    "a pipe": instead(os.mkfifo),
    "a link to a kernel": instead(lambda path: path.symlink_to("elsewhere")),
    "a link to a device": instead(lambda path: path.symlink_to("/dev/zero")),
    "a link to a terminal": instead(lambda path: path.symlink_to("/dev/tty")),
    "a link to nothing": instead(lambda path: path.symlink_to("nothing")),
    "a link to itself": instead(lambda path: path.symlink_to(path.name)),
    "a folder": instead(os.mkdir),
    "much too large": lambda path, _: os.truncate(path, 1 << 42),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
@pytest.mark.parametrize("kind", IN_PLACE)
def test_what_is_no_file_of_the_users_own_is_not_run(kind, place, monkeypatch):
    objects.write(KEY, CODE)
    path = the_file(place)
    assert objects.read(KEY) == CODE
    with monkeypatch.context() as patches:
        IN_PLACE[kind](path, patches)
        assert objects.read(KEY) is None
    if kind != "of another user":
        assert objects.read(KEY) is None
    info = tfr.cache.info()
    assert info.problem is None
    assert info.files == (kind in ("of another user", "much too large") or "writable" in kind)
    objects._trim(str(place), 1)  # raises nothing
    objects.write(KEY, CODE)
    if kind != "a folder":
        assert objects.read(KEY) == CODE
        assert path.stat().st_mode & 0o777 == 0o600
    objects.clear()
    assert objects.read(KEY) is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_kernels_are_compiled_beside_what_is_in_the_way(place):
    place.mkdir(mode=0o700)
    name, source = text([("float64", lambda a: a + a)], ["float64"], salt="in the way")
    os.mkfifo(place / f"{object_key(name, source).hex()}.kernel")
    (place / "zeros.kernel").symlink_to("/dev/zero")
    before = compilations()
    made("in the way")
    assert compilations() == before + 1
    assert tfr.cache.info().files == 1
    assert run(PROGRAM, place)[0] == [0, 2, 6, 12, 20]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_a_file_in_the_folders_place_is_told(tmp_path):
    file = tmp_path / "pipe"
    os.mkfifo(file)
    with tfr.config.override(cache_dir=str(file)):
        made("pipe")
        assert tfr.cache.info().problem == "it is not a directory"
