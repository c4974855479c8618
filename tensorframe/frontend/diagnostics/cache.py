"""The compiled kernels that are cached on disk, so that the next process compiles nothing."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CacheInfo", "clear", "info"]


@dataclass(frozen=True)
class CacheInfo:
    """What lies on disk, and what this process has taken from there."""

    directory: str | None
    """Where kernels are kept; None where they are not."""
    problem: str | None
    """Why kernels are not kept, if they are not."""
    files: int
    bytes: int
    hits: int
    """Kernels that this process found on disk."""
    misses: int
    """Kernels that it looked for in vain."""
    compilations: int
    """Kernels that it compiled."""

    def __str__(self) -> str:
        kept = f"{self.files} kernels, {self.bytes / 2**20:.1f} MiB in {self.directory}"
        lines = [kept] if self.problem is None else [f"no kernels are kept: {self.problem}"]
        lines.append(f"this process: {self.hits} found, {self.compilations} compiled")
        return "\n".join(lines)


def info() -> CacheInfo:
    """Return what the cache holds, and its use by this process.

    The directory is that of the option `cache_dir`, else `tensorframe/kernels` in the user's cache directory. It is
    used only if it belongs to the user and nobody else may write to it, and so is each file in it: what lies there is
    run.

    >>> with tfr.config.override(cache_bytes=0):
    ...     tfr.cache.info().problem
    'the option cache_bytes is 0'
    """
    from tensorframe.backends import objects, own_files

    where = objects.folder()
    sizes = objects.sizes(where)
    ours = objects.statistics
    return CacheInfo(
        directory=where,
        problem=own_files.problem(where),
        files=len(sizes),
        bytes=sum(sizes),
        hits=ours.hits,
        misses=ours.misses,
        compilations=ours.compilations,
    )


def clear() -> None:
    """Remove all kernels from disk. Those in the memory of this and other processes stay.

    >>> with tfr.config.override(cache_dir=str(folder)):
    ...     tfr.cache.clear()
    ...     tfr.cache.info().files
    0
    """
    from tensorframe.backends import objects

    objects.clear()
