"""Every check of backends on Dask's device: `python -m tests.backends.dask_conformance [bytes of a block ...]`."""

import sys
from collections.abc import Callable

import dask

from tensorframe.backends.dask import DaskBackend
from tensorframe.testing.conformance import checks

SMALL = "64 B"


def failures(chunk: str, keep: Callable[[str], bool], seeds: int) -> tuple[int, list[str]]:
    """Return how many checks passed with blocks of a size, and what went wrong with the others."""
    backend = DaskBackend()
    backend.configure(chunk=chunk)
    passed, failed = 0, []
    with dask.config.set(scheduler="synchronous"):
        for check in checks(backend, seeds=seeds):
            # millions of elements in blocks of some bytes are tasks for hours
            if not keep(check.name) or (chunk == SMALL and "large" in check.name):
                continue
            try:
                check()
            except Exception as error:
                failed.append(f"{check}: {type(error).__name__}: {error}")
            else:
                passed += 1
    return passed, failed


def main(sizes: list[str]) -> int:
    """Return 1 if a check fails for any size of blocks."""
    wrong = False
    for size in sizes or ["128 MiB", SMALL]:
        passed, failed = failures(size, lambda _: True, seeds=40)
        sys.stdout.write(
            "\n".join([f"blocks of {size}: {passed} passed, {len(failed)} failed", *failed, ""])
        )
        wrong = wrong or bool(failed)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
