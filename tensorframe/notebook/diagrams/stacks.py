"""Stacks: many boxes that are the same in everything, what they use and who uses them included, become one."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import replace

from tensorframe.notebook.diagrams.diagram import Box, Diagram, Look, Wire
from tensorframe.notebook.wording import TIMES

_FEWEST = 6  # of fewer, each is seen by itself
# of a step, the op and line of a value without a name, and which of its name it is: what equal ones differ in
_NUMBER = re.compile(r"^\d+ · |^\S+@\S+ |(?<=\w)\.\d+(?= )")


def stack(diagram: Diagram) -> Diagram:
    """Return the diagram with a box for each set of at least six that are the same, beside one another."""
    into: dict[str, set[str]] = {box.name: set() for box in diagram.boxes}
    outof: dict[str, list[Hashable]] = {box.name: [] for box in diagram.boxes}
    for wire in diagram.wires:
        plain = _NUMBER.sub("", wire.label)
        outof[wire.source].append((plain, wire.targets, wire.nbytes, wire.moves))
        for target in wire.targets:
            into[target].add(wire.source)
    alike: dict[Hashable, list[Box]] = {}
    for box in diagram.boxes:
        if box.frame is None and box.look is not Look.RESULT:
            used = frozenset(into[box.name])
            what = (box.look, _NUMBER.sub("", box.title), box.device, box.lines, box.note, box.ops)
            alike.setdefault((what, used, tuple(outof[box.name])), []).append(box)
    stacks = [boxes for boxes in alike.values() if len(boxes) >= _FEWEST]
    first_of = {box.name: boxes[0].name for boxes in stacks for box in boxes}
    size_of = {boxes[0].name: len(boxes) for boxes in stacks}
    return Diagram(
        diagram.title,
        [
            _stack(box, size_of[box.name]) if box.name in size_of else box
            for box in diagram.boxes
            if first_of.get(box.name, box.name) == box.name
        ],
        diagram.frames,
        [
            _join(wire, first_of, size_of)
            for wire in diagram.wires
            if first_of.get(wire.source, wire.source) == wire.source
        ],
    )


def _stack(box: Box, size: int) -> Box:
    title = f"{size} {TIMES} {_NUMBER.sub('', box.title)}"
    hint = f"{size} of these; the first:\n{box.hint}" if box.hint else ""
    return replace(box, title=title, hint=hint, ops=size * box.ops, copies=size)


def _join(wire: Wire, first_of: dict[str, str], size_of: dict[str, int]) -> Wire:
    targets = tuple(dict.fromkeys(first_of.get(target, target) for target in wire.targets))
    size = size_of.get(wire.source, 1)
    if size == 1:
        return replace(wire, targets=targets)
    label = f"{size} {TIMES} {_NUMBER.sub('', wire.label)}" if wire.label else ""
    return replace(wire, targets=targets, label=label, nbytes=size * wire.nbytes)
