"""The single path: one node whose inputs are computed is one call, prepared for all nodes of its kind.

Most evaluations of programs that look at every result are of this form. There is nothing on the way that could be
held, stored besides or needed again, so a look-up and the call are all that is left of an evaluation: for small tensors
the call of a function, for others that of a plan's program. Views of computed memory need not even a look-up: no byte
moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import spans
from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.numpy.functions import Function, Functions, implementation
from tensorframe.backends.silence import SILENT, begin, end
from tensorframe.backends.storage import Storage
from tensorframe.config import Options, Process, overridden
from tensorframe.dtypes import COMPLEX, DType
from tensorframe.errors import CancelledError
from tensorframe.graph.device import Device
from tensorframe.graph.history import history
from tensorframe.graph.node import Node, told_apart
from tensorframe.graph.op import Kind, Op
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.creation import ARANGE, CONSTANT, FULL
from tensorframe.ops.exactness import is_exact
from tensorframe.ops.indexing import SET_SLICE
from tensorframe.ops.movement import EXPAND, RESHAPE
from tensorframe.rewrite.simplify import visible
from tensorframe.runtime import events
from tensorframe.runtime.cache import PLANS, Call, Key
from tensorframe.runtime.executor import BLANK, execute
from tensorframe.runtime.failures import explain
from tensorframe.runtime.fitting import fits
from tensorframe.runtime.leaves import leaf_handle, scalars, stored
from tensorframe.runtime.ready import remember
from tensorframe.runtime.small import functions_of
from tensorframe.schedule.capture import Inputs, capture_single
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site

_new = object.__new__
# In a key, in place of the shape of a number that is assigned to a slice.
_SPREAD = "spread"
_SPREADING = frozenset({RESHAPE, EXPAND})
_VIEW, _MAP = Kind.VIEW, Kind.MAP
# Views of views up to which those in between, if somebody refers to them, are cheaper made again than looked for.
_LONGEST = 8
# Times the option `small_size`: elements up to which an elementwise op is one call of a ufunc.
_LARGER = 8
# In place of a call that depends on the numbers beside the tensors: with them, there is one.
_BY_NUMBERS: Call = ("by numbers", None)
# In place of the call of a function that has run so often that a plan pays.
_BY_PLAN: Call = ("by plan", None)
# Numbers of which is remembered what rules see of them.
_MOST_NUMBERS = 1024
# How often a function of several calls of NumPy's runs before its op gets a plan, which takes as long as so many calls.
_OFTEN = 4096


class _Recorded:
    """The line of the node, for messages: it stands for every step, since leaves have none."""

    __slots__ = ("_node", "wanted")

    def __init__(self, node: Node) -> None:
        self._node = node
        self.wanted = (node,)

    def site(self, origin: int) -> Site | None:
        return self._node.site if origin >= 0 else None


class _RunOftenError(Exception):
    """A function has run so often that a kernel, or a plan, pays."""


class _OftenEnough:
    """A function that runs a given number of times, and then raises."""

    __slots__ = ("_function", "_left")

    def __init__(self, function: Function, times: int) -> None:
        self._function = function
        self._left = times

    def __call__(self, *values: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise _RunOftenError
        return self._function(*values)


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
    key: Key
    handles: tuple[Any, ...]
    if len(inputs) == 1:
        (source,) = inputs
        storage = source.storage
        if storage is None and source.op.alias and _views_computed(inputs):
            storage = source.storage
        if storage is None or source.device is not device:
            return False
        key = (op, told_apart(attrs) if attrs else attrs, device.number, source.shape, source.dtype)
        handles = (storage.handle,)
    elif inputs:
        left, right = inputs[0], inputs[1]
        first, second = left.storage, right.storage
        key = (op, told_apart(attrs) if attrs else attrs, device.number, left.shape, left.dtype)
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
        key = (op, told_apart(attrs), device.number, node.shape, node.dtype)
        handles = inputs
    else:
        return False
    options = overridden() or Process.base
    latest, calls = PLANS.latest_calls
    if latest is not options:
        calls = PLANS.calls(options)
    call = calls.get(key)
    if call is _BY_NUMBERS:
        call = calls.get(_with_numbers(key, inputs))
    if call is None or call is _BY_PLAN:
        call = _call_for(node, inputs, key, options)
        if call is None:
            return None if calls.get(key) is _BY_PLAN else False
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
        except BaseException as error:  # told apart in explain, which always raises
            explain(error, plan, 0, _Recorded(node))
    else:
        token = begin(SILENT)
        try:
            value = function(*handles, *attrs) if attrs else function(*handles)
        except KeyboardInterrupt:
            raise CancelledError("interrupted while computing; no tensor is changed") from None
        except _RunOftenError:
            return _run_often(node, key, options)
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
        if history.get() is None:
            node.storage = storage
            node.inputs = ()
            return True
    else:
        storage = stored(device, node.shape, node.dtype, value)
    node.settle(storage)
    return True


def _operands(op: Op, inputs: Inputs, device: Device) -> tuple[Key, tuple[Any, ...]] | None:
    """Return what the key says of several inputs, and their handles; None if one of them is not computed."""
    key: Key = ()
    handles: tuple[Any, ...] = ()
    for source in inputs:
        storage = source.storage
        if storage is None and source.op.alias and _views_computed(inputs):
            storage = source.storage
        if storage is not None and source.device is device:
            key += (source.shape, source.dtype)
            handles += (storage.handle,)
        elif storage is None and source.op is CONSTANT:
            key += (None, source.dtype)
            handles += (scalars[source],)
        elif op is SET_SLICE and (number := _spread(source)) is not None:
            key += (_SPREAD, source.dtype)
            handles += (scalars[number],)
        else:
            return None
    return (*key, None) if inputs[0] is inputs[1] else key, handles


def _spread(node: Node) -> Node | None:
    """Return the number that the node has everywhere, as what is assigned to a slice; None for any other node."""
    while node.storage is None and node.op in _SPREADING:
        (node,) = node.inputs or (node,)
    return node if node.op is CONSTANT and node.storage is None else None


def _views_computed(inputs: Inputs) -> bool:
    """Compute those inputs that are views of computed memory, if all others are computed; return whether they are.

    A broadcast is left to plans, whose kernels read each of its elements once, and so is all that somebody looks at.
    """
    if events.listeners or config.get().checked:
        return False
    pending = [source for source in inputs if source.storage is None and source.op is not CONSTANT]
    return all(map(_is_view_of_computed, pending)) and all(map(run_view, pending))


def _is_view_of_computed(node: Node) -> bool:
    inputs = node.inputs  # before storage: see Node.settle
    while node.storage is None:
        if not inputs or not node.op.alias or node.op is EXPAND:
            return False
        node = inputs[0]
        inputs = node.inputs
    return True


def _call_for(node: Node, inputs: Inputs, key: Key, options: Options) -> Call | None:
    """Return the call for nodes of this key, and keep it; None where there is none yet that will stay the same."""
    numbers = [source for source, shape in zip(inputs, key[3::2], strict=False) if shape is None]
    itself: Function | None = None  # the function, if the plan of its op is nothing but that op
    functions = _functions_for(node, inputs)
    if functions is not None and not inputs:
        return _source(node, key, options)
    if functions is not None and (multiply := _of_vectors(node, inputs, options)) is not None:
        remember(node, multiply, options)
        return PLANS.keep_call(key, (multiply, None), options)
    if functions is not None and PLANS.calls(options).get(key) is not _BY_PLAN:
        is_small = _is_small(node, inputs, len(numbers), functions, options)
        assigns = node.op is SET_SLICE and _SPREAD in key
        if is_small or (
            (node.op.kind is _MAP or assigns) and node.size <= _LARGER * options.small_size
        ):
            kinds = tuple([source.dtype for source in inputs])
            find = functions.settled if is_small or assigns else functions.in_one_pass
            function = find(node.op, kinds, node.attrs)
            if is_small and function is not None:
                if _pays(functions, node.op, kinds, is_beside_number=bool(numbers)):
                    function = _OftenEnough(function, _OFTEN)
            if (
                numbers and not is_small
            ):  # rules of plans know what is sooner computed of some numbers, such as x**2
                if any(known_numbers[number] is not None for number in numbers):
                    function, itself = None, function
                elif function is not None:
                    PLANS.keep_call(key, _BY_NUMBERS, options)
                    key = _with_numbers(key, inputs)
            if function is not None:
                remember(node, function, options, of_number=not is_small)
                return PLANS.keep_call(key, (function, None), options)
            if is_small:
                return None
    request = capture_single(node)
    if request is None:
        return None
    plan = PLANS.find(request[0], options)
    if plan is None or plan.runner is None:
        return None
    # of inputs that are fewer leaves, two are taken apart where the call is
    same = len(request[1]) == len(inputs) or len(inputs) == 2
    call: Call = (plan.runner.alone if same else None, plan)
    if itself is not None and _is_of(plan, node.op):
        call = (itself, None)
        remember(node, itself, options, of_number=True)
    if numbers:
        PLANS.keep_call(key, _BY_NUMBERS, options)
        key = _with_numbers(key, inputs)
    return PLANS.keep_call(key, call, options)


def _of_vectors(node: Node, inputs: Inputs, options: Options) -> Function | None:
    """Return the ufunc that a product of computed vectors is a call of, whatever their size; None for other nodes."""
    if node.op is not MATMUL or node.attrs or not options.small_size:
        return None
    from tensorframe.backends.numpy.blas import as_one_call  # which products load anyway

    left, right = inputs
    if left.dtype is not right.dtype or None in (left.storage, right.storage):
        return None
    return as_one_call(left.shape, right.shape, left.dtype)


def _is_of(plan: Plan, op: Op) -> bool:
    """Whether a plan is nothing but one application of an op: rules know no sooner way."""
    return len(plan.steps) == 1 and [region_op.op for region_op in plan.steps[0].region.ops] == [op]


class _KnownNumbers(dict[Node, Any]):
    """What rules of plans see of nodes that are numbers, which the calls of these depend on."""

    def __missing__(self, node: Node) -> Any:
        if len(self) >= _MOST_NUMBERS:
            self.clear()
        known = self[node] = visible(node.attrs[0])
        return known


known_numbers = _KnownNumbers()


def _with_numbers(key: Key, inputs: Inputs) -> Key:
    numbers = [source for source in inputs if source.storage is None and source.op is CONSTANT]
    return (*key, *[known_numbers[number] for number in numbers])


def _run_often(node: Node, key: Key, options: Options) -> bool | None:
    """Have nodes like this one run as a kernel from now on, or by a plan; return what `run_single` does."""
    inputs = node.inputs
    kinds = tuple([source.dtype for source in inputs])
    functions = _functions_for(node, inputs)
    function = None
    if functions is not None and functions.is_sooner_compiled(node.op, kinds):
        function = functions.compiled(node.op, kinds)
    if function is None:
        PLANS.keep_call(key, _BY_PLAN, options)
        return None
    remember(node, function, options)
    PLANS.keep_call(key, (function, None), options)
    return run_single(node)


def _pays(
    functions: Functions, op: Op, operands: tuple[DType, ...], *, is_beside_number: bool
) -> bool:
    """Whether a kernel or a plan of an op is sooner done than its function, which makes several calls of NumPy's."""
    if is_beside_number or functions.is_sooner_compiled(op, operands):
        return functions.is_sooner_compiled(op, operands)
    how = op.combination
    if op.kind is Kind.REDUCE and how is not None:  # added up in the order of lanes
        return how.wide and not is_exact(op, operands, operands[0])
    return op.expand is not None


