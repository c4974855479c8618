"""What is said of a function beside its docstring: parameters, result, errors, differences, related names.

Parameters mean the same in most functions, so each meaning is written once, in `parameters.toml`: by the function, by
its module, or by the name alone. What the sections of a docstring in numpydoc's style say comes first.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tensorframe import errors
from tensorframe.documentation.raising import raised_in

HERE = Path(__file__).parent
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ERROR = r"[A-Z]\w+(?:Error|Warning)\b"
# what begins with errors: the others that a condition is shared with, and the condition
_SHARED = re.compile(
    rf"(?:(?:, | and | or |, and |, or ){_ERROR})* (?=(?:if|unless|for|where|when|beyond)\b)"
)
_NEXT = re.compile(rf"(?:,| and| or|, and|, or) (?={_ERROR})")
_ENTRY = re.compile(r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n?|\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Sections:
    """What is known of a function; meanings may be empty."""

    parameters: dict[str, str]
    returns: tuple[str, ...]
    result: str  # the type
    raises: dict[str, str]
    difference: str  # from NumPy
    related: tuple[str, ...]  # full names


def sections(path: str, function: Callable[..., Any], text: str) -> Sections:
    """Return what is known of a function whose docstring is `text`; `path` is its full public name."""
    written = written_in(text, "Parameters")
    raises = written_in(text, "Raises") or dict(_named_errors(text))
    for error, messages in raised_in(function).items():
        raises.setdefault(error, ", or ".join(f"“{message}”" for message in messages))
    short = path.removeprefix("tensorframe.")
    return Sections(
        {name: written.get(name) or meaning_of(path, name) for name in parameters(function)},
        tuple(written_in(text, "Returns").values()),
        _annotation(function),
        raises,
        differences().get(short, ""),
        tuple(_related(short)),
    )


def as_written(value: Any) -> str:
    """Return the docstring in the source of a function or class, or nothing; no section is added."""
    return inspect.cleandoc(str(value.__doc__ or ""))


def split(docstring: str) -> tuple[str, dict[str, str]]:
    """Return what a docstring says before its sections, and the text of each section by its heading."""
    before, *parts = _HEADING.split(docstring)
    texts = [text.strip("\n") for text in parts[1::2]]
    return before.strip("\n"), dict(zip(parts[::2], texts, strict=True))


def written_in(docstring: str, section: str) -> dict[str, str]:
    """Return the entries of a section in numpydoc's style, each with what it says on one line."""
    text = split(docstring)[1].get(section, "")
    return {
        name.strip(): " ".join(meaning.split())
        for names, meaning in _ENTRY.findall(text)
        for name in names.partition(" : ")[0].split(",")
    }


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return a function's parameters by name; none of NumPy's own functions, whose pages are NumPy's."""
    if not (getattr(function, "__module__", None) or "").startswith("tensorframe"):
        return {}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return {}
    return {
        name: parameter
        for name, parameter in signature.parameters.items()
        if name not in {"self", "cls"} and name[0] != "_"
    }


@cache
def meanings() -> dict[str, dict[str, str]]:
    """Return what parameters mean, by place and name."""
    return tomllib.loads((HERE / "parameters.toml").read_text(encoding="utf-8"))


@cache
def differences() -> dict[str, str]:
    """Return what differs from NumPy, by name."""
    return tomllib.loads((HERE / "differences.toml").read_text(encoding="utf-8"))


def meaning_of(path: str, name: str) -> str:
    """Return what a parameter means: in the function, in one of its modules, the innermost first, or anywhere."""
    *modules, function = path.removeprefix("tensorframe.").split(".")
    for place in (function, *reversed(modules), "any"):
        meaning = meanings().get(place, {}).get(name)
        if meaning:
            return meaning
    return ""


def _annotation(function: Callable[..., Any]) -> str:
    annotation = getattr(function, "__annotations__", {}).get("return", "")
    if not isinstance(annotation, str):
        annotation = getattr(annotation, "__name__", str(annotation))
    return "" if annotation in {"", "Any"} else annotation


def _named_errors(text: str) -> Iterator[tuple[str, str]]:
    """Yield the errors that a docstring names, each with when it is raised."""
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if ">>>" not in part]
    sentences = re.split(r"(?<=[.;:]) +", re.sub(r"\s+", " ", " ".join(paragraphs)))
    told: set[str] = set()
    for sentence in sentences:
        for name in re.findall(rf"\b{_ERROR}", sentence):
            if hasattr(errors, name) and name not in told:
                told.add(name)
                yield name, _condition(name, sentence)


def _condition(name: str, sentence: str) -> str:
    """Return when an error is raised by a sentence that says so of several, or the sentence: it may begin otherwise.

    >>> _condition("DTypeError", "ShapeError for no axes, DTypeError and ArgumentError if x is none;")
    'If x is none.'
    """
    told = sentence.rstrip(".;:")
    text = told.removeprefix("Raises ")
    after = text.partition(name)[2]
    shared = _SHARED.match(after)
    if shared is not None and re.match(_ERROR, text):
        told = _NEXT.split(after[shared.end() :])[0]
    return told[0].upper() + told[1:] + "."


def _other_names(short: str, value: Any) -> list[str]:
    """Return the public names that a function or class has beside `short`, of those that are loaded with it."""
    import tensorframe

    package: Any = tensorframe
    names: list[str] = package._namespace.__all__
    if short not in names:
        exports: dict[str, str] = package._on_demand.EXPORTS
        names = next((text.split() for text in exports.values() if short in text.split()), [])
    return [name for name in names if name != short and getattr(tensorframe, name) is value]


def _related(short: str) -> Iterator[str]:
    """Yield other names of the same function, and the method or function of the same name."""
    import tensorframe

    value = getattr(tensorframe, short, None)
    if value is not None:
        yield from (f"tensorframe.{name}" for name in sorted(_other_names(short, value)))
        if hasattr(tensorframe.Tensor, short) and callable(value):
            yield f"tensorframe.Tensor.{short}"
    elif short.startswith("Tensor.") and hasattr(tensorframe, short[7:]):
        yield f"tensorframe.{short[7:]}"
