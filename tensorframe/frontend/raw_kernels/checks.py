"""What is refused when a raw kernel is declared, before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from tensorframe.backends.languages import is_known, language_names, why_unknown
from tensorframe.codegen.raw.names import refusal, title
from tensorframe.dtypes import COMPLEX
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.raw_kernels.declaration import Entry, names_in

# indices of the first output's axes, where no grid is given
AXES = ("i", "j", "k", "l")


def checked_sources(name: str, source: Any) -> tuple[tuple[str, Any], ...]:
    """Return the sources by language; ArgumentError for languages that there are not, or what is no source."""
    known = ", ".join(language_names())
    if not isinstance(source, Mapping) or not source:
        raise ArgumentError(
            f"{name}: source is a mapping of languages to sources, got {source!r:.80}",
            suggestions=(f"source={{...}} with any of {known}",),
        )
    for language, text in source.items():
        if not is_known(language):
            problem = f"no device runs {language!r}{why_unknown(language)}"
            raise ArgumentError(f"{name}: {problem}", suggestions=(f"any of {known}",))
        wanted = "a function" if language == "cpu" else "a text"
        if (language == "cpu") is not callable(text) or not (
            callable(text) or isinstance(text, str)
        ):
            raise ArgumentError(
                f"{name}: the source in {title(language)} is {wanted}, got {type(text).__name__}"
            )
    return tuple(source.items())


def check_names(name: str, names: Sequence[str], sources: Sequence[tuple[str, Any]]) -> None:
    """Raise ArgumentError for names that a source cannot use, or that mean two things."""
    languages = [language for language, _ in sources]
    seen: set[str] = set()
    for each in names:
        reason = refusal(each, languages)
        if reason is None and each in seen:
            reason = f"{each!r} is the name of two things"
        if reason is not None:
            raise ArgumentError(f"{name}: {reason}", suggestions=("another name",))
        seen.add(each)


def check_function(name: str, function: Any, known: Sequence[str], indices: Sequence[str]) -> None:
    """Raise ArgumentError if the cpu's function takes what it is not given, or some indices of the grid alone."""
    parameters = inspect.signature(getattr(function, "py_func", function)).parameters
    for parameter in parameters.values():
        simple = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        if not simple or parameter.name not in known:
            raise ArgumentError(
                f"{name}: the function for the cpu takes {parameter}, which is no name of the kernel",
                suggestions=(f"any of {', '.join(known)}",),
            )
    taken = [index for index in indices if index in parameters]
    if taken and len(taken) < len(indices):
        raise ArgumentError(
            f"{name}: the function for the cpu takes the indices {', '.join(taken)} of {', '.join(indices)}",
            suggestions=("all of them, to run for each; or none, to run once",),
        )


def check_entries(
    name: str, inputs: Sequence[Entry], outputs: Sequence[Entry], static: Sequence[str]
) -> None:
    """Raise for declarations from which dtypes or shapes of a call do not follow."""
    if not inputs or not outputs:
        raise ArgumentError(f"{name}: a kernel has inputs and outputs, at least one of each")
    types = {entry.variable for entry in inputs if entry.variable and entry.sizes is not None}
    for entry in (*inputs, *outputs):
        if entry.variable is not None and entry.variable not in types:
            raise DTypeError(
                f"{name}: {entry.name}: there is no dtype {entry.variable!r}, and no input array decides it",
                suggestions=(
                    'a dtype such as "float32", or the name that an input has for its own',
                ),
            )
        if entry.sizes is None and not isinstance(entry.dtype, str) and entry.dtype in COMPLEX:
            raise DTypeError(
                f"{name}: {entry.name}: a number is real, got {entry.dtype}",
                suggestions=(f'"{entry.dtype}[]", an array without axes',),
            )
    for entry in inputs:
        for size in entry.sizes or ():
            if not (size.isidentifier() or size.isdigit()):
                raise ArgumentError(
                    f"{name}: {entry.name}: the size {size!r} of an input is a name or a number",
                    suggestions=(
                        "a name for it; expressions of names are for outputs, grid and shared",
                    ),
                )
    for entry in outputs:
        if entry.sizes is None:
            raise ArgumentError(
                f"{name}: the output {entry.name} has no shape",
                suggestions=(f'"{entry.dtype}[]" for one element',),
            )
    unknown = set(static) - {entry.name for entry in inputs if entry.sizes is None}
    if unknown:
        raise ArgumentError(
            f"{name}: static names {', '.join(sorted(unknown))}, which is no number among the inputs"
        )


def check_sizes(name: str, what: str, expressions: Sequence[str], known: frozenset[str]) -> None:
    """Raise ArgumentError for sizes that do not follow from inputs."""
    for expression in expressions:
        names = names_in(expression)
        if names is None:
            raise ArgumentError(
                f"{name}: {what}: cannot read the size {expression!r}",
                suggestions=("a name, a number, or an expression of names with + - * // %",),
            )
        if names - known:
            missing = ", ".join(sorted(names - known))
            raise ArgumentError(
                f"{name}: {what}: the size {expression!r} cannot be known: no input has an axis {missing}",
                suggestions=(
                    f"one of {', '.join(sorted(known))}" if known else "a number",
                    f"an input {missing}: int32 that is static",
                ),
            )
