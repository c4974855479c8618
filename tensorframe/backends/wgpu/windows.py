"""Windows: operands that are larger than what a shader may be given, of which it sees a part at a time.

A kernel runs for one range of its outermost loop after the other, each so short that what it sees of every operand
fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorframe.backends.wgpu.reach import reach
from tensorframe.backends.wgpu.recording import Memory, Window
from tensorframe.errors import KernelError
from tensorframe.kernel.ir import Kernel

Words = np.ndarray[Any, Any]
Part = tuple[Words, list[Memory | Window], int]


class Ranges:
    """A launch as several, each with windows of the operands that are too large."""

    def __init__(
        self,
        kernel: Kernel,
        sizes: Sequence[int],
        buffers: Sequence[Memory | Window],
        words: Words,
        *,
        most: int,
        step: int,
    ) -> None:
        """`sizes` are the bytes of an element in each buffer; windows have `most` bytes, from multiples of `step`."""
        self._kernel = kernel
        self._sizes = sizes
        self._buffers = buffers
        self._words = words
        self._most = most
        self._step = step
        self._names = [buffer.name for buffer in (*kernel.inputs, *kernel.outputs)]
        self._large = [index for index, buffer in enumerate(buffers) if buffer.nbytes > most]

    def parts(self) -> Iterator[Part]:
        """Yield the words, buffers and iterations of each part; KernelError if one iteration sees too much."""
        total = count = int(self._words[0])
        first = 0
        while first < total:
            last = min(first + count, total)
            part = self._part(first, last)
            if part is not None:
                yield *part, last - first
                first = last
            elif count > 1:
                count = -(-count // 2)
            else:
                raise KernelError(
                    f"an operand or result is larger than the {self._most} bytes that the device lets a kernel see, "
                    "and the kernel needs more of it at once",
                    suggestions=("parts of it, one after the other", "another device"),
                )

    def _part(self, first: int, last: int) -> tuple[Words, list[Memory | Window]] | None:
        """Return the words and buffers for a range of iterations; None if it sees too much."""
        seen = reach(self._kernel, self._words, first, last)
        behind, inputs = self._words.size, len(self._kernel.inputs)
        passed = np.concatenate(
            (self._words, np.zeros(2 + len(self._kernel.outputs), self._words.dtype))
        )
        passed[0], passed[behind + 1] = last, first
        buffers = list(self._buffers)
        for index in self._large:
            span = seen.get(self._names[index], (0, 0))
            if span is None:
                return None
            size, buffer = self._sizes[index], buffers[index]
            place = 1 + index if index < inputs else behind + 2 + index - inputs
            origin = int(passed[place])
            begin = max(origin + span[0], 0) * size // self._step * self._step
            end = min(-(-(origin + span[1] + 1) * size // 4) * 4, buffer.nbytes)
            if end - begin > self._most:
                return None
            buffers[index] = buffer.part(begin, end - begin)
            passed[place] = (origin - begin // size) % 2**32
        return passed, buffers
