"""The functions that C does not have, or does not have in the way machine ops are: for each dtype, in plain C."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_FLOATS = """\
HELPER {type} maximum_{name}({type} x, {type} y) {{ return (x > y || x != x) ? x : y; }}
HELPER {type} minimum_{name}({type} x, {type} y) {{ return (x < y || x != x) ? x : y; }}
HELPER {type} abs_{name}({type} x) {{ return fabs(x); }}
HELPER {type} multiply_add_{name}({type} x, {type} y, {type} z) {{ return FUSED_{name}(x, y, z); }}
"""
_INTEGERS = """\
HELPER {type} maximum_{name}({type} x, {type} y) {{ return x > y ? x : y; }}
HELPER {type} minimum_{name}({type} x, {type} y) {{ return x < y ? x : y; }}
"""
_SIGNED = """\
HELPER {type} abs_{name}({type} x) {{ return x < 0 ? ({type})(0 - ({unsigned})x) : x; }}
HELPER {type} floor_divide_{name}({type} x, {type} y) {{
    if (y == 0) return 0;
    if (y == -1) return ({type})(0 - ({unsigned})x);
    {type} q = x / y;
    return (x % y != 0 && (x < 0) != (y < 0)) ? q - 1 : q;
}}
HELPER {type} remainder_{name}({type} x, {type} y) {{
    if (y == 0 || y == -1) return 0;
    {type} r = x % y;
    return (r != 0 && (r < 0) != (y < 0)) ? r + y : r;
}}
HELPER {type} bitwise_left_shift_{name}({type} x, {type} n) {{
    return n < 0 || n >= {bits} ? 0 : ({type})(({unsigned})x << n);
}}
HELPER {type} bitwise_right_shift_{name}({type} x, {type} n) {{
    return n < 0 || n >= {bits} ? (x < 0 ? -1 : 0) : x >> n;
}}
"""
_UNSIGNED = """\
HELPER {type} abs_{name}({type} x) {{ return x; }}
HELPER {type} floor_divide_{name}({type} x, {type} y) {{ return y == 0 ? 0 : x / y; }}
HELPER {type} remainder_{name}({type} x, {type} y) {{ return y == 0 ? 0 : x % y; }}
HELPER {type} bitwise_left_shift_{name}({type} x, {type} n) {{ return n >= {bits} ? 0 : x << n; }}
HELPER {type} bitwise_right_shift_{name}({type} x, {type} n) {{ return n >= {bits} ? 0 : x >> n; }}
"""
# Half precision as its value in float: rounded to the nearest, ties to even. Below 2^-14 its numbers are multiples of
# 2^-24, the distance of floats between 1/2 and 1; above, 13 bits of the significand are too many.
_HALF = """\
HELPER float round_float16(float x) {{
    const float size = fabs(x);
    const {uint} bits = as_uint32(size);
    float y;
    if (size != size) return x;
    if (size < 0x1p-14f) y = (size + 0.5f) - 0.5f;
    else y = size >= 65520.0f ? as_float32(0x7f800000u) : as_float32((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
    return copysign(y, x);
}}
HELPER float round_bfloat16(float x) {{
    const {uint} bits = as_uint32(x);
    return x != x ? x : as_float32((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}}
HELPER float bfloat16_of_bits({ushort} bits) {{ return as_float32(({uint})bits << 16); }}
HELPER {ushort} bits_of_bfloat16(float x) {{
    return x != x ? 0x7fc0 : ({ushort})(as_uint32(round_bfloat16(x)) >> 16);
}}
HELPER {uint} multiply_high_uint32({uint} x, {uint} y) {{ return ({uint})((({ulong})x * y) >> 32); }}
"""


_FUNCTION = re.compile(r"^HELPER .*?(?:\}|^\})\n(?=HELPER|\Z)", re.DOTALL | re.MULTILINE)


def helpers(types: Mapping[str, str], reals: Iterable[str]) -> dict[str, str]:
    """Return the functions for all integer types and the floating ones in `reals` by name, in a dialect's types."""
    parts = [_FLOATS.format(type=types[name], name=name) for name in reals]
    for name, kind in types.items():
        if not name.startswith(("int", "uint")):
            continue
        bits = int(name.lstrip("uint"))
        parts.append(_INTEGERS.format(type=kind, name=name))
        unsigned = types[f"uint{max(bits, 32)}"]
        form = _SIGNED if name.startswith("int") else _UNSIGNED
        parts.append(form.format(type=kind, name=name, unsigned=unsigned, bits=bits))
    words = {"uint": types["uint32"], "ushort": types["uint16"], "ulong": types["uint64"]}
    text = "".join(parts) + _HALF.format(**words)
    return {_name(one): one for one in _FUNCTION.findall(text)}


def _name(function: str) -> str:
    return function[: function.index("(")].rsplit(maxsplit=1)[-1]
