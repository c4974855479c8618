"""Names that WGSL lets a program use: what it reserves gets another letter."""

from __future__ import annotations

# https://www.w3.org/TR/WGSL/#keyword-summary and #reserved-words: those that could come up as names of values
KEYWORDS = frozenset(
    word
    for line in (
        "alias break case const const_assert continue continuing default diagnostic discard else enable false fn for",
        "if let loop override requires return struct switch true var while",
        "abstract active alignas alignof as asm async attribute auto await become cast catch class common compile",
        "concept constexpr decltype delete demote demote_to_helper do enum explicit export extends extern external",
        "fallthrough filter final finally friend from fxgroup get goto groupshared highp impl implements import inline",
        "instanceof interface layout lowp macro match mediump meta mod module move mut mutable namespace new nil",
        "noexcept noinline null operator package packoffset partition pass patch point precise precision premerge",
        "priv protected pub public readonly ref regardless register require resource restrict self set shared sizeof",
        "smooth snorm static std subroutine super target template this thread throw trait try type typedef typeid",
        "typename typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl where with",
        "writeonly yield",
    )
    for word in line.split()
)
# what the frame of a kernel, and the text of its statements, call something else
_FRAME = frozenset(
    word
    for line in (
        "group group_count half_of lane w abs bitcast ceil f16 f32 f64 floor fma i32 i64 round select sqrt trunc u32",
        "u64 vec4 array bool",
    )
    for word in line.split()
)
_RESERVED = KEYWORDS | _FRAME


def allowed(name: str) -> str:
    """Return a name, changed if the language, or the frame of a kernel, has another use for it."""
    return f"{name}_" if name in _RESERVED else name
