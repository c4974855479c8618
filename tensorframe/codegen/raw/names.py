"""Names that a kernel may use: identifiers that no language of its sources reserves, and that are none of ours."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping

from tensorframe.codegen import cuda, opencl
from tensorframe.codegen.c_dialect import Dialect
from tensorframe.codegen.raw import wgsl
from tensorframe.codegen.raw.c import words_of
from tensorframe.codegen.raw.text import OWN
from tensorframe.codegen.wgsl_names import KEYWORDS as WGSL_KEYWORDS
from tensorframe.quick_dataclasses import dataclass

_C = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
"""
_WGSL = "array bool f16 f32 f64 i32 i64 u32 u64 atomic ptr vec2 vec3 vec4 mat2x2 mat3x3 mat4x4"


@dataclass(frozen=True, slots=True)
class Language:
    """A language of sources: what people call it, the words that it reserves, and what it calls dtypes."""

    title: str
    reserved: frozenset[str]
    types: Mapping[str, str]


def _language(dialect: Dialect) -> Language:
    bodies = dialect.bodies
    reserved = frozenset(_C.split()) | (bodies.reserved if bodies is not None else frozenset())
    return Language(dialect.title or dialect.name, reserved, words_of(dialect))


# the languages of this package's devices, and the dialects of others that were learned
LANGUAGES: dict[str, Language] = {
    "opencl": _language(opencl.dialect(double=True)),
    "cuda": _language(cuda.DIALECT),
    "wgsl": Language("WGSL", WGSL_KEYWORDS | frozenset(_WGSL.split()), wgsl.TYPES),
    "cpu": Language("Python", frozenset(keyword.kwlist), {}),
}
OWN_LANGUAGES = tuple(LANGUAGES)


def learn(dialect: Dialect) -> None:
    """Have sources in another package's dialect be known by its name; what had it before is replaced."""
    LANGUAGES[dialect.name] = _language(dialect)


def title(language: str) -> str:
    """Return what people call a language."""
    known = LANGUAGES.get(language)
    return language if known is None else known.title


def refusal(name: str, languages: Iterable[str]) -> str | None:
    """Return why a name cannot be used in sources of these languages; None if it can."""
    if not (name.isidentifier() and name.isascii()):
        return f"{name!r} is no identifier"
    if name.startswith((OWN, "__")):
        return (
            f"{name!r} begins with {OWN if name.startswith(OWN) else '__'!r}, as generated names do"
        )
    for language in languages:
        if name in LANGUAGES[language].reserved:
            return f"{name!r} is a reserved word of {title(language)}"
    return None
