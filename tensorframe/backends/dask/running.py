"""Running tasks: whose scheduler does, what it gives back, and what its failures mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dask import config, threaded
from dask.base import get_scheduler, named_schedulers, persist
from dask.callbacks import Callback
from dask.local import get_sync
from dask.system import CPU_COUNT

from tensorframe.backends.dask.arrays import array_of, block_keys, is_ours, is_pending
from tensorframe.backends.dask.local import Graph, Run
from tensorframe.backends.dask.together import in_few_calls, in_one_array, into_one_array
from tensorframe.backends.dask.windows import joined
from tensorframe.backends.dask.within import run_within_memory

# Schedulers of this process.
_HERE = (threaded.get, get_sync)


def computed(array: Any, client: Any) -> Any:
    """Return the values of an array in blocks."""
    if client is not None:
        from tensorframe.backends.dask.cluster import gathered

        return gathered(client, array)
    if not run_here():
        return array.compute(optimize_graph=optimizes([array]))
    (there,) = persisted([array], None)
    graph = there.dask
    blocks = [getattr(graph[key], "value", graph[key]) for key in block_keys(there)]
    together = in_one_array(blocks, there.shape)
    return joined(iter(blocks), there.numblocks) if together is None else together


def persisted(handles: Sequence[Any], client: Any) -> list[Any]:
    """Return arrays whose tasks have run, all in one go; those that have none stay as they are."""
    pending = {id(array): array for array in _flat(handles) if is_pending(array)}
    if not pending:
        return list(handles)
    if client is not None:
        from tensorframe.backends.dask.cluster import kept

        done = kept(client, list(pending.values()))
    else:
        done = _kept_here(list(pending.values()))
    results = dict(zip(pending, done, strict=True))
    return [_replaced(handle, results) for handle in handles]


def run_here() -> bool:
    """Whether tasks run in this process, within its memory, where no client of ours runs them."""
    return _scheduler() in _HERE


def _scheduler() -> Any:
    """Return what runs tasks without a client of ours: as Dask is set up, threads if it is not."""
    chosen = config.config.get("scheduler")
    if type(chosen) is str and chosen in named_schedulers:  # Dask would look for a client first
        return named_schedulers[chosen]
    return get_scheduler() or threaded.get


def _kept_here(arrays: Sequence[Any]) -> list[Any]:
    """Return arrays whose blocks have been computed without a client of ours.

    Tasks of ours run here, where Dask would run them, unless somebody watches its scheduler.
    """
    run = _scheduler()
    if run not in _HERE:
        return list(persist(*arrays, optimize_graph=optimizes(arrays), scheduler=run))
    workers = _workers(run)
    blocks = run_within_memory(arrays, workers)
    if blocks is None and optimizes(arrays):
        return list(persist(*arrays, optimize_graph=True, scheduler=run))
    keys = [list(block_keys(array)) for array in arrays]
    if blocks is None:
        layers = {name: layer for array in arrays for name, layer in array.dask.layers.items()}
        tasks = {key: task for layer in layers.values() for key, task in layer.items()}
        with into_one_array(arrays):
            if _is_watched():
                blocks = run(tasks, keys)
            else:
                blocks = in_few_calls(arrays, workers) or Run(Graph(tasks, keys), workers).blocks()
    return [
        array_of(array.name, dict(zip(own, made, strict=True)), array.chunks, array.dtype)
        for array, own, made in zip(arrays, keys, blocks, strict=True)
    ]


def unwatched_workers() -> int | None:
    """Return how many threads of this process run tasks; None where tasks run elsewhere, or somebody watches them."""
    run = _scheduler()
    return None if run not in _HERE or _is_watched() else _workers(run)


def _workers(run: Any) -> int:
    """Return how many threads of this process a scheduler of it has."""
    return 1 if run is get_sync else config.get("num_workers", None) or CPU_COUNT


def _is_watched() -> bool:
    """Whether Dask's scheduler has callbacks, threads of the user's own, or values that it is to keep."""
    chosen = config.config
    return (
        bool(Callback.active) or chosen.get("cache") is not None or chosen.get("pool") is not None
    )


def optimizes(arrays: Iterable[Any]) -> bool:
    """Whether Dask is to look for less to do: in tasks of others, such as those that read a file."""
    return not all(map(is_ours, arrays))


def _flat(handles: Sequence[Any]) -> list[Any]:
    return [
        array for handle in handles for array in (handle if type(handle) is tuple else (handle,))
    ]


def _replaced(handle: Any, results: dict[int, Any]) -> Any:
    if type(handle) is tuple:
        return tuple([results.get(id(part), part) for part in handle])
    return results.get(id(handle), handle)
