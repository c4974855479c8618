"""The picture of a card: a line or an image, and below it what it shows of the tensor."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, bool_
from tensorframe.frontend.protocols.preview import in_host_memory
from tensorframe.frontend.tensor import Tensor
from tensorframe.notebook.card.image import LEAST, MOST, photograph, plane, ramp, strip
from tensorframe.notebook.card.line import line
from tensorframe.notebook.card.look import Look
from tensorframe.notebook.card.numbers import CHEAP, Numbers, number_text, real
from tensorframe.notebook.card.sample import Drawing, Sample
from tensorframe.notebook.style import APART, dot, hue, text

Array = np.ndarray[Any, Any]

_MOST_POINTS = 480  # of a line that is drawn through every element
_RUNS = 240  # of neighbours, where there are more
_MARK = "\N{BLACK SQUARE}"
_TRUTH = f"{dot(LEAST, _MARK)}False{APART}{dot(MOST, _MARK)}True"
_LONG, _BESIDE = "margin:0 0 8px", "margin:0 18px 0 0;width:148px;min-width:148px"


def picture_of(tensor: Tensor, look: Look) -> str:
    """Return the picture of what was seen; empty where none was worth its time, or nothing is in it."""
    if look.sample is None or look.drawn is None:
        return ""
    sample, drawn = look.sample, look.drawn.reshape(look.sample.extent)
    if sample.drawing is Drawing.PHOTOGRAPH:
        sizes = _sizes(tensor, sample)[:2]
        return _figure(_BESIDE, photograph(drawn, sizes), [_share(tensor, sample)])
    values = real(drawn)
    if sample.drawing is Drawing.LINE:
        return _line(tensor, sample, values)
    return _colours(tensor, sample, values)


def _line(tensor: Tensor, sample: Sample, values: Array) -> str:
    share = _share(tensor, sample)
    low = high = values
    if in_host_memory(tensor) and tensor.size <= CHEAP:
        values, share = real(tensor._array().ravel()), ""
        low, high = _envelope(values)
    numbers = Numbers.of(values)
    if numbers.is_plain:
        return ""
    # of the whole tensor, the card says it below
    reach = _range(numbers) if share else ""
    words = [_magnitude(tensor), reach, share, _odd(numbers)]
    return _figure(_LONG, line(low, high, hue(tensor.device)), words)


def _envelope(values: Array) -> tuple[Array, Array]:
    """Return the least and the greatest of runs of neighbours, as many as there is room for."""
    if values.size <= _MOST_POINTS:
        return values, values
    starts = np.linspace(0, values.size, _RUNS, endpoint=False).astype(np.intp)
    return np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)


def _colours(tensor: Tensor, sample: Sample, values: Array) -> str:
    numbers = Numbers.of(values)
    is_bool = tensor.dtype == bool_
    if numbers.is_plain and not is_bool:
        return ""
    low, high = (0.0, 1.0) if is_bool else (numbers.low or 0.0, numbers.high or 0.0)
    words = [_magnitude(tensor), _share(tensor, sample), _odd(numbers)]
    legend = _TRUTH if is_bool else _scale(numbers)
    if sample.drawing is Drawing.STRIP:
        return _figure(_LONG, strip(values, low, high), [legend, *words])
    return _figure(_BESIDE, plane(values, low, high, _sizes(tensor, sample)) + legend, words)


def _scale(numbers: Numbers) -> str:
    if numbers.low is None or numbers.high is None:
        return ""
    low, high = number_text(numbers.low), number_text(numbers.high)
    bar = f'<b style="width:100%;height:6px;margin:6px;border-radius:3px;background:{ramp()}"></b>'
    return f'<div style="display:flex">{low} {bar} {high}</div>'


def _figure(place: str, picture: str, words: list[str]) -> str:
    caption = " · ".join(filter(None, words))
    return f'<figure style="{place};font-size:11px">{picture}<figcaption>{caption}</figcaption></figure>'


def _magnitude(tensor: Tensor) -> str:
    return "magnitude" if tensor.dtype in COMPLEX else ""


def _share(tensor: Tensor, sample: Sample) -> str:
    """Return how many elements are drawn of how many, where these are not all."""
    sizes = _sizes(tensor, sample)
    words = [text(sample.plane)] if sample.plane else []
    if sizes != sample.extent:
        words.append(f"{prod(sample.extent):,} of {prod(sizes):,} elements")
    return " · ".join(words)


def _sizes(tensor: Tensor, sample: Sample) -> tuple[int, ...]:
    return tuple([tensor.shape[axis] for axis in sample.axes])


def _range(numbers: Numbers) -> str:
    if numbers.low is None or numbers.high is None:
        return ""
    return f"{number_text(numbers.low)} … {number_text(numbers.high)}"


def _odd(numbers: Numbers) -> str:
    oddities = " · ".join(numbers.oddities)
    return f"<em>{oddities}</em>" if oddities else ""
