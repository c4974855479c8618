"""Programs of devices: what a queue is given to launch."""

from threading import RLock

import numpy as np
import pytest

from tensorframe.backends.device import without_kernels
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Block
from tensorframe.backends.device.program import DeviceProgram
from tensorframe.backends.device.queue import Traits
from tensorframe.backends.device.views import places_of
from tensorframe.backends.device.without_kernels import ViewProgram
from tensorframe.codegen.words import index_dtype, parameters
from tensorframe.dtypes import float32, float64, uint32, uint64
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms.tunings import Tunings
from tensorframe.ops.elementwise import MULTIPLY, NEGATIVE
from tensorframe.ops.movement import PERMUTE


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


def test_words_are_made_anew_where_a_number_is_another_one():
    """Zeros of both signs are equal; the same object is the same number."""
    known = (4,), float32
    product = RegionOp(MULTIPLY, (), (0, 1), *known)
    queue = Queue()
    program = DeviceProgram(Region((known, ((), float32)), (product,), (2,)), queue, Pool(), None)
    block = Pool().block(1 << 10)
    two, zero = 2.0, 0.0
    for number, offset in ((two, 0), (two, 0), (two, 3), (zero, 3), (-zero, 3)):
        program((DeviceArray(block, float32, (4,), (1,), offset), number), (None,))
    words = [words for _, words in queue.launched]
    assert words[0] is words[1]
    assert len({own.tobytes() for own in words}) == 4


def test_views_of_one_layout_are_found_once(monkeypatch):
    asked = []
    monkeypatch.setattr(
        without_kernels, "places_of", lambda *layout: asked.append(layout) or places_of(*layout)
    )
    turned = RegionOp(PERMUTE, ((1, 0),), (0,), (3, 2), float32)
    program = ViewProgram(Region((((2, 3), float32),), (turned,), (1,)), None, None)
    block = Pool().block(1 << 10)
    for offset in (0, 5):
        (view,) = program((DeviceArray(block, float32, (2, 3), (3, 1), offset),), (None,))
        assert (view.shape, view.strides, view.offset) == ((3, 2), (1, 3), offset)
    (view,) = program((DeviceArray(block, float32, (2, 3), (6, 2), 1),), (None,))
    assert (view.strides, view.offset) == ((2, 6), 1)
    assert len(asked) == 2
