"""What is done apart gives what it would have given, and an interrupt ends the wait for it, not the work."""

import contextlib
import gc
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import interruptible as module
from tensorframe.backends.interruptible import caller, is_interrupted_here, run_interruptibly
from tensorframe.backends.numpy.interruptible import interruptible
from tensorframe.graph.region import Region


def test_results_come_back_and_so_do_failures():
    assert run_interruptibly(lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 / 0)


def test_it_is_done_in_another_thread_for_this_one():
    here = threading.get_ident()
    there, asked = run_interruptibly(lambda: (threading.get_ident(), caller()))
    assert there != here
    assert asked == caller() == here
    assert not module._callers


def test_one_inside_another_is_for_the_first():
    assert run_interruptibly(lambda: run_interruptibly(caller)) == threading.get_ident()


def test_options_are_those_of_the_caller():
    with tfr.config.override(threads=3), np.errstate(divide="raise"):
        assert run_interruptibly(lambda: tfr.config.get().threads) == 3
        with pytest.raises(FloatingPointError):
            run_interruptibly(lambda: np.float64(1) / 0)


def test_nothing_is_kept():
    array = np.ones(10)
    seen = weakref.ref(array)
    assert run_interruptibly(lambda array=array: array.sum()) == 10
    del array
    gc.collect()
    assert seen() is None


def test_only_the_main_thread_is_interrupted():
    assert is_interrupted_here()
    assert not run_interruptibly(is_interrupted_here)


def test_an_interrupt_before_the_work_begins_leaves_nothing_to_wait_for(monkeypatch):
    @contextlib.contextmanager
    def interrupted():
        raise KeyboardInterrupt
        yield

    before = {running for running in module._left if running.locked()}
    monkeypatch.setattr(module, "critical_section", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(lambda: 1)
    assert {running for running in module._left if running.locked()} == before


class _InterruptedOnceHeld:
    """A lock whose holder is interrupted as soon as it has waited for it."""

    def __init__(self):
        self._lock = threading.Lock()

    def acquire(self, timeout=None):
        if timeout is None:
            return self._lock.acquire()
        while not self._lock.acquire(timeout=timeout):
            pass
        raise KeyboardInterrupt

    def release(self):
        self._lock.release()

    def locked(self):
        return self._lock.locked()


def test_an_interrupt_when_the_work_has_ended_leaves_nothing_to_wait_for(monkeypatch):
    monkeypatch.setattr(module, "new_lock", _InterruptedOnceHeld)
    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(lambda: 1)
    assert not any(running.locked() for running in module._left)


def test_an_interrupt_ends_the_wait_and_not_the_work(monkeypatch):
    goes_on, finished = threading.Event(), threading.Event()

    def work():
        goes_on.wait(60)
        finished.set()

    class Pressed:
        """A lock whose wait is interrupted, as by Ctrl-C."""

        def __init__(self):
            self._lock = threading.Lock()
            self.release, self.locked = self._lock.release, self._lock.locked

        def acquire(self, timeout=-1):
            if timeout != -1:
                raise KeyboardInterrupt
            return self._lock.acquire()

    with monkeypatch.context() as patch:
        patch.setattr(module, "new_lock", Pressed)
        with pytest.raises(KeyboardInterrupt):
            run_interruptibly(work)
    assert not finished.is_set()
    goes_on.set()
    assert finished.wait(60)


LEFT = """
import atexit, signal, sys, threading, time
from tensorframe.backends import interruptible

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it

class Pressed:
    def __init__(self):
        self._lock = threading.Lock()
        self.release, self.locked = self._lock.release, self._lock.locked

    def acquire(self, timeout=-1):
        if timeout != -1:
            raise KeyboardInterrupt
        return self._lock.acquire()

def work():
    time.sleep(float(sys.argv[1]))
    print("done", flush=True)

interruptible.new_lock = Pressed
atexit.register(print, "ending", flush=True)
try:
    interruptible.run_interruptibly(work)
except KeyboardInterrupt:
    print("left", flush=True)
"""


def test_the_end_of_the_process_waits_for_what_was_left():
    done = subprocess.run(
        [sys.executable, "-c", LEFT, "1"], capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.returncode, done.stdout) == (0, "left\nending\ndone\n"), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals reach a process otherwise there")
def test_another_interrupt_ends_the_process_at_once():
    command = [sys.executable, "-c", LEFT, "3000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["left\n", "ending\n"]
        for _ in range(200):
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.3)
                break
        assert process.returncode == 130
        assert process.stdout.read() == ""


def test_without_another_thread_it_is_done_here(monkeypatch):
    class NoThread:
        def __init__(self, **_):
            pass

        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "Thread", NoThread)
    assert run_interruptibly(threading.get_ident) == threading.get_ident()


def test_short_calls_are_done_here_and_long_ones_apart(monkeypatch):
    threads = []

    def program(inputs, buffers):
        threads.append(threading.get_ident())
        return inputs

    def shaped(*shape):
        return Region(((shape, np.dtype("float32")),), (), ())

    assert interruptible(program, shaped(10, 10)) is program
    once = interruptible(program, shaped(1000, 1000))
    for _ in range(3):
        once((1,), (None,))
    here = threading.get_ident()
    # nobody knows how long the first one takes; it was short
    assert [thread == here for thread in threads] == [False, True, True]
    monkeypatch.setattr("tensorframe.backends.numpy.interruptible._LONG", 0.0)
    once((1,), (None,))
    assert threads[-1] != here
