"""DLPack export: tensors handed to other libraries, without a copy where that is safe."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import FORMAT
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.ops.creation import DATA
from tensorframe.runtime.evaluate import computed_storage

Version = tuple[int, int]

# kDLCPU of DLPack 1.1, dlpack.h, and the index of the device
HOST = (1, 0)


@method
def __dlpack_device__(self: Tensor, /) -> tuple[int, int]:
    exporter = _on_device(self)
    if exporter is None:
        return HOST
    kind, index = exporter.__dlpack_device__()
    return int(kind), int(index)


def _on_device(tensor: Tensor) -> Any:
    """Return what exports the tensor's memory on its device; None where it is exported from the host."""
    device = tensor.node.device
    if capabilities(device).host_memory:
        return None
    return backend_of(device).export_dlpack(computed_storage(tensor.node))


@method
def __dlpack__(
    self: Tensor,
    /,
    *,
    stream: Any = None,
    max_version: Version | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    exporter = _on_device(self)
    if exporter is not None and (dl_device is None or tuple(map(int, dl_device)) != HOST):
        options: dict[str, Any] = {"stream": stream, "dl_device": dl_device, "copy": copy}
        options = {name: value for name, value in options.items() if value is not None}
        return exporter.__dlpack__(max_version=max_version, **options)
    if dl_device is not None and (int(dl_device[0]), int(dl_device[1])) != HOST:
        raise BufferError(f"a tensor on {self.device} is exported to host memory only: (1, 0)")
    if stream is not None:
        raise BufferError(f"host memory has no streams: stream must be None, got {stream!r}")
    versioned = max_version is not None and max_version[0] >= 1
    array = _export(self, copy=copy, versioned=versioned)
    code = FORMAT[array.dtype].dlpack
    if not code:
        return array.__dlpack__(max_version=max_version)
    from tensorframe.frontend.conversion.dlpack_capsule import dtype_in  # for the few who need it

    capsule = array.view(f"u{array.itemsize}").__dlpack__(max_version=max_version)
    dtype_in(capsule).code = code
    return capsule


def _export(tensor: Tensor, *, copy: bool | None, versioned: bool) -> np.ndarray[Any, Any]:
    """Return the array to export: read-only where the consumer can be told so, else one that it may write to.

    Consumers older than DLPack 1.0 cannot be told, so they get a copy, unless they asked for the memory itself.
    """
    if not capabilities(tensor.node.device).host_memory:
        # the device has no place in DLPack: what is shared is the download, which blocks of a cluster may be themselves
        array = tensor._array()
        return array if versioned or array.flags.writeable else array.copy()
    if copy or (copy is None and not versioned):
        return tensor.numpy(copy=True)
    array = tensor._array()
    if _is_pattern(array) or not (versioned or array.flags.writeable or tensor.node.op is DATA):
        _lay_out(tensor)
    if versioned:
        return tensor.numpy()
    array = tensor._array()
    if not array.flags.writeable:
        raise BufferError(
            "this memory is read-only, which consumers older than DLPack 1.0 cannot be told\n"
            "  try: tfr.asarray(x, copy=True), whose memory may be written to"
        )
    return array


def _is_pattern(array: np.ndarray[Any, Any]) -> bool:
    """Whether elements share memory or run backwards, which consumers do not expect of memory that they share."""
    return any(
        stride <= 0 for stride, size in zip(array.strides, array.shape, strict=True) if size > 1
    )


def _lay_out(tensor: Tensor) -> None:
    """Give the tensor memory of its own, one place for each element."""
    node = tensor.node
    node.settle(Storage.of_array(node.device, tensor._array().copy()))


__all__: list[str] = []
