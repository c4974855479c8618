"""Repeating: what a region has become for operands in some chunks is run again the next time, without lowering it.

To make, order and compare the tasks of a few blocks takes milliseconds, and one kernel for all of them not much longer.
Neighbouring blocks of one array need no tasks at all; those of other results are known (`known_graph.py`). What is
remembered is what follows from the region and the chunks of its operands alone. That these are in one piece, that there
is room, and that nobody watches, is looked at each time: where anything is different, tasks are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Protocol

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.dask.arrays import Array, Form, array_of_form, form_of
from tensorframe.backends.dask.blocks import restricted
from tensorframe.backends.dask.known_graph import known_graph
from tensorframe.backends.dask.layers import is_number
from tensorframe.backends.dask.lowering import lowered
from tensorframe.backends.dask.names import layer_name, ops_of
from tensorframe.backends.dask.programs import compiled, of_one_thread
from tensorframe.backends.dask.running import unwatched_workers
from tensorframe.backends.dask.settings import Settings
from tensorframe.backends.dask.sizes import Sizes
from tensorframe.backends.dask.tasks import BlockCall, NamedCall
from tensorframe.backends.dask.together import Neighbours, neighbours_of, whole_of, writing_to
from tensorframe.backends.dask.within import has_room
from tensorframe.backends.provenance import Provenance, current
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.blocks import whole


class _AtOnce(NamedTuple):
    """The kernel that makes all blocks in one call, as a task for all of them would."""

    program: Program
    inputs: tuple[tuple[int | None, Any], ...]
    """An operand and what is taken of it, or None and a number."""

    def run(self, wholes: Sequence[Any], target: Any) -> None:
        """Write the result of operands that are one array each to an array."""
        inputs = [value if place is None else wholes[place][value] for place, value in self.inputs]
        with of_one_thread(), np.errstate(all="ignore"):
            (made,) = self.program(inputs, (target,))
        if made is not target:
            target[...] = made


class _Way(Protocol):
    """How a region runs again, without being lowered."""

    def operands(self, inputs: Sequence[Any]) -> Any:
        """Return what it takes of the inputs; None where they are not what it needs."""

    def made(self, operands: Any, workers: int) -> Array:
        """Return the result, with a name of its own."""


class _Known(NamedTuple):
    """What a region became for operands in some chunks."""

    inputs: tuple[Any, ...]
    """The chunks of each operand, or the number that it is."""
    limit: int
    given: int
    beside: int
    """Bytes that all tasks give, and that each takes beside."""
    way: _Way


class Repeating:
    """A region, and what it became the last time."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._known: _Known | None = None

    def pending(self, inputs: Sequence[Any], settings: Settings) -> list[Any]:
        """Return the outputs as arrays whose blocks are tasks."""
        made = lowered(self._region, inputs, settings)
        here = current()
        if settings.client is None and here is not None and here.alone:
            self._known = _known(inputs, made, settings.chunk, here)
        return made

    def ready(self, inputs: Sequence[Any], settings: Settings) -> list[Any] | None:
        """Return the one output as an array whose blocks have been made; None where tasks have to make them."""
        known, here = self._known, current()
        if known is None or here is None or not here.alone:
            return None
        if settings.client is not None or settings.chunk != known.limit:
            return None
        if not all(map(_is_alike, inputs, known.inputs)):
            return None
        workers = unwatched_workers()
        operands = known.way.operands(inputs)
        if workers is None or operands is None:
            return None
        if not has_room(known.given + workers * known.beside):
            return None
        return [_made(known.way, operands, workers)]


