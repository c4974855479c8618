"""Keys of arguments, for what is known of calls: equal only where the arguments mean the same.

True and 1.0 equal 1, and zeros of either sign equal each other, so these have their type, or their text, beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from tensorframe.graph.device import Device

# Those that are equal only where they mean the same.
_PLAIN: Final[frozenset[type]] = frozenset({int, str, type(None), Device})


def argument_key(values: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the key of the arguments of a call; None where some, such as tensors, have none.

    A device by its name has none either: "auto" may be another one next time.
    """
    if _PLAIN.issuperset(map(type, values)):
        key: tuple[Any, ...] | None = values
    else:
        key = _distinguished(values)
    if not options or key is None:
        return key
    if type(options.get("device")) is str:
        return None
    if _PLAIN.issuperset(map(type, options.values())):  # as most are
        return (key, *options.items())
    named = _distinguished(options.values())
    return None if named is None else (key, tuple(options), named)


def _distinguished(values: Iterable[Any]) -> tuple[Any, ...] | None:
    parts: list[Any] = []
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            parts.append(value)
        elif kind is float:
            parts.append((kind, value or str(value)))
        elif kind is tuple or kind is list:
            inner = _distinguished(value)
            if inner is None:
                return None
            parts.append((kind, inner))
        elif kind is bool or isinstance(value, np.dtype | type):
            parts.append((kind, value))
        else:
            return None
    return tuple(parts)
