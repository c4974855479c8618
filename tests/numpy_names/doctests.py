"""NumPy's own examples, those in the docstrings of the installed package, run with tensorframe in NumPy's place.

What an example prints is compared by value: tensors print their device, and floats of the default dtype fewer digits.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import tensorframe as tfr
from tests.numpy_names.known import reason
from tests.numpy_names.names import OF_FILES, OWN_PARAMETERS
from tests.numpy_names.signatures import homes, public


class Verdict(NamedTuple):
    """What became of an example."""

    function: str
    source: str
    difference: str
    reason: str


def examples() -> Iterator[tuple[str, list[doctest.Example]]]:
    """Yield the examples of each function that is there, by its name; aliases once."""
    parser, seen = doctest.DocTestParser(), set()
    for prefix, space, ours in homes():
        for name in public(space):
            value = getattr(space, name)
            text = getattr(value, "__doc__", None)
            if not hasattr(ours, name) or not callable(value) or not text or text in seen:
                continue
            if value is getattr(ours, name) or name in OWN_PARAMETERS | OF_FILES:
                continue  # NumPy's own, or files, which have formats of their own
            seen.add(text)
            with contextlib.suppress(ValueError):
                found = parser.get_examples(text)
                if found:
                    yield prefix + name, found


def verdicts(function: str, found: list[doctest.Example]) -> Iterator[Verdict]:
    """Yield what becomes of each example of a function that gives a value, in NumPy and here."""
    theirs: dict[str, Any] = {"np": np}
    ours: dict[str, Any] = {"np": _Namespace()}
    for example in found:
        if "plt" in example.source or "SKIP" in example.source or "matplotlib" in example.source:
            continue
        source = example.source.strip()
        expected, wrong = _run(source, theirs)
        actual, failure = _run(source, ours)
        if wrong is not None:
            continue  # NumPy raises, or lacks what the example imports
        if failure is not None:
            difference = f"{type(failure).__name__}: {failure!s:.100}"
        elif expected is None:
            continue
        else:
            difference = _difference(expected, actual)
        yield Verdict(function, source, difference, reason(function, source) if difference else "")


class _Namespace:
    """tensorframe as `np`, with the rest of NumPy's namespaces as they are."""

    def __getattr__(self, name: str) -> Any:
        return getattr(tfr, name)


def _run(source: str, names: dict[str, Any]) -> tuple[Any, Exception | None]:
    """Return the value of an expression, what it prints if that is all, or the error."""
    printed = io.StringIO()
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(printed),
            np.errstate(all="ignore"),
        ):
            warnings.simplefilter("ignore")
            source = source.replace("import numpy as np", "pass")
            try:
                code = compile(source, "<example>", "eval")
            except SyntaxError:
                exec(compile(source, "<example>", "exec"), names)
                return printed.getvalue() or None, None
            value = eval(code, names)
            return (printed.getvalue() if value is None and printed.getvalue() else value), None
    except Exception as error:
        return None, error


def _difference(expected: Any, actual: Any) -> str:
    """Return how two values differ; nothing if they are the same, as far as the default dtype goes."""
    if isinstance(expected, str):
        return "" if _numbers(expected) == _numbers(str(actual)) else f"{actual} for {expected}"
    if isinstance(expected, tuple | list) and not _is_flat(expected):
        if not isinstance(actual, tuple | list) or len(actual) != len(expected):
            return f"{actual!r:.80} for {expected!r:.80}"
        return next(filter(None, map(_difference, expected, actual)), "")
    try:
        left, right = np.asarray(expected), np.asarray(actual)
        if left.dtype.kind in "biufc" and right.dtype.kind in "biufc":
            same = left.shape == right.shape and np.allclose(
                right, left, rtol=1e-3, atol=1e-5, equal_nan=True
            )
            return "" if same else f"{actual!r:.80} for {expected!r:.80}"
    except (TypeError, ValueError):
        pass
    return "" if str(expected) == str(actual) else f"{actual!r:.80} for {expected!r:.80}"


def _is_flat(value: Any) -> bool:
    return all(isinstance(item, int | float | complex) for item in value)


def _numbers(text: str) -> list[float | str]:
    """Return the words of a text without marks of arrays, numbers as numbers."""
    for mark in "[](),":
        text = text.replace(mark, " ")
    words: list[float | str] = []
    for word in text.split():
        try:
            words.append(float(word))
        except ValueError:
            words.append(word)
    return words


def all_verdicts() -> list[Verdict]:
    """Return what becomes of every example, where Python's floats have as many digits as NumPy's."""
    before = tfr.get_default_dtype()
    tfr.set_default_dtype("float64")
    try:
        return [verdict for name, found in examples() for verdict in verdicts(name, found)]
    finally:
        tfr.set_default_dtype(before)
