"""Names that a kernel may use: identifiers that no language of its sources reserves, and that are none of ours."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping

from tensorframe.codegen.raw.text import OWN
from tensorframe.codegen.wgsl_names import KEYWORDS as WGSL_KEYWORDS

_C = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
"""
_OPENCL = """
half uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t quad complex imaginary pipe kernel global local
constant private generic read_only write_only read_write event_t image1d_t image2d_t image3d_t sampler_t barrier
"""
_CPP = """
alignas alignof and and_eq asm bitand bitor catch char16_t char32_t class compl constexpr const_cast decltype delete
dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private
protected public reinterpret_cast static_assert static_cast template this thread_local throw try typeid typename using
virtual wchar_t xor xor_eq threadIdx blockIdx blockDim gridDim warpSize
"""
_WGSL = "array bool f16 f32 f64 i32 i64 u32 u64 atomic ptr vec2 vec3 vec4 mat2x2 mat3x3 mat4x4"

RESERVED: Mapping[str, frozenset[str]] = {
    "opencl": frozenset(f"{_C} {_OPENCL}".split()),
    "cuda": frozenset(f"{_C} {_CPP}".split()),
    "wgsl": WGSL_KEYWORDS | frozenset(_WGSL.split()),
    "cpu": frozenset(keyword.kwlist),
}
TITLES: Mapping[str, str] = {
    "opencl": "OpenCL C",
    "cuda": "CUDA C++",
    "wgsl": "WGSL",
    "cpu": "Python",
}


def refusal(name: str, languages: Iterable[str]) -> str | None:
    """Return why a name cannot be used in sources of these languages; None if it can."""
    if not (name.isidentifier() and name.isascii()):
        return f"{name!r} is no identifier"
    if name.startswith((OWN, "__")):
        return (
            f"{name!r} begins with {OWN if name.startswith(OWN) else '__'!r}, as generated names do"
        )
    for language in languages:
        if name in RESERVED[language]:
            return f"{name!r} is a reserved word of {TITLES[language]}"
    return None
