"""What is known of a function beside its docstring, as fields of an entry of the site."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.documentation.sections import sections, split


def prose_of(docstring: str) -> str:
    """Return a docstring without the sections that become fields: what it says, and its examples."""
    before, named = split(docstring)
    texts = [before, *(named[name] for name in ("Notes", "Examples") if name in named)]
    return "\n\n".join(texts)


def field_list(path: str, function: Callable[..., Any], text: str) -> str:
    """Return the sections of a function whose docstring is `text`, as a list of fields; `path` is its full name."""
    known = sections(path, function, text)
    lines = [f":param {name}: {meaning}" for name, meaning in known.parameters.items()]
    lines += [f":returns: {meaning}" for meaning in known.returns]
    lines += [f":rtype: {known.result}"] if known.result else []
    lines += [f":raises {error}: {sentence}" for error, sentence in known.raises.items()]
    parts = ["\n".join(line.rstrip() for line in lines)]
    if known.difference:
        parts.append(f"**Differences from NumPy**: {known.difference}.")
    if known.related:
        links = [
            f"{{py:obj}}`{name.removeprefix('tensorframe.')} <{name}>`" for name in known.related
        ]
        parts.append(f"**See also**: {', '.join(links)}")
    return "\n\n".join(part for part in parts if part)
