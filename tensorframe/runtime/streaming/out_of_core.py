"""Streams in place of plans: what does not fit into memory runs tile by tile, where it can (`tiled_execution.py`).

Three use it: a plan that is about to be refused, a plan whose leaves are in files that do not fit, and saving,
where results need not fit. Loaded when the first of them does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from time import perf_counter
from typing import Any

from tensorframe.backends.addresses import addresses_of_threads, share_heaps
from tensorframe.backends.budget import LIGHT, PYTHONS
from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.backends.storage import Storage
from tensorframe.errors import CancelledError, OutOfMemoryError
from tensorframe.files.sink import Sink, sink_of_each
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node
from tensorframe.ops.movement import COPY
from tensorframe.runtime.evaluate import evaluate, plan_of
from tensorframe.runtime.execution.failures import Recorded, locate
from tensorframe.runtime.execution.memory_admission import Blocked, largest_block, needs_of, refuse
from tensorframe.runtime.execution.observers import Need
from tensorframe.runtime.progress.monitor import under_way
from tensorframe.runtime.progress.phases import Phase, State
from tensorframe.runtime.streaming.assembled import Assembled
from tensorframe.runtime.streaming.oversized_tensors import with_sums_on_host
from tensorframe.runtime.streaming.planning import Obstacles, StreamPlan, plan_stream
from tensorframe.runtime.streaming.tiled_execution import Stream, write_whole
from tensorframe.runtime.streaming.tiles import is_file
from tensorframe.schedule.capture import Capture, capture
from tensorframe.schedule.pipeline import transform
from tensorframe.schedule.plan import Plan


def room_on(device: Device) -> float:
    """Return the bytes that a stream may take on a device now; of the host's, plans of tiles have Python's beside."""
    budget = backend_of(device).budget(device)
    if budget is None:
        return inf
    if device is CPU:
        return budget.room() - addresses_of_threads() - PYTHONS - LIGHT
    largest = budget.largest()  # so that no value of a tile is larger than a buffer
    return min(budget.room(), inf if largest is None else largest)


def fits_with_files(request: Capture, plan: Plan | None = None) -> bool:
    """Whether what a plan takes fits, with all files among its leaves in memory.

    It is not made for files that do not fit alone.
    """
    if any(is_file(leaf) and _is_too_large(leaf) for leaf in request.leaves):
        return False
    read = sum(leaf.nbytes for leaf in request.leaves if _is_read_here(leaf))
    host = backend_of(CPU).budget(CPU)
    if host is not None and read > host.room():
        return False
    return _lacking(plan or plan_of(request), read) is None


def _is_too_large(leaf: Node) -> bool:
    """Whether no buffer of a leaf's device can have all of it."""
    bound = largest_block(leaf.device)
    return bound is not None and not bound.admits(leaf.nbytes)


def _is_read_here(leaf: Node) -> bool:
    """Whether a leaf is a file that this process reads: tasks of others read those of devices in blocks."""
    return is_file(leaf) and capabilities(leaf.device).host_memory


def _lacking(plan: Plan, read: int) -> Need | None:
    """Return what does not fit of a plan that so many bytes are read for; None if all does."""
    needs: dict[object, Need] = {need.budget: need for need in needs_of(plan)}
    host = backend_of(CPU).budget(CPU)
    if host is not None and read:
        beside = needs.get(host, Need(host, 0, 0))
        needs[host] = beside._replace(nbytes=beside.nbytes + read)
    return next((need for need in needs.values() if need.nbytes > need.budget.room()), None)


def stream_files(request: Capture, plan: Plan | None) -> bool:
    """Run a request tile by tile if it does not fit with the files that it reads; return whether it has run.

    Its `plan` is made where it is needed and None is given. Where it cannot be cut, files that are mapped into memory
    are left to the system, and what does not fit even so is refused before the first byte is read.
    """
    if fits_with_files(request, plan):
        return False
    roots = request.wanted[: request.roots]
    core, planned = plan_for(roots, in_memory=True)
    if isinstance(planned, StreamPlan):
        for node, storage in zip(roots, _run_in_memory(core, planned), strict=True):
            node.settle(storage)
        return True
    unmapped = [leaf for leaf in request.leaves if _is_read_here(leaf) and not leaf.attrs[0].mapped]
    plan = plan or plan_of(request)
    lacking = _lacking(plan, sum(leaf.nbytes for leaf in unmapped))
    if lacking is not None and not lacking.budget.admits(lacking.nbytes):
        try:
            refuse(lacking, plan, request, _blocked(roots, planned))
        except OutOfMemoryError as error:
            locate(error, roots[0])
            raise
    return False


