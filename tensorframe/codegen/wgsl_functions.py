"""The functions that WGSL does not have, or does not have in the way machine ops are; a kernel gets those it calls."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tensorframe.dtypes import FORMAT, NARROW
from tensorframe.formats import SINGLE_FRACTION, Format
from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wgsl:
    """How a device speaks WGSL, and how exactly it computes."""

    half: bool  # f16 in memory
    double: bool  # f64, and 64-bit integers for its bits
    immediates: int  # bytes of words that are passed with a launch; others are a uniform buffer
    # types of which fma rounds once, and of which quotients and square roots are rounded correctly
    fused: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    subgroup: int = 0  # neighbouring threads that read each other's words by shuffles


# {t}: a type, {u}: the unsigned one of its size, {suffix}: of a literal of that
_KEEP = "fn keep_{t}(x: {t}) -> {t} {{ return bitcast<{t}>(bitcast<{u}>(x) ^ {u}({zero})); }}\n"
_FLOATS = {
    "bits": "fn bits_{t}(bits: {u}) -> {t} {{ return bitcast<{t}>(bits ^ {u}({zero})); }}\n",
    "is_nan": """\
fn is_nan_{t}(x: {t}) -> bool {{ return (bitcast<{u}>(x) & {magnitude}) > {infinity}; }}
""",
    "is_finite": """\
fn is_finite_{t}(x: {t}) -> bool {{ return (bitcast<{u}>(x) & {magnitude}) < {infinity}; }}
""",
    "maximum": """\
fn maximum_{t}(x: {t}, y: {t}) -> {t} {{ return select(y, x, (keep_{t}(x) > y) | is_nan_{t}(x)); }}
""",
    "minimum": """\
fn minimum_{t}(x: {t}, y: {t}) -> {t} {{ return select(y, x, (keep_{t}(x) < y) | is_nan_{t}(x)); }}
""",
    # so far from the ends of the range that remainders of it are exact
    "is_ordinary": """\
fn is_ordinary_{t}(x: {t}) -> bool {{
    let size = bitcast<{u}>(x) & {magnitude};
    return (size > {low}) & (size < {high});
}}
""",
    "copysign": """\
fn copysign_{t}(x: {t}, y: {t}) -> {t} {{
    return bitcast<{t}>((bitcast<{u}>(x) & {magnitude}) | (bitcast<{u}>(y) & ~{magnitude}));
}}
""",
    # without vectors of 512 bits, llvmpipe leaves what is above 2**24 as it is, and drops the sign of zero
    "trunc": "fn trunc_{t}(x: {t}) -> {t} {{ return copysign_{t}(floor(abs(x)), x); }}\n",
    # from 2**52 on there are no fractions, so a sum of that size is rounded to a whole number, ties to even
    "round": """\
fn round_{t}(x: {t}) -> {t} {{
    let unit = {t}(4503599627370496);
    let near = keep_{t}(keep_{t}(abs(x) + unit) - unit);
    return copysign_{t}(select(abs(x), near, abs(x) < unit), x);
}}
""",
    # the upper half of the digits, rounded
    "upper": """\
fn upper_{t}(x: {t}) -> {t} {{ return bitcast<{t}>((bitcast<{u}>(x) + {half}) & {upper}); }}
""",
    # the product and the sum with what rounding took from each (Dekker 1971), a fourth of them near the largest numbers
    "fma": """\
fn fma_{t}(x: {t}, y: {t}, z: {t}) -> {t} {{
    let large = !(abs(x * y) < {large});
    let part = select({t}(1), {t}(0.25), large);
    let e = keep_{t}(x * part);
    let f = keep_{t}(z * part);
    let p = keep_{t}(e * y);
    let a = upper_{t}(e);
    let b = keep_{t}(e - a);
    let c = upper_{t}(y);
    let d = keep_{t}(y - c);
    let near = keep_{t}(keep_{t}(keep_{t}(a * c) - p) + keep_{t}(a * d));
    let low = keep_{t}(keep_{t}(near + keep_{t}(b * c)) + keep_{t}(b * d));
    let s = keep_{t}(p + f);
    let v = keep_{t}(s - p);
    let lost = keep_{t}(low + keep_{t}(keep_{t}(p - keep_{t}(s - v)) + keep_{t}(f - v)));
    let r = keep_{t}(s + lost);
    let total = select(s, r, is_finite_{t}(r) & !(lost == {t}(0)));
    return total * select({t}(1), {t}(4), large);
}}
""",
    "sqrt": "fn sqrt_{t}(x: {t}) -> {t} {{ return keep_{t}(sqrt(x)); }}\n",
    "divide": "fn divide_{t}(x: {t}, y: {t}) -> {t} {{ return keep_{t}(x / y); }}\n",
}
_FUSED = "fn fma_{t}(x: {t}, y: {t}, z: {t}) -> {t} {{ return keep_{t}(fma(x, y, z)); }}\n"
_IN_DOUBLE = "fn fma_f32(x: f32, y: f32, z: f32) -> f32 {{ return keep_f32(f32(f64(x) * f64(y) + f64(z))); }}\n"
# one step of Newton's, with the exact remainder
_CORRECTED = {
    "divide": """\
