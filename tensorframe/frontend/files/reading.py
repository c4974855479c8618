"""Reading ahead: slices of compressed arrays are read alone, before a plan would ask for all of the array."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.errors import FileFormatError, MissingFileError
from tensorframe.frontend.files.packed import PackedMember
from tensorframe.graph.node import Node, reachable
from tensorframe.ops.creation import FILE
from tensorframe.ops.movement import COPY, SLICE
from tensorframe.rewrite.views import Window
from tensorframe.runtime.failures import explain_leaf
from tensorframe.runtime.leaves import early_readers, placed
from tensorframe.site import describe


def enable() -> None:
    """Have slices of compressed arrays read alone, from now on."""
    if read_slices not in early_readers:
        early_readers.append(read_slices)


def read_slices(roots: Sequence[Node]) -> None:
    """Give slices of compressed arrays their values, those of one array in one pass.

    Arrays that something else needs as a whole are left alone.
    """
    order = reachable(roots)
    wholes: set[Node] = {_file_behind(root) or root for root in roots}
    slices: dict[Node, list[Node]] = {}
    for node in order:
        for source in node.inputs:
            file = _file_behind(source)
            if file is None:
                continue
            if node.op is SLICE:
                slices.setdefault(file, []).append(node)
            elif node.op is not COPY:
                wholes.add(file)
    for file, nodes in slices.items():
        if file not in wholes:
            _read(file, nodes)


def _file_behind(node: Node) -> Node | None:
    """Return the compressed array that a node is, or is a copy of on another device, if it was not read yet."""
    while node.op is COPY and node.storage is None and node.inputs:
        node = node.inputs[0]
    packed = node.op is FILE and node.storage is None and isinstance(node.attrs[0], PackedMember)
    return node if packed else None


def _read(file: Node, slices: Sequence[Node]) -> None:
    reader: PackedMember = file.attrs[0]
    try:
        parts = reader.parts([Window(*node.attrs) for node in slices])
        for node, array in zip(slices, parts, strict=True):
            node.settle(placed(array, node.device))
    except (FileFormatError, MissingFileError) as error:
        error.location = describe(file.site)  # the line that names the file
        raise
    except MemoryError as error:
        explain_leaf(error, file)
