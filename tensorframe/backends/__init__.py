"""Backends: which devices are here, and the choice between them.

`tfr.backends.summary()` is a table of all, `devices()` the same as data; `select` and `best` choose one; `register`
adds a backend of your own; `configure` changes settings of one. A backend is a handful of methods, those of
`base.Backend`, that hold data and run regions.
"""

from tensorframe.backends.base import Backend, Capabilities, DeviceInfo
from tensorframe.backends.choice import best, native_device, select
from tensorframe.backends.discovery import available, devices, discover, summary
from tensorframe.backends.probing import Found
from tensorframe.backends.registry import configure, register, unregister

__all__ = [
    "Backend",
    "Capabilities",
    "DeviceInfo",
    "Found",
    "available",
    "best",
    "configure",
    "devices",
    "discover",
    "native_device",
    "register",
    "select",
    "summary",
    "unregister",
]
