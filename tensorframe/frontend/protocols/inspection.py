"""Inspection: what the namespace can do on which device, as the standard's info object."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.backends import registry
from tensorframe.dtypes import DType
from tensorframe.errors import ArgumentError
from tensorframe.frontend.dtypes.data_types import KINDS
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.graph.device import Device
from tensorframe.graph.holding import default_on

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

# NumPy's limit, which host memory shares
MAX_DIMENSIONS = 64

# half precision is no dtype of the standard, and consumers look names up in its list
_KINDS = {name: members - dtypes.NARROW for name, members in KINDS.items()}


class NamespaceInfo:
    """What `tfr.__array_namespace_info__()` returns.

    >>> info = tfr.__array_namespace_info__()
    >>> info.dtypes(kind="complex floating")
    {'complex64': dtype('complex64'), 'complex128': dtype('complex128')}
    """

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """Return which optional behaviour there is, and the largest number of axes."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MAX_DIMENSIONS,
        }

    def default_device(self) -> Device:
        """Return where creation functions put tensors."""
        return registry.default_device()

    def devices(self) -> tuple[Device, ...]:
        """Return the devices that can compute here.

        The host's processor may be there for a driver in software through several interfaces: the best one is listed,
        `tfr.backends.devices()` has them all.
        """
        once: dict[tuple[str, str], Device] = {}
        infos = {info.device: info for info in registry.devices()}
        for device in registry.known_devices():
            name = infos[device].name if infos[device].software else str(device)
            once.setdefault((device.backend, name), device)
        return tuple(once.values())  # a list before the standard of 2025

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, DType]:
        """Return the dtypes that Python numbers take on `device`, and positions, which may have to live on the cpu."""
        place = registry.resolve_device(device)
        return {
            "real floating": default_on(place, dtypes.default_float()),
            "complex floating": default_on(place, dtypes.default_complex()),
            "integral": default_on(place, dtypes.default_int()),
            "indexing": dtypes.int64,
        }

    def dtypes(
        self, *, device: Device | str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes that `device` computes in, by name: all, or of one or several kinds."""
        wanted = _of_kind(("bool", "numeric") if kind is None else kind)
        able = wanted & registry.capabilities(registry.resolve_device(device)).dtypes
        return {name: dtype for name, dtype in dtypes.BY_NAME.items() if dtype in able}


def _of_kind(kind: str | tuple[str, ...]) -> frozenset[DType]:
    if isinstance(kind, tuple):
        return frozenset().union(*map(_of_kind, kind))
    if kind not in _KINDS:
        listed = ", ".join(map(repr, _KINDS))
        raise ArgumentError(f"dtypes: there is no kind {kind!r}", suggestions=(f"one of {listed}",))
    return _KINDS[kind]


def __array_namespace_info__() -> NamespaceInfo:
    """Return an object that tells what this namespace can do.

    The Array API standard's inspection: its devices, dtypes, default dtypes and capabilities.

    >>> tfr.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """
    return NamespaceInfo()


@method
def __array_namespace__(_self: Tensor, /, *, api_version: str | None = None) -> Any:
    if api_version is not None and api_version not in VERSIONS:
        listed = ", ".join(VERSIONS)
        raise ValueError(f"there is no version {api_version!r} of the array API: one of {listed}")
    return _namespace()


def _namespace() -> Any:
    import tensorframe

    return tensorframe


__all__ = ["__array_namespace_info__"]
