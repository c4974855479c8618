"""Mapping: what stands for one of many examples while a function is recorded for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tensorframe.errors import TracingError


class Mapping:
    """One recording of a function for an example; `rebound` holds handles that assignments moved, as in `Trace`."""

    __slots__ = ("first_serial", "function", "rebound")

    def __init__(self, function: str, first_serial: int) -> None:
        self.function = function
        self.first_serial = first_serial
        self.rebound: list[tuple[Any, Any]] = []


class Example:
    """Which argument a placeholder is one example of."""

    __slots__ = ("function", "name")

    def __init__(self, function: str, name: str) -> None:
        self.function = function
        self.name = name

    def error(self) -> TracingError:
        """Return the error for elements that are needed."""
        return TracingError(
            f"{self.function}: values that depend on the argument {self.name} differ from example to example: "
            "vmap records the function once for all of them",
            suggestions=(
                "tfr.where(condition, a, b) instead of if and while",
                "in_axes=None for an argument that is the same in all examples",
                "a Python loop and tfr.stack where each example takes another way",
            ),
        )

    def __repr__(self) -> str:
        return self.name


mapping: ContextVar[Mapping | None] = ContextVar("tensorframe_mapping", default=None)


@contextmanager
def recording_example(current: Mapping) -> Iterator[None]:
    """Record a function for one example in the block."""
    token = mapping.set(current)
    try:
        yield
    finally:
        mapping.reset(token)
