"""The end of a program: threads that still compute say nothing, and what is computed at the last moment is right."""

import os
import subprocess
import sys

import pytest

from tests.stress.scale import DEVICES, ROOT, on_some_devices, scale

THREADS = """
import atexit, sys, threading
import numpy as np
import tensorframe as tfr

array = np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32)
tfr.config.configure(threads=2, block_bytes=1 << 12)
rounds = [0, 0]
several, more = threading.Event(), threading.Event()


def go_on(number):
    while True:
        x = tfr.asarray(array[:, : 90 + rounds[number] % 100], device=sys.argv[1])
        (tfr.exp(-x * x) * tfr.sin(x + 1)).numpy(), (x.T @ x).numpy(), tfr.sort(x, axis=0).numpy()
        rounds[number] += 1
        if min(rounds) > 1:
            several.set()
        if min(rounds) > limit:
            more.set()


limit = sys.maxsize


@atexit.register  # called after those of what is loaded later: threads go on when much is closed already
def wait_for_more():
    global limit
    limit = min(rounds) + 3
    more.wait(60)


for number in range(2):
    threading.Thread(target=go_on, args=(number,), daemon=True).start()
several.wait(60)
"""

DELETED = """
import os, sys
import numpy as np
import tensorframe as tfr


class Model:
    def __init__(self):
        self.weights = tfr.ones(int(sys.argv[2]), device=sys.argv[1]).compute()

    def __del__(self, write=os.write):
        write(1, b"%d\\n" % float(tfr.sum(tfr.sqrt(self.weights) * 2 + 1)))


model = Model()
"""


def ended(text, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "XDG_RUNTIME_DIR" not in line]  # Mesa's
    return done.stdout, "\n".join(lines)


@on_some_devices("cpu", "opencl")
def test_threads_that_compute_at_the_end_say_nothing(device):
    for _ in range(scale(1, 10)):
        assert ended(THREADS, device) == ("", "")


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize("size", [5, 200_000])
def test_what_is_deleted_last_computes_where_nothing_is_compiled(size, device):
    assert ended(DELETED, device, size) == (f"{3 * size}\n", "")


@pytest.mark.parametrize("device", [name for name in DEVICES if name not in ("cpu", "numpy")])
def test_what_is_deleted_last_says_why_it_does_not_compute_elsewhere(device):
    printed, said = ended(DELETED, device, 200_000)
    assert printed == ""
    assert "ImportError" not in said
    assert "KernelError: the interpreter is being taken down" in said
