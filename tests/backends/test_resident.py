"""Pages of LLVM's library: given back where many kernels were made, and there again for the next."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends.llvm import ahead, resident
from tensorframe.backends.llvm import compile as compiling
from tests.backends.test_ahead import texts
from tests.backends.test_kernel_cache import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what is resident")

_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)$")


def mappings():
    """The parts of LLVM's library in memory: where, how, bytes that are resident, and that are this process's own."""
    parts = []
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if mapping := _MAPPING.match(line):
            begin, end, may, name = mapping.groups()
            counts = {}
            if name.rpartition("/")[2].startswith("libllvmlite"):
                parts.append((int(begin, 16), int(end, 16), may, counts))
        else:
            name, _, value = line.partition(":")
            counts[name] = 1024 * int(value.split()[0]) if value.endswith("kB") else 0
    return parts


def clean():
    return sum(counts["Rss"] - counts["Anonymous"] for *_, counts in mappings())


def test_only_pages_that_nobody_wrote_to_go_back():
    compiling.object_code(next(texts()))
    assert resident._segments()
    for address, size, is_code in resident._segments():
        (inside,) = [
            part for part in mappings() if part[0] <= address and address + size <= part[1]
        ]
        *_, may, counts = inside
        assert "w" not in may
        assert counts["Anonymous"] == 0
        assert is_code == ("x" in may)


def test_what_went_back_is_there_again():
    expected = [compiling.object_code(text) for text in texts()]
    before = clean()
    assert before > 20 << 20
    resident.release()
    assert clean() < 1 << 20
    assert [compiling.object_code(text) for text in texts()] == expected


def test_few_kernels_give_nothing_back(monkeypatch):
    """To bring the pages back takes as long as a small kernel."""
    released = []
    monkeypatch.setattr(resident, "release", lambda: released.append(len(ahead._expected)))
    monkeypatch.setattr(ahead, "_expected", set())
    for number in range(3 * ahead._MANY):
        ahead.expect(f"k_{number}")
        ahead.work_off()
    assert len(released) == 3


PROGRAM = """
import gc
import llvmlite.binding as llvm
import numpy as np
import tensorframe as tfr
from tensorframe.backends.llvm import ahead
from tests.backends.test_resident import clean
tfr.config.configure(threads=1)
x = tfr.asarray(np.random.default_rng(0).random((90, 80), dtype=np.float32), device="llvm")
for function in (tfr.abs, tfr.negative, tfr.floor, tfr.sign, tfr.square, tfr.sqrt, tfr.exp2, tfr.cos):
    x = tfr.softmax(function(tfr.abs(x)), axis=1) + tfr.cumulative_sum(tfr.tanh(x[::-1]), axis=0) / 90
x.numpy()
modules = [one for one in gc.get_objects() if isinstance(one, llvm.ModuleRef)]
print(clean(), len(modules), len(ahead._jobs))
"""


def test_a_plan_of_many_kernels_leaves_little_of_llvm_in_memory(tmp_path):
    """On an empty cache: 70 MiB were resident for as long as the process lasted. Texts and modules are gone, too."""
    setting = f"import os; os.environ['TENSORFRAME_CACHE_DIR'] = {str(tmp_path)!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", setting + PROGRAM],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    resident_bytes, modules, waiting = map(int, done.stdout.split())
    assert resident_bytes < 24 << 20
    assert (modules, waiting) == (0, 0)


BESIDE_IMPORTS = """
import _ctypes
import threading
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
import numpy
from tensorframe.backends.llvm.library import library
from tensorframe.backends.llvm import resident
assert library() is not None
is_over = threading.Event()
counts = []
libraries = sorted(Path(numpy.__file__).parent.joinpath("random").glob("*" + EXTENSION_SUFFIXES[0]))
assert libraries
def look():
    while not is_over.is_set():
        resident._segments.cache_clear()
        counts.append(len(resident._segments()))
thread = threading.Thread(target=look)
thread.start()
while len(counts) < 20:
    for library in libraries:
        _ctypes.dlclose(_ctypes.dlopen(str(library), 2))
is_over.set()
thread.join()
print(min(counts))
"""


def test_who_asks_where_llvm_lies_does_not_wait_for_who_imports():
    """A callback of the loader waited for the interpreter's lock, whose holder waited for the loader's."""
    done = subprocess.run(
        [sys.executable, "-c", BESIDE_IMPORTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert int(done.stdout) > 1


def test_a_library_whose_file_is_gone_has_no_segments(tmp_path):
    with pytest.raises(OSError, match="deleted"):
        resident._unwritten(f"{tmp_path}/libllvmlite.so (deleted)", 0)
