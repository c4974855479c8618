"""A backend for tests that is off: in its results, its dtypes, or altogether."""

from contextlib import contextmanager

import numpy as np

import tensorframe as tfr
from tensorframe.backends.base import Capabilities, DeviceInfo
from tensorframe.backends.numpy.engine import CAPABILITIES, NumpyBackend
from tensorframe.backends.registry import register, unregister


def leaf(*shape, seed=0, dtype=np.float32, device="cpu"):
    values = np.random.default_rng(seed).random(shape).astype(dtype)
    return tfr.asarray(values + dtype(0.5), device=device)


class OffBackend(NumpyBackend):
    """A backend that computes in its own way."""

    name = "off"

    def __init__(self, change, dtypes=CAPABILITIES.dtypes, error=None):
        self.change, self.dtypes, self.error = change, dtypes, error
        self.waits = self.runs = 0

    def probe(self):
        can = Capabilities(dtypes=self.dtypes, host_memory=True)
        return [DeviceInfo(tfr.Device(self.name), "changed results", can)]

    def compile(self, region, device):
        if self.error is not None:
            raise self.error
        program = super().compile(region, device)

        def run(inputs, buffers):
            self.runs += 1
            return [self.change(np.array(one)) for one in program(inputs, buffers)]

        return run

    def synchronize(self, device):
        self.waits += 1


@contextmanager
def registered(change=lambda array: array, **kwargs):
    backend = OffBackend(change, **kwargs)
    register(backend)
    try:
        yield backend
    finally:
        unregister(backend.name)


def set_at(place, value):
    def change(array):
        array[place] = value(array[place])
        return array

    return change
