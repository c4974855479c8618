"""Backends: which devices are here, and the choice between them; and the contract of those who write one.

`tfr.backends.summary()` is a table of all, `devices()` the same as data; `select` and `best` choose one; `register`
adds a backend of your own; `configure` changes settings of one. A backend is a handful of methods, those of
`Backend`, that hold data and run regions. What is exported here is the contract, of which `INTERFACE_VERSION` is the
version: what else there is in `tensorframe.backends` may change with any release.
"""

from typing import TYPE_CHECKING, Any

from tensorframe.backends.base import (
    Backend,
    Capabilities,
    DeviceInfo,
    Program,
    byte_count,
    quiet,
)
from tensorframe.backends.choice import best, native_device, select
from tensorframe.backends.contract import INTERFACE_VERSION, About
from tensorframe.backends.discovery import available, devices, discover, summary
from tensorframe.backends.probing import Found
from tensorframe.backends.registry import configure, register, unregister
from tensorframe.backends.storage import Storage
from tensorframe.documentation.docstrings import complete
from tensorframe.dtypes import DType
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region, RegionOp

if TYPE_CHECKING:
    from tensorframe.backends.device.engine import KernelBackend
    from tensorframe.backends.device.queue import Queue, Traits
    from tensorframe.backends.lifecycle import close, is_open, open, opened
    from tensorframe.backends.settings import configuration
    from tensorframe.backends.support import Support, supports

__all__ = [
    "INTERFACE_VERSION",
    "About",
    "Backend",
    "Capabilities",
    "DType",
    "Device",
    "DeviceInfo",
    "Found",
    "KernelBackend",
    "Kind",
    "Op",
    "Program",
    "Queue",
    "Region",
    "RegionOp",
    "Storage",
    "Support",
    "Traits",
    "available",
    "best",
    "byte_count",
    "close",
    "configuration",
    "configure",
    "devices",
    "discover",
    "is_open",
    "native_device",
    "open",
    "opened",
    "quiet",
    "register",
    "select",
    "summary",
    "supports",
    "unregister",
]

# loaded when they are named, since few programs name them
_ON_DEMAND = {
    "KernelBackend": "tensorframe.backends.device.engine",
    "configuration": "tensorframe.backends.settings",
    **dict.fromkeys(("close", "is_open", "open", "opened"), "tensorframe.backends.lifecycle"),
    "Queue": "tensorframe.backends.device.queue",
    "Support": "tensorframe.backends.support",
    "Traits": "tensorframe.backends.device.queue",
    "supports": "tensorframe.backends.support",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_ON_DEMAND[name]), name)
    complete(__name__, [(name, value)])
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
