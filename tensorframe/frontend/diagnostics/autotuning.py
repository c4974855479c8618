"""Autotuning: other ways to run the kernels of a computation, timed on their device; the best are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from statistics import median
from time import perf_counter
from typing import Any

from tensorframe import config
from tensorframe.backends.device import program
from tensorframe.backends.device.engine import KernelBackend
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.device.tuned import keep
from tensorframe.backends.registry import backend_of, forget_plans
from tensorframe.backends.transfer import move
from tensorframe.errors import ArgumentError, KernelError
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.frontend.diagnostics.tables import human_seconds, table
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import flatten
from tensorframe.graph.device import Device
from tensorframe.kernel.groups.algorithms.tunings import Asked
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.execution.leaves import as_run, leaf_handle
from tensorframe.schedule.capture import capture
from tensorframe.schedule.plan import Plan, Step, StepKind

__all__ = ["Autotuning", "autotune"]

# runs of one way, of which the fastest counts, and steps from one way to a better one beside it
_RUNS, _ROUNDS = 5, 3
# turns in which the best and the way that a kernel had run once more: what chance chose is no faster then
_TURNS = 7
# the part of the time that another way has to save at least: less is chance
_GAIN = 0.03


@dataclass(frozen=True, slots=True)
class TunedKernel:
    """What came of one kernel."""

    kernel: str
    """What it is: the sizes, dtype and ops that the best way depends on."""
    device: Device
    before: float
    """Seconds with the way that it had."""
    after: float
    """Seconds with the best."""
    tried: int
    """How many other ways ran."""


@dataclass(frozen=True, slots=True)
class TunedProduct(TunedKernel):
    """What came of one matrix product."""

    @property
    def product(self) -> str:
        """Its sizes, `stack x rows x length x columns`, and its dtype."""
        return self.kernel


@dataclass(frozen=True, repr=False)
class Autotuning(Page):
    """The kernels of a computation that were tuned; it prints as a table."""

    kernels: tuple[TunedKernel, ...]

    @property
    def products(self) -> tuple[TunedProduct, ...]:
        """Those that are matrix products."""
        return tuple([tuned for tuned in self.kernels if isinstance(tuned, TunedProduct)])

    def __repr__(self) -> str:
        rows = [("device", "kernel", "before", "after", "gained", "tried")]
        return table(rows + [_row(tuned) for tuned in self.kernels], right={2, 3, 4, 5})


def _row(tuned: TunedKernel) -> tuple[str, ...]:
    gained = f"{100 * (1 - tuned.after / tuned.before):.0f}%"
    times = (human_seconds(tuned.before), human_seconds(tuned.after))
    return (str(tuned.device), tuned.kernel, *times, gained, str(tuned.tried))


def autotune(expression: Any, *arguments: Any) -> Autotuning:
    """Try other ways to run the kernels of a computation on devices with work-groups, and keep the best on disk.

    `expression` is a tensor, a container of some, or a function, which is called with `arguments`. On devices of
    OpenCL, WebGPU and CUDA each kernel is timed as it is, and in other ways: matrix products with other tiles,
    reductions by rows, by columns or in parts, and all of them with other numbers of threads and of elements for each.
    Convolutions are products there, and attention two with the softmax between them. The best way is measured again,
    by turns with the one that the kernel had, and with the default one, and is dropped unless it saves 3% in all turns
    but one: neither chance nor a busy machine chooses. So is what an earlier call kept, if it is no faster.
    From then on kernels of these ops, dtypes and layouts, and of sizes like these, run in the best way, in later
    processes too, until the driver is another one. No bit of a result changes. It takes seconds for each kernel, and
    nothing is ever tried without being asked for. Products that libraries make (on the cpu, on CUDA), scans and sorting
    are left as they are. ArgumentError where there is no tensor.

    >>> tfr.autotune(tfr.ones((300, 300)) @ tfr.ones((300, 300))).products
    ()
    """
    made = expression(*arguments) if callable(expression) else expression
    leaves: list[Any] = []
    flatten(made, leaves)
    nodes = [leaf.node for leaf in leaves if isinstance(leaf, Tensor)]
    if not nodes:
        raise ArgumentError(
            f"autotune: there is no tensor in {made!r:.80}",
            suggestions=("tfr.autotune(x @ y)", "tfr.autotune(function, x, y)"),
        )
    with config.override(small_size=0, validate=False):
        request = capture(as_run(nodes))
        plan = plan_of(request)
        tuned = _tuned(plan, [leaf_handle(leaf) for leaf in request.leaves])
    return Autotuning(tuple(tuned))


def _tuned(plan: Plan, leaves: Sequence[Any]) -> list[TunedKernel]:
    """Run a plan step by step, and tune its kernels with the operands that they have there."""
    values: list[Any] = [
        *leaves,
        *[plan.literals.get(slot) for slot in range(len(leaves), len(plan.slots))],
    ]
    tuned: dict[tuple[Device, str], TunedKernel] = {}
    for step in plan.steps:
        operands = [values[slot] for slot in step.inputs]
        if step.kind is StepKind.TRANSFER:
            source = plan.slots[step.inputs[0]].device
            results: Sequence[Any] = [move(operands[0], source, step.device)]
        else:
            backend = backend_of(step.device)
            if isinstance(backend, KernelBackend):
                done = [name for device, name in tuned if device == step.device]
                kernels = _tune(backend, step, operands, done)
                tuned.update({(step.device, kernel.kernel): kernel for kernel in kernels})
            results = backend.compile(step.region, step.device)(
                operands, [None] * len(step.outputs)
            )
        for slot, result in zip(step.outputs, results, strict=True):
            values[slot] = result
    return list(tuned.values())


def _tune(
    backend: KernelBackend, step: Step, operands: Sequence[Any], done: Sequence[str]
) -> list[TunedKernel]:
    """Find the best way to run each of a step's kernels that are not `done`, and keep it."""
    queue = backend.open_device(step.device).queue
    tunings = queue.tunings

    def values(handles: Sequence[Any]) -> list[bytes]:
        settled = backend.settle(step.device, handles)
        return [backend.download(backend.wrap(step.device, handle)).tobytes() for handle in settled]

    def made() -> Callable[[], Any]:
        program.forget()
        compiled = backend.compile(step.region, step.device)
        return lambda: compiled(operands, [None] * len(step.outputs))

    tunings.asked = {}
    try:
        expected = values(made()())
        asked = dict(tunings.asked)
    finally:
        tunings.asked = None

    if not asked or values(made()()) != expected:  # what comes out otherwise each time
        return []

    def seconds() -> float:
        run = made()
        # no way changes a bit; a driver that cuts loops short does
        return _seconds(run, queue) if values(run()) == expected else inf

    def by_turns(ways: dict[str, Any], name: str, pair: Sequence[Any]) -> tuple[float, float]:
        """Return the seconds of one way, and those of the other: as it takes in the worst turn but one."""
        runs = {way: _with(ways, name, way, made) for way in pair}
        before, shares = [], []
        for turn in range(_TURNS):
            order = pair if turn % 2 == 0 else pair[::-1]  # who else runs slows either of them
            took = {
                way: _with(ways, name, way, partial(_seconds, runs[way], queue)) for way in order
            }
            before.append(took[pair[0]])
            shares.append(took[pair[1]] / took[pair[0]])
        return median(before), median(before) * sorted(shares)[-2]

    tuned = [
        _best(name, facts, step.device, seconds, by_turns)
        for name, facts in asked.items()
        if name not in done
    ]
    if tuned:
        keep(step.device, queue)
    program.forget()
    forget_plans()  # and the kernels in them
    return tuned


