"""Evaluation: nodes are computed by the small path or a plan, and their results kept."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf
from time import perf_counter_ns
from typing import Any, Final

import numpy as np

from tensorframe import config
from tensorframe.backends import spans
from tensorframe.backends.collector import paused
from tensorframe.backends.registry import backend_of
from tensorframe.backends.spans import Work, tell_span
from tensorframe.backends.storage import Storage
from tensorframe.config import Options
from tensorframe.dtypes import FLOATING
from tensorframe.errors import CancelledError, KernelError, OutOfMemoryError, TensorFrameError
from tensorframe.graph.growth import not_looked_at, tell_if_large
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node, new_node, next_serial, ticks
from tensorframe.ops.creation import DATA, FILE
from tensorframe.runtime.eager.few_nodes import run_few
from tensorframe.runtime.eager.single_node import handle_of, run_single
from tensorframe.runtime.eager.small_graphs import run_small
from tensorframe.runtime.eager.ufuncs import run_ufunc
from tensorframe.runtime.execution import events
from tensorframe.runtime.execution.events import Moment, Source, tell, tell_run, tell_small
from tensorframe.runtime.execution.executor import run, run_alone
from tensorframe.runtime.execution.failures import explain_leaf, locate
from tensorframe.runtime.execution.leaves import early_readers, leaf_handle, stored
from tensorframe.runtime.execution.memory_admission import fits, give_back
from tensorframe.runtime.execution.throttling import catch_up_with
from tensorframe.runtime.guards.recognition import run_recognized
from tensorframe.runtime.materialization import chosen
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.runtime.progress.monitor import under_way
from tensorframe.runtime.progress.phases import Planning
from tensorframe.schedule.capture import Capture, capture
from tensorframe.schedule.plan import Plan

# Of so many nodes, one is looked at: what it needs may be computed early. A prime, as in graph/growth.py.
EVERY: Final = 521
_LONGEST_PAUSE, _LONGEST_DELAY = 64 * EVERY, 8 * EVERY


def evaluate(roots: Sequence[Node], most: float = inf, *, single: bool | None = True) -> None:
    """Compute `roots` together, and store what they need that is costly, or needed again, and still referenced.

    What is needed again is stored if that takes at most so many operations: see materialization.py. `most=0` leaves no
    trace in what is not computed. `single` is what `run_single` said of the only root, if it was asked already.
    """
    if single:
        single = run_single(roots[0]) if len(roots) == 1 else False
        if single:
            return
    pending = [root for root in roots if root.storage is None]
    if not pending:
        return
    stamps = [perf_counter_ns()] if spans.collectors else None
    if PLANS.is_short:
        from tensorframe.runtime.execution.small_admissions import (
            admit_small,  # loaded with the limit
        )

        admit_small(pending[0])
    early.begin(pending[-1].serial)
    options = config.get()
    if len(pending) == 1 and single is not None:
        if run_recognized(pending[0], options, alone) or run_few(pending[0], options):
            return
    planned = evaluate if stamps is None else partial(_evaluated_before, stamps)
    if single is not None and run_small(pending, options, alone=alone, planned=planned):
        if stamps is not None:
            tell_small(pending[0], stamps)
        return
    if getattr(sys, "meta_path", None) is None:
        _compute_at_the_end(pending)
        return
    for read in early_readers:
        read(pending)
    if early_readers and not (pending := [root for root in pending if root.storage is None]):
        return
    if single is not None:
        stamps = _small_parts_computed(pending, options, stamps)
        if not (pending := [root for root in pending if root.storage is None]):
            return
    _evaluate_by_plan(pending, most, stamps)


def _small_parts_computed(
    pending: Sequence[Node], options: Options, stamps: list[int] | None
) -> list[int] | None:
    """Compute costly small parts of a graph that gets a plan, and return when the rest begins, if times are taken."""
    from tensorframe.runtime.eager.small_subgraphs import (
        run_small_parts,  # loaded by the first plan
    )

    part = run_small_parts(pending, options, alone)
    if part is None or stamps is None:
        return stamps
    tell_small(part, stamps)
    return [perf_counter_ns()]


def _evaluate_by_plan(pending: Sequence[Node], most: float, stamps: list[int] | None) -> None:
    """Compute nodes by the plan of their graph, with what reuse stores besides.

    Transfers and views of computed values that are referenced run before, by themselves: the next request for the same
    has them as leaves, and is to find this one's plan.
    """
    keeps = True
    request = capture(pending)
    if len(request.wanted) > len(pending) and (moves := request.held_moves()):
        del request  # what it refers to would seem to be held
        keeps = _evaluated(moves, most)
        stamps = stamps and [perf_counter_ns()]
        request = capture(pending, keep_held=keeps)
    tell_if_large(request.order)
    plan = PLANS.find(request.key)
    if plan is None and most and (views := request.held_views()):
        del request  # as above
        keeps = _evaluated(views, most) and keeps
        stamps = stamps and [perf_counter_ns()]
        request = capture(pending, keep_held=keeps)
        plan = PLANS.find(request.key)
    choice = chosen(request, plan, most)
    if not choice.stored or not _stored_besides(request.storing(choice.stored), stamps):
        _computed_as_it_fits(request, plan, stamps)
    choice.charge()


def _evaluated_before(stamps: list[int], nodes: Sequence[Node]) -> None:
    """Evaluate what a small graph is made of, whose time begins after that."""
    evaluate(nodes)
    stamps[:] = [perf_counter_ns()]


def alone(node: Node, array: Any) -> Any:
    """Return what a reduction of floats makes of an array, None for any other node.

    In the order of lanes it takes NumPy several calls, and a kernel one: which of them, is known of single nodes.
    """
    op, how = node.op, node.op.combination
    source = node.inputs[0]
    if (
        not (op.expand is not None if how is None else how.wide)
        or source.dtype not in FLOATING
        or type(array) is not np.ndarray
        or spans.onlookers
        or needing_nodes
    ):
        return None
    handle = handle_of(node, array)
    if handle is not None:
        return handle
    leaf = new_node(DATA, (), (), source.shape, source.dtype, node.device, None)
    leaf.storage = Storage(node.device, array, source.dtype, source.shape)
    copy = new_node(op, (leaf,), node.attrs, node.shape, node.dtype, node.device, node.site)
    single = run_single(copy)
    if single is None:
        evaluate((copy,), single=None)
    return copy.storage.handle if copy.storage is not None else None


def _evaluated(nodes: list[Node], most: float) -> bool:
    """Evaluate nodes, and refer to none afterwards; return whether they fit; else they are parts of what needs them."""
    try:
        while nodes:
            evaluate((nodes.pop(0),), most)
    except OutOfMemoryError:
        return False
    return True


def _computed_as_it_fits(request: Capture, plan: Plan | None, stamps: list[int] | None) -> None:
    """Run a request; what is held besides its roots is left out if it does not fit with that."""
    try:
        _compute(request, plan, stamps)
    except OutOfMemoryError:
        if len(request.wanted) == request.roots:
            raise
        alone = capture(request.wanted[: request.roots], keep_held=False)
        _compute(alone, PLANS.find(alone.key), stamps)


def _stored_besides(request: Capture, stamps: list[int] | None) -> bool:
    """Run a request that stores more than was requested; return whether it could, since nobody requested that."""
    try:
        _compute(request, PLANS.find(request.key), None if stamps is None else stamps.copy())
    except CancelledError:
        raise
    except TensorFrameError:
        return False
    return True


def _compute(request: Capture, plan: Plan | None, stamps: list[int] | None) -> None:
    """Run a request by its plan, which is made if there is none."""
    for leaf in request.leaves:
        if leaf.op is FILE and leaf.storage is None:
            from tensorframe.runtime.streaming.out_of_core import (
                stream_files,  # loaded by the first file
            )

            if stream_files(request, plan):
                return
            break
    # before a plan is made: what has no value fails here
    slots = [leaf_handle(leaf) for leaf in request.leaves]
    if plan is None:
        # making a plan and running it for the first time are one wait to whoever asked
        with under_way(Planning(len(request.order))):
            _computed(request, plan_of(request), slots, stamps)
        return
    runner = plan.runner
    program = runner.alone if runner is not None else None
    if (
        program is None
        or (runner.needs and not fits(runner))
        or stamps is not None
        or events.listeners
        or config.get().checked
    ):
        _computed(request, plan, slots, stamps)
        return
    (node,) = request.wanted
    value = run_alone(program, slots, plan, request)
    if runner is not None and runner.needs:
        give_back(runner)
    node.settle(stored(node.device, node.shape, node.dtype, value))


def plan_for(roots: Sequence[Node], most: float = inf) -> tuple[Capture, Plan]:
    """Return what an evaluation of `roots` would run, with its plan, and charge nothing for it."""
    request = capture(roots)
    plan = PLANS.find(request.key)
    choice = chosen(request, plan, most)
    if choice.stored:
        request = request.storing(choice.stored)
        plan = None
    return request, plan or plan_of(request)


def _compute_at_the_end(pending: Sequence[Node]) -> None:
    """Compute while the interpreter is being taken down, when nothing can be imported any more: op by op, in NumPy."""
    options = replace(config.get(), small_size=sys.maxsize, small_nodes=sys.maxsize - 1)
    if not run_small(pending, options, at_the_end=True):
        device = pending[0].device
        raise KernelError(
            f"the interpreter is being taken down: nothing is computed on {device} any more",
            suggestions=("compute() before the program ends, or in a function given to atexit",),
        )


def _computed(request: Capture, plan: Plan, slots: list[Any], stamps: list[int] | None) -> None:
    """Run a request's plan on its leaves, and keep the results."""
    try:
        run(plan, slots, request, stamps)
        for node, slot in zip(request.wanted, plan.outputs, strict=True):
            kept = node.storage  # of a file that was read as a leaf, and requested itself
            if kept is None or kept.handle is not slots[slot]:
                node.settle(stored(node.device, node.shape, node.dtype, slots[slot]))
    finally:
        if stamps is not None:
            tell_run(Source.EVALUATED, plan, request.sites(plan), stamps)


