"""The pipeline: every pass by name, in order; any of them can be the last one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tensorframe import config
from tensorframe.backends.registry import capabilities
from tensorframe.graph.growth import not_looked_at
from tensorframe.graph.node import Node, discover
from tensorframe.graph.op import Op
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.creation import CONSTANT
from tensorframe.ops.movement import SLICE
from tensorframe.quick_tuples import NamedTuple
from tensorframe.rewrite import canonical, contract, simplify
from tensorframe.rewrite.engine import Builder, Rule, rewrite
from tensorframe.schedule.capture import Capture, is_leaf
from tensorframe.schedule.fallback import Fallback
from tensorframe.schedule.fusion.fuse import grow_regions
from tensorframe.schedule.fusion.group import Group
from tensorframe.schedule.lower import lower
from tensorframe.schedule.memory import share_storage
from tensorframe.schedule.order import least_live_bytes_first
from tensorframe.schedule.peak import peak_bytes
from tensorframe.schedule.place import insert_transfers
from tensorframe.schedule.plan import Plan
from tensorframe.schedule.raw_kernels import write_references


def _written_out(node: Node, build: Builder) -> Node | None:
    """Write a row out, unless its device computes it as it is."""
    op = node.op
    if op.whole and capabilities(node.device).whole:
        return None
    if op.printed is not None:
        able, operands = capabilities(node.device), [source.dtype for source in node.inputs]
        held = able.dtypes.issuperset((*operands, node.dtype))
        if held and op.printed.covers(able.language, operands, node.dtype):
            return None
    return canonical.write_out.change(node, build)


CORE: tuple[Rule, ...] = (
    Rule(canonical.write_out.concerns, _written_out),
    write_references,
    contract.write_pairwise,
)
CANONICAL: tuple[Rule, ...] = (
    canonical.broadcast_fill,
    canonical.merge_views,
    simplify.merge_casts,
    canonical.drop_implied_broadcast,
    canonical.sort_commutative,
)
SIMPLIFY: tuple[Rule, ...] = (
    simplify.drop_identity,
    simplify.cancel_involution,
    simplify.pull_out_negation,
    simplify.add_negation,
    simplify.square_power,
)


def _narrow(roots: Sequence[Node]) -> list[Node]:
    from tensorframe.rewrite.narrow import narrow  # with the first slice

    return narrow(roots, rules=CANONICAL)


def _factors(roots: Sequence[Node]) -> list[Node]:
    from tensorframe.schedule.small_factors import read_as_they_are  # with the first product

    return read_as_they_are(roots)


def _dots(roots: Sequence[Node]) -> list[Node]:
    from tensorframe.schedule.dots import sum_dots  # as above

    return sum_dots(roots, rules=CANONICAL)


class Pass(NamedTuple):
    """A named step from roots to roots; `optional` ones only make things faster.

    Where there are `ops`, a graph without any of these stays as it is.
    """

    name: str
    run: Callable[..., list[Node]]
    optional: bool = True
    places: bool = False  # reports which nodes run elsewhere than they were recorded for
    ops: frozenset[Op] = frozenset()


GRAPH_PASSES = (
    # rows written out in core rows
    Pass("core", partial(rewrite, rules=CORE), optional=False),
    # one spelling for what is the same
    Pass("canonical", partial(rewrite, rules=CANONICAL)),
    # what algebra makes free
    Pass("simplify", partial(rewrite, rules=CANONICAL + SIMPLIFY)),
    # compute only what is shown
    Pass("narrow", _narrow, ops=frozenset({SLICE})),
    # operands move to where the op runs
    Pass("place", insert_transfers, optional=False, places=True),
    # products convert what they read
    Pass("factors", _factors, ops=frozenset({MATMUL, CONVOLUTION})),
    # products with a vector are sums
    Pass("dots", _dots, ops=frozenset({MATMUL})),
)
# after these the graph has become groups, then a plan
PLAN_PASSES = ("fuse", "order", "memory")
PASS_NAMES = tuple(graph_pass.name for graph_pass in GRAPH_PASSES) + PLAN_PASSES


def transform(
    roots: Sequence[Node],
    until: str | None = None,
    fallbacks: dict[Node, Fallback] | None = None,
) -> list[Node]:
    """Return the roots after the graph passes, up to and including the one named `until`.

    `fallbacks` receives the nodes that run elsewhere than they were recorded for.
    """
    options = config.get()
    current = list(roots)
    placed = False
    present: frozenset[Op] | None = None  # the ops of the current graph, once a pass needs to know
    with not_looked_at():
        for graph_pass in GRAPH_PASSES:
            if options.rewrite or not graph_pass.optional:
                if graph_pass.ops and present is None:
                    present = _pending_ops(current)
                if not graph_pass.ops or not graph_pass.ops.isdisjoint(present or ()):
                    before, arguments = current, (fallbacks,) if graph_pass.places else ()
                    current = graph_pass.run(before, *arguments)
                    if current != before:  # nodes are compared by identity
                        present = None
                placed = placed or graph_pass.places
                if options.verify:
                    from tensorframe.graph.verify import verify  # for tests

                    verify(current, after=graph_pass.name, core_only=True, placed=placed)
            if graph_pass.name == until:
                break
    return current


def _pending_ops(roots: Sequence[Node]) -> frozenset[Op]:
    """Return the ops of what is not computed yet."""
    return frozenset([node.op for node in discover(roots) if node.storage is None])


def group_nodes(roots: Sequence[Node]) -> list[Group]:
    """Return the groups of nodes that run together."""
    enabled = config.get().fuse
    groups = grow_regions(roots, capabilities, enabled=enabled)
    if not enabled or len(groups) < 2:
        return groups
    from tensorframe.schedule.fusion.merging import merged  # one group has nothing to merge with

    return merged(groups, roots, capabilities)


def make_plan(request: Capture, until: str = PASS_NAMES[-1]) -> Plan:
    """Return the plan of a request, by the passes up to and including `until`, one of `PLAN_PASSES`."""
    fallbacks: dict[Node, Fallback] = {}
    outputs = transform(request.snapshot(), fallbacks=fallbacks)
    groups = group_nodes(outputs)  # what runs together
    if until != "fuse":
        groups = least_live_bytes_first(groups)
    _check_sources(groups, request.leaves)
    plan = lower(request, outputs, groups, request.leaves, fallbacks)
    if until == PASS_NAMES[-1]:
        share_storage(plan)
        plan.peak = peak_bytes(plan)
    return plan


def _check_sources(groups: Sequence[Group], leaves: Sequence[Node]) -> None:
    """Raise AssertionError if a pass made a leaf that is no number: those are literals of the plan."""
    given = set(leaves)
    read = [source for group in groups for source in group.inputs if source not in given]
    made = [source for source in read if is_leaf(source) and source.op is not CONSTANT]
    if made:
        raise AssertionError(f"a pass made the leaves {made}")
