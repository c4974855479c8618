"""The functions that C does not have, or does not have in the way machine ops are: for each dtype, in plain C."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tensorframe.dtypes import BY_NAME, FORMAT, NARROW, DType
from tensorframe.formats import SINGLE_FRACTION

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
# Narrow dtypes as their values in float: rounded to the nearest, ties to even. Where their exponents have fewer bits,
# numbers below the smallest normal one are multiples of a step, the distance of floats from a `shifter` on.
_NARROW = """\
HELPER float round_{name}(float x) {{
    const float size = fabs(x);
    const {uint} bits = as_uint32(size);
    const {uint} rounded = (bits + {half}u + (bits >> {spare} & 1u)) & ~{cut}u;
    float y;
    if (size != size) return x;
    if (size < {normal}) y = (size + {shifter}) - {shifter};
    else y = as_float32(size >= {overflow} ? {infinite} : rounded);
    return copysign(y, x);
}}
HELPER float {name}_of_bits({short} bits) {{
    const {uint} size = bits & {magnitude}u;
    const {uint} sign = ({uint})(bits & {sign}u) << {above};
    const {uint} y = (size << {spare}) + (size >= {infinity}u ? {to_infinite}u : {rebias}u);
    return as_float32(sign | (size < {least}u ? as_uint32((float)size * {step}) : y));
}}
HELPER {short} bits_of_{name}(float x) {{
    const float y = fabs(round_{name}(x));
    const {uint} sign = (as_uint32(x) >> {above}) & {sign}u;
    const {uint} normal = (as_uint32(y) - {rebias}u) >> {spare};
    if (!(y <= {largest})) return ({short})(sign | (y != y ? {quiet}u : {infinity}u));
    return ({short})(sign | (y < {normal} ? ({uint})(y * {steps}) : normal));
}}
"""
_UPPER = """\
HELPER float round_{name}(float x) {{
    const {uint} bits = as_uint32(x);
    return x != x ? x : as_float32((bits + {half}u + (bits >> {spare} & 1u)) & ~{cut}u);
}}
HELPER float {name}_of_bits({short} bits) {{ return as_float32(({uint})bits << {spare}); }}
HELPER {short} bits_of_{name}(float x) {{
    return x != x ? {quiet} : ({short})(as_uint32(round_{name}(x)) >> {spare});
}}
"""
_PRODUCT = """\
HELPER {uint} multiply_high_uint32({uint} x, {uint} y) {{ return ({uint})((({ulong})x * y) >> 32); }}
"""
# Shifts of signed numbers to the right repeat the sign in every compiler of these dialects.
_DOT = """\
HELPER int dot4_uint32({uint} x, {uint} y) {{
    return ((int)(x << 24) >> 24) * ((int)(y << 24) >> 24) + ((int)(x << 16) >> 24) * ((int)(y << 16) >> 24)
        + ((int)(x << 8) >> 24) * ((int)(y << 8) >> 24) + ((int)x >> 24) * ((int)y >> 24);
}}
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
    parts += [_narrow(dtype, types) for dtype in BY_NAME.values() if dtype in NARROW]
    parts.append(_PRODUCT.format(uint=types["uint32"], ulong=types["uint64"]))
    parts.append(_DOT.format(uint=types["uint32"]))
    text = "".join(parts)
    return {_name(function): function for function in _FUNCTION.findall(text)}


def _narrow(dtype: DType, types: Mapping[str, str]) -> str:
    """Return how values of a narrow dtype, and its elements' bits, are made of floats."""
    how, size = FORMAT[dtype], 8 * dtype.itemsize
    exponent = 1 - how.bias  # of the smallest normal number
    return (_UPPER if how.has_exponents_of_single else _NARROW).format(
        name=how.name,
        uint=types["uint32"],
        short=types[f"uint{size}"],
        normal=f"0x1p{exponent}f",
        shifter=f"0x1p{exponent + how.spare}f",
        step=f"0x1p{exponent - how.fraction}f",
        steps=f"0x1p{how.fraction - exponent}f",
        overflow=f"{how.overflow.hex()}f",
        largest=f"{how.largest.hex()}f",
        infinite="0x7f800000u" if how.infinite else "0x7fc00000u",
        half=hex(how.half_spare),
        cut=hex((1 << how.spare) - 1),
        spare=how.spare,
        above=32 - size,
        sign=hex(1 << (size - 1)),
        magnitude=hex((1 << (size - 1)) - 1),
        least=hex(1 << how.fraction),
        rebias=hex(how.rebias << SINGLE_FRACTION),
        to_infinite=hex(0x7F800000 - (((1 << how.exponent) - 1) << SINGLE_FRACTION)),
        infinity=hex(how.infinity),
        quiet=hex(how.quiet),
    )


def _name(function: str) -> str:
    return function[: function.index("(")].rsplit(maxsplit=1)[-1]
