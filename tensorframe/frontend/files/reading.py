"""Reading parts: of arrays that are not mapped, only what is shown is read, before a plan would need all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorframe import config
from tensorframe.files.reader import FILE_ERRORS, Part, Reader
from tensorframe.frontend.files.objects import ObjectReader
from tensorframe.frontend.files.packed import PASSES, PackedMember
from tensorframe.graph.node import Node, reachable
from tensorframe.ops.creation import FILE
from tensorframe.ops.movement import COPY, SLICE
from tensorframe.rewrite.engine import Builder
from tensorframe.rewrite.views import Window
from tensorframe.runtime.evaluate import evaluate
from tensorframe.runtime.execution.failures import explain_leaf
from tensorframe.runtime.execution.leaves import early_readers, early_views, placed
from tensorframe.site import describe


def enable() -> None:
    """Have parts of arrays that are not mapped read alone, from now on."""
    if read_early not in early_readers:
        early_readers.append(read_early)
        early_views.append(as_read)


def read_early(roots: Sequence[Node]) -> None:
    """Read what is shown of arrays that are not mapped, if roots are made from any that was not read."""
    if any(_is_object(node) for node in reachable(roots)):
        read_slices(roots)
        read_parts(roots)


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
    packed = _is_unread(node) and isinstance(node.attrs[0], PackedMember)
    return node if packed else None


def _is_unread(node: Node) -> bool:
    return node.op is FILE and node.storage is None


def _read(file: Node, slices: Sequence[Node]) -> None:
    reader: PackedMember = file.attrs[0]
    try:
        parts = reader.parts([Window(*node.attrs) for node in slices])
        for node, array in zip(slices, parts, strict=True):
            node.settle(placed(array, node.device))
    except FILE_ERRORS as error:
        error.location = describe(file.site)  # the line that names the file
        raise
    except MemoryError as error:
        explain_leaf(error, file)


def read_parts(roots: Sequence[Node]) -> None:
    """Compute roots from parts of arrays that can be read by windows, where parts are all that they need of these."""
    pending = [root for root in roots if root.storage is None]
    if not pending:
        return
    results, leaves = _narrowed(pending)
    if not leaves:
        return
    for leaf in leaves:
        part: Part = leaf.attrs[0]
        if isinstance(part.whole, ObjectReader):
            part.whole.charge.nbytes += leaf.nbytes
    evaluate(results)
    for root, result in zip(pending, results, strict=True):
        root.settle(result.storage)


def as_read(roots: Sequence[Node]) -> Sequence[Node]:
    """Return the graph that an evaluation of roots would run, as far as it reads parts."""
    return _narrowed(roots)[0]


def _narrowed(roots: Sequence[Node]) -> tuple[Sequence[Node], list[Node]]:
    """Return roots that are made from parts of arrays, and these: leaves, which are read as others are.

    The passes find which: slices of results narrow what results are made from.
    """
    if not any(_is_object(node) for node in reachable(roots)):
        return roots, []
    from tensorframe.schedule.pipeline import transform

    shown = transform(roots, until="narrow")
    order = reachable(shown)
    parts = _parts(order, shown)
    made, leaves = _from_parts(order, parts)
    return [made[node] for node in shown], leaves


def _is_object(node: Node) -> bool:
    return _is_unread(node) and not isinstance(node.attrs[0], Part) and not (node.attrs[0].mapped)


def _parts(order: Iterable[Node], roots: Sequence[Node]) -> dict[Node, Window | None]:
    """Return the slices of arrays to read parts of, with the window that serves all of an array, if one is no more."""
    slices: dict[Node, list[Node]] = {}
    wholes = set(roots)
    for node in order:
        if node.op is SLICE and node.storage is None and _is_object(node.inputs[0]):
            slices.setdefault(node.inputs[0], []).append(node)
        else:
            wholes.update(node.inputs)
    wanted: dict[Node, Window | None] = {}
    for file, nodes in slices.items():
        windows = [Window(*node.attrs) for node in nodes]
        if file not in wholes and not _is_cheaper_as_a_whole(file, windows):
            wanted |= dict.fromkeys(nodes, _joined(windows))
    return wanted


def _is_cheaper_as_a_whole(file: Node, windows: Sequence[Window]) -> bool:
    """Whether parts of an array that may be stored were read so often that all of it is to be read, and kept.

    The rule of ski rental, as for results that are needed again (runtime/materialization.py).
    """
    reader = file.attrs[0]
    if not isinstance(reader, ObjectReader) or file.nbytes > config.get().reuse_bytes:
        return False
    wanted = sum(window.size for window in windows) * file.dtype.itemsize
    return reader.charge.nbytes + wanted > PASSES * file.nbytes


def _joined(windows: Sequence[Window]) -> Window | None:
    """Return the window that holds all others, unless it shows more than they do together."""
    windows = [window for window in windows if window.size]
    if len(windows) < 2:
        return None
    joined = windows[0]
    for window in windows[1:]:
        joined = joined.joined(window)
    return joined if joined.size <= sum(window.size for window in windows) else None


def _from_parts(
    order: Iterable[Node], parts: dict[Node, Window | None]
) -> tuple[dict[Node, Node], list[Node]]:
    """Return each node as it is made where these slices are parts that are read, and the leaves that are."""
    build = Builder()
    made: dict[Node, Node] = {}
    read: dict[tuple[Node, Window], Node] = {}
    for node in order:
        if node in parts:
            (file,) = node.inputs
            own, joined = Window(*node.attrs), parts[node]
            window = joined if joined is not None and own.size else own
            leaf = read.get((file, window)) or _leaf(file, window)
            read[file, window] = made[node] = leaf
            if window is not own:
                inside = own.inside(window)
                attrs = (inside.starts, inside.sizes, inside.steps)
                made[node] = build.make(
                    SLICE, (leaf,), attrs, node.shape, node.dtype, node.device, node
                )
        elif node.storage is not None or not node.inputs:
            made[node] = node
        else:
            inputs = tuple([made[source] for source in node.inputs])
            made[node] = node if inputs == node.inputs else build.remake(node, inputs)
    return made, list(read.values())


def _leaf(file: Node, window: Window) -> Node:
    reader: Reader = file.attrs[0]
    part = Part(reader, window)
    return Node(FILE, (), (part,), window.sizes, file.dtype, file.device, file.site)
