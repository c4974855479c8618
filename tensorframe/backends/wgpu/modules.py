"""Shader modules whose loops run as they are written: ours end, and counting iterations takes as long as a product.

WebGPU has every loop count its iterations, since a program from anywhere may run for ever. Accesses out of bounds stay
harmless. wgpu has no method for that yet; where the functions behind it change, modules are made the usual way.
"""

from __future__ import annotations

from typing import Any

# all that is checked while shaders run, but for loops
_CHECKS = 0x1 | 0x4 | 0x8 | 0x10


def shader_module(device: Any, label: str, code: str) -> Any:
    """Return a module of WGSL that is known to end; wgpu's own errors for text that is wrong."""
    try:
        return _trusted(device, label, code)
    except (ImportError, AttributeError, TypeError, KeyError):
        return device.create_shader_module(label=label, code=code)


def _trusted(device: Any, label: str, code: str) -> Any:
    from wgpu.backends.wgpu_native import _api as api

    text = api.new_struct_p("WGPUShaderSourceWGSL *", code=api.to_c_string_view(code))
    text[0].chain.next = api.ffi.NULL
    text[0].chain.sType = api.lib.WGPUSType_ShaderSourceWGSL
    descriptor = api.new_struct_p(
        "WGPUShaderModuleDescriptor *",
        nextInChain=api.ffi.cast("WGPUChainedStruct *", text),
        label=api.to_c_string_view(label),
    )
    made = api.libf.wgpuDeviceCreateShaderModuleTrusted(device._internal, descriptor, _CHECKS)
    return api.GPUShaderModule(label, made, device)
