"""Bytes of tasks: what each gives, and what it takes beside that and its operands, known before any of them runs.

Dask notes the blocks of an array at its layer, and layers of ours that no array shows have a note of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, prod
from typing import Any

from dask.array.chunk import getitem
from dask.task_spec import GraphNode, Task

from tensorframe.backends.dask.arrays import BYTES, Array, has_tasks
from tensorframe.quick_tuples import NamedTuple


class Kind(NamedTuple):
    """What is noted of a layer: the blocks of its array, or how many bytes each of its tasks gives at most."""

    chunks: tuple[tuple[int, ...], ...]
    itemsize: int
    most: int


class Sizes:
    """The bytes of the tasks that some arrays are made by."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self.layers: dict[str, Mapping[Any, Any]] = {}
        self._sources: dict[str, set[str]] = {}
        for array in arrays:
            self.layers.update(array.dask.layers)
            self._sources.update(array.dask.dependencies)
        self._kinds = {name: _noted(layer) for name, layer in self.layers.items()}
        self._totals: dict[str, int] = {}

    def at_once(self, workers: int) -> int:
        """Return the bytes that tasks take if nothing is freed before the end, and `workers` of them run at once.

        Of each layer it looks at the first task, whose block is the largest.
        """
        made = [name for name, layer in self.layers.items() if has_tasks(layer)]
        beside = [self._beside_first(name) for name in made]
        return sum(map(self._total, made)) + workers * max(beside, default=0)

    def _total(self, name: str) -> int:
        """Return the bytes of all that a layer gives: of one that nothing is noted of, as many as it reads."""
        if name not in self._totals:
            kind = self._kinds[name]
            self._totals[name] = (
                sum(map(self._total, self._sources.get(name, ())))
                if kind is None
                else kind.most * len(self.layers[name])
                if not kind.itemsize
                else kind.itemsize * prod(map(sum, kind.chunks))
            )
        return self._totals[name]

    def _beside_first(self, name: str) -> int:
        task = next(iter(self.layers[name].values()), None)
        if not isinstance(
            task, Task
        ):  # another name for a result, or a task in Dask's older spelling
            return 0 if isinstance(task, GraphNode) else self._largest(name)
        return beside(task, sum([self._largest(_layer_of(key)) for key in task.dependencies]))

    def _largest(self, name: str) -> int:
        """Return the most bytes that a task of a layer gives."""
        kind = self._kinds.get(name)
        if kind is None:
            return sum(map(self._largest, self._sources.get(name, ())))
        return kind.most

    def tasks(self) -> Iterator[tuple[Any, str]]:
        """Yield the keys of all tasks and values, each with its layer."""
        for name, layer in self.layers.items():
            for key in layer:
                yield key, name

    def gives(self, key: Any, name: str, task: Any, operands: int) -> int:
        """Return the bytes of what a key of a layer is, or of all that it reads where that is not known."""
        kind = self._kinds[name]
        if kind is None or (kind.itemsize and _layer_of(key) != name):
            return _bytes_of_slices(task, kind, operands)
        if not kind.itemsize:
            return kind.most
        blocks = zip(kind.chunks, key[1:], strict=True)
        elements: int = prod([sizes[place] for sizes, place in blocks])
        return kind.itemsize * elements


def beside(task: Any, operands: int) -> int:
    """Return the bytes that a task takes beside operands and result: those of others as many as their operands."""
    if not isinstance(task, Task):
        return 0
    scratch = getattr(getattr(task.func, "call", None), "scratch", None)
    taken: int = operands if scratch is None else scratch(*task.args)
    return taken


def _layer_of(key: Any) -> str:
    return str(key[0] if type(key) is tuple else key)


def _noted(layer: Any) -> Kind | None:
    notes = getattr(layer, "collection_annotations", None) or {}
    if BYTES in notes:
        return Kind((), 0, notes[BYTES])
    chunks = notes.get("chunks")
    if chunks is None or isnan(sum(map(sum, chunks))):
        return None
    itemsize = notes["dtype"].itemsize
    return Kind(chunks, itemsize, itemsize * prod([max(sizes, default=0) for sizes in chunks]))


def _bytes_of_slices(task: Any, kind: Kind | None, operands: int) -> int:
    """Return the bytes of a piece that a task cuts out of a block, as Dask does to join other blocks of pieces."""
    if kind is None or getattr(task, "func", None) is not getitem:
        return operands
    extents = [
        own.stop - own.start
        for own in task.args[1]
        if isinstance(own, slice) and own.start is not None and own.stop is not None
    ]
    return kind.itemsize * prod(extents) if len(extents) == len(kind.chunks) else operands