def _best(
    name: str,
    asked: Asked,
    device: Device,
    seconds: Callable[[], float],
    by_turns: Callable[[dict[str, Any], str, Sequence[Any]], tuple[float, float]],
) -> TunedKernel:
    """Return what came of one kernel: from the way that it has, to the best beside it, as long as that helps."""
    begun = best = asked.best.get(name, asked.default)
    before = fastest = seconds()
    tried = {best}
    for _ in range(_ROUNDS):
        around = [way for way in asked.near(best) if way not in tried]
        tried.update(around)
        improved = False
        for way in around:
            time = _timed(asked.best, name, way, seconds)
            if time < fastest * (1 - _GAIN):
                best, fastest, improved = way, time, True
        if not improved:
            break
    for known in dict.fromkeys((begun, asked.default)):
        if best != known:
            before, fastest = by_turns(asked.best, name, (known, best))
            if fastest >= before * (1 - _GAIN):
                best, fastest = known, before
    asked.best.pop(name, None)
    if best != asked.default:
        asked.best[name] = best  # after those that were found before
    made = TunedProduct if asked.is_product else TunedKernel
    return made(name, device, before, fastest, len(tried) - 1)


def _timed(ways: dict[str, Any], name: str, way: Any, seconds: Callable[[], float]) -> float:
    """Return how long a kernel takes in some way; for ever, where the device does not take it."""
    try:
        return float(_with(ways, name, way, seconds))
    except (KernelError, MemoryError):
        return inf


def _with(ways: dict[str, Any], name: str, way: Any, make: Callable[[], Any]) -> Any:
    """Return what is made while a kernel runs in some way."""
    before = ways.get(name)
    ways[name] = way
    try:
        return make()
    finally:
        if before is None:
            del ways[name]
        else:
            ways[name] = before


def _seconds(run: Callable[[], Any], queue: Queue) -> float:
    """Return the seconds of the fastest of some runs; it has run before."""
    times = []
    for _ in range(_RUNS):
        began = perf_counter()
        run()
        with queue.lock:
            queue.synchronize()
        times.append(perf_counter() - began)
    return min(times)