fn divide_{t}(x: {t}, y: {t}) -> {t} {{
    let q = keep_{t}(x / y);
    let r = fma_{t}(-q, y, x);
    let better = keep_{t}(q + keep_{t}(r / y));
    let ordinary = is_ordinary_{t}(q) & is_ordinary_{t}(x) & is_ordinary_{t}(y);
    return select(q, better, ordinary & !(r == {t}(0)));
}}
""",
    "sqrt": """\
fn sqrt_{t}(x: {t}) -> {t} {{
    let s = keep_{t}(sqrt(x));
    let r = fma_{t}(-s, s, x);
    let better = keep_{t}(s + keep_{t}(r / (s + s)));
    return select(s, better, is_ordinary_{t}(x) & !(r == {t}(0)));
}}
""",
}
_INTEGERS = {
    "maximum": "fn maximum_{t}(x: {t}, y: {t}) -> {t} {{ return select(y, x, x > y); }}\n",
    "minimum": "fn minimum_{t}(x: {t}, y: {t}) -> {t} {{ return select(y, x, x < y); }}\n",
    # beyond the range to the nearest number, where below zero as in C
    "of_f32": "fn {t}_of_f32(x: f32) -> {t} {{ return keep_{t}({from_float}); }}\n",
    "of_f64": "fn {t}_of_f64(x: f64) -> {t} {{ return keep_{t}({from_float}); }}\n",
}
_SIGNED = {
    "abs": "fn abs_{t}(x: {t}) -> {t} {{ return select(x, -x, x < 0{suffix}); }}\n",
    "floor_divide": """\
fn floor_divide_{t}(x: {t}, y: {t}) -> {t} {{
    if (y == 0{suffix}) {{ return 0{suffix}; }}
    if (y == -1{suffix}) {{ return -x; }}
    let q = x / y;
    return select(q, q - 1{suffix}, (x - q * y != 0{suffix}) & ((x < 0{suffix}) != (y < 0{suffix})));
}}
""",
    "remainder": """\
fn remainder_{t}(x: {t}, y: {t}) -> {t} {{
    if ((y == 0{suffix}) | (y == -1{suffix})) {{ return 0{suffix}; }}
    let r = x - x / y * y;
    return select(r, r + y, (r != 0{suffix}) & ((r < 0{suffix}) != (y < 0{suffix})));
}}
""",
    "bitwise_left_shift": """\
fn bitwise_left_shift_{t}(x: {t}, n: {t}, bits: u32) -> {t} {{
    return select(x << (u32(n) & {last}u), 0{suffix}, (n < 0{suffix}) | (n >= {t}(bits)));
}}
""",
    "bitwise_right_shift": """\
fn bitwise_right_shift_{t}(x: {t}, n: {t}, bits: u32) -> {t} {{
    return x >> select(u32(n) & {last}u, {last}u, (n < 0{suffix}) | (n >= {t}(bits)));
}}
""",
}
_UNSIGNED = {
    "floor_divide": """\
fn floor_divide_{t}(x: {t}, y: {t}) -> {t} {{
    if (y == 0{suffix}) {{ return 0{suffix}; }}
    return x / y;
}}
""",
    "remainder": """\
fn remainder_{t}(x: {t}, y: {t}) -> {t} {{
    if (y == 0{suffix}) {{ return 0{suffix}; }}
    return x % y;
}}
""",
    "bitwise_left_shift": """\
fn bitwise_left_shift_{t}(x: {t}, n: {t}, bits: u32) -> {t} {{
    return select(x << (u32(n) & {last}u), 0{suffix}, n >= {t}(bits));
}}
""",
    "bitwise_right_shift": """\
fn bitwise_right_shift_{t}(x: {t}, n: {t}, bits: u32) -> {t} {{
    return select(x >> (u32(n) & {last}u), 0{suffix}, n >= {t}(bits));
}}
""",
}
_OTHERS = {
    "multiply_high_u32": """\
fn multiply_high_u32(x: u32, y: u32) -> u32 {{
    let low = (x & 0xffffu) * (y & 0xffffu);
    let left = (x >> 16u) * (y & 0xffffu) + (low >> 16u);
    let right = (x & 0xffffu) * (y >> 16u) + (left & 0xffffu);
    return (x >> 16u) * (y >> 16u) + (left >> 16u) + (right >> 16u);
}}
""",
    "dot4_u32": """\
