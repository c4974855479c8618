"""Clusters: what is asked of a `distributed.Client`, and what its failures mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from dask.core import flatten

from tensorframe.backends.dask.arrays import array_of, block_keys, is_ours, new_name
from tensorframe.backends.provenance import current
from tensorframe.backends.selection import show_bytes
from tensorframe.errors import DeviceError

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


def largest_worker(client: Any) -> int | None:
    """Return the most bytes that a worker may take; None where one has no limit, or there is none yet."""
    workers = client.scheduler_info(n_workers=-1).get("workers", {}).values()
    limits = [worker.get("memory_limit") or 0 for worker in workers]
    return max(limits) if limits and all(limits) else None


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
    (there,) = kept(client, [array])
    with told(client):
        return client.compute(there, optimize_graph=False).result()


def kept(client: Any, arrays: Sequence[Any]) -> list[Any]:
    """Return arrays whose blocks workers have computed; an interrupt, or the failure of a task, cancels the others."""
    from distributed import wait

    with told(client):
        done = client.persist(list(arrays), optimize_graph=not all(map(is_ours, arrays)))
        futures = list(_futures(done))
        try:
            wait(futures)
            for future in futures:
                if future.status != "finished":
                    future.result()  # raises what happened
        except BaseException:
            with suppress(Exception):  # where the scheduler is gone, nothing is left to cancel
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


@contextmanager
def told(client: Any) -> Iterator[None]:
    """Have failures of the cluster in a block raised as ours; those of tasks go on as they are."""
    from distributed import CancelledError
    from distributed.client import ClosedClientError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker as error:
        key = str(error.task)
        raise _lost(
            key,
            f"a task ended {error.allowed_failures + 1} workers, one after the other, the last at "
            f"{error.last_worker.address}; {_size(key)}",
            'tfr.backends.configure("dask", chunk="32 MiB"): smaller blocks, if memory was the reason',
            "workers with more memory, or fewer threads each",
            "the workers' logs",
        ) from error
    except CancelledError as error:
        key = str(getattr(error, "key", ""))
        reason = getattr(error, "reason", "") or "somebody has cancelled it"
        raise _lost(
            key,
            f"a task was given up: {reason}; {_size(key)}",
            "compute once more: what was uploaded to a worker that is gone has to be made again",
        ) from error
    except (CommClosedError, ClosedClientError, OSError) as error:
        raise _lost(
            "",
            f"the cluster is out of reach ({client.status}): {error}",
            'tfr.backends.configure("dask", client=...), with a client of another cluster, or None',
        ) from error
    except MemoryError as error:
        key = str(getattr(error, "key", ""))
        raised = MemoryError(f"a worker has no memory left; {_size(key)}")
        raised.key = key  # type: ignore[attr-defined]
        raise raised from error


def _lost(key: str, message: str, *suggestions: str) -> DeviceError:
    error = DeviceError(f"dask: {message}", suggestions=suggestions)
    error.key = key  # type: ignore[attr-defined]
    return error


def _size(key: str) -> str:
    here = current()
    size = here.size_of(key) if here is not None else None
    return "its bytes are not known" if size is None else f"it takes about {show_bytes(size)}"
