"""Backends that tests register: devices that say what they are told to, and compute like NumPy or worse."""

from contextlib import contextmanager

from tensorframe.backends import registry, selection
from tensorframe.backends.base import DeviceInfo
from tensorframe.backends.numpy.engine import CAPABILITIES, NumpyBackend
from tensorframe.graph.device import Device

GIB = 1 << 30


def info(name, **said):
    return DeviceInfo(Device(name), f"a {name}", said.pop("capabilities", CAPABILITIES), **said)


class Fake(NumpyBackend):
    """NumPy under another name; `answer` is what its probe gives, or raises."""

    def __init__(self, name, answer):
        self.name = name
        self.answer = answer
        self.probes = 0

    def probe(self):
        self.probes += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class BuiltIn(Fake):
    """One that seems to come with tensorframe."""

    __module__ = "tensorframe.backends.fake"


class Wrong(Fake):
    """Every result is off by one."""

    def compile(self, region, device):
        right = super().compile(region, device)
        return lambda inputs, buffers: [one + 1 for one in right(inputs, buffers)]


def in_environment(monkeypatch, name):
    """Have the environment name a device, as if no tensor had been made yet."""
    monkeypatch.setenv(registry.VARIABLE, name)
    monkeypatch.setattr(registry._State, "named", None)


@contextmanager
def registered(*backends):
    """Have these backends registered, and no other order than the built-in one, in a block."""
    for backend in backends:
        registry.register(backend, override=True)
    try:
        yield backends
    finally:
        for backend in backends:
            registry.unregister(backend.name)
        selection.set_backend_priority(None)
