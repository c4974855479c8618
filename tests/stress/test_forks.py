"""A forked process computes on the cpu whatever the parent's threads were doing; devices say that they cannot."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.llvm.engine import missing
from tests.backends.devices import on_every_device
from tests.stress.scale import ROOT, program, scale

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def test_children_compute_while_the_parents_threads_do():
    count = scale(5, 100)
    assert program("forks", "computing", count).stdout == f"{count} children\n"


def test_children_compute_whoever_held_a_lock():
    count, word = program("forks", "locks").stdout.split()
    assert word == "children"
    assert int(count) > 10


def told(work):
    """Return what a forked process says of something that it tries."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            work()
            said = "it computes"
        except tfr.errors.TensorFrameError as error:
            said = f"{type(error).__name__}: {error}"
        except BaseException as error:
            said = f"not one of ours: {error!r}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as said:
        text = said.read()
    os.waitpid(process, 0)
    return text


@on_every_device
def test_a_device_says_that_a_forked_process_cannot_use_it(device):
    here = tfr.asarray(np.ones((8, 8), np.float32), device=device)
    stored = (here @ here).compute()
    pending = stored * 2
    step = tfr.jit(lambda x: x + 1)
    step(stored)
    for work in (
        stored.numpy,
        pending.numpy,
        lambda: step(stored),
        lambda: tfr.asarray([1.0], device=device).compute(),
    ):
        text = told(work)
        assert text.startswith(f"DeviceError: {device} cannot be used in a process that was forked")
        assert "spawn" in text
    assert told((tfr.ones(9) * 2).compute) == "it computes"
    assert pending.numpy()[0, 0] == 16


LOGGING = """
import os, threading, time
from tensorframe.backends.llvm.library import llvm_lock
import logging  # after the package: its lock is taken first
inside = threading.Event()

def compiling():
    with llvm_lock:
        inside.set()
        time.sleep(0.5)  # the main thread forks meanwhile
        logging.getLogger("a name").isEnabledFor(logging.INFO)

thread = threading.Thread(target=compiling)
thread.start()
inside.wait()
process = os.fork()
if process == 0:
    logging.getLogger("another").isEnabledFor(logging.INFO)
    os._exit(0)
thread.join()
print("child", os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


@pytest.mark.skipif(missing() is not None, reason="no compiled kernels")
def test_a_fork_waits_for_a_thread_that_compiles_and_logs():
    done = subprocess.run(
        [sys.executable, "-c", LOGGING],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "child 0\n", done.stderr
