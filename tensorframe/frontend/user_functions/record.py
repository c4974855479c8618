"""Recording a function of scalars: it runs once on scalars of certain dtypes, and what it did becomes rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.dtypes import DType, of_scalar
from tensorframe.errors import DTypeError, TracingError
from tensorframe.frontend.operand_nodes import PYTHON_NUMBERS, as_node, plain
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.user_functions.outside import Rebuilt
from tensorframe.frontend.user_functions.scalar import Scalar, ValueNeededError, needed
from tensorframe.graph.device import CPU
from tensorframe.graph.node import Node, attrs_key, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.record import constant
from tensorframe.graph.tracing import TracedNumber, example
from tensorframe.ops.creation import ARGUMENT, CONSTANT, FULL
from tensorframe.ops.user import Formula, Instruction
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.evaluate import host_array


class Parameter(NamedTuple):
    """Which parameter of which function a scalar stands for."""

    function: str
    name: str

    def error(self) -> TracingError:
        """Return the error for a value that is needed."""
        try:
            needed(None)  # type: ignore[arg-type]
        except ValueNeededError as error:
            return error


class Recorded(NamedTuple):
    """What a function does with scalars of certain dtypes; `is_tuple` says that it returns a tuple of them."""

    formulas: tuple[Formula, ...]
    is_tuple: bool


def record(
    title: str, function: Rebuilt, names: Sequence[str], dtypes: Sequence[DType], arguments: Any
) -> Recorded:
    """Return what a function does with scalars of these dtypes.

    `arguments` makes positional and named arguments of the scalars. Raises what the function raises, and
    ValueNeededError where it reads a value.
    """
    parameters = [
        Node(ARGUMENT, (), (Parameter(title, name),), (), dtype, CPU, None)
        for name, dtype in zip(names, dtypes, strict=True)
    ]
    args, kwargs = arguments(
        {name: Scalar(node) for name, node in zip(names, parameters, strict=True)}
    )
    result = function.call(*args, **kwargs)
    is_tuple = isinstance(result, tuple)
    results = list(result) if is_tuple else [result]
    if not results:
        raise DTypeError(
            f"{title}: returns an empty tuple",
            location=function.location,
            suggestions=("return a number",),
        )
    nodes = [_node(title, function, returned) for returned in results]
    return Recorded(tuple([_formula(title, parameters, node) for node in nodes]), is_tuple)


def _node(title: str, function: Rebuilt, result: Any) -> Node:
    """Return the node of a result: a scalar, or a number that depends on no argument."""
    value = plain(result)
    if isinstance(value, Tensor | np.generic) and value.shape == ():
        return as_node(value)
    if type(value) in PYTHON_NUMBERS:
        return constant(value, of_scalar(example(value)), CPU, None)
    what = "None" if result is None else type(result).__name__
    if isinstance(value, Tensor):
        raise _from_outside(title)
    raise DTypeError(
        f"{title}: returns {what}; a function of scalars returns a number, or a tuple of numbers",
        location=function.location,
        suggestions=("a return statement",) if result is None else (),
    )


def _formula(title: str, parameters: Sequence[Node], root: Node) -> Formula:
    """Return straight-line code for a result."""
    places = {node: index for index, node in enumerate(parameters)}
    code: list[Instruction] = []

    def add(instruction: Instruction) -> int:
        code.append(instruction)
        return len(parameters) + len(code) - 1

    for node in reachable([root]):
        if node in places:
            continue
        known = _known(title, node)
        if known is not None:
            places[node] = add(Instruction(CONSTANT, (known,), (), node.dtype))
            continue
        arguments = tuple([places[source] for source in node.inputs])
        if node.op.kind in (Kind.VIEW, Kind.TRANSFER):  # of one element: nothing
            places[node] = arguments[0]
        elif (
            isinstance(node.op.expand, Formula) and node.op.vjp is None and node.op.printed is None
        ):
            places[node] = _inlined(node.op.expand, arguments, add)
        else:
            _refuse_others(title, node)
            places[node] = add(Instruction(node.op, node.attrs, arguments, node.dtype))
    dtypes = tuple([node.dtype for node in parameters])
    return Formula(title, dtypes, tuple(code), places[root])


def _known(title: str, node: Node) -> Any:
    """Return the number that a node is, or None if it is computed."""
    if node.shape or node.op is ARGUMENT:
        raise _from_outside(title)
    if node.storage is not None:
        value = host_array(node).item()
        return value if isinstance(value, complex | float | int) else float(value)
    if node.op is not CONSTANT and node.op is not FULL:
        return None
    if type(node.attrs[0]) is TracedNumber:
        raise TracingError(
            f"{title}: computes with a number that jit does not know yet",
            suggestions=("give it as an argument",),
        )
    return node.attrs[0]


def _from_outside(title: str) -> TracingError:
    return TracingError(
        f"{title}: computes with a tensor that is not among its arguments",
        suggestions=(
            "give it as an argument",
            "tensor.item() outside of the function for a number",
        ),
    )


def _inlined(formula: Formula, arguments: tuple[int, ...], add: Any) -> int:
    """Add the code of another function that is called; return the place of its result."""
    places = list(arguments)
    for instruction in formula.instructions:
        places.append(
            add(
                instruction._replace(
                    arguments=tuple([places[argument] for argument in instruction.arguments])
                )
            )
        )
    return places[formula.result]


def _refuse_others(title: str, node: Node) -> None:
    if node.op.kind is not Kind.MAP or node.shape:
        raise TracingError(
            f"{title}: {node.op.name} is no function of scalars",
            suggestions=(
                f"a function that takes tensors, without elementwise, to call {node.op.name}",
            ),
        )


def key_of(formula: Formula) -> tuple[Any, ...]:
    """Return a key that equal formulas share: zeros of either sign differ."""
    return (
        formula.parameters,
        tuple(
            [
                (op, attrs_key(attrs), arguments, dtype)
                for op, attrs, arguments, dtype in formula.instructions
            ]
        ),
        formula.result,
    )