fn dot4_u32(x: u32, y: u32) -> i32 {{ return dot4I8Packed(x, y); }}
""",
}
# Below its smallest normal number a narrow dtype has multiples of a step, the distance of floats from a `shifter` on;
# above, some bits of the significand are too many. Rounded to the nearest, ties to even.
_NARROW = """\
fn round_{name}(x: f32) -> f32 {{
    let bits = bitcast<u32>(x) & 0x7fffffffu;
    let tiny = bitcast<u32>(keep_f32(bitcast<f32>(bits) + {shifter}) - {shifter});
    let rounded = (bits + {half}u + (bits >> {spare}u & 1u)) & {kept}u;
    let normal = select(rounded, {infinite}, bits >= {overflow}u);
    let y = select(normal, tiny, bits < {least}u);
    return bitcast<f32>(select(y, bits, bits > 0x7f800000u) | (bitcast<u32>(x) & 0x80000000u));
}}
"""
_UPPER = """\
fn round_{name}(x: f32) -> f32 {{
    let bits = bitcast<u32>(x);
    let rounded = (bits + {half}u + (bits >> {spare}u & 1u)) & {kept}u;
    return bitcast<f32>(select(rounded, bits, is_nan_f32(x)));
}}
"""


def _narrow(how: Format) -> str:
    """Return the function that rounds to a narrow dtype."""
    return (_UPPER if how.has_exponents_of_single else _NARROW).format(
        name=how.name,
        shifter=f"0x1p{1 - how.bias + how.spare:+}f",
        half=hex(how.half_spare),
        spare=how.spare,
        kept=hex(0xFFFFFFFF >> how.spare << how.spare),
        infinite="0x7f800000u" if how.infinite else "0x7fc00000u",
        overflow=hex(how.overflow_bits),
        least=hex((how.rebias + 1) << SINGLE_FRACTION),
    )


_ROUND = {f"round_{dtype.name}": FORMAT[dtype] for dtype in NARROW}
_LAYOUTS = {
    "f32": {
        "u": "u32",
        "magnitude": "0x7fffffffu",
        "infinity": "0x7f800000u",
        "low": "0x20000000u",
        "high": "0x5f000000u",
        "large": "0x1p+125f",
        "half": "0x800u",
        "upper": "0xfffff000u",
    },
    "f64": {
        "u": "u64",
        "magnitude": "0x7ffffffffffffffflu",
        "infinity": "0x7ff0000000000000lu",
        "low": "0x2000000000000000lu",
        "high": "0x5fe0000000000000lu",
        "large": "0x1p+1021lf",
        "half": "0x4000000lu",
        "upper": "0xfffffffff8000000lu",
    },
}
_SUFFIXES = {"i32": "i", "u32": "u", "i64": "li", "u64": "lu"}
_CALL = re.compile(r"\b([a-z_0-9]+)\(")


def functions(names: Iterable[str], dialect: Wgsl, zero: str) -> str:
    """Return the functions with these names and those that they call; `zero` spells the word that is zero."""
    functions: dict[str, str] = {}
    for name in names:
        _add(name, dialect, zero, functions)
    return "".join(functions.values())


def _add(name: str, dialect: Wgsl, zero: str, texts: dict[str, str]) -> None:
    if name in texts:
        return
    text = _function(name, dialect, zero)
    for called in _CALL.findall(text):
        if called != name and _is_known(called):
            _add(called, dialect, zero, texts)
    texts[name] = text


def _is_known(name: str) -> bool:
    if name in _OTHERS or name in _ROUND:
        return True
    op, _, kind = name.rpartition("_")
    return op in ("keep", *_FLOATS, *_INTEGERS, *_SIGNED) and kind in (*_LAYOUTS, *_SUFFIXES)


def _function(name: str, dialect: Wgsl, zero: str) -> str:
    if name in _OTHERS:
        return _OTHERS[name].format()
    if name in _ROUND:
        return _narrow(_ROUND[name])
    op, _, kind = name.rpartition("_")
    if op.endswith("_of"):
        return _from_float(op.removesuffix("_of"), kind, zero)
    if kind in _LAYOUTS:
        form = _KEEP if op == "keep" else _float_form(op, kind, dialect)
        return form.format(t=kind, zero=zero, **_LAYOUTS[kind])
    own = _SIGNED if kind.startswith("i") else _UNSIGNED
    form = _KEEP if op == "keep" else (_INTEGERS | own)[op]
    bits = int(kind[1:])
    return form.format(t=kind, u=f"u{bits}", zero=zero, suffix=_SUFFIXES[kind], last=bits - 1)


def _float_form(op: str, kind: str, dialect: Wgsl) -> str:
    if op == "fma":
        if kind in dialect.fused:
            return _FUSED
        return _IN_DOUBLE if kind == "f32" and dialect.double else _FLOATS[op]
    corrected = op in _CORRECTED and kind not in dialect.exact
    return _CORRECTED[op] if corrected else _FLOATS[op]


def _from_float(kind: str, source: str, zero: str) -> str:
    signed = f"i{kind[1:]}"
    value = f"{kind}(x)"
    if kind != signed:
        value = f"select({value}, {kind}({signed}(x)), x < {source}(0))"
    return _INTEGERS[f"of_{source}"].format(t=kind, from_float=value, zero=zero)