def computed_storage(node: Node) -> Storage:
    """Return the node's storage, computed if need be."""
    if node.storage is None and (node.attrs or not run_ufunc(node)):
        single = run_single(node)
        if not single:
            evaluate((node,), single=single)
    storage: Storage = node.storage
    return storage


def host_array(node: Node) -> np.ndarray[Any, Any]:
    """Return the node's values as a host array, computed if need be; not to be written to."""
    try:
        storage = node.storage or computed_storage(node)
    except OutOfMemoryError as error:
        if not error.outgrown:
            raise
        from tensorframe.runtime.streaming.oversized_tensors import (
            on_host,  # for tensors larger than a buffer
        )

        storage = on_host(node).storage
    handle = storage.handle
    if type(handle) is np.ndarray:
        return handle
    try:
        catch_up_with(node)
        began = perf_counter_ns() if spans.collectors else 0
        array = backend_of(node.device).download(storage)
    except MemoryError as error:
        explain_leaf(error, node)
    except TensorFrameError as error:
        locate(error, node)
        raise
    tell_span(Work.TRANSFER, "download", f"{node.device} -> host", began, array.nbytes)
    return array


def plan_of(request: Capture) -> Plan:
    """Return the plan of a request: the cached one of its structure, or a new one."""
    return PLANS.find(request.key) or PLANS.add(request.key, _new_plan(request))


