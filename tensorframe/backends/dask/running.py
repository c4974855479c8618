"""Running tasks: whose scheduler does, what it gives back, and what its failures mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dask import threaded
from dask.base import get_scheduler, persist
from dask.local import get_sync

from tensorframe.backends.dask.arrays import array_of, block_keys, is_ours, is_pending

# Schedulers of this process, which take tasks as they are.
_HERE = (threaded.get, get_sync)


def computed(array: Any, client: Any) -> Any:
    """Return the values of an array in blocks."""
    if client is not None:
        from tensorframe.backends.dask.cluster import gathered

        return gathered(client, array)
    return array.compute(optimize_graph=optimizes([array]), **_options())


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


def _kept_here(arrays: Sequence[Any]) -> list[Any]:
    """Return arrays whose blocks a scheduler of Dask has computed.

    Tasks of ours go to one of this process directly: `persist` wraps them in expressions, of which it makes tokens, and
    orders another graph to put its results together, which takes as long as to run a dozen tasks.
    """
    run: Any = get_scheduler() or threaded.get
    if run not in _HERE or optimizes(arrays):
        return list(persist(*arrays, optimize_graph=optimizes(arrays), scheduler=run))
    layers = {name: layer for array in arrays for name, layer in array.dask.layers.items()}
    tasks = {key: task for layer in layers.values() for key, task in layer.items()}
    keys = [list(block_keys(array)) for array in arrays]
    blocks = run(tasks, keys)
    return [
        array_of(array.name, dict(zip(own, made, strict=True)), array.chunks, array.dtype)
        for array, own, made in zip(arrays, keys, blocks, strict=True)
    ]


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


def _options() -> dict[str, Any]:
    """Return how tasks run without a client of ours: as Dask is set up, by threads if it is not."""
    chosen = get_scheduler()
    return {} if chosen is not None else {"scheduler": "threads"}
