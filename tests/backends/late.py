"""A device that works when somebody waits for it, and may fail at what it was given: for tests without a GPU."""

import numpy as np

from tensorframe.backends.base import Capabilities, DeviceInfo
from tensorframe.backends.device.engine import KERNELS, KernelBackend
from tensorframe.backends.device.queue import Queue, Traits
from tensorframe.codegen.words import parameters
from tensorframe.dtypes import ANY, float64
from tensorframe.errors import KernelError
from tensorframe.graph.device import Device
from tensorframe.kernel.ir.interpret import run_groups


class LateQueue(Queue):
    """Interprets kernels, when it has to; `failing` are the numbers of launches at which it fails."""

    def __init__(self):
        super().__init__()
        self.traits = Traits(4, float64, True, 2, {}, 1 << 30)
        self.native = self
        self.failing = set()
        self.given, self.done, self.launches = [], 0, 0

    def allocate(self, nbytes):
        return np.zeros(nbytes, np.uint8)

    def release(self, buffer):
        pass

    def write(self, buffer, offset, data):
        buffer[offset : offset + data.size] = data

    def read(self, buffer, offset, nbytes):
        self.synchronize()
        return buffer[offset : offset + nbytes].copy()

    def copy(self, source, start, target, offset, nbytes):
        self.synchronize()
        target[offset : offset + nbytes] = source[start : start + nbytes]

    def source(self, kernel):
        return "\n".join(kernel.notes)

    def build(self, kernel):
        return kernel

    def launch(self, built, groups, buffers, words):
        self.launches += 1
        self.given.append((self.launches, built, buffers, words.copy()))

    def work(self):
        """Do the next thing that was given; what fails is told by who waits for it."""
        number, kernel, buffers, words = self.given[0]
        self.given.pop(0)
        self.done = number
        if number in self.failing:
            raise KernelError(f"launch {number} has failed")
        numbers = {
            each.name: words[each.word : each.word + each.words].view(each.dtype)[0]
            for each in parameters(kernel)
        }
        memory = {}
        for operand, buffer in zip((*kernel.inputs, *kernel.outputs), buffers, strict=True):
            whole = buffer[: buffer.size // operand.dtype.itemsize * operand.dtype.itemsize]
            memory[operand] = whole.view(operand.dtype)[
                int(numbers.get(f"{operand.name}_origin", 0)) :
            ]
        arguments = {size: numbers[size.name] for size in (*kernel.sizes, *kernel.scalars)}
        run_groups(kernel, int(numbers["stop"]), memory, arguments, groups=1, lanes=kernel.lanes)

    def mark(self):
        return LateMark(self, self.launches)

    def synchronize(self):
        while self.given:
            self.work()


class LateMark:
    """How far the queue was."""

    def __init__(self, queue, number):
        self._queue, self._number = queue, number

    def is_done(self):
        return self._queue.done >= self._number

    def wait(self):
        while not self.is_done():
            self._queue.work()


class LateBackend(KernelBackend):
    """One such device."""

    name = "late"

    def probe(self):
        return [
            DeviceInfo(Device("late"), "a late device", Capabilities(ANY, KERNELS, compiles=True))
        ]

    def open_queue(self, device):
        return LateQueue()
