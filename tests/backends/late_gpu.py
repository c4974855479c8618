"""A GPU whose streams work when they have to, or when a generator of random numbers says so: for tests of their order.

It is the processor, as in `host_gpu`. Copies and kernels are noted with their stream; an event has happened when its
stream has come to it, and a stream that waits for one has the other stream go on.
"""

from contextlib import contextmanager

import numpy as np

from tensorframe.backends.cuda import queue
from tests.backends import host_gpu


class LateStream(host_gpu.HostStream):
    """What it was given and has not done yet."""

    late = None  # the GPU

    def __init__(self, *, non_blocking=False):
        super().__init__(non_blocking=non_blocking)
        self.given, self.done, self.pending = 0, 0, []
        self.late.streams.append(self)

    def give(self, work):
        self.given += 1
        self.pending.append(work)
        self.late.work_at_random()
        return self.given

    def work_up_to(self, number):
        while self.done < number:
            self.pending[0]()  # which may have other streams go on, but not this one
            self.pending.pop(0)
            self.done += 1

    def record(self):
        event = LateEvent()
        event.record(self)
        return event

    def wait_event(self, event):
        super().wait_event(event)
        stream, number = event.recorded, event.number
        self.give(lambda: stream.work_up_to(number))

    def synchronize(self):
        self.work_up_to(self.given)


class LateEvent:
    """An event; one that was never recorded has happened."""

    recorded_in_all = 0

    def __init__(self, **_):
        self.recorded, self.number = None, 0

    def record(self, stream):
        type(self).recorded_in_all += 1
        self.recorded, self.number = stream, stream.give(lambda: None)

    @property
    def done(self):
        return self.recorded is None or self.recorded.done >= self.number

    def synchronize(self):
        if self.recorded is not None:
            self.recorded.work_up_to(self.number)


class LateGpu:
    """The streams, with the driver's calls."""

    def __init__(self, fake, monkeypatch, seed):
        self.streams = []
        self._generator = None if seed is None else np.random.default_rng(seed)
        self._loaded = {}
        self._working = False
        self._launch, self._copy = fake.driver.launchKernel, fake.runtime.memcpyAsync
        monkeypatch.setattr(fake.driver, "launchKernel", self._give_launch)
        monkeypatch.setattr(fake.runtime, "memcpyAsync", self._give_copy)
        monkeypatch.setattr(fake.cuda, "Stream", LateStream)
        monkeypatch.setattr(fake.cuda, "Event", LateEvent)
        monkeypatch.setattr(LateStream, "late", self)
        monkeypatch.setattr(LateEvent, "recorded_in_all", 0)
        made = queue.Loaded.__init__

        def load(loaded, *given):
            made(loaded, *given)
            self._loaded[loaded.arguments] = loaded

        monkeypatch.setattr(queue.Loaded, "__init__", load)

    def work_at_random(self):
        if self._generator is None or self._working:
            return
        self._working = True
        for stream in self.streams:
            most = stream.given - stream.done
            if most and self._generator.random() < 0.03:
                stream.work_up_to(stream.done + int(self._generator.integers(1, most + 1)))
        self._working = False

    def _stream(self, ptr):
        return next(stream for stream in self.streams if stream.ptr == ptr)

    def _give_copy(self, target, source, nbytes, kind, ptr):
        self._stream(ptr).give(lambda: self._copy(target, source, nbytes, kind, ptr))

    def _give_launch(self, *given):
        loaded = self._loaded[given[-2]]
        pointers, words = loaded.pointers.copy(), loaded.words.copy()

        def run():
            loaded.pointers[:], loaded.words[:] = pointers, words
            self._launch(*given)

        self._stream(given[-3]).give(run)


@contextmanager
def late_gpu(monkeypatch, seed=None):
    """Have `cuda` work when somebody waits for it; also at times that follow from a seed."""
    with host_gpu.host_gpu() as fake:
        yield LateGpu(fake, monkeypatch, seed)
