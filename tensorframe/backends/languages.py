"""Languages of sources: those of this package's devices, and the dialects that other packages bring."""

from __future__ import annotations

from typing import Any

from tensorframe.backends.extension_points import DIALECTS
from tensorframe.codegen.raw.names import OWN_LANGUAGES, learn


def language_names() -> tuple[str, ...]:
    """Return the names that sources may be written for; nothing is loaded."""
    return (*OWN_LANGUAGES, *DIALECTS.names())


def is_known(language: Any) -> bool:
    """Whether there is a language, whose types and reserved words are known from then on.

    A dialect is learned at each call: another one may have its name since the last.
    """
    if language in OWN_LANGUAGES:
        return True
    dialect = DIALECTS.extension(language)
    if dialect is None or dialect.value is None:
        return False
    learn(dialect.value)
    return True


def why_unknown(language: Any) -> str:
    """Return why a dialect does not load, for the end of a sentence; empty for what nobody brings."""
    dialect = DIALECTS.extension(language)
    return "" if dialect is None else f": {dialect.failure}"
