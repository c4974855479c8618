"""Peers: the libraries that are measured beside each other, one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

OURS = "tensorframe"
REFERENCE = "NumPy"


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Peer:
    """A library: how NumPy arrays get into it, and when a result of it is there.

    A new peer is a row in PEERS, and one more name in the workloads that it can do.
    """

    name: str
    module: str  # with the array functions
    distribution: str
    give: Callable[[Any], Any] = _same  # NumPy array -> the peer's own
    finish: Callable[[Any], Any] = _same  # result -> result, computed

    @property
    def is_installed(self) -> bool:
        """Whether the module can be found; it is not imported."""
        return find_spec(self.module.partition(".")[0]) is not None

    @property
    def namespace(self) -> Any:
        """The module."""
        return import_module(self.module)

    @property
    def version(self) -> str:
        """The version of the distribution, or of the checkout."""
        found = getattr(self.namespace, "__version__", None)
        return str(found) if found else version(self.distribution)


def _record(array: Any) -> Any:
    # a number is weak here as everywhere; an array is computed before the clock starts
    return import_module("tensorframe").asarray(array)


def _compute(result: Any) -> Any:
    if isinstance(result, tuple):
        return import_module("tensorframe").compute(*result)
    return result.compute()


def _torch(array: Any) -> Any:
    return import_module("torch").from_numpy(array)


PEERS = (
    Peer(OURS, "tensorframe", "tensorframe-lazy", give=_record, finish=_compute),
    Peer(REFERENCE, "numpy", "numpy"),
    Peer("numexpr", "numexpr", "numexpr"),
    Peer("torch", "torch", "torch", give=_torch),
)
