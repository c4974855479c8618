"""Calls: what computes all nodes of a kind, chosen when the first of them is computed.

A kind is an op with its attributes, and the shapes and dtypes of its operands. Its call is a function for small
tensors, for an elementwise op on some thousand elements a ufunc, and else the program of the plan that the first such
node got. What makes several calls of NumPy's gives way to a kernel, or a plan, when it has run often.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.numpy.functions import Function, Functions, is_formula
from tensorframe.config import Options
from tensorframe.dtypes import COMPLEX, DType
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.creation import CONSTANT, FULL
from tensorframe.ops.exactness import is_exact
from tensorframe.ops.indexing import SCATTER, SET_SLICE
from tensorframe.rewrite.simplify import visible
from tensorframe.runtime.eager.small_graphs import functions_of
from tensorframe.runtime.eager.ufuncs import remember, remember_source
from tensorframe.runtime.plan_cache import PLANS, Call, Key
from tensorframe.schedule.capture import Inputs, capture_single
from tensorframe.schedule.plan import Plan

ASSIGNMENTS = frozenset({SCATTER, SET_SLICE})
# In a key, in place of the shape of a number that is assigned to several elements.
SPREAD = "spread"
# In place of a call that depends on the numbers beside the tensors: with them, there is one.
BY_NUMBERS: Call = ("by numbers", None)
# In place of the call of a function that has run so often that a plan pays.
BY_PLAN: Call = ("by plan", None)
_MAP = Kind.MAP
# Times the option `small_size`: elements up to which an elementwise op is one call of a ufunc.
_LARGER = 8
# Numbers of which is remembered what rules see of them.
_MOST_NUMBERS = 1024
# How often a function of several calls of NumPy's runs before its op gets a plan, which takes as long as so many calls.
_OFTEN = 4096
# The part of these after which an elementwise op gets its kernel where the compiler is loaded.
_SOONER = 8


class RunOftenError(Exception):
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
            raise RunOftenError
        return self._function(*values)


def call_for(node: Node, inputs: Inputs, key: Key, options: Options) -> Call | None:
    """Return the call for nodes of this key, and keep it; None where there is none yet that will stay the same."""
    functions = _functions_for(node, inputs)
    if functions is None or PLANS.calls(options).get(key) is BY_PLAN:
        return _of_plan(node, inputs, key, options)
    if not inputs:
        return _source(node, key, options)
    multiply = _of_vectors(node, inputs, options)
    if multiply is not None:
        return _kept(node, key, multiply, options)
    numbers = _numbers_among(inputs)
    if _is_small(node, inputs, len(numbers), functions, options):
        function = _for_few(node, inputs, functions, is_beside_number=bool(numbers))
        return None if function is None else _kept(node, key, function, options)
    function = _in_one_pass(node, inputs, key, functions, options)
    # rules of plans know what is sooner computed of some numbers, such as x**1
    if function is None or any(_known_numbers[number] is not None for number in numbers):
        return _of_plan(node, inputs, key, options, function)
    if numbers:
        PLANS.keep_call(key, BY_NUMBERS, options)
        key = with_numbers(key, inputs)
    return _kept(node, key, function, options, of_number=True)


def _kept(
    node: Node, key: Key, function: Function, options: Options, *, of_number: bool = False
) -> Call:
    """Have a function compute nodes of this key."""
    remember(node, function, options, of_number=of_number)
    return PLANS.keep_call(key, (function, None), options)


def _for_few(
    node: Node, inputs: Inputs, functions: Functions, *, is_beside_number: bool
) -> Function | None:
    """Return the function for a node of few elements; it gives way when it has run often, if a kernel or plan pays."""
    kinds = tuple([source.dtype for source in inputs])
    function = functions.settled(node.op, kinds, node.attrs)
    if function is None or not _pays(functions, node.op, kinds, is_beside_number=is_beside_number):
        return function
    sooner = functions.is_compiler_loaded() and functions.is_sooner_compiled(node.op, kinds)
    return _OftenEnough(function, _OFTEN // _SOONER if sooner else _OFTEN)


def _in_one_pass(
    node: Node, inputs: Inputs, key: Key, functions: Functions, options: Options
) -> Function | None:
    """Return the function that goes over some thousand elements once; None for more of them, and for other ops."""
    assigns = node.op in ASSIGNMENTS and SPREAD in key
    if node.size > _LARGER * options.small_size or not (node.op.kind is _MAP or assigns):
        return None
    kinds = tuple([source.dtype for source in inputs])
    find = functions.settled if assigns else functions.in_one_pass
    return find(node.op, kinds, node.attrs)


def _of_plan(
    node: Node, inputs: Inputs, key: Key, options: Options, itself: Function | None = None
) -> Call | None:
    """Return the program of the node's plan; the function `itself`, where the plan is nothing but the node's op."""
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
    if _numbers_among(inputs):
        PLANS.keep_call(key, BY_NUMBERS, options)
        key = with_numbers(key, inputs)
    return PLANS.keep_call(key, call, options)


def _of_vectors(node: Node, inputs: Inputs, options: Options) -> Function | None:
    """Return the ufunc that a product of computed vectors is a call of, whatever their size; None for other nodes."""
    if node.op is not MATMUL or node.attrs or not options.small_size:
        return None
    from tensorframe.backends.numpy.products.blas import as_one_call  # which products load anyway

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


_known_numbers = _KnownNumbers()


def with_numbers(key: Key, inputs: Inputs) -> Key:
    """Return the key of nodes whose call depends on the numbers beside the tensors."""
    # written out: this is part of every such evaluation
    numbers = [source for source in inputs if source.storage is None and source.op is CONSTANT]
    return (*key, *[_known_numbers[number] for number in numbers])


def _numbers_among(inputs: Inputs) -> list[Node]:
    return [source for source in inputs if source.storage is None and source.op is CONSTANT]


def call_of_frequent(node: Node, key: Key, options: Options) -> Call:
    """Return the call for nodes like this one from now on, whose function has run often: a kernel, or BY_PLAN."""
    inputs = node.inputs
    kinds = tuple([source.dtype for source in inputs])
    functions = _functions_for(node, inputs)
    function = None
    if functions is not None and functions.is_sooner_compiled(node.op, kinds):
        function = functions.compiled(node.op, kinds)
    if function is None:
        return PLANS.keep_call(key, BY_PLAN, options)
    remember(node, function, options)
    return PLANS.keep_call(key, (function, None), options)


def _pays(
    functions: Functions, op: Op, operands: tuple[DType, ...], *, is_beside_number: bool
) -> bool:
    """Whether a kernel or a plan of an op is sooner done than its function, which makes several calls of NumPy's."""
    if is_beside_number or functions.is_sooner_compiled(op, operands):
        return functions.is_sooner_compiled(op, operands)
    how = op.combination
    if op.kind is Kind.REDUCE and how is not None:  # added up in the order of lanes
        return how.wide and not is_exact(op, operands, operands[0])
    return op.whole or is_formula(op)


def _source(node: Node, key: Key, options: Options) -> Call | None:
    """Return the call for sources like this one: a number everywhere is the same memory for all of them."""
    if node.op is FULL:
        array = np.asarray(generate(node))
        remember_source(node, array, options)
        return PLANS.keep_call(key, (lambda *_: array, None), options)
    if node.size > options.small_size or not options.small_nodes:
        return None
    remember_source(node, generate, options)
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
