"""Adapters: processors as wgpu finds them, once for each graphics interface that reaches them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import wgpu

from tensorframe.dtypes import (
    ANY,
    DType,
    bfloat16,
    bool_,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

# what kernels use where it is there
FEATURES = frozenset({"shader-f16", "shader-f64", "shader-int64", "immediates"})
# what each interface is called, the one with the most features first
_INTERFACES = {"Vulkan": "vulkan", "Metal": "metal", "D3D12": "dx12", "OpenGL": "gl"}
_KINDS = ("DiscreteGPU", "IntegratedGPU", "Unknown", "CPU")
# words are the smallest elements that memory has
_WORDS: Mapping[DType, DType] = {
    bool_: uint32,
    int8: int32,
    int16: int32,
    uint8: uint32,
    uint16: uint32,
    bfloat16: float32,
}


@dataclass(frozen=True, slots=True)
class Adapter:
    """A processor, as one interface reaches it."""

    handle: Any  # wgpu's
    name: str
    api: str
    driver: str
    kind: str
    features: frozenset[str]
    limits: Mapping[str, int]

    @property
    def software(self) -> bool:
        """Whether it is the host's own processor."""
        return self.kind == "CPU" or "llvmpipe" in self.name

    @property
    def half(self) -> bool:
        """Whether memory holds half precision."""
        return "shader-f16" in self.features

    @property
    def long(self) -> bool:
        """Whether it has 64-bit integers."""
        return "shader-int64" in self.features

    @property
    def double(self) -> bool:
        """Whether it has double precision, and integers for its bits."""
        return self.long and "shader-f64" in self.features

    @property
    def held(self) -> Mapping[DType, DType]:
        """Dtypes that are held in memory as another one."""
        return _WORDS if self.half else {**_WORDS, float16: float32}

    @property
    def dtypes(self) -> frozenset[DType]:
        """The dtypes that kernels compute with."""
        found = ANY if self.double else ANY - {float64, complex128}
        return found if self.long else found - {int64, uint64}


def adapters() -> list[Adapter]:
    """Return all adapters with compute shaders, those first that are likely the fastest."""
    found = [_adapter(one) for one in wgpu.gpu.enumerate_adapters_sync()]
    usable = [
        one for one in found if one.api and one.limits["max-compute-invocations-per-workgroup"]
    ]
    order = list(_INTERFACES.values())
    return sorted(
        usable, key=lambda one: (one.software, _KINDS.index(one.kind), order.index(one.api))
    )


def _adapter(handle: Any) -> Adapter:
    info = handle.info
    kind = info["adapter_type"]
    return Adapter(
        handle=handle,
        name=info["device"],
        api=_INTERFACES.get(info["backend_type"], ""),
        driver=info["description"],
        kind=kind if kind in _KINDS else "Unknown",
        features=FEATURES & frozenset(handle.features),
        limits=dict(handle.limits),
    )
