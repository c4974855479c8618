"""The Dask backend: tensors in blocks, computed by the tasks of Dask's schedulers, here or on a cluster.

A handle is a `dask.array.Array`. A step of a plan adds tasks to its graph, which `settle` has computed once for a whole
plan: from then on the graph holds blocks, or futures of blocks in the memory of workers.
"""

from tensorframe.backends.dask.engine import DaskBackend

__all__ = ["DaskBackend"]
