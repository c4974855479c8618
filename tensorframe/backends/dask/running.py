"""Running tasks: whose scheduler does, what it gives back, and what its failures mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dask.base import get_scheduler, persist

from tensorframe.backends.dask.arrays import is_ours, is_pending


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
        done = persist(*pending.values(), optimize_graph=optimizes(pending.values()), **_options())
    results = dict(zip(pending, done, strict=True))
    return [_replaced(handle, results) for handle in handles]


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
