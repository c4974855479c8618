"""Growth: a loop that only records warns, once for each line, while there is time to do something about it.

A running total that nobody reads keeps every operation since the program began: memory grows, and the evaluation that
comes at last plans all of them. Looking for such graphs costs next to nothing: one node in thousands is looked at, and
the next one not before several times as many more are recorded as that one needs, or as many as it lacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from operator import itemgetter
from typing import Final

from tensorframe.errors import GrowingGraphWarning
from tensorframe.graph.node import Node, ticks
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.site import Site, describe, line_of, warn_user

Line = tuple[str, int]  # file and number

# Of so many nodes, one is looked at. A prime: loops record a few nodes in each turn, and all of these have theirs.
EVERY: Final = 10_007
# Pending nodes from which a graph is warned of, if one line recorded many of them. Planning these takes seconds.
_LARGE = 1 << 17
_OF_A_LOOP = 1 << 9
# Nodes that are recorded for each that a look has walked over, which takes a fiftieth of their time.
_RECORDED: Final = 8

_HINTS = (
    "x.compute() in every turn of the loop, or in every hundredth",
    "@tfr.jit on the function that computes a turn: its calls compute",
)


@dataclass(slots=True)
class _Watcher:
    """Looks at one node in `every`, but for those before `after`; `warned` are the lines that it warned of."""

    every: int = EVERY
    due: float = EVERY
    after: int = 0
    warned: set[Line | None] = field(default_factory=set)

    def look(self, node: Node) -> None:
        """Warn if a node that was just recorded needs very many that are not computed."""
        self.due = node.serial - node.serial % self.every + self.every
        if node.serial < self.after or not is_looked_at():
            return
        pending = _pending(node)
        count = len(pending)
        self.after = node.serial + min(_RECORDED * count, max(_LARGE - count, count // 2))
        tell_if_large(pending)


watcher: Final = _Watcher()
ticks.add(watcher)
_unasked: Final[ContextVar[bool]] = ContextVar("tensorframe_not_looked_at", default=False)


@contextmanager
def not_looked_at() -> Iterator[None]:
    """Record without being looked at in the `with` block: passes copy graphs that were looked at before."""
    token = _unasked.set(True)
    try:
        yield
    finally:
        _unasked.reset(token)


def is_looked_at() -> bool:
    """Whether a program records: not a pass over its graphs, and not jit, of which every call computes all."""
    from tensorframe.graph.tracing import current  # which knows nodes, and they us

    return not _unasked.get() and current.get() is None


def tell_if_large(nodes: Sequence[Node]) -> None:
    """Warn if so many pending nodes, mostly of one loop, are for a single evaluation."""
    if len(nodes) < _LARGE:
        return
    sites = {_place(node.site): node.site for node in nodes if node.site is not None}
    lines: Counter[Line] = Counter()
    for place, count in Counter([_place(node.site) for node in nodes]).items():
        if place in sites:
            lines[line_of(sites[place])] += count
    line, count = max(lines.items(), key=itemgetter(1), default=(None, 0))
    if count < _OF_A_LOOP or line in watcher.warned:
        return
    watcher.warned.add(line)
    site = next(site for site in sites.values() if line_of(site) == line)
    message = (
        f"{len(nodes):,} recorded operations wait to be computed, {count:,} of them from one line: a graph that only "
        "grows takes memory, and ever longer to plan"
    )
    hints = [f"  try: {hint}" for hint in _HINTS]
    text = "\n".join([message, f"  recorded at {describe(site)}", *hints])
    warn_user(text, GrowingGraphWarning)


def _place(site: Site | None) -> tuple[int, int]:
    """Return a key of a site; a code object's own hash looks at all of its instructions."""
    return (0, 0) if site is None else (id(site[0]), site[1])


def _pending(node: Node) -> list[Node]:
    """Return the nodes that one needs and that are not computed, as many as matter."""
    nodes, seen = [node], {node}
    for pending in nodes:  # grows while it is walked
        if len(nodes) >= _LARGE:
            break
        for source in pending.inputs:
            if source.storage is None and source not in seen:
                seen.add(source)
                nodes.append(source)
    return nodes