def _source(node: Node, key: Key, options: Options) -> Call | None:
    """Return the call for sources like this one: a number everywhere is the same memory for all of them."""
    if node.op is FULL:
        array = np.asarray(generate(node))
        return PLANS.keep_call(key, (lambda *_: array, None), options)
    if node.size > options.small_size or not options.small_nodes:
        return None
    return PLANS.keep_call(key, (lambda *_: generate(node), None), options)


def _functions_for(node: Node, inputs: Inputs) -> Functions | None:
    """Return the functions that run small graphs of the node's device and dtypes."""
    functions: Functions | None = functions_of(node.device)
    if functions is None:
        return None
    is_complex = node.dtype in COMPLEX or any(source.dtype in COMPLEX for source in inputs)
    return functions.for_complex if is_complex else functions


def _is_small(
    node: Node, inputs: Inputs, numbers: int, functions: Functions, options: Options
) -> bool:
    """Whether a graph of this node alone runs without a plan: see `run_small`."""
    limit = options.small_size
    if numbers >= options.small_nodes or node.size > limit:
        return False
    return not node.op.costly or (
        not functions.needs_plan(node.op, inputs[0].dtype)
        and all(source.size <= limit for source in inputs)
    )


def _run_plan(node: Node, plan: Plan, options: Options) -> bool:
    """Compute `node` by the steps of its plan, with all that looks at them."""
    request = capture_single(node)
    if request is None:
        return False
    slots: list[Any] = [*map(leaf_handle, request[1]), *plan.runner.rest]
    execute(plan.runner, slots, plan, _Recorded(node), checked=options.checked)
    node.settle(stored(node.device, node.shape, node.dtype, slots[plan.outputs[0]]))
    return True


def run_view(node: Node) -> bool:
    """Compute `node` if it is a view, or a view of views, of computed host memory; else do nothing and return False."""
    views = [node]
    inputs = node.inputs  # before storage: see Node.settle
    if node.op.kind is not _VIEW or not inputs:
        return node.storage is not None
    source = inputs[0]
    inputs = source.inputs
    storage = source.storage
    while storage is None:
        op = source.op
        if not op.alias or op.kind is not _VIEW or len(views) == _LONGEST:
            return False
        views.append(source)
        source = inputs[0]
        inputs = source.inputs
        storage = source.storage
    array = storage.handle
    if type(array) is not np.ndarray:
        return False
    try:
        while views:
            view = views.pop()
            if view.op is RESHAPE:
                if array.flags.c_contiguous:  # as most are; it takes a third of the time
                    array = array.reshape(view.attrs[0])
                else:
                    array = array.reshape(view.attrs[0], copy=False)  # a copy kernels make faster
            else:
                array = implementation[view.op](array, *view.attrs)
    except KeyboardInterrupt:
        raise CancelledError("interrupted while computing; no tensor is changed") from None
    except Exception:
        return False  # the planned path meets the same error, and explains it
    node.settle(Storage(node.device, array, node.dtype, node.shape))
    return True
