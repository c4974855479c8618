"""Calls prepared for the native side: one after the other, or side by side where none needs another's results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.bound import NativeCall
from tensorframe.backends.llvm import native
from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.workers import MOST_CHUNKS, pool_of_process
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.threads import core_count, thread_count


class PreparedCalls:
    """Calls one after the other, without the interpreter between them; see `run_calls` in `native.py`.

    A place without a call is one where `run` returns.
    """

    def __init__(self, calls: Sequence[NativeCall | None]) -> None:
        self._count = len(calls)
        self._owners: list[Any] = []
        self._table = np.zeros((max(len(calls), 1), native.CALL_WORDS), np.uint64)
        self._most = 1  # chunks of a call
        self.chunks = 0  # of all calls
        self._limits_blas = any(call is not None and call.limits_blas for call in calls)
        for row, call in zip(self._table, calls, strict=False):
            if call is not None:
                row[:] = self._words(call)

    def _words(self, call: NativeCall) -> tuple[int, ...]:
        chunks = -(-call.total // call.grain)
        self._most = max(self._most, min(chunks, MOST_CHUNKS))
        self.chunks += chunks
        slots = [np.frombuffer(given or bytes(8), np.uint8) for given in call[3:5]]
        self._owners += [*slots, call.owners, call.flag]
        flag = 0 if call.flag is None else address(call.flag)
        given = (*map(address, slots), flag, int(call.joined))
        return (call.function, call.total, call.grain, chunks, *given)

    def packed(self) -> bytes:
        """Return what `run_several` is given: how many calls there are, and their words."""
        return np.uint64(self._count).tobytes() + self._table.tobytes()

    def run(self, first: int) -> int:
        """Run those from `first` on; return the number of the one that set its flag, or is none, or their count."""
        pool = pool_of_process()
        threads = min(thread_count(), core_count(), self._most)
        table = address(self._table)
        if not self._limits_blas:
            return pool.run_calls(table, first, self._count, threads)
        with blas.one_thread():
            return pool.run_calls(table, first, self._count, threads)


def side_by_side(calls: Sequence[NativeCall]) -> list[NativeCall]:
    """Return calls, none of which reads what another one writes, as one: threads go on from each to the next.

    Alone, each of them ends with threads that wait for the last one. Calls that set flags, or go into BLAS, stay as
    they are.
    """
    apart = any(call.flag is not None or call.limits_blas for call in calls)
    if apart or len(calls) < 2:
        return list(calls)
    prepared, pool = PreparedCalls(calls), pool_of_process()
    owners = (prepared, pool.code)
    given = prepared.packed()
    return [NativeCall(pool.several, prepared.chunks, 1, given, b"", owners, joined=True)]
