"""Draws that a program repeats: once the same draw came three times at the same distance, many are made at a time.

Ten random words take as long as a thousand, in NumPy's engine as in a kernel, and to record them takes longer than
NumPy's whole call. What a draw gives depends on its key and its counter alone, and which counters the next ones of a
loop will have is known: so they are drawn ahead of time, and each call takes those of its own counter. A draw with
other counters than expected is recorded as ever, and has the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import numpy as np

from tensorframe.backends.registry import default_device
from tensorframe.dtypes import default_float
from tensorframe.frontend.fast_paths.argument_keys import argument_key
from tensorframe.frontend.fast_paths.exact_functions import computes_at_once
from tensorframe.frontend.indexing.items import getitem
from tensorframe.frontend.random.keys import SHARED, Handed, Many, Noted, Stream
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.mapping import mapping
from tensorframe.graph.tracing import current
from tensorframe.quick_tuples import NamedTuple

# Kinds of draws that one stream looks out for, and the elements of one up to which it does.
_KINDS, _LARGEST = 32, 512
# Draws that are made at first; twice as many each time after that, up to so many elements.
_DRAWS, _ELEMENTS = 32, 1 << 14

_Arguments = ParamSpec("_Arguments")


class _Seen(NamedTuple):
    """What is known of draws of one kind: their elements, the counters that one takes, and those of the last two.

    `made` are draws along its first axis, `stride` counters apart, the first of them with `key` and `first`.
    """

    size: int
    counters: int
    latest: int
    stride: int = 0
    made: Tensor | None = None
    draws: int = 0
    key: Any = None
    first: int = 0


# Of these nothing is made ahead.
_NEVER = _Seen(0, 0, 0)


def repeated(function: Callable[_Arguments, Tensor]) -> Callable[_Arguments, Tensor]:
    """Decorate a function that draws from its `key`, whose result has an axis more in front under the key `Many`."""
    run: Callable[..., Any] = function

    @wraps(function)
    def draw(*values: Any, key: Any = None, **options: Any) -> Any:
        stream = SHARED if key is None else key
        if type(stream) is not Stream or current.get() is not None or mapping.get() is not None:
            return run(*values, key=key, **options)
        kind = argument_key(values, options)
        if kind is None or not computes_at_once():
            return run(*values, key=key, **options)
        kind = (function, kind, default_float(), default_device().number)
        seen = stream.repeated.get(kind)
        if seen is None:
            noted = Noted(stream)
            result = run(*values, key=noted, **options)
            if len(stream.repeated) >= _KINDS:
                stream.repeated.clear()
            stream.repeated[kind] = _first_seen(result, noted)
            return result
        if seen is _NEVER:
            return run(*values, key=key, **options)
        size, counters, latest, stride, made, draws, made_with, first = seen
        drawn_with, counter = stream.hand_out(counters)
        if made is not None and drawn_with == made_with:
            place, between = divmod(counter - first, stride)
            if 0 <= place < draws and not between:
                return getitem(made, place)
            latest = first + (draws - 1) * stride
        apart = counter - latest
        if apart != stride or apart <= 0:
            stream.repeated[kind] = _Seen(size, counters, counter, apart)
            return run(*values, key=Handed(drawn_with, counter), **options)
        draws = min(2 * draws or _DRAWS, max(_ELEMENTS // size, 1))
        made = run(*values, key=Many(drawn_with, counter, stride, draws), **options).compute()
        known = _Seen(size, counters, counter, stride, made, draws, drawn_with, counter)
        is_here = type(made.node.storage.handle) is np.ndarray
        stream.repeated[kind] = known if is_here else _NEVER
        return getitem(made, 0)

    return draw


def _first_seen(result: Any, noted: Noted) -> _Seen:
    """Return what the first draw of a kind tells: whether it asked for counters once, and is small."""
    if type(result) is not Tensor or len(noted.reserved) != 1:
        return _NEVER
    counter, counters = noted.reserved[0]
    size = result.node.size
    return _Seen(size, counters, counter) if 0 < size <= _LARGEST else _NEVER
