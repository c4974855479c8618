"""Adapters: processors as wgpu finds them, once for each graphics interface that reaches them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import wgpu

from tensorframe.dtypes import (
    ANY,
    NARROW,
    SIGNED,
    DType,
    complex128,
    float16,
    float64,
    int32,
    int64,
    uint32,
    uint64,
    wide_of,
)
from tensorframe.kernel import ir
from tensorframe.quick_dataclasses import dataclass

# what kernels use where it is there, and profiles
FEATURES = frozenset(
    {"shader-f16", "shader-f64", "shader-int64", "immediates", "subgroup", "timestamp-query"}
)
# what each interface is called, the one with the most features first
_INTERFACES = {"Vulkan": "vulkan", "Metal": "metal", "D3D12": "dx12", "OpenGL": "gl"}
# what wgpu calls the fewest threads of a subgroup, in some releases by mistake
_SUBGROUP = ("subgroup_min_size", "stackgroup_min_size")
_KINDS = ("DiscreteGPU", "IntegratedGPU", "Unknown", "CPU")


def _word(dtype: DType) -> DType:
    """Return what stands for a dtype in memory, where words are the smallest elements."""
    if dtype in NARROW:
        return wide_of(dtype)
    return int32 if dtype in SIGNED else uint32


_WORDS: Mapping[DType, DType] = {dtype: _word(dtype) for dtype in ANY if dtype.itemsize < 4}


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
    subgroup: int | None

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
    def shuffles(self) -> int:
        """Among how many neighbouring threads kernels may read each other's values, if a trial says so too.

        What is told of processors is not their vectors.
        """
        if "subgroup" not in self.features:
            return 0
        least = ir.CLASS if self.software else self.subgroup or 0
        return ir.WARP if least >= ir.WARP else ir.CLASS if least >= ir.CLASS else 0

    @property
    def held(self) -> Mapping[DType, DType]:
        """Dtypes that are held in memory as another one."""
        if not self.half:
            return _WORDS
        return {dtype: word for dtype, word in _WORDS.items() if dtype != float16}

    @property
    def dtypes(self) -> frozenset[DType]:
        """The dtypes that kernels compute with."""
        able = ANY if self.double else ANY - {float64, complex128}
        return able if self.long else able - {int64, uint64}


def adapters() -> list[Adapter]:
    """Return all adapters with compute shaders, those first that are likely the fastest."""
    listed = [_adapter(adapter) for adapter in wgpu.gpu.enumerate_adapters_sync()]
    usable = [
        adapter
        for adapter in listed
        if adapter.api and adapter.limits["max-compute-invocations-per-workgroup"]
    ]
    order = list(_INTERFACES.values())
    return sorted(
        usable,
        key=lambda adapter: (
            adapter.software,
            _KINDS.index(adapter.kind),
            order.index(adapter.api),
        ),
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
        subgroup=next((int(info[key]) for key in _SUBGROUP if info.get(key)), None),
    )