def _new_plan(request: Capture) -> Plan:
    began = perf_counter_ns()
    with under_way(Planning(len(request.order))), paused(), not_looked_at():
        # brings all of kernel/, which programs of small arrays never need
        from tensorframe.schedule.pipeline import make_plan

        plan = make_plan(request)
    # passes made nodes, and who runs the program again makes none: its graphs are to end where these do
    early.begin(next_serial())
    tell_span(Work.PLAN, f"{len(plan.steps)} steps", "", began)
    tell(Moment.PLAN_MADE, plan)
    return plan


class _Early:
    """Has one node in hundreds looked at, by a module that few programs need.

    Less often while there is nothing to compute early, and as many nodes after each evaluation of a graph: where a
    program runs again its graphs end at the same nodes, and have the plans that they had.
    """

    due: float = EVERY
    _pause: int = EVERY
    _latest: int = 0
    _has_begun: bool = False

    def look(self, node: Node) -> None:
        """Compute what the node needs, if that is a long graph of small tensors."""
        self.due = node.serial + EVERY
        self._latest = node.serial
        if getattr(sys, "meta_path", None) is None:
            return  # the interpreter is being taken down
        from tensorframe.runtime.early_evaluation import compute_early

        soon = compute_early(node, begins=self._has_begun)
        self._has_begun = False
        self._pause = EVERY if soon else min(2 * self._pause, _LONGEST_PAUSE)
        self.due = node.serial + (soon or self._pause)

    def begin(self, serial: int) -> None:
        """Look so many nodes after this one, unless nobody looks, or evaluations have put it off for long."""
        if self.due < inf and serial < self._latest + _LONGEST_DELAY:
            self._pause = EVERY
            self._has_begun = True
            self.due = due = serial + EVERY
            # later ones are learned by who asks too soon: to compare all watchers takes longer than that
            ticks.due = min(ticks.due, due)


early: Final = _Early()
ticks.add(early)
