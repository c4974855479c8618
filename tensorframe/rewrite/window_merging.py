"""Window merging: the windows for which a node is computed, so that each window its consumers read is inside of one.

Consumers that read shifted windows, as a stencil does, need nearly the same elements. Computed for each of them, a node
and its producers would be computed nine times under a blur, and 25 times under the blur of a blur.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.quick_tuples import NamedTuple
from tensorframe.rewrite.views import Window
from tensorframe.rewrite.windows import narrows

# the windows through which a node's consumers read it; None among them means all of it
Demand = dict[Window | None, None]
# window that is read -> window for which the node is computed, None for the whole
MergedWindows = dict[Window | None, Window | None]

# Costs are counted in operations on elements. Planning an op and calling it take as long as so many of them, however
# few elements it has: a node is rather computed once, with some elements that nobody reads, than twice.
_OP = 1 << 10
# A node that is read through several windows is no part of its consumers' kernel, as a version for each window is: it
# takes a kernel of its own, which stores its elements. Recomputing a few cheap ops costs less than that.
_KERNEL = 4 * _OP
_STORED = 8
# Versions of a node, at most. It keeps the sweeps linear in the number of nodes: windows too far apart to be merged,
# each of which reads an operand through two windows, would double from node to node.
_MOST = 64
# Where efforts stop adding up: what two consumers have in common counts for both.
_ENORMOUS = 1e9


class Effort(NamedTuple):
    """What every version of a node recomputes: a number of ops, and operations for each element."""

    ops: float = 0.0
    work: float = 0.0


class Efforts:
    """The efforts of the nodes of a graph, computed when the first is needed: most graphs have no windows to join."""

    def __init__(self, order: Sequence[Node]) -> None:
        """`order` are the nodes, inputs first."""
        self._order = order
        self._known: dict[Node, Effort] = {}

    def of(self, node: Node) -> Effort:
        """Return the effort of a node of the graph."""
        if not self._known:
            for each in self._order:
                self._known[each] = self._from_inputs(each)
        return self._known[node]

    def _from_inputs(self, node: Node) -> Effort:
        if node.storage is not None or not narrows(node):
            return Effort()
        before = [self._known[source] for source in dict.fromkeys(node.inputs)]
        ops = sum([effort.ops for effort in before])
        work = sum([effort.work for effort in before])
        if not node.op.alias:
            ops += 1
            work += node.op.cost
        if node.op.kind is Kind.REDUCE:
            work *= node.inputs[0].size / max(node.size, 1)
        return Effort(min(ops, _ENORMOUS), min(work, _ENORMOUS))


def merge_windows(node: Node, demand: Demand, efforts: Efforts) -> MergedWindows:
    """Return the versions of a node that cover all windows through which it is read.

    It is computed as a whole where they would cover more than half of its elements.
    """
    if None in demand:
        return dict.fromkeys(demand)
    windows = [window for window in demand if window is not None]
    if any(2 * window.size > node.size for window in windows):
        return dict.fromkeys(demand)
    # a view of computed memory, or an arange that starts elsewhere, which any kernel computes for itself
    if len(windows) == 1 or node.storage is not None or not narrows(node):
        return {window: window for window in windows}
    effort = efforts.of(node)
    clusters = _clusters([window for window in windows if window.size], effort)
    if sum([min(cluster.around.size, cluster.size) for cluster in clusters]) * 2 > node.size:
        return dict.fromkeys(demand)
    # empty windows are equal
    versions: MergedWindows = {
        window: Window.whole(window.sizes) for window in windows if not window.size
    }
    many = len(windows) > _MOST
    for cluster in clusters:
        together = many or _saves(node, cluster, effort)
        versions |= {window: cluster.around if together else window for window in cluster.windows}
    return versions


class _Cluster(NamedTuple):
    """Windows that overlap, or nearly do, and the smallest window around them."""

    around: Window
    windows: tuple[Window, ...]

    @property
    def size(self) -> int:
        """The number of elements of its windows, added up."""
        return sum([window.size for window in self.windows])


def _clusters(windows: Sequence[Window], effort: Effort) -> list[_Cluster]:
    """Return windows in clusters: those whose bounding window has few elements that nobody reads."""
    clusters = [_Cluster(window, (window,)) for window in windows]
    while len(clusters) > 1:
        closer = _closer(clusters, effort)
        if len(closer) == len(clusters):
            break
        clusters = closer
    return clusters


def _closer(clusters: Sequence[_Cluster], effort: Effort) -> list[_Cluster]:
    """Return fewer clusters, if two of them are near each other."""
    # computing one node less is worth so many elements that nobody reads
    gap = effort.ops * _OP / max(effort.work, 1.0)
    closer: list[_Cluster] = []
    for cluster in clusters:
        for index, other in enumerate(closer):
            around = cluster.around.joined(other.around)
            if around.size <= cluster.around.size + other.around.size + gap:
                closer[index] = _Cluster(around, (*other.windows, *cluster.windows))
                break
        else:
            closer.append(cluster)
        if len(closer) > _MOST:
            windows = [window for old in clusters for window in old.windows]
            return [_Cluster(reduce(Window.joined, windows), tuple(windows))]
    return closer


def _saves(node: Node, cluster: _Cluster, effort: Effort) -> bool:
    """Whether computing a node once, for the window around a cluster, costs less than once for each window."""
    if node.op.alias:
        return False  # a view computes nothing: its operand will merge the windows
    if node.op.kind is not Kind.MAP:
        return True  # each version would be a kernel of its own, too
    separate = len(cluster.windows) * effort.ops * _OP + cluster.size * effort.work
    once = effort.ops * _OP + cluster.around.size * effort.work
    return once + _KERNEL + _STORED * cluster.around.size < separate
