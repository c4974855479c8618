"""Formulas: what a step computes, as one would write it: `z = exp(-a * a) * sin(add@heat.py:3)`.

Values of the plan are called what it prints; those inside a step that are used more than once have names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tensorframe.graph.region import RegionOp
from tensorframe.notebook.wording import attribute_text
from tensorframe.schedule.naming import number_text
from tensorframe.schedule.plan import Plan, Step

# Python's operators by the method behind each: the sign, and how tightly it binds.
_BINARY = {
    "or": ("|", 1),
    "xor": ("^", 2),
    "and": ("&", 3),
    "lt": ("<", 0),
    "le": ("<=", 0),
    "gt": (">", 0),
    "ge": (">=", 0),
    "eq": ("==", 0),
    "ne": ("!=", 0),
    "lshift": ("<<", 4),
    "rshift": (">>", 4),
    "add": ("+", 5),
    "sub": ("-", 5),
    "mul": ("*", 6),
    "truediv": ("/", 6),
    "floordiv": ("//", 6),
    "mod": ("%", 6),
    "matmul": ("@", 6),
    "pow": ("**", 8),
}
_UNARY = {"neg": "-", "invert": "~"}
_UNARY_BINDS = 7
_ATOM = 9
_LONGEST = 100  # characters of a formula: what is longer is written in several

# A text, and how tightly its outermost operator binds.
_Text = tuple[str, int]


def formulas_of(plan: Plan, step: Step) -> list[str]:
    """Return the lines that say what a step computes, in an order in which they could be computed."""
    region = step.region
    first = len(region.inputs)
    texts: dict[int, _Text] = {}
    for value, slot in enumerate(step.inputs):
        is_literal = slot in plan.literals and slot not in plan.names
        operand = number_text(plan.literals[slot]) if is_literal else plan.name_of(slot)
        texts[value] = (operand, _ATOM)
    slots = dict(zip(region.outputs, step.outputs, strict=True))
    uses = Counter(value for op in region.ops for value in op.inputs)
    lines = []
    names = 0
    for value, op in enumerate(region.ops, first):
        text = _formula(op, texts)
        if value in slots:
            name = plan.name_of(slots[value])
        elif uses[value] > 1 or len(text[0]) > _LONGEST:
            name = f"t{names}"
            names += 1
        else:
            texts[value] = text
            continue
        lines.append(f"{name} = {text[0]}")
        texts[value] = (name, _ATOM)
    return lines


def _formula(op: RegionOp, texts: Mapping[int, _Text]) -> _Text:
    operands = [texts[value] for value in op.inputs]
    operator = op.op.operator or ""
    if operator in _BINARY and len(operands) == 2:
        sign, binds = _BINARY[operator]
        (left, left_binds), (right, right_binds) = operands
        # operators are read from the left, but for powers; comparisons do not chain
        left = _bracket(left, left_binds < binds + (operator == "pow" or not binds))
        right = _bracket(right, right_binds < binds + (operator != "pow"))
        return f"{left} {sign} {right}", binds
    if operator in _UNARY and len(operands) == 1:
        text, binds = operands[0]
        return _UNARY[operator] + _bracket(text, binds < _UNARY_BINDS), _UNARY_BINDS
    arguments = [text for text, _ in operands]
    said = attribute_text(op.op, op.attrs).replace(" keepdims", ", keepdims")
    details = [said] if said else []
    return f"{op.op.name}({', '.join([*arguments, *details])})", _ATOM


def _bracket(text: str, needed: bool) -> str:
    return f"({text})" if needed else text
