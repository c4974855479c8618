"""Known graphs: tasks that were made and ordered once run again on other blocks, where operands have the same chunks.

To lower a region to the tasks of a few blocks, and to order these, takes longer than to run them as far as Python is
concerned. Nothing of the operands is kept, but the keys by which tasks ask for their blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from dask.task_spec import DataNode

from tensorframe.backends import host_pool
from tensorframe.backends.dask.arrays import (
    Array,
    Form,
    array_of_form,
    block_keys,
    form_of,
    is_ours,
    is_pending,
)
from tensorframe.backends.dask.local import Graph, Key, Run
from tensorframe.backends.dask.names import layer_name
from tensorframe.backends.dask.tasks import NamedCall
from tensorframe.backends.dask.together import named_call_of, writing_to
from tensorframe.backends.provenance import Provenance, current
from tensorframe.quick_tuples import NamedTuple

# Tasks that are kept at most: of more, each is little beside what it computes.
_MOST = 1024


class KnownGraph(NamedTuple):
    """The tasks that make one array, and which blocks of operands they begin with."""

    name: str
    """What the array was called."""
    form: Form
    leaves: dict[Key, tuple[int, tuple[int, ...]]]
    """The keys that tasks know blocks of operands by: which operand, and where the block is."""
    layers: dict[str, int | None]
    """The layers of tasks, with the bytes that a task takes, if these are known."""
    graph: Callable[[], Graph]
    """The tasks in order, without the blocks that they begin with; they are ordered when they first run again."""
    call: NamedCall | None
    """What those of the blocks call that are parts of one array; None where blocks have memory of their own."""

    def operands(self, inputs: Sequence[Any]) -> dict[Key, Any] | None:
        """Return the blocks that tasks begin with; None where these have not been computed, or are not here."""
        mappings = [_blocks_of(value) if hasattr(value, "dask") else {} for value in inputs]
        blocks: dict[Key, Any] = {}
        for key, (place, index) in self.leaves.items():
            block = mappings[place].get((getattr(inputs[place], "name", ""), *index))
            block = getattr(block, "value", block)
            if not isinstance(block, np.ndarray | np.generic):
                return None
            blocks[key] = block
        return blocks

    def made(self, blocks: dict[Key, Any], workers: int) -> Array:
        """Return the array, with a name of its own."""
        here = current()
        assert here is not None
        for layer, size in self.layers.items():  # errors name them
            here.layers[layer] = here.step
            if size is not None:
                here.sizes[layer] = size
        graph = self.graph().beginning_with(blocks)
        if self.call is not None:
            shape = tuple(map(sum, self.form.chunks))
            array = host_pool.empty(shape, self.form.meta.dtype)
            graph = graph.calling(self.call, writing_to(self.call, array))
        (wanted,) = graph.wanted
        (results,) = Run(graph, workers).blocks()
        name = layer_name(here.ops, self.layers.get(self.name))
        parts = {(name, *key[1:]): part for key, part in zip(wanted, results, strict=True)}
        return array_of_form(name, parts, self.form)


def known_graph(
    array: Array, places: dict[str, int], inputs: Sequence[Any], here: Provenance
) -> KnownGraph | None:
    """Return the tasks of an array that inputs were made; None where they are too many, or not all ours.

    `places` has the number of the input by the name of each array among them.
    """
    layers = array.dask.layers
    own = {name: layer for name, layer in layers.items() if name not in places}
    count = sum(len(layers[name]) for name in layers)
    if count > _MOST or not is_ours(array):
        return None
    if array.name not in own or any(is_pending(inputs[place]) for place in places.values()):
        return None
    leaves = {
        key: (places[name], key[1:]) for name in places if name in layers for key in layers[name]
    }
    tasks = {key: task for layer in own.values() for key, task in layer.items()}
    return KnownGraph(
        array.name,
        form_of(array),
        leaves,
        {name: here.sizes.get(name) for name in own},
        cache(partial(_graph, tasks, tuple(leaves), tuple(block_keys(array)))),
        named_call_of(array),
    )


def _graph(tasks: dict[Key, Any], leaves: Sequence[Key], wanted: Sequence[Key]) -> Graph:
    """Return the tasks in order, for blocks that are to come."""
    return Graph({**tasks, **{key: DataNode(key, None) for key in leaves}}, [wanted])


def _blocks_of(array: Array) -> Any:
    """Return the blocks of an array by their keys; none where tasks make them."""
    layers = array.dask.layers
    return {} if len(layers) != 1 else getattr(layers.get(array.name), "mapping", {})