def _known(
    inputs: Sequence[Any], made: Sequence[Any], limit: int, here: Provenance
) -> _Known | None:
    """Return what is to be remembered of arrays that inputs were made; None for several, and for very many tasks."""
    if len(made) != 1 or any(type(value) is tuple for value in (*made, *inputs)):
        return None
    (array,) = made
    places = {value.name: place for place, value in enumerate(inputs) if not is_number(value)}
    arrays = [value for value in inputs if not is_number(value)]
    if len(places) < len(arrays):
        return None
    way = _way(array, places, inputs, here)
    if way is None:
        return None
    sizes = Sizes([array])
    given = sizes.at_once(0)
    return _Known(
        tuple([value if is_number(value) else value.chunks for value in inputs]),
        limit,
        given,
        sizes.at_once(1) - given,
        way,
    )


def _way(
    array: Array, places: dict[str, int], inputs: Sequence[Any], here: Provenance
) -> _Way | None:
    """Return how an array is made again; None where tasks have to be made."""
    neighbours = neighbours_of(array)
    if neighbours is not None:
        return _neighbouring(array, neighbours, places, here)
    return known_graph(array, places, inputs, here)


def _is_alike(value: Any, known: Any) -> bool:
    """Whether an operand has the chunks that are known, or is the number."""
    return value is known or getattr(value, "chunks", None) == known


def _made(way: _Way, operands: Any, workers: int) -> Array:
    return way.made(operands, workers)


class _Neighbouring(NamedTuple):
    """Neighbouring blocks of one array, which one call makes, or one for each worker."""

    neighbours: Neighbours
    places: tuple[int, ...]
    """Which input each operand of the tasks is."""
    task_bytes: int | None
    shape: Shape
    form: Form
    at_once: Callable[[], _AtOnce | None]
    """The kernel for all blocks, which is compiled when it is first wanted."""

    def operands(self, inputs: Sequence[Any]) -> list[Any] | None:
        """Return the operands of the tasks; None where one is not in one piece of memory, here."""
        wholes = []
        for place, (_, shape) in zip(self.places, self.neighbours.sources, strict=True):
            array = inputs[place]
            layers = array.dask.layers
            own = whole_of(layers.get(array.name), shape) if len(layers) == 1 else None
            if own is None:
                return None
            wholes.append(own)
        return wholes

    def made(self, wholes: Sequence[Any], workers: int) -> Array:
        """Return the array, with a name of its own."""
        neighbours, form = self.neighbours, self.form
        call = neighbours.call
        name = layer_name(ops_of(call.region), self.task_bytes)
        array = host_pool.empty(self.shape, form.meta.dtype)
        at_once = self.at_once() if neighbours.calls(array.nbytes, workers) == 1 else None
        if at_once is not None:
            at_once.run(wholes, array)
        else:
            own = writing_to(NamedCall(name, call), array)
            neighbours.run(own, wholes, array, workers)
        rest = (0,) * (len(self.shape) - 1)
        blocks = {(name, place, *rest): part for place, part in enumerate(neighbours.parts(array))}
        return array_of_form(name, blocks, form)


def _neighbouring(
    array: Array, neighbours: Neighbours, places: dict[str, int], here: Provenance
) -> _Neighbouring | None:
    """Return what makes neighbouring blocks; None where these are made of what is not an input."""
    if not all(name in places for name, _ in neighbours.sources):
        return None
    return _Neighbouring(
        neighbours,
        tuple([places[name] for name, _ in neighbours.sources]),
        here.sizes.get(array.name),
        array.shape,
        form_of(array),
        cache(partial(_at_once, neighbours.call, array.shape)),
    )


def _at_once(call: BlockCall, shape: Shape) -> _AtOnce | None:
    """Return the kernel that makes all blocks; None where a task does more than to call one."""
    made = restricted(call.region, dict.fromkeys(call.values, whole(shape)))
    region = made.region
    if made.ranges or not region.ops or min(region.outputs) < len(region.inputs):
        return None
    arrays = [number for number in range(len(call.region.inputs)) if number not in call.numbers]
    inputs = [
        (None, call.numbers[number])
        if number in call.numbers
        else (arrays.index(number), tuple([slice(low, high) for low, high in block]))
        for number, block in made.inputs
    ]
    return _AtOnce(compiled(region.key()), tuple(inputs))
