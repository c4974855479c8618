"""Autotuning: other tiles for the products of a computation, timed on their device; the best are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from tensorframe.frontend.pages import Page
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import flatten
from tensorframe.frontend.trials.tables import human_seconds, table
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.kernel.groups.algorithms.tunings import Tiling, Tunings, near
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.leaves import as_run, leaf_handle
from tensorframe.schedule.capture import capture
from tensorframe.schedule.plan import Plan, Step, StepKind

__all__ = ["Autotuning", "autotune"]

# runs of one tiling, of which the fastest counts, and steps from one tiling to a better one beside it
_RUNS, _ROUNDS = 5, 3
# the part of the time that another tiling has to save at least: less is chance
_GAIN = 0.03


@dataclass(frozen=True, slots=True)
class TunedProduct:
    """What came of one product."""

    product: str
    """Its sizes, `stack x rows x length x columns`, and its dtype."""
    device: Device
    before: float
    """Seconds with the tiles that it had."""
    after: float
    """Seconds with the best."""
    tried: int
    """How many other tilings ran."""


@dataclass(frozen=True, repr=False)
class Autotuning(Page):
    """The products of a computation that were tuned; it prints as a table."""

    products: tuple[TunedProduct, ...]

    def __repr__(self) -> str:
        rows = [("device", "product", "before", "after", "gained", "tried")]
        return table(rows + [_row(tuned) for tuned in self.products], right={2, 3, 4, 5})


def _row(tuned: TunedProduct) -> tuple[str, ...]:
    gained = f"{100 * (1 - tuned.after / tuned.before):.0f}%"
    times = (human_seconds(tuned.before), human_seconds(tuned.after))
    return (str(tuned.device), tuned.product, *times, gained, str(tuned.tried))


def autotune(expression: Any, *arguments: Any) -> Autotuning:
    """Try other tiles for the matrix products of a computation where kernels make them, and keep the best on disk.

    `expression` is a tensor, a container of some, or a function, which is called with `arguments`. Products on OpenCL's
    and WebGPU's devices are timed with the tiles that they have, and with others beside these; from then on products of
    these sizes are made with the best, in later processes too, until the driver is another one. No bit of a result
    changes. It takes seconds for each product, and nothing is ever tried without being asked for. Products that
    libraries make (on the cpu, on CUDA) are left to them. ArgumentError where there is no tensor.

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


def _tuned(plan: Plan, leaves: Sequence[Any]) -> list[TunedProduct]:
    """Run a plan step by step, and tune its products with the operands that they have there."""
    values: list[Any] = [
        *leaves,
        *[plan.literals.get(slot) for slot in range(len(leaves), len(plan.slots))],
    ]
    tuned: list[TunedProduct] = []
    for step in plan.steps:
        operands = [values[slot] for slot in step.inputs]
        if step.kind is StepKind.TRANSFER:
            source = plan.slots[step.inputs[0]].device
            results: Sequence[Any] = [move(operands[0], source, step.device)]
        else:
            backend = backend_of(step.device)
            contracts = any(op.op.kind is Kind.CONTRACT for op in step.region.ops)
            if contracts and isinstance(backend, KernelBackend):
                tuned += _tune(backend, step, operands)
            results = backend.compile(step.region, step.device)(
                operands, [None] * len(step.outputs)
            )
        for slot, result in zip(step.outputs, results, strict=True):
            values[slot] = result
    return tuned


def _tune(backend: KernelBackend, step: Step, operands: Sequence[Any]) -> list[TunedProduct]:
    """Find the best tiles of a step's products, and keep them."""
    queue = backend.open_device(step.device).queue
    tunings = queue.tunings

    def run() -> Callable[[], Any]:
        program.forget()
        compiled = backend.compile(step.region, step.device)
        return lambda: compiled(operands, [None] * len(step.outputs))

    tunings.asked = {}
    try:
        run()()
        asked = dict(tunings.asked)
    finally:
        tunings.asked = None
    tuned = [
        _best(name, *facts, tunings, step.device, lambda: _seconds(run(), queue))
        for name, facts in asked.items()
    ]
    keep(step.device, queue)
    program.forget()
    forget_plans()  # and the kernels in them
    return tuned


def _best(
    name: str,
    default: Tiling,
    lanes: int,
    itemsize: int,
    tunings: Tunings,
    device: Device,
    seconds: Callable[[], float],
) -> TunedProduct:
    """Return what came of one product: from the tiling that it has, to the best beside it, as long as that helps."""
    best = tunings.best.get(name, default)
    before = fastest = seconds()
    tried = {best}
    for _ in range(_ROUNDS):
        around = [tiling for tiling in near(best, lanes, itemsize) if tiling not in tried]
        tried.update(around)
        improved = False
        for tiling in around:
            time = _with(tunings, name, tiling, seconds)
            if time < fastest * (1 - _GAIN):
                best, fastest, improved = tiling, time, True
        if not improved:
            break
    if best == default:
        tunings.best.pop(name, None)
    else:
        tunings.best[name] = best
    return TunedProduct(name, device, before, fastest, len(tried) - 1)


def _with(tunings: Tunings, name: str, tiling: Tiling, seconds: Callable[[], float]) -> float:
    """Return how long a product takes with a tiling; for ever, where the device does not take it."""
    before = tunings.best.get(name)
    tunings.best[name] = tiling
    try:
        return seconds()
    except (KernelError, MemoryError):
        return float("inf")
    finally:
        if before is None:
            del tunings.best[name]
        else:
            tunings.best[name] = before


def _seconds(run: Callable[[], Any], queue: Queue) -> float:
    """Return the seconds of the fastest of some runs, the first of which compiles."""
    times = []
    for _ in range(1 + _RUNS):
        began = perf_counter()
        run()
        with queue.lock:
            queue.synchronize()
        times.append(perf_counter() - began)
    return min(times[1:])
