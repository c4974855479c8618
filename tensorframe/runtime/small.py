"""The small path: graphs too small to be worth a plan run op by op at once, as NumPy would."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.registry import capabilities
from tensorframe.backends.storage import Storage
from tensorframe.config import Options
from tensorframe.errors import CancelledError
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, by_serial
from tensorframe.runtime.leaves import leaf_handle

_allowed: dict[Device, bool] = {}


def _runs_small(device: Device) -> bool:
    known = _allowed.get(device)
    if known is None:
        known = _allowed[device] = capabilities(device).runs_small
    return known


def run_small(found: Sequence[Node], roots: Sequence[Node], options: Options) -> bool:
    """Compute `roots`, which need the nodes in `found`, if all is small and on the host; else return False."""
    shape, device, limit = None, None, options.small_size
    for node in found:  # a large root comes first
        if node.storage is not None:
            continue
        if node.shape is not shape:  # mostly one tuple, passed on from node to node
            shape = node.shape
            if prod(shape) > limit:
                return False
        if node.device is not device:
            device = node.device
            if not _runs_small(device):
                return False
    order = sorted(found, key=by_serial)
    values: dict[Node, Any] = {}
    try:
        with np.errstate(all="ignore"):
            for node in order:
                inputs = node.inputs  # before storage: see Node.settle
                if node.storage is not None:
                    values[node] = node.storage.handle
                elif len(inputs) == 2 and not node.attrs:  # the two most common forms, spelled out
                    left, right = inputs
                    values[node] = implementation[node.op](values[left], values[right])
                elif len(inputs) == 1 and not node.attrs:
                    values[node] = implementation[node.op](values[inputs[0]])
                elif inputs:
                    arguments = [values[source] for source in inputs]
                    values[node] = implementation[node.op](*arguments, *node.attrs)
                else:
                    values[node] = leaf_handle(node)
    except KeyboardInterrupt:
        raise CancelledError("interrupted while computing; no tensor is changed") from None
    except Exception:
        return False  # the planned path meets the same error, and explains it
    for node in order:
        if node.storage is None and (node.op.costly or node in roots):
            node.settle(Storage.of_array(node.device, values[node]))
    return True
