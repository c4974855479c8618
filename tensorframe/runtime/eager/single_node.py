"""The single path: one node whose inputs are computed is one call, prepared for all nodes of its kind.

Most evaluations of programs that look at every result are of this form. There is nothing on the way that could be
held, stored besides or needed again, so a look-up and the call are all that is left of an evaluation: for small tensors
the call of a function, for others that of a plan's program. Views of computed memory need not even a look-up: no byte
moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends import spans
from tensorframe.backends.silence import SILENT, begin, end
from tensorframe.backends.storage import Storage
from tensorframe.config import Options, Process, overridden
from tensorframe.errors import CancelledError
from tensorframe.graph.device import Device
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node, attrs_key
from tensorframe.graph.op import Op
from tensorframe.ops.creation import ARANGE, CONSTANT, FULL
from tensorframe.ops.movement import EXPAND, RESHAPE
from tensorframe.runtime.eager.calls import (
    ASSIGNMENTS,
    BY_NUMBERS,
    BY_PLAN,
    SPREAD,
    RunOftenError,
    call_for,
    call_of_frequent,
    with_numbers,
)
from tensorframe.runtime.eager.views import run_view, views_computed
from tensorframe.runtime.execution import events
from tensorframe.runtime.execution.executor import BLANK, execute
from tensorframe.runtime.execution.failures import explain
from tensorframe.runtime.execution.leaves import leaf_handle, scalars, stored
from tensorframe.runtime.execution.memory_admission import fits, give_back
from tensorframe.runtime.plan_cache import PLANS, Key
from tensorframe.schedule.capture import Inputs, capture_single
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site

_new = object.__new__
# what lies between a number and the elements that it is assigned to
_SPREADING = frozenset({RESHAPE, EXPAND})
# of what attributes may be equal and not the same: see `attrs_key`, whose call takes as long as to ask
_SIGNED = frozenset({float, complex})


class _Recorded:
    """The line of the node, for messages: it stands for every step, since leaves have none."""

    __slots__ = ("_node", "wanted")

    def __init__(self, node: Node) -> None:
        self._node = node
        self.wanted = (node,)

    def site(self, origin: int) -> Site | None:
        return self._node.site if origin >= 0 else None


def run_single(node: Node) -> bool | None:
    """Compute `node` if its inputs are computed and its call is known; else do nothing and return False.

    None instead of False says that it is to have a plan, however small it is.

    Every line counts: this is most of an evaluation of a few elements.
    """
    op, attrs, device = node.op, node.attrs, node.device
    inputs = node.inputs  # before storage: see Node.settle
    if spans.collectors:
        return False
    if op.alias and run_view(node):
        return True
    told = attrs_key(attrs) if attrs and type(attrs[-1]) in _SIGNED else attrs
    key: Key
    handles: tuple[Any, ...]
    if len(inputs) == 1:
        (source,) = inputs
        storage = source.storage
        if storage is None and source.op.alias and views_computed(inputs):
            storage = source.storage
        if storage is None or source.device is not device:
            return False
        key = (op, told, device.number, source.shape, source.dtype)
        handles = (storage.handle,)
    elif inputs:
        left, right = inputs[0], inputs[1]
        first, second = left.storage, right.storage
        key = (op, told, device.number, left.shape, left.dtype)
        two = len(inputs) == 2 and first is not None and left.device is device  # the usual case
        if two and second is not None and right.device is device:
            key += (
                (right.shape, right.dtype) if left is not right else (left.shape, left.dtype, None)
            )
            handles = (first.handle, second.handle)
        elif two and second is None and right.op is CONSTANT:
            key += (None, right.dtype)
            handles = (first.handle, scalars[right])
        else:
            operands = _operands(op, inputs, device)
            if operands is None:
                return False
            key = key[:3] + operands[0]
            handles = operands[1]
    elif node.storage is None and (op is FULL or op is ARANGE):
        key = (op, told, device.number, node.shape, node.dtype)
        handles = inputs
    else:
        return False
    options = overridden() or Process.base
    latest, calls = PLANS.latest_calls
    if latest is not options:
        if PLANS.is_short:
            from tensorframe.runtime.execution.small_admissions import (
                admit_small,  # loaded with the limit
            )

            admit_small(node)
        calls = PLANS.calls(options)
    call = calls.get(key)
    if call is BY_NUMBERS:
        call = calls.get(with_numbers(key, inputs))
    if call is None or call is BY_PLAN:
        call = call_for(node, inputs, key, options)
        if call is None:
            return None if calls.get(key) is BY_PLAN else False
        if call[1] is None:
            PLANS.largest = max(PLANS.largest, node.nbytes)
    function, plan = call
    if events.listeners or function is None or options.validate or options.check_nan:
        return plan is not None and _run_plan(node, plan, options)
    if plan is not None:
        if plan.runner.needs and not fits(plan.runner):
            return _run_plan(node, plan, options)
        if len(inputs) == 2 and inputs[0] is inputs[1]:
            handles = handles[:1]
        try:
            (value,) = function(handles, BLANK)
        except BaseException as error:  # distinguished in explain, which always raises
            explain(error, plan, 0, _Recorded(node))
        if plan.runner.needs:
            give_back(plan.runner)
    else:
        token = begin(SILENT)
        try:
            value = function(*handles, *attrs) if attrs else function(*handles)
        except KeyboardInterrupt:
            raise CancelledError("interrupted while computing; no tensor is changed") from None
        except RunOftenError:
            has_kernel = call_of_frequent(node, key, options) is not BY_PLAN
            return run_single(node) if has_kernel else None
        except Exception:
            return False  # the planned path meets the same error, and explains it
        finally:
            end(token)
    if type(value) is np.ndarray:
        storage = _new(
            Storage
        )  # its constructor written out, and so is Node.settle: half of their time are calls
        storage.device = device
        storage.handle = value
        storage.dtype = node.dtype
        storage.shape = node.shape
        if not needing_nodes:
            node.storage = storage
            node.inputs = ()
            return True
    else:
        storage = stored(device, node.shape, node.dtype, value)
    node.settle(storage)
    return True


def handle_of(node: Node, array: Any) -> Any:
    """Return what the known call of nodes like this one makes of its only operand's array; None if none is known.

    It is called where NumPy's warnings are silenced, and nobody looks on.
    """
    options = overridden() or Process.base
    latest, calls = PLANS.latest_calls
    if latest is not options or options.checked:
        return None
    source = node.inputs[0]
    key = (node.op, attrs_key(node.attrs), node.device.number, source.shape, source.dtype)
    call = calls.get(key)
    if call is None or call is BY_PLAN:
        return None
    function, plan = call
    if function is None or (plan is not None and plan.runner.needs):
        return None
    try:
        if plan is None:
            value = function(array, *node.attrs)
        else:
            (value,) = function((array,), BLANK)
    except Exception:
        return None  # who evaluates the node meets the same error, and explains it
    if type(value) is np.ndarray:
        return value
    return stored(node.device, node.shape, node.dtype, value).handle


def _operands(op: Op, inputs: Inputs, device: Device) -> tuple[Key, tuple[Any, ...]] | None:
    """Return what the key says of several inputs, and their handles; None if one of them is not computed."""
    key: Key = ()
    handles: tuple[Any, ...] = ()
    for source in inputs:
        storage = source.storage
        if storage is None and source.op is CONSTANT:
            key += (None, source.dtype)
            handles += (scalars[source],)
            continue
        if storage is None and op in ASSIGNMENTS and (number := _spread(source)) is not None:
            key += (SPREAD, source.dtype)
            handles += (scalars[number],)
            continue
        if storage is None and source.op.alias and views_computed(inputs):
            storage = source.storage
        if storage is None or source.device is not device:
            return None
        key += (source.shape, source.dtype)
        handles += (storage.handle,)
    return (*key, None) if inputs[0] is inputs[1] else key, handles


def _spread(node: Node) -> Node | None:
    """Return the number that the node has everywhere, as what is assigned to a slice; None for any other node."""
    while node.storage is None and node.op in _SPREADING:
        (node,) = node.inputs or (node,)
    return node if node.op is CONSTANT and node.storage is None else None


def _run_plan(node: Node, plan: Plan, options: Options) -> bool:
    """Compute `node` by the steps of its plan, with all that looks at them."""
    request = capture_single(node)
    if request is None:
        return False
    slots: list[Any] = [*map(leaf_handle, request[1]), *plan.runner.rest]
    execute(plan.runner, slots, plan, _Recorded(node), checked=options.checked)
    node.settle(stored(node.device, node.shape, node.dtype, slots[plan.outputs[0]]))
    return True
