"""Plans as diagrams: kernels and library calls around the ops that they fuse, transfers, and the values between them.

Values carry the numbers of the printed plan. Where there are many ops, kernels are closed: a box each, which counts its
ops, and many equal ones are a stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tensorframe.graph.region import Region, RegionOp
from tensorframe.notebook.diagrams.diagram import Box, Diagram, Frame, Look, Wire, wires_of
from tensorframe.notebook.diagrams.stacks import stack
from tensorframe.notebook.formulas import formulas_of
from tensorframe.notebook.steps import headline_figures, titled
from tensorframe.notebook.wording import WIRE, call_text, names_of, size_text
from tensorframe.schedule.naming import number_text
from tensorframe.schedule.plan import Plan, Step, StepKind, human_bytes, is_library

MOST_OPEN = 64  # ops: kernels of larger plans are closed unless one asks for all of them

_MOST_LISTED = 40  # ops, in what pointing at a kernel says

# A value: a slot of the plan, or a step and the number of a value inside its region.
Value = tuple[int, ...]


@dataclass(slots=True)
class _Drawing:
    """A diagram while it is made: where values come from, and their consumers."""

    plan: Plan
    closed: bool
    numbers: dict[int, str]  # slots that are numbers: they stand in the ops that they go to
    boxes: list[Box] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    makers: dict[Value, str] = field(default_factory=dict)
    users: dict[Value, dict[str, None]] = field(default_factory=dict)
    labels: dict[Value, str] = field(default_factory=dict)
    sizes: dict[Value, int] = field(default_factory=dict)

    def make(self, value: Value, box: str, label: str, nbytes: int) -> None:
        """Note that a box makes a value."""
        self.makers[value] = box
        self.users.setdefault(value, {})
        self.labels[value] = label
        self.sizes[value] = nbytes

    def make_slot(self, slot: int, box: str) -> None:
        """Note that a box makes what is in a slot."""
        value = self.plan.slots[slot]
        self.make((slot,), box, f"{self.plan.name_of(slot)} {value}", value.nbytes)

    def use(self, value: Value, box: str) -> None:
        """Note that a box uses a value."""
        self.users.setdefault(value, {})[box] = None


def diagram_of_plan(
    plan: Plan,
    *,
    title: str = "plan",
    numbers: Mapping[int, object] | None = None,
    wanted: int | None = None,
    ordered: bool = True,
    collapse: bool | None = None,
) -> Diagram:
    """Return the steps of a plan as boxes and frames.

    `numbers` are the values of number slots where these are known, `wanted` says how many of the outputs were
    requested (the others are stored, as they are still referenced), `ordered` whether steps run in this order.
    `collapse` closes kernels; None does so where there are many ops.
    """
    ops = sum(len(step.region.ops) for step in plan.steps)
    closed = ops > MOST_OPEN if collapse is None else collapse
    drawing = _Drawing(plan, closed, _number_texts(plan, numbers or {}))
    used = dict.fromkeys([slot for step in plan.steps for slot in step.inputs] + [*plan.outputs])
    for slot in used:
        if slot < plan.leaves and slot not in drawing.numbers:
            name = f"input {slot}"
            device = str(plan.slots[slot].device)
            hint = f"{plan.name_of(slot)} {plan.slots[slot]} on {device}"
            drawing.boxes.append(
                Box(name, Look.INPUT, plan.names.get(slot, "input"), device, hint=hint)
            )
            drawing.make_slot(slot, name)
    notes = plan.notes()
    for index, step in enumerate(plan.steps):
        _add_step(drawing, index, step, notes[index], ordered=ordered)
    _add_results(drawing, wanted)
    whole = Diagram(_headline(plan, title), drawing.boxes, drawing.frames, _wires(drawing))
    return stack(whole) if closed else whole


def _headline(plan: Plan, title: str) -> str:
    figures = [f"{figure} {name}" for figure, name in headline_figures(plan) if figure != "0"]
    return f"{title}: {', '.join(figures)}"


def _number_texts(plan: Plan, known: Mapping[int, object]) -> dict[int, str]:
    """Return what stands for each number: its value, or its slot where only the call will tell."""
    texts = {slot: number_text(value) for slot, value in plan.literals.items()}
    for slot in range(plan.leaves):
        if slot in known:
            texts[slot] = number_text(known[slot])
        elif not plan.slots[slot].shape and slot not in plan.outputs:
            texts[slot] = plan.name_of(slot)
    return texts


def _add_step(
    drawing: _Drawing, index: int, step: Step, notes: Sequence[str], *, ordered: bool
) -> None:
    name = f"step {index}"
    device = str(step.device)
    hint = "\n".join([*_facts(drawing.plan, index, step), *notes])
    ops = step.region.ops
    if step.kind is StepKind.TRANSFER:
        line = human_bytes(step.bytes_written) if step.bytes_written else "the same memory"
        box = Box(name, Look.TRANSFER, f"to {device}", device, (line,), hint=hint, ops=1)
        _add_whole(drawing, step, box)
    elif step.is_view:
        text = _operation(drawing, step, ops[0]) if len(ops) == 1 else ""
        title = titled(" ".join(op.op.name for op in ops), step)
        lines = (text,) if text else ()
        box = Box(name, Look.VIEW, title, device, lines, hint=hint, ops=len(ops))
        _add_whole(drawing, step, box)
    else:
        look = Look.KERNEL if step.kind is StepKind.REGION else Look.LIBRARY
        title = titled("kernel" if look is Look.KERNEL else "library call", step)
        title = f"{index} · {title}" if ordered else title
        if drawing.closed or len(ops) == 1:
            _add_whole(drawing, step, _closed_box(drawing, step, name, look, title, hint))
        else:
            note = f"{len(ops)} ops"
            drawing.frames.append(Frame(name, look, title, device, note, hint))
            _add_inside(drawing, index, step, name)


def _facts(plan: Plan, index: int, step: Step) -> list[str]:
    facts = [f"step {index} on {step.device}: {step.name}"]
    moved = f"reads {human_bytes(step.bytes_read)}, writes {human_bytes(step.bytes_written)}"
    facts.append(f"{moved}, {step.flops:.3g} flops")
    if step.seconds is not None:
        facts.append(f"took {step.seconds * 1e3:.3g} ms")
    donated = [plan.name_of(slot) for slot in step.donors if slot is not None]
    if donated:
        facts.append(f"writes into the memory of {', '.join(donated)}")
    return facts


def _closed_box(drawing: _Drawing, step: Step, name: str, look: Look, title: str, hint: str) -> Box:
    """Return a step as one box: its ops by name, each with how often it occurs."""
    ops = step.region.ops
    lines = names_of(op.op.name for op in ops)
    note = f"{len(ops)} ops"
    if len(ops) == 1:
        text = _operation(drawing, step, ops[0])
        lines, note = (ops[0].op.name, text) if text else lines, ""
    if len(ops) <= _MOST_LISTED:
        hint = "\n".join([hint, "", *formulas_of(drawing.plan, step)])
    return Box(
        name,
        look,
        title,
        str(step.device),
        lines,
        note=note,
        hint=hint,
        ops=len(ops),
        closed=True,
    )


def _add_whole(drawing: _Drawing, step: Step, box: Box) -> None:
    """Add a step that is one box, between the values that it takes and gives."""
    drawing.boxes.append(box)
    for slot in step.inputs:
        if slot not in drawing.numbers:
            drawing.use((slot,), box.name)
    for slot in step.outputs:
        drawing.make_slot(slot, box.name)


def _add_inside(drawing: _Drawing, index: int, step: Step, frame: str) -> None:
    """Add the ops of a step, in its frame."""
    region = step.region
    first = len(region.inputs)
    slot_of = dict(zip(region.outputs, step.outputs, strict=True))
    for number, op in enumerate(region.ops):
        name = f"{frame} op {number}"
        look = Look.LIBRARY if is_library(op.op.kind) else Look.OP
        look = Look.VIEW if op.op.alias else look
        text = _operation(drawing, step, op)
        hint = f"{op.op.name} {text}\n{size_text(op.shape, op.dtype)}"
        lines = (text,) if text else ()
        device = str(step.device)
        box = Box(name, look, op.op.name, device, lines, frame=frame, hint=hint, ops=1)
        drawing.boxes.append(box)
        for value in op.inputs:
            if value >= first:
                drawing.use(_value(index, value, slot_of), name)
            elif step.inputs[value] not in drawing.numbers:
                drawing.use((step.inputs[value],), name)
        made = first + number
        if made in slot_of:
            drawing.make_slot(slot_of[made], name)
        else:
            label = size_text(op.shape, op.dtype) if _changes(op, region) else ""
            nbytes = op.dtype.itemsize
            for size in op.shape:
                nbytes *= size
            drawing.make((index, made), name, label, nbytes)


def _value(step: int, value: int, slot_of: Mapping[int, int]) -> Value:
    return (slot_of[value],) if value in slot_of else (step, value)


def _changes(op: RegionOp, region: Region) -> bool:
    """Whether a value inside a kernel has another size than what it is made from, which is worth a label."""
    made = (op.shape, op.dtype)
    return all((region.shape_of(source), region.dtype_of(source)) != made for source in op.inputs)


def _operation(drawing: _Drawing, step: Step, op: RegionOp) -> str:
    """Return the numbers and attributes of an op."""
    first = len(step.region.inputs)
    operands = [
        drawing.numbers.get(step.inputs[value], WIRE) if value < first else WIRE
        for value in op.inputs
    ]
    return call_text(op.op, op.attrs, operands)


def _add_results(drawing: _Drawing, wanted: int | None) -> None:
    outputs = drawing.plan.outputs
    asked = len(outputs) if wanted is None else wanted
    for index, slot in enumerate(outputs):
        name = "result" if index < asked else "kept"
        title = f"{name} {index}" if asked > 1 and index < asked else name
        device = str(drawing.plan.slots[slot].device)
        hint = "" if index < asked else "this costly intermediate is still referenced"
        if (slot,) not in drawing.makers:  # a number, requested by itself
            drawing.boxes.append(Box(f"input {slot}", Look.INPUT, drawing.numbers[slot], device))
            drawing.make_slot(slot, f"input {slot}")
        drawing.boxes.append(Box(f"output {index}", Look.RESULT, title, device, hint=hint))
        drawing.use((slot,), f"output {index}")


def _wires(drawing: _Drawing) -> list[Wire]:
    moving = {box.name for box in drawing.boxes if box.look is Look.TRANSFER}
    wires = []
    for value, targets in drawing.users.items():
        maker = drawing.makers[value]
        label = drawing.labels[value]
        wires += wires_of(maker, targets, moving, label, drawing.sizes[value])
    return wires
