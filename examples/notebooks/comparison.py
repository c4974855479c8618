"""Comparison: in what the outputs of a fresh run differ from those that are kept.

Text is compared word by word: words are equal, and numbers agree in their first three digits, since another processor
rounds otherwise. Times, rates, addresses and names of kernels are anything. Pictures have the same kind, size and,
seen from far, look. A cell with the tag `varies` shows what depends on the machine: there, only the kinds count.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

VARIES = "varies"

NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
MASKS = (
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<address>"),
    (re.compile(r"\bk_[0-9a-z]{6,}\b"), "<kernel>"),
    (re.compile(NUMBER + r"\s?(?:ns|us|\N{MICRO SIGN}s|ms|s|min)\b"), "<time>"),
    (re.compile(NUMBER + r"\s?[kMGT]?(?:B|FLOP|flop)/s"), "<rate>"),
    (re.compile(r"-{4,}"), "<rule>"),  # as long as the widest time below it
)
WORD = re.compile(NUMBER + r"|[A-Za-z_<>]+|\S")

RELATIVE, ABSOLUTE = 2e-3, 1e-6
FAR = (24, 24)  # the size from which pictures are compared
SHADES = 12.0  # of 255: the difference that counts

Pixels = npt.NDArray[Any]


def differences(kept: Any, fresh: Any) -> Iterator[str]:
    """A line for each difference between two runs of a notebook, and for what no run should show."""
    for number, (old, new) in enumerate(zip(kept.cells, fresh.cells, strict=True)):
        if old.cell_type != "code":
            continue
        varies = VARIES in old.metadata.get("tags", [])
        shown = [*flaws(new.outputs), *changes(old.outputs, new.outputs, varies=varies)]
        title = old.source.strip().partition("\n")[0]
        yield from (f"cell {number} ({title}): {change}" for change in shown)


def flaws(outputs: list[Any]) -> Iterator[str]:
    """What a notebook must not show: errors, and what is written to the error stream."""
    for output in outputs:
        if output.output_type == "error":
            yield f"raises {output.ename}: {output.evalue}"
        elif output.output_type == "stream" and output.name == "stderr":
            yield f"writes to the error stream: {output.text.strip()}"


def changes(old: list[Any], new: list[Any], *, varies: bool) -> Iterator[str]:
    """In what two cells' outputs differ."""
    if [kinds(output) for output in old] != [kinds(output) for output in new]:
        yield f"shows {[kinds(output) for output in new]}, not {[kinds(output) for output in old]}"
    elif not varies:
        for before, after in zip(old, new, strict=True):
            yield from different_words(text_of(before), text_of(after))
            yield from different_pictures(before.get("data", {}), after.get("data", {}))


def kinds(output: Any) -> tuple[str, ...]:
    """Under which types an output is given."""
    return tuple(sorted(output.get("data", {}))) or (output.output_type,)


def text_of(output: Any) -> str:
    """What an output says to those who only read text; what stands for a picture names an object."""
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        return ""
    return str(output.get("text", data.get("text/plain", "")))


def different_words(old: str, new: str) -> Iterator[str]:
    """The first place where two texts differ."""
    for before, after in zip_longest(words(old), words(new), fillvalue=""):
        if not alike(before, after):
            yield f"says {after!r} where {before!r} is kept:\n{new.rstrip()}"
            return


def words(text: str) -> list[str]:
    """The words, numbers and signs of a text, without what may differ."""
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return WORD.findall(text)


def alike(old: str, new: str) -> bool:
    """Whether two words are equal, or numbers near each other."""
    if old == new:
        return True
    if re.fullmatch(NUMBER, old) is None or re.fullmatch(NUMBER, new) is None:
        return False
    before, after = (float(text.replace(",", "")) for text in (old, new))
    # the last digit shown may fall on either side
    slack = max(ABSOLUTE, last_digit(old) if "." in old else 0.0)
    return abs(before - after) <= max(RELATIVE * abs(before), 1.01 * slack)


def last_digit(number: str) -> float:
    """What one step of the last digit of a decimal number is worth."""
    digits, _, exponent = number.lower().partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2])))


def different_pictures(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """The pictures that differ in size, or in how they look from far."""
    for kind in ("image/png", "image/jpeg", "image/gif"):
        if kind in old and kind in new:
            (size, before), (size_now, after) = (
                seen_from_far(output[kind]) for output in (old, new)
            )
            distance = float(np.abs(before - after).mean())
            if size != size_now:
                yield f"draws {size_now} pixels, not {size}"
            elif distance > SHADES:
                yield f"draws something else: {distance:.0f} of 255 shades away"


def seen_from_far(content: str) -> tuple[tuple[int, int], Pixels]:
    """The size of a picture, its first one if it moves, and a few of its pixels on white ground."""
    from PIL import Image

    picture = Image.open(io.BytesIO(base64.b64decode(content))).convert("RGBA")
    ground = Image.new("RGBA", picture.size, "white")
    small = Image.alpha_composite(ground, picture).convert("RGB").resize(FAR, Image.Resampling.BOX)
    return picture.size, np.asarray(small, dtype=np.float64)
