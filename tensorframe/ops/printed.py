"""Rows that devices compute by a text of their author's, in place of the formula that they have everywhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tensorframe.digests import sha256
from tensorframe.dtypes import FLOAT, DType, wide_of
from tensorframe.quick_dataclasses import dataclass

_DTYPE = re.compile(r"\bT\b")


@dataclass(frozen=True, slots=True)
class Printed:
    """The bodies of a function of one element, by language: `T` is the dtype, parameters have their names."""

    name: str
    parameters: tuple[str, ...]
    bodies: tuple[tuple[str, str], ...]

    @property
    def call(self) -> str:
        """The name under which kernels call it; equal names are equal functions."""
        return f"{self.name}_{sha256(repr(self).encode()).hexdigest()[:12]}"

    def covers(self, language: str, operands: Sequence[DType], result: DType) -> bool:
        """Whether there is a body in a language, for operands and a result of one floating dtype."""
        return {*operands} == {result} and result in FLOAT and language in dict(self.bodies)

    def body(self, language: str, kind: str) -> str:
        """Return the body in a language, where the dtype is called `kind`."""
        return _DTYPE.sub(kind, dict(self.bodies)[language].strip())


# by the name that kernels call it by
FUNCTIONS: dict[str, Printed] = {}


def printed(name: str, parameters: Sequence[str], bodies: Mapping[str, str]) -> Printed:
    """Return the bodies of a function as a row has them, known to those who print kernels."""
    function = Printed(name, tuple(parameters), tuple(sorted(bodies.items())))
    FUNCTIONS[function.call] = function
    return function


def suffix(dtype: DType) -> str:
    """Return how the functions for a dtype end."""
    return wide_of(dtype).name
