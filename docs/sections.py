"""What the reference says of a function beside its docstring: parameters, result, errors, differences, related names.

Parameters mean the same in most functions, so each meaning is written once, in `parameters.toml`: by the function, by
its module, or by the name alone. What the sections of a docstring in numpydoc's style say comes first.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from raising import raised_in

import tensorframe
from tensorframe import errors
from tensorframe.testing.stubs import public_names

HERE = Path(__file__).parent
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n?|\n)*)", re.MULTILINE)
_ROW = re.compile(r"^\| (`[^|]*`) \| ([^|]*) \|$", re.MULTILINE)


@cache
def _meanings() -> dict[str, dict[str, str]]:
    return tomllib.loads((HERE / "parameters.toml").read_text(encoding="utf-8"))


@cache
def _differences() -> dict[str, str]:
    """Return what differs from NumPy, by name, from the table of NumPy's names."""
    differences: dict[str, str] = {}
    for names, state in _ROW.findall((HERE / "numpy.md").read_text(encoding="utf-8")):
        _, _, difference = state.partition("different: ")
        if difference:
            differences |= dict.fromkeys(re.findall(r"`([\w.]+)`", names), difference)
    return differences


def prose_of(docstring: str) -> str:
    """Return a docstring without the sections that become fields: what it says, and its examples."""
    before, *parts = _HEADING.split(docstring)
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    texts = [before, *(named[name] for name in ("Notes", "Examples") if name in named)]
    return "\n\n".join(text.strip("\n") for text in texts)


def _written(docstring: str, section: str) -> dict[str, str]:
    """Return the entries of a section in numpydoc's style, each with what it says on one line."""
    parts = _HEADING.split(docstring)[1:]
    text = dict(zip(parts[::2], parts[1::2], strict=True)).get(section, "")
    return {
        name.strip(): " ".join(meaning.split())
        for names, meaning in _ENTRY.findall(text)
        for name in names.partition(" : ")[0].split(",")
    }


def sections(path: str, function: Callable[..., Any], text: str) -> str:
    """Return the sections of a function whose docstring is `text`, as a list of fields; `path` is its full name."""
    meanings = _written(text, "Parameters")
    lines = [
        f":param {name}: {meanings.get(name) or meaning_of(path, name)}".rstrip()
        for name in parameters(function)
    ]
    lines += [f":returns: {meaning}" for meaning in _written(text, "Returns").values()]
    result = _annotation(function)
    if result:
        lines.append(f":rtype: {result}")
    raised = _written(text, "Raises") or dict(_raised(text))
    for error, messages in raised_in(function).items():
        raised.setdefault(error, ", or ".join(f"“{message}”" for message in messages))
    lines += [f":raises {error}: {sentence}".rstrip() for error, sentence in raised.items()]
    parts = ["\n".join(lines)]
    short = path.removeprefix("tensorframe.")
    difference = _differences().get(short)
    if difference:
        parts.append(f"**Differences from NumPy**: {difference}.")
    related = list(_related(short))
    if related:
        links = [f"{{py:obj}}`{name.removeprefix('tensorframe.')} <{name}>`" for name in related]
        parts.append(f"**See also**: {', '.join(links)}")
    return "\n\n".join(part for part in parts if part)


def parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of a function's parameters; none of NumPy's own functions, whose pages are NumPy's."""
    if not (getattr(function, "__module__", None) or "").startswith("tensorframe"):
        return []
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    return [name for name in signature.parameters if name not in {"self", "cls"} and name[0] != "_"]


def meaning_of(path: str, name: str) -> str:
    """Return what a parameter means: in the function, in one of its modules, the innermost first, or anywhere."""
    *modules, function = path.removeprefix("tensorframe.").split(".")
    for place in (function, *reversed(modules), "any"):
        meaning = _meanings().get(place, {}).get(name)
        if meaning:
            return meaning
    return ""


def _annotation(function: Callable[..., Any]) -> str:
    annotation = getattr(function, "__annotations__", {}).get("return", "")
    if not isinstance(annotation, str):
        annotation = getattr(annotation, "__name__", str(annotation))
    return "" if annotation in {"", "Any"} else annotation


def _raised(text: str) -> Iterator[tuple[str, str]]:
    """Yield the errors that a docstring names, each with the sentence that does."""
    prose = " ".join(line for line in text.splitlines() if ">>>" not in line)
    sentences = re.split(r"(?<=[.;:]) +", re.sub(r"\s+", " ", prose))
    told: set[str] = set()
    for sentence in sentences:
        for name in re.findall(r"\b[A-Z]\w+(?:Error|Warning)\b", sentence):
            if hasattr(errors, name) and name not in told:
                told.add(name)
                yield name, sentence


@cache
def _by_identity() -> dict[int, list[str]]:
    names: dict[int, list[str]] = {}
    for name in public_names():
        names.setdefault(id(getattr(tensorframe, name)), []).append(name)
    return names


def _related(short: str) -> Iterator[str]:
    """Yield other names of the same function, and the method or function of the same name."""
    value = getattr(tensorframe, short, None)
    if value is not None:
        yield from (
            f"tensorframe.{name}" for name in _by_identity().get(id(value), []) if name != short
        )
        if hasattr(tensorframe.Tensor, short) and callable(value):
            yield f"tensorframe.Tensor.{short}"
    elif short.startswith("Tensor.") and hasattr(tensorframe, short[7:]):
        yield f"tensorframe.{short[7:]}"
