"""Keys as NumPy takes them: of integers, slices, new axes and positions, if all of these are known now."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import BOOL, INTEGER
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.runtime.eager.scalars import Number

# Bounds of slices that are numbers now: those of others may be computed, or unknown while a function is traced.
BOUNDS: frozenset[type] = frozenset({int, type(None)})


def are_plain(key: tuple[Any, ...]) -> bool:
    """Whether a key consists of integers, and slices between bounds that are numbers."""
    for item in key:
        kind = type(item)
        if kind is slice:
            if not (
                type(item.start) in BOUNDS
                and type(item.stop) in BOUNDS
                and type(item.step) in BOUNDS
            ):
                return False
        elif kind is not int:
            return False
    return True


def numpy_key(key: Any, device: Device) -> tuple[tuple[Any, ...] | None, int]:
    """Return a key as NumPy takes it, and how many positions it lists, if any; None for one with masks, or unknown."""
    place: list[Any] = []
    positions = 0
    for item in key if type(key) is tuple else (key,):
        kind = type(item)
        if kind is int or item is None or item is Ellipsis or isinstance(item, np.integer):
            place.append(item)
        elif kind is slice:
            if not (
                type(item.start) in BOUNDS
                and type(item.stop) in BOUNDS
                and type(item.step) in BOUNDS
            ):
                return None, 0
            place.append(item)
        elif kind is list:
            for each in item:
                if type(each) is not int:
                    return None, 0
            positions = max(positions, 1) * max(len(item), 1)
            place.append(item)
        elif kind is Tensor and type(item.node) is Number:
            if item.node.dtype not in INTEGER:
                return None, 0
            place.append(item.node.value)
        else:
            places = host_places(item, device)
            if places is None or places.dtype in BOOL:
                return None, 0
            positions = max(positions, 1) * max(places.size, 1)
            place.append(places)
    return tuple(place), positions


def host_places(key: Any, device: Device) -> np.ndarray[Any, Any] | None:
    """Return the positions or the mask that a key is, computed or an array; None for any other key."""
    places = host_array(key.node, device) if type(key) is Tensor else key
    if type(places) is not np.ndarray or not (places.dtype in INTEGER or places.dtype in BOOL):
        return None
    return places


def host_array(node: Node, device: Device) -> np.ndarray[Any, Any] | None:
    """Return the elements of a computed tensor of a device that is host memory; None for any other."""
    storage = node.storage
    array = storage.handle if storage is not None and node.device is device else None
    return array if type(array) is np.ndarray else None
