"""The text of a raw kernel: what is written around the body, and where the body is in it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from math import prod

from tensorframe.codegen.words import Parameter
from tensorframe.dtypes import DType, int32
from tensorframe.ops.raw_kernels import Operand, RawCall
from tensorframe.quick_dataclasses import dataclass

# what names of ours begin with, and no name of the user's may
OWN = "tfr_"
# threads of a group where the body does not say
LANES = 256


@dataclass(frozen=True, slots=True)
class RawText:
    """A printed kernel, and what launching it takes. The name holds a hash of the source."""

    name: str
    source: str
    call: RawCall
    language: str
    body: str
    first: int
    """The number of the line of the source at which the body begins."""
    lanes: int
    words: int
    """How many words it is passed."""
    immediate: bool = False
    """Whether they are immediates, in WGSL."""


class UnspeakableError(Exception):
    """A language has no word for a dtype; the message says which."""


def body_of(call: RawCall, language: str) -> str:
    """Return the body in a language, without the indentation that it has in the user's program."""
    return textwrap.dedent(str(call.source(language))).strip("\n")


def word(words: Mapping[str, str], dtype: DType, language: str) -> str:
    """Return what a language calls a dtype; UnspeakableError if it has no word for it."""
    known = words.get(dtype.name)
    if known is None:
        raise UnspeakableError(f"{language} has no {dtype.name} for raw kernels")
    return known


def lanes_of(call: RawCall, most: int) -> int:
    """Return the threads of a group."""
    return min(LANES, most) if call.group is None else prod(call.group)


def groups_along(call: RawCall) -> list[int]:
    """Return the groups along each index."""
    assert call.group is not None
    return [-(-size // threads) for (_, size), threads in zip(call.grid, call.group, strict=True)]


def launches(call: RawCall, lanes: int) -> int:
    """Return how many groups cover the grid."""
    return -(-call.extent // lanes) if call.group is None else prod(groups_along(call))


def parameters(call: RawCall) -> list[Parameter]:
    """Return the numbers that a kernel is passed: sizes, the extents of the grid, groups along it, the user's."""
    wanted = [(name, int32) for name, _ in call.sizes]
    wanted += [(f"{OWN}extent_{index}", int32) for index in range(len(call.grid))]
    if call.group is not None:
        wanted += [(f"{OWN}groups_{index}", int32) for index in range(len(call.grid))]
    wanted += [(number.name, number.dtype) for number in call.numbers]
    made: list[Parameter] = []
    for name, dtype in wanted:
        made.append(Parameter(name, dtype, made[-1].word + made[-1].words if made else 0))
    return made


def values(call: RawCall) -> list[int]:
    """Return the values of those parameters that the call decides, the user's numbers left out."""
    known = [size for _, size in call.sizes] + [size for _, size in call.grid]
    return known + (groups_along(call) if call.group is not None else [])


def indices(call: RawCall) -> list[str]:
    """Return the names of indices that a body may use, in the order in which it is given them."""
    names = [name for name, _ in call.grid]
    if call.group is None:
        return names
    return [*names, *[f"{name}{end}" for end in ("_local", "_group") for name in names]]


def types_of(call: RawCall, words: Mapping[str, str], language: str) -> list[tuple[str, str]]:
    """Return the words of the source for dtypes that operands decide, and what they mean."""
    return [(name, word(words, dtype, language)) for name, dtype in call.types]


def check_words(call: RawCall, words: Mapping[str, str], language: str) -> None:
    """Raise UnspeakableError if a language lacks a word for what a kernel reads or writes."""
    entries: list[Operand] = [*call.inputs, *call.outputs]
    for dtype in [entry.dtype for entry in entries] + [entry.dtype for entry in call.shared]:
        word(words, dtype, language)


def division(
    positions: list[str], extents: list[str], whole: str, cast: str
) -> list[tuple[str, str]]:
    """Return names and expressions that take a linear position apart, the last index running fastest."""
    lines: list[tuple[str, str]] = []
    for place in reversed(range(len(positions))):
        later = [extents[other] for other in range(place + 1, len(extents))]
        divisor = " * ".join(later)
        quotient = f"{whole} / ({divisor})" if later else whole
        taken = quotient if place == 0 else f"({quotient}) % {extents[place]}"
        lines.append((positions[place], cast.format(taken)))
    return lines[::-1]
