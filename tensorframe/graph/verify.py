"""Verification: the legality of every node after each pass, on in tests (`TENSORFRAME_VERIFY=1`)."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.errors import TensorFrameError
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.graph.shape import broadcast


class IllegalNodeError(TensorFrameError, AssertionError):
    """A pass made a node that breaks the rules of its row: a bug in tensorframe, never in the user's program."""


def verify(roots: Sequence[Node], *, after: str, core_only: bool, placed: bool) -> None:
    """Check every node that `roots` need; `core_only` and `placed` say which passes have run."""
    for node in reachable(roots):
        if node.storage is not None:
            continue
        for problem in _problems(node, core_only=core_only, placed=placed):
            raise IllegalNodeError(f"after pass {after!r}: {node!r}: {problem}")


def _problems(node: Node, *, core_only: bool, placed: bool) -> list[str]:
    op = node.op
    problems = []
    if op.arity is not None and len(node.inputs) != op.arity:
        problems.append(f"takes {op.arity} inputs, has {len(node.inputs)}")
    if any(source.serial >= node.serial for source in node.inputs):
        problems.append("is older than one of its inputs")
    if not node.inputs:
        return problems
    if core_only and op.expand is not None and not op.whole and op.printed is None:
        problems.append("is not a core op")
    if placed and op.kind is not Kind.TRANSFER:
        # numbers are arguments, at home everywhere
        problems += [
            f"input on {source.device}"
            for source in node.inputs
            if source.device is not node.device and not is_constant(source)
        ]
    shapes = tuple(source.shape for source in node.inputs)
    shape = op.shape(shapes, *node.attrs) if op.shape else broadcast(op.name, *shapes)
    if shape != node.shape:
        problems.append(f"the shape rule gives {shape}")
    operands = node.inputs[op.conditions :]
    uniform = op.kind is Kind.MAP and not op.user_defined
    if uniform and len({operand.dtype for operand in operands}) != 1:
        problems.append("operands of different dtypes")
    if operands[0].dtype not in op.accepts:
        problems.append(f"{operands[0].dtype} is not accepted")
    if op.result(operands[0].dtype, *node.attrs) != node.dtype:
        problems.append(f"the dtype rule gives {op.result(operands[0].dtype, *node.attrs)}")
    return problems
