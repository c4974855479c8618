"""What is done apart gives what it would have given, and an interrupt ends the wait for it, not the work."""

import gc
import threading
import weakref

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import apart as module
from tensorframe.backends.apart import apart, caller, is_interrupted_here
from tensorframe.backends.numpy import blas
from tensorframe.backends.numpy.interruptible import interruptible
from tensorframe.graph.region import Region


class Pressed:
    """A lock whose wait is interrupted, as by Ctrl-C."""

    def __init__(self):
        self._lock = threading.Lock()
        self.release = self._lock.release

    def acquire(self, blocking=True, timeout=-1):
        if timeout != -1:
            raise KeyboardInterrupt
        return self._lock.acquire(blocking)


def test_results_come_back_and_so_do_failures():
    assert apart(lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        apart(lambda: 1 / 0)


def test_it_is_done_in_another_thread_for_this_one():
    here = threading.get_ident()
    there, asked = apart(lambda: (threading.get_ident(), caller()))
    assert there != here
    assert asked == caller() == here
    assert not module._callers


def test_one_inside_another_is_for_the_first():
    assert apart(lambda: apart(caller)) == threading.get_ident()


def test_options_are_those_of_the_caller():
    with tfr.config.override(threads=3), np.errstate(divide="raise"):
        assert apart(lambda: tfr.config.get().threads) == 3
        with pytest.raises(FloatingPointError):
            apart(lambda: np.float64(1) / 0)


def test_nothing_is_kept():
    array = np.ones(10)
    seen = weakref.ref(array)
    assert apart(lambda array=array: array.sum()) == 10
    del array
    gc.collect()
    assert seen() is None


def test_only_the_main_thread_is_interrupted():
    assert is_interrupted_here()
    assert not apart(is_interrupted_here)


def test_an_interrupt_ends_the_wait_and_not_the_work(monkeypatch):
    goes_on, finished = threading.Event(), threading.Event()

    def work():
        goes_on.wait(60)
        finished.set()

    with monkeypatch.context() as patch:
        patch.setattr(module, "Lock", Pressed)
        with pytest.raises(KeyboardInterrupt):
            apart(work)
    assert not finished.is_set()
    goes_on.set()
    assert finished.wait(60)


@pytest.mark.parametrize("ends", ["later", "before the interrupt is seen"])
def test_what_was_left_alone_is_followed_to_its_end(monkeypatch, ends):
    goes_on, over, told = threading.Event(), threading.Event(), []

    def when_left():
        told.append("left")
        if ends != "later":
            goes_on.set()
        return lambda: (told.append("over"), over.set())

    monkeypatch.setattr(module, "Lock", Pressed)
    with pytest.raises(KeyboardInterrupt):
        apart(lambda: goes_on.wait(60), when_left)
    if ends == "later":
        assert told == ["left"]
    goes_on.set()
    assert over.wait(60)
    assert told == ["left", "over"]


def test_blas_has_one_thread_while_it_works_for_nobody():
    libraries = blas._libraries(per_thread=False)
    before = [one.threads() for one in libraries]
    ending = blas.left_with_one_thread()
    assert [one.threads() for one in libraries] == [1] * len(libraries)
    ending()
    assert [one.threads() for one in libraries] == before


def test_without_another_thread_it_is_done_here(monkeypatch):
    class NoThread:
        def __init__(self, **_):
            pass

        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "Thread", NoThread)
    assert apart(threading.get_ident) == threading.get_ident()


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
    assert [one == here for one in threads] == [False, True, True]
    monkeypatch.setattr("tensorframe.backends.numpy.interruptible._LONG", 0.0)
    once((1,), (None,))
    assert threads[-1] != here
