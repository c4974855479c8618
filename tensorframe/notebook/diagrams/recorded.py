"""Recorded graphs as diagrams: a box for each op, a pill for each input and result; numbers stand in their ops.

Large graphs are closed: ops that follow one another without any other tensor joining are one box, and many
equal boxes are a stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorframe.frontend.diagnostics.scope import names_in_scope
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.notebook.diagrams.diagram import Box, Diagram, Look, wires_of
from tensorframe.notebook.diagrams.stacks import stack
from tensorframe.notebook.wording import (
    WIRE,
    call_text,
    counted,
    names_of,
    size_text,
)
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.naming import node_names, number_text, op_text, variable_names
from tensorframe.schedule.plan import human_bytes, is_library
from tensorframe.site import describe

MOST_OPEN = 80  # ops: more are closed unless one asks for all of them

Run = list[Node]


def diagram_of_nodes(roots: Sequence[Node], stage: str, collapse: bool | None) -> Diagram:
    """Return the graph that `roots` need. `collapse` closes runs of ops; None does so where there are many."""
    everything = reachable(roots)
    nodes = [node for node in everything if not is_constant(node) or node in roots]
    inputs = {node: _tensors(node) for node in nodes}
    ops = sum(not is_leaf(node) for node in nodes)
    closed = ops > MOST_OPEN if collapse is None else collapse
    runs = _runs(nodes, inputs, set(roots)) if closed else [[node] for node in nodes]
    diagram = Diagram("")
    box_of: dict[Node, str] = {}
    scope = names_in_scope()
    variables = {node: scope[node] for node in nodes if node in scope}
    variables |= variable_names(nodes, [inputs[node] for node in nodes])
    names = node_names(everything) | variables
    for run in runs:
        box = _box(run, variables, names)
        box_of.update(dict.fromkeys(run, box.name))
        diagram.boxes.append(box)
    users: dict[Node, dict[str, None]] = {node: {} for node in nodes}
    for node in nodes:
        for source in inputs[node]:
            if box_of[source] != box_of[node]:
                users[source][box_of[node]] = None
    for index, root in enumerate(dict.fromkeys(roots)):
        name = f"result {index}" if roots[1:] else "result"
        diagram.boxes.append(Box(name, Look.RESULT, name, str(root.device)))
        users[root][name] = None
    moved = {box.name for box in diagram.boxes if box.look is Look.TRANSFER}
    for node, targets in users.items():
        size = size_text(node.shape, node.dtype)
        label = f"{variables[node]} {size}" if node in variables else size
        diagram.wires += wires_of(box_of[node], targets, moved, label, node.nbytes)
    given = sum(box.look is Look.INPUT for box in diagram.boxes)
    title = "recorded graph" if stage == "recorded" else f"graph after {stage}"
    diagram.title = f"{title}: {counted(ops, 'op')}, {counted(given, 'input')}"
    return stack(diagram) if closed else diagram


def _tensors(node: Node) -> list[Node]:
    """Return the inputs that are drawn: not numbers, and none of what a computed node was made from."""
    inputs = node.inputs  # before storage: see Node.settle
    if node.storage is not None:
        return []
    return [source for source in dict.fromkeys(inputs) if not is_constant(source)]


def _runs(nodes: Sequence[Node], inputs: dict[Node, list[Node]], wanted: set[Node]) -> list[Run]:
    """Return the nodes in runs: each node uses the one before it and nothing else, and alone does so."""
    users: dict[Node, int] = dict.fromkeys(nodes, 0)
    for node in nodes:
        for source in inputs[node]:
            users[source] += 1
    runs: list[Run] = []
    run_of: dict[Node, Run] = {}
    for node in nodes:
        before = inputs[node][0] if len(inputs[node]) == 1 else None
        if (
            before is not None
            and before not in wanted
            and users[before] == 1
            and _joins(node)
            and _joins(before)
        ):
            run = run_of[before]
            run.append(node)
        else:
            run = [node]
            runs.append(run)
        run_of[node] = run
    return runs


def _joins(node: Node) -> bool:
    kind = node.op.kind
    return not (is_leaf(node) or is_library(kind) or kind is Kind.TRANSFER)


def _box(run: Run, variables: Mapping[Node, str], names: Mapping[Node, str]) -> Box:
    node = run[-1]
    name = f"n{node.serial}"
    device = str(node.device)
    if run[1:]:
        hint = "\n".join([op_text(node, names) for node in run])
        lines = names_of(node.op.name for node in run)
        return Box(name, Look.OP, f"{len(run)} ops", device, lines, hint=hint, ops=len(run))
    look = look_of(node)
    hint = _hint(node, names)
    if look is Look.INPUT:
        return Box(name, look, variables.get(node) or _input_title(node), device, hint=hint)
    if look is Look.TRANSFER:
        line = (human_bytes(node.nbytes),)
        return Box(name, look, f"to {device}", device, line, hint=hint, ops=1)
    operands = [
        number_text(source.attrs[0]) if is_constant(source) else WIRE for source in node.inputs
    ]
    text = call_text(node.op, node.attrs, operands)
    return Box(name, look, node.op.name, device, (text,) if text else (), hint=hint, ops=1)


def look_of(node: Node) -> Look:
    """Return what a node looks like."""
    kind = node.op.kind
    if is_leaf(node):
        return Look.INPUT
    if kind is Kind.TRANSFER:
        return Look.TRANSFER
    if kind is Kind.VIEW and node.op.alias:
        return Look.VIEW
    return Look.LIBRARY if is_library(kind) else Look.OP


def _input_title(node: Node) -> str:
    if is_constant(node):
        return number_text(node.attrs[0])
    # a result that is there already is an input of whatever follows
    return "input" if node.op.kind is Kind.SOURCE else f"{node.op.name}, computed"


def _hint(node: Node, names: Mapping[Node, str]) -> str:
    where = describe(node.site)
    bytes_text = human_bytes(node.nbytes)
    lines = [op_text(node, names), f"{bytes_text} on {node.device}"]
    return "\n".join([*lines, f"recorded at {where}"] if where else lines)
