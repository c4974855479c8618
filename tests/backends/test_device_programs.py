"""Programs of devices: what a queue is given to launch."""

from threading import RLock

import numpy as np
import pytest

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Block
from tensorframe.backends.device.program import DeviceProgram
from tensorframe.backends.device.queue import Traits
from tensorframe.codegen.words import index_dtype, parameters
from tensorframe.dtypes import float32, float64, uint32, uint64
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms.tunings import Tunings
from tensorframe.ops.elementwise import NEGATIVE


class Queue:
    """A device that notes what it is given."""

    def __init__(self):
        self.traits = Traits(
            lanes=64,
            widest=float64,
            wide_index=True,
            max_groups=1 << 16,
            held={},
            max_block=1 << 40,
        )
        self.lock = RLock()
        self.tunings = Tunings()
        self.launched = []

    def build(self, kernel):
        return kernel

    def launch(self, kernel, _groups, _buffers, words):
        self.launched.append((kernel, words))


class Pool:
    closed = False

    def block(self, nbytes):
        return Block(self, object(), nbytes)

    def take_back(self, *_):
        pass


@pytest.mark.parametrize(
    ("offset", "dtype"),
    [(0, uint32), (7, uint32), (1 << 29, uint32), (1 << 31, uint64), ((1 << 32) + 5, uint64)],
)
def test_views_that_begin_far_into_memory_have_positions_that_reach_there(offset, dtype):
    queue, pool = Queue(), Pool()
    region = Region((((4,), float32),), (RegionOp(NEGATIVE, (), (0,), (4,), float32),), (1,))
    program = DeviceProgram(region, queue, pool, pytest.fail)
    for at in (0, offset):  # the same layout, and so the same kernels but for how far they reach
        array = DeviceArray(pool.block(1 << 36), float32, (4,), (1,), at)
        program((array,), (None,))
    kernel, words = queue.launched[-1]
    assert index_dtype(kernel) == dtype
    (origin,) = [parameter for parameter in parameters(kernel) if parameter.name == "x0_origin"]
    found = words[origin.word : origin.word + origin.words]
    assert int.from_bytes(np.ascontiguousarray(found).tobytes(), "little") == offset
