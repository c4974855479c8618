"""Early evaluation: a loop of small steps that only records is computed while it goes on, some hundred steps at a time.

What is small runs op by op whenever it is computed, so to wait gains nothing: thousands of nodes leave the processor's
cache before they run, and Python's collector of cycles goes through all of them, again and again. Half of the time of a
solver of 64 points goes there. Looking costs next to nothing: one node in hundreds is looked at, and what it needs is
computed if that is a long graph, all of it small and in the host's memory. Where its lines have a period, what follows
is computed turn by turn: the same graph again and again is recognised by a guard. What fails stays recorded, and its
error is raised where the value is needed.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from tensorframe import config
from tensorframe.backends import spans
from tensorframe.config import Options
from tensorframe.errors import CancelledError
from tensorframe.graph.growth import is_looked_at
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node, by_serial
from tensorframe.ops.creation import ARANGE, CONSTANT, FULL
from tensorframe.ops.elementwise import CAST
from tensorframe.runtime.eager.small_graphs import SmallGraph, run_graph, small_graph
from tensorframe.runtime.evaluate import EVERY, alone
from tensorframe.runtime.execution import events
from tensorframe.runtime.guards.recognition import run_recognized
from tensorframe.runtime.loop_iterations import Known, Turn, last_turn

# Pending nodes from which a graph is long.
LONG: Final = 384
# Turns that make looking for a loop worth the time, and graphs for which nobody looks, at most, where there are fewer.
_FEW_TURNS: Final = 8
_LONGEST_PAUSE: Final = 63
# Sources that need no value from elsewhere, such as an argument of a function that is being recorded.
_GENERATED: Final = frozenset({ARANGE, CONSTANT, FULL})


class _Loop:
    """The loop whose turns are computed as they end, if there is one.

    Some turns are longer by a few nodes, such as casts that others find made: from where an end should be on, half as
    many nodes again are looked at.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Know of no loop."""
        self._turn: Turn | None = None
        self._end = self._ended = 0
        self._pause = self._graphs_left = 0

    def turn_of(self, order: list[Node], needed: list[Node]) -> Known | None:
        """Return the turns of a long graph: less often looked for where there were none, or few."""
        if self._graphs_left:
            self._graphs_left -= 1
            return None
        known = last_turn(order, needed)
        if known is None:
            self._put_off()
        return known

    def _put_off(self) -> None:
        self._pause = min(2 * self._pause + 1, _LONGEST_PAUSE)
        self._graphs_left = self._pause

    def begin(self, turn: Turn, end: int, serial: int) -> int:
        """Expect turns, of which the last one ended with the number `end`; return how many nodes later one does."""
        self._turn = turn
        ago = (serial - end) % turn.serials
        self._end = serial - ago
        return turn.serials - ago

    def go_on(self, node: Node, options: Options) -> int:
        """Compute the turn that ends with a node that was just recorded; return how many nodes later to look, or 0."""
        turn, passed = self._turn, node.serial - self._end
        if turn is None:
            return 0
        if not turn.ends_with(node):
            if passed < turn.serials + turn.serials // 2:
                return 1
        elif _computed_turn(node, options):
            self._end = node.serial
            self._ended += 1
            return turn.serials
        self.leave()
        return 0

    def leave(self) -> None:
        """Expect no more turns."""
        if self._turn is not None:
            if self._ended < _FEW_TURNS:
                self._put_off()
            else:
                self._pause = 0
            self._turn, self._ended = None, 0


_loop: Final = _Loop()


def compute_early(node: Node, *, begins: bool) -> int:
    """Compute what a node is made of, if that is long and small; return how many nodes later to look again.

    0 says that it is no use soon. The node itself, which somebody is recording, stays as it is, unless a turn of a loop
    ends with it. Looking `begins` anew after an evaluation: whatever was before, a program that runs again has the same
    graphs.
    """
    if begins:
        _loop.forget()
    options = config.get()
    if (
        needing_nodes
        or spans.onlookers
        or events.listeners
        or options.checked
        or options.small_nodes < LONG
        or not is_looked_at()
    ):
        _loop.leave()
        return EVERY
    if soon := _loop.go_on(node, options):
        return soon
    # numbers have no inputs: their nodes are shared by all programs, and stay numbers
    pending = [
        source for source in dict.fromkeys(node.inputs) if source.storage is None and source.inputs
    ]
    return _computed(pending, node.serial, options) if pending else EVERY


def _computed(nodes: list[Node], serial: int, options: Options) -> int:
    """Compute nodes whose graph is long; return how many nodes later to look again, 0 where none could be computed."""
    graph = _early_graph(nodes, options)
    if graph is None:
        return 0
    order = graph.order
    if len(order) < LONG:
        return EVERY
    order.sort(key=by_serial)
    known = _loop.turn_of(order, nodes)
    if not run_graph(nodes, graph, alone):
        return 0
    return _loop.begin(known.turn, known.end, serial) if known else EVERY


def _early_graph(nodes: list[Node], options: Options) -> SmallGraph | None:
    """Return the graph of small nodes that need no value from elsewhere."""
    graph = small_graph(nodes, options)
    if graph is None:
        return None
    sources = [node for node in graph.order if not node.inputs]
    return graph if _GENERATED.issuperset([source.op for source in sources]) else None


def _computed_turn(node: Node, options: Options) -> bool:
    """Compute a node that was just recorded, by a guard or op by op; return False, and do nothing, where that fails."""
    if node.storage is not None:
        return False
    try:
        if run_recognized(node, options, alone):
            return True
    except CancelledError:
        raise
    except Exception:
        return False  # it is raised where the value is needed
    graph = _early_graph([node], options)
    if graph is not None and _store_casts(graph.order, options):
        graph = _early_graph([node], options)  # of which they are leaves by now
    return graph is not None and run_graph([node], graph, alone)


def _store_casts(nodes: list[Node], options: Options) -> bool:
    """Evaluate casts of computed nodes, and have these reference them: the next turn needs the same (loop invariants).

    Returns whether there were any.
    """
    casts = [node for node in nodes if node.op is CAST and node.inputs[0].storage is not None]
    sources = [node.inputs[0] for node in casts]
    graph = small_graph(casts, options) if casts else None
    if graph is None or not run_graph(casts, graph):
        return False
    for source, cast in zip(sources, casts, strict=True):
        source.converted = partial(_itself, cast)
    return True


def _itself(cast: Node) -> Node:
    return cast