def stream_in_place(plan: Plan, slots: list[Any], recorded: Recorded) -> Blocked | None:
    """Fill the slots of a plan's results tile by tile; return why that cannot be, or None."""
    from tensorframe.runtime.replays.replay import Replay  # files are read without it

    if isinstance(recorded, Replay):
        wanted: Sequence[Node] = recorded.wanted_from(slots)
    else:
        wanted = getattr(recorded, "wanted", ())
    core, planned = plan_for(wanted, in_memory=True)
    if not isinstance(planned, StreamPlan):
        return _blocked(wanted, planned)
    for slot, storage in zip(plan.outputs, _run_in_memory(core, planned), strict=True):
        slots[slot] = storage.handle
    return None


def _blocked(wanted: Sequence[Node], obstacles: Obstacles) -> Blocked:
    """Return what to say of results that do not run tile by tile."""
    _, with_sink = plan_for(wanted, in_memory=False)
    saved = isinstance(with_sink, StreamPlan)
    why = "its results do not fit" if saved else str(obstacles)
    return Blocked(why, str(with_sink) if saved else "")


def stream_into(roots: Sequence[Node], sinks: Sequence[Sink]) -> bool:
    """Write results to sinks tile by tile if they do not fit into memory; return whether that was so, and could be."""
    wanted = [_on_host(root) for root in roots]
    request = capture(wanted, keep_held=False)
    if fits_with_files(request):
        return False
    evaluate([root for root in roots if _is_elsewhere(root.device)])
    core, planned = plan_for(request.wanted, in_memory=False)
    if not isinstance(planned, StreamPlan):
        return False
    made = dict(zip(request.wanted, core, strict=True))
    run_stream(planned, sink_of_each([made[root] for root in wanted], sinks))
    return True


def _on_host(root: Node) -> Node:
    """Return a result in blocks as one that is copied from there, as it is when it is saved."""
    if not capabilities(root.device).chunked:
        return root
    return Node(COPY, (root,), (), root.shape, root.dtype, CPU, root.site)


def _is_elsewhere(device: Device) -> bool:
    """Whether results in blocks stay in the memory of others, who compute them once: only copies come tile by tile."""
    return capabilities(device).chunked and backend_of(device).budget(device) is None


def explained(roots: Sequence[Node], plan: Plan) -> str:
    """Return how results that do not fit into memory are computed, or why they are refused; empty where they fit."""
    pending = [root for root in roots if root.storage is None]
    if not pending or fits_with_files(capture(pending, keep_held=False), plan):
        return ""
    _, planned = plan_for(pending, in_memory=True)
    if isinstance(planned, StreamPlan):
        return str(planned)
    blocked = _blocked(pending, planned)
    if blocked.with_sink:
        return f"does not fit into memory; tfr.save(path, t) {blocked.with_sink}"
    return f"does not fit into memory, and does not run tile by tile: {blocked.why}"


def plan_for(
    roots: Sequence[Node], *, in_memory: bool
) -> tuple[list[Node], StreamPlan | Obstacles]:
    """Return the core graph of results, and how it runs tile by tile, or why it does not."""
    core = transform(capture(roots, keep_held=False).snapshot())
    planned = plan_stream(core, room_on, core if in_memory else ())
    if isinstance(planned, Obstacles):
        on_host = with_sums_on_host(core)
        if on_host != core:
            core = on_host
            planned = plan_stream(core, room_on, core if in_memory else ())
    return core, planned


def _run_in_memory(core: Sequence[Node], planned: StreamPlan) -> list[Storage]:
    """Run a stream, and return the storage of its results."""
    targets = {root: Assembled(root) for root in core}
    run_stream(planned, targets)
    return [targets[root].storage() for root in core]


def run_stream(planned: StreamPlan, targets: Mapping[Node, Sink]) -> None:
    """Run a stream, whose progress is that of its tiles, and which ends between two of them when it is interrupted."""
    stream = planned.stream
    share_heaps()
    with under_way(_Streaming(planned)):
        try:
            stream.run(targets)
        except (KeyboardInterrupt, CancelledError):
            message = (
                f"interrupted in tile {stream.done + 1} of {stream.tiles * stream.cut.count}; "
                "no tensor is changed"
            )
            raise CancelledError(message) from None
    write_whole(planned.whole, targets)
    if planned.aside is not None:
        run_stream(planned.aside, targets)


class _Streaming:
    """A stream that is under way; plans of its tiles are not shown besides."""

    covers = True

    def __init__(self, planned: StreamPlan) -> None:
        self._stream: Stream = planned.stream
        self._planned = planned
        self._began = perf_counter()

    def look(self) -> None:
        """Do nothing: tiles are counted as they are done."""

    def state(self) -> State:
        """Return how many tiles are done, and how long the rest takes."""
        stream, cut = self._stream, self._stream.cut
        elapsed = perf_counter() - self._began
        count = stream.tiles * cut.count
        share = stream.done / count
        left = elapsed / share - elapsed if stream.done else None
        device = cut.leaf.device
        moved = int(share * self._planned.bytes_read)
        return State(
            stream.done,
            count,
            self._planned.name,
            device,
            elapsed,
            left,
            share if stream.done else None,
            moved,
            self._planned.bytes_read,
            self._planned.peak.get(device, 0),
            phase=Phase.STREAMING,
        )
