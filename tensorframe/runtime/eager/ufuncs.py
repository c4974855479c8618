"""The shortest path: an elementwise op on computed tensors whose ufunc is known runs at once, by one look-up.

Most evaluations of programs that look at every result are of this form. `eager/calls.py` says which ufunc runs nodes
of a kind, and remembers it here where nothing else could matter: no attributes, no plan, no checks of results.
"""

from __future__ import annotations

from math import copysign
from typing import Any

import numpy as np

from tensorframe.backends import spans
from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.silence import silently
from tensorframe.backends.storage import Storage
from tensorframe.config import Options, Process, overridden
from tensorframe.errors import CancelledError
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node
from tensorframe.ops.creation import CONSTANT
from tensorframe.runtime.execution.leaves import numbers
from tensorframe.runtime.plan_cache import PLANS, Key

_new = object.__new__
_ndarray = np.ndarray


def run_ufunc(node: Node) -> bool:
    """Compute `node` if its ufunc is remembered and its inputs are computed; else do nothing and return False.

    A node with attributes has none: who asks for it is spared the call.
    Every line counts: this is most of an evaluation of a few elements.
    """
    inputs = node.inputs  # before storage: see Node.settle
    options, ready = PLANS.ready
    if options is not (overridden() or Process.base) or spans.onlookers:
        return False
    device = node.device
    try:
        if len(inputs) == 1:
            source = inputs[0]
            storage = source.storage
            if storage is None or source.device is not device:
                return False
            function = ready.get((node.op, device.number, source.shape, source.dtype))
            if function is None:
                return False
            value = silently(function, storage.handle)
        elif len(inputs) == 2:
            left, right = inputs
            first, second = left.storage, right.storage
            if first is None or left.device is not device or right.device is not device:
                return False
            if second is not None:
                function = ready.get(
                    (node.op, device.number, left.shape, left.dtype, right.shape, right.dtype)
                )
                operand = second.handle
            elif right.op is CONSTANT:
                kind: Key = (node.op, device.number, left.shape, left.dtype)
                function = ready.get((*kind, right.dtype)) or ready.get((*kind, right))
                operand = numbers[right]
            else:
                return False
            if function is None:
                return False
            value = silently(function, first.handle, operand)
        else:
            return False
    except KeyboardInterrupt:
        raise CancelledError("interrupted while computing; no tensor is changed") from None
    except Exception:
        return False  # another thread is computing so, or it fails: other paths can, or explain it
    # the constructor and Node.settle written out: half of their time are calls
    storage = _new(Storage)
    storage.device = device
    storage.handle = value if type(value) is _ndarray else np.asarray(value)
    storage.dtype = node.dtype
    storage.shape = node.shape
    if needing_nodes:
        node.settle(storage)
    else:
        node.storage = storage
        node.inputs = ()
    return True


class _Latest:
    """What was looked up last: what was known then, the source, and its storage."""

    source: tuple[Any, ...] = (None,) * 7


def run_source(node: Node) -> bool:
    """Compute a source like one that was computed before; else do nothing and return False.

    What is everywhere the same number is the same memory for all of them; others are generated.
    """
    known = PLANS.ready
    options, ready = known
    if options is not (overridden() or Process.base) or spans.onlookers:
        return False
    latest = _Latest.source
    # to compare objects takes a quarter of the time of a key; none of these can change
    if (
        latest[0] is known
        and latest[1] is node.attrs
        and latest[2] is node.shape
        and latest[3] is node.dtype
        and latest[4] is node.device
        and latest[5] is node.op
    ):
        storage = latest[6]
    else:
        storage = ready.get(_kind_of_source(node))
        if storage is None:
            return False
        _Latest.source = (
            *(known, node.attrs, node.shape, node.dtype, node.device, node.op),
            storage,
        )
    if storage is generate:
        try:
            array = silently(generate, node)
        except KeyboardInterrupt:
            raise CancelledError("interrupted while computing; no tensor is changed") from None
        except Exception:
            return False  # another thread is computing so, or it fails: others can, or explain it
        storage = Storage(node.device, array, node.dtype, node.shape)
    if needing_nodes:
        node.settle(storage)
    else:
        node.storage = storage
    return True


def _kind_of_source(node: Node) -> Key:
    attrs = node.attrs
    last = attrs[-1] if attrs else None
    if last == 0 and type(last) is float:  # zeros of either sign are equal
        return (node.op, attrs, copysign(1.0, last), node.device.number, node.shape, node.dtype)
    return (node.op, attrs, node.device.number, node.shape, node.dtype)


def remember_source(node: Node, array: Any, options: Options) -> None:
    """Remember what sources like this one are, unless results are checked: an array, or what is generated for each."""
    if options.checked:
        return
    storage = array if array is generate else Storage(node.device, array, node.dtype, node.shape)
    PLANS.keep_ready(_kind_of_source(node), storage, options)


def remember(node: Node, function: Any, options: Options, *, of_number: bool = False) -> None:
    """Remember what runs nodes like this one, if it is a ufunc, unless results are checked.

    `of_number` says that this is so beside the right operand's number, and that others may have another function.
    """
    inputs = node.inputs
    first = inputs[0]
    if type(function) is not np.ufunc or node.attrs or options.checked or len(inputs) > 2:
        return
    if first.storage is None:
        return
    key: Key = (node.op, node.device.number, first.shape, first.dtype)
    for right in inputs[1:]:
        if right.storage is not None:
            key += (right.shape, right.dtype)
        else:
            key += (right if of_number else right.dtype,)
    PLANS.keep_ready(key, function, options)
