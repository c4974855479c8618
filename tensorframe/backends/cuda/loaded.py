"""Kernels in a GPU's memory, with what the driver reads of a launch."""

from __future__ import annotations

import cupy
import numpy as np

# CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_DYNAMIC_SHARED = 8


class Loaded:
    """A kernel in the GPU's memory, and the arguments of its next launch as the driver finds them.

    `arguments` is the address of a list of addresses: of each operand's pointer, and of the struct of words.
    """

    def __init__(
        self,
        name: str,
        code: bytes,
        lanes: int,
        count: int,
        read: int,
        words: int,
        shared: int = 0,
    ) -> None:
        """`count` operands and results, of which so many are `read`, words, and bytes of memory for each group."""
        module = cupy.cuda.function.Module()
        module.load(code)
        self.function = module.get_function(name)
        self.lanes = lanes
        self.read = read
        self.shared = shared
        if shared and not cupy.cuda.runtime.is_hip:
            cupy.cuda.driver.funcSetAttribute(self.function.ptr, _DYNAMIC_SHARED, shared)
        self.pointers = np.zeros(count, np.uint64)
        self.words = np.zeros(words, np.uint32)
        first = self.pointers.__array_interface__["data"][0]
        addresses = [first + 8 * index for index in range(count)]
        addresses.append(self.words.__array_interface__["data"][0])
        self._addresses = np.array(addresses, np.uint64)
        self.arguments: int = self._addresses.__array_interface__["data"][0]
