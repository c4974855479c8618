"""Clusters: what is asked of a `distributed.Client`, and what its failures mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dask.core import flatten

from tensorframe.backends.dask.arrays import array_of, block_keys, is_ours, new_name

# Bytes of an uploaded array up to which its blocks travel with the tasks: the scheduler then sends them again when the
# worker that had them is gone. What is larger would fill its memory.
_IN_GRAPHS = 4 << 20


def title_of(client: Any) -> str:
    """Return what a cluster is called in tables."""
    workers = client.scheduler_info(n_workers=-1).get("workers", {})
    threads = sum([worker["nthreads"] for worker in workers.values()])
    return f"cluster of {len(workers)} workers, {threads} threads"


def memory_of(client: Any) -> tuple[int | None, int | None]:
    """Return the bytes of all workers, and those that are free; None where a worker has no limit."""
    workers = client.scheduler_info(n_workers=-1).get("workers", {}).values()
    limits = [worker.get("memory_limit") or 0 for worker in workers]
    if not limits or not all(limits):
        return None, None
    used = sum([worker.get("metrics", {}).get("memory", 0) for worker in workers])
    return sum(limits), max(sum(limits) - used, 0)


def scattered(client: Any, blocks: Any) -> Any:
    """Return an array of host blocks with these in the memory of workers, unless they are few bytes."""
    if blocks.nbytes <= _IN_GRAPHS:
        return blocks
    keys = list(block_keys(blocks))
    graph = blocks.dask
    futures = client.scatter([graph[key] for key in keys], hash=False)
    name = new_name("uploaded")
    tasks = {(name, *key[1:]): future for key, future in zip(keys, futures, strict=True)}
    return array_of(name, tasks, blocks.chunks, blocks.dtype)


def gathered(client: Any, array: Any) -> Any:
    """Return the values of an array in blocks."""
    (kept_array,) = kept(client, [array])
    return client.compute(kept_array, sync=False, optimize_graph=False).result()


def kept(client: Any, arrays: Sequence[Any]) -> list[Any]:
    """Return arrays whose blocks workers have computed; an interrupt, or the failure of a task, cancels the others."""
    from distributed import wait

    done = client.persist(list(arrays), optimize_graph=not all(map(is_ours, arrays)))
    futures = list(_futures(done))
    try:
        wait(futures, return_when="ALL_COMPLETED")
        for future in futures:
            if future.status != "finished":
                raise_for(future)
    except BaseException:
        client.cancel(futures, force=True)
        raise
    return list(done)


def _futures(arrays: Sequence[Any]) -> Iterator[Any]:
    for array in arrays:
        graph = array.dask
        for key in flatten(array.__dask_keys__()):
            value = graph[key]
            value = getattr(value, "value", value)
            if hasattr(value, "status"):
                yield value


def raise_for(future: Any) -> None:
    """Raise what happened to a future that has no value, with its key."""
    try:
        future.result()
    except Exception as error:
        error.key = getattr(error, "key", None) or str(future.key)  # type: ignore[attr-defined]
        raise
