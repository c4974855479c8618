"""Docstrings in numpydoc's style: what is written in the source, with the sections that are not."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from typing import Any, Literal, get_origin

from tensorframe.documentation.sections import Sections, parameters, sections, split

WIDTH = 100
# what names of annotations stand for
TYPES = {
    "Any": "object",
    "ArrayLike": "array_like",
    "Axes": "int or tuple of ints",
    "Axis": "int or tuple of ints or None",
    "Casting": "{'same_kind', 'safe', 'unsafe', 'no', 'equiv'}",
    "DTypeLike": "dtype or str",
    "OnDevice": "Device or str or None",
    "Output": "Tensor or ndarray or tuple of them or None",
    "PathLike": "path or str",
    "ShapeLike": "int or tuple of ints",
    "Source": "Key or Stream or None",
}
# in numpydoc's order
HEADINGS = ("Parameters", "Returns", "Raises", "See Also", "Notes", "Examples")


@cache
def with_sections(path: str, docstring: str) -> str:
    """Return the docstring of a public function or class with all sections; `path` is its full name."""
    value = resolved(path)
    text = inspect.cleandoc(docstring)
    summary, written = split(text)
    summary, examples = _before_examples(summary)
    function = constructor(value) if isinstance(value, type) else value
    if function is not None:
        known = sections(path, function, text)
        written = dict(_made(known, function)) | written
        notes = [_difference(known), written.get("Notes", "")]
        written |= {"Notes": "\n\n".join(filter(None, notes))}
    if examples:
        written.setdefault("Examples", examples)
    parts = [summary, *(_section(name, written[name]) for name in HEADINGS if written.get(name))]
    return "\n\n".join(parts)


def resolved(path: str) -> Any:
    """Return what has a full public name; modules and functions of one name are distinguished by what is exported."""
    import tensorframe

    return reduce(getattr, path.split(".")[1:], tensorframe)


def constructor(kind: type) -> Callable[..., Any] | None:
    """Return what takes the parameters of a class; nothing for dataclasses, whose fields are described as such."""
    written = vars(kind).get("__init__")
    return None if hasattr(kind, "__dataclass_fields__") else written


def _before_examples(text: str) -> tuple[str, str]:
    """Return the paragraphs before the first example, and the rest."""
    before, prompt, after = text.partition(">>>")
    return before.rstrip(), prompt + after


def _made(known: Sections, function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """Yield the sections of what is known, by their headings."""
    signature = parameters(function)
    space = getattr(inspect.unwrap(function), "__globals__", {})
    yield (
        "Parameters",
        "\n".join(
            _entry(_declared(signature[name], space), meaning)
            for name, meaning in known.parameters.items()
        ),
    )
    if known.result and known.result != "None":
        yield "Returns", _entry(known.result, " ".join(known.returns))
    yield "Raises", "\n".join(_entry(error, text) for error, text in known.raises.items())
    yield "See Also", "\n".join(known.related)


def _declared(parameter: inspect.Parameter, space: Mapping[str, Any]) -> str:
    """Return a parameter as numpydoc writes it: name, type, default; `space` has what annotations name."""
    name = str(parameter).partition(":")[0].partition("=")[0].strip()  # with its stars
    annotation = parameter.annotation
    if annotation is parameter.empty:
        annotation = "ArrayLike"  # an operand of a generated function
    elif not isinstance(annotation, str):
        annotation = inspect.formatannotation(annotation)
    return f"{name} : {_type(annotation, space)}{_default(parameter.default)}"


def _type(annotation: str, space: Mapping[str, Any]) -> str:
    """Return an annotation in words that users know: names of ours are replaced by what they stand for."""

    def spelled(match: re.Match[str]) -> str:
        name = match[0]
        meant = space.get(name)
        if name in TYPES or get_origin(meant) is not Literal:
            return TYPES.get(name, name)
        return inspect.formatannotation(meant)

    text = re.sub(r"\b[A-Z]\w+\b", spelled, annotation.replace("typing.", ""))
    text = re.sub(r"Literal\[([^\]]*)\]", r"{\1}", text.replace("Literal[True, False]", "bool"))
    return text.replace(" | ", " or ")


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return ""
    is_literal = value is None or type(value) in (bool, int, float, str, tuple)
    return f", default {value!r}" if is_literal else ", optional"


def _entry(head: str, meaning: str) -> str:
    return (
        head + textwrap.indent("\n" + textwrap.fill(meaning, WIDTH - 4), "    ")
        if meaning
        else head
    )


def _difference(known: Sections) -> str:
    return f"Differences from NumPy: {known.difference}." if known.difference else ""


def _section(heading: str, text: str) -> str:
    return f"{heading}\n{'-' * len(heading)}\n{text}"
