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


def run_small(roots: Sequence[Node], options: Options) -> bool:
    """Compute `roots` if everything they need is small and on the host; else do nothing and return False."""
    found = _small_graph(roots, options)
    if found is None:
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


def _small_graph(roots: Sequence[Node], options: Options) -> list[Node] | None:
    """Return the nodes that `roots` need; None as soon as these are too many, too large or elsewhere."""
    shape, device, limit = None, None, options.small_size
    found = list(dict.fromkeys(roots))
    seen = set(found)
    for node in found:  # grows while it is walked
        inputs = node.inputs  # before storage: see Node.settle
        if node.storage is not None:
            continue
        if node.shape is not shape:  # mostly one tuple, passed on from node to node
            shape = node.shape
            if prod(shape) > limit:
                return None
        if node.device is not device:
            device = node.device
            if not _runs_small(device):
                return None
        for source in inputs:
            if source not in seen:
                seen.add(source)
                found.append(source)
        if len(found) > options.small_nodes:
            return None
    return found
