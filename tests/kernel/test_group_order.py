"""The order in which kernels of work-groups add floats: the same bits in every form, layout and number of results.

What is expected is written down here once more, for groups of a few threads.
"""

from functools import reduce
from itertools import accumulate, pairwise
from operator import add

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.groups.order import Slots, Work
from tensorframe.kernel.ir import INDEX, Literal, Loop, argument
from tensorframe.kernel.ir.interpret import run
from tensorframe.kernel.ir.loops import ZERO
from tests.kernel.interpreted import (
    Memory,
    in_groups,
    interpreted,
    interpreting,
    kernels_of,
    launches_of,
    numbers_of,
)

pytest.importorskip(
    "llvmlite", reason="the planner groups what kernels compute, where there are any"
)

# elements of a run, and of a slot in a chunk, the length up to which there are few slots, and how many, as `in_groups`
# has them
RUN, EACH, SHORT, FEW = 2, 4, 9, 2
ENOUGH = 6  # elements of a strip
CLASS, WARP = 8, 32
# one after the other; few slots; a chunk that is not whole; several, with a short one at the end; more than slots
LENGTHS = [1, 2, 3, 7, 9, 15, 17, 41]


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def by_slots(values, count, wide=float):
    """The sum of a list; runs of what is float32 are added up before they are added to what a slot has."""
    size = min(RUN, count)
    sums = [wide(0)] * count
    for number in range(0, len(values), size):
        run, slot = values[number : number + size], number // size % count
        short = isinstance(run[0], np.float32)
        sums[slot] = reduce(add, [wide(reduce(add, run))] if short else run, sums[slot])
    for size in (CLASS, WARP // CLASS, count):
        sums = [reduce(add, sums[index : index + size]) for index in range(0, len(sums), size)]
    return sums[0]


def in_order(values, lanes, strip):
    """The sum of a list of floats, which has strips of so many."""
    if 2 * len(values) <= lanes:
        return reduce(add, map(float, values))
    if len(values) <= SHORT:
        return by_slots(values, min(FEW, lanes))
    piece = EACH * lanes
    if len(values) <= max(2 * piece, SHORT):
        return by_slots(values, lanes)
    return by_slots([by_slots(chunk, lanes) for chunk in chunks(values, piece, strip)], lanes)


def chunks(values, piece, strip):
    """Parts of strips that are long, or as many whole strips as there is room for."""
    if strip <= 2 * piece:
        piece = strip = max(1, piece // strip) * strip
    strips = [values[first : first + strip] for first in range(0, len(values), strip)]
    return [part[first : first + piece] for part in strips for first in range(0, len(part), piece)]


def strip_of(lengths):
    """How many elements the last of the reduced axes have together, which are taken as one until they are enough."""
    count = 1
    for length in reversed(lengths):
        count *= length if count < ENOUGH else 1
    return count


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape) * 10.0 ** np.arange(shape[-1])


def expected(x, axes, lanes=4):
    """The sums over axes, whose elements are numbered in C order."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    rows = np.ascontiguousarray(x.transpose([*kept, *axes]))
    rows = rows.reshape([*[x.shape[axis] for axis in kept], -1])
    strip = strip_of([x.shape[axis] for axis in axes])
    return np.apply_along_axis(lambda row: in_order([*row], lanes, strip), -1, rows)


def on(x):
    return tfr.asarray(x, device="llvm")


def result_of(tensor, lanes=4):
    with in_groups(lanes), interpreting():
        return interpreted(tensor)[0]


# few rows and many, which are cut or not; rows and columns; one result
SHAPES = {
    "few rows": (lambda n: (3, n), (1,)),
    "rows": (lambda n: (7, n), (1,)),
    "rows that fill no group": (lambda n: (1, n), (1,)),
    "few columns": (lambda n: (n, 3), (0,)),
    "columns": (lambda n: (n, 11), (0,)),
    "everything": (lambda n: (n,), (0,)),
    "two axes": (lambda n: (3, 2, n), (0, 2)),
    "two axes, columns": (lambda n: (3, n, 2), (0, 1)),
    "two axes, all": (lambda n: (n, 3), (0, 1)),
    "strips, several to a chunk": (lambda n: (n, 7), (0, 1)),
    "strips, several chunks each": (lambda n: (3, n), (0, 1)),
    "strips of few rows": (lambda n: (5, 2, n), (0, 2)),
    "strips of rows": (lambda n: (4, 6, n), (0, 2)),
}


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_sum_has_the_bits_of_its_lengths(name, layout):
    for length in LENGTHS:
        shape, axes = SHAPES[name][0](length), SHAPES[name][1]
        x = np.asarray(numbers(*shape), order=layout)
        found = result_of(tfr.sum(on(x) * 2, axis=axes))
        np.testing.assert_array_equal(found, expected(x * 2, axes), f"{length} elements")


@pytest.mark.parametrize("name", SHAPES)
def test_runs_of_float32_are_added_in_float32(name):
    """Float64 is an addition for each run; where few are added, one for each element."""
    for length in (2, 9, 41):
        shape, axes = SHAPES[name][0](length), SHAPES[name][1]
        x = np.random.default_rng(length).standard_normal(shape).astype(np.float32)
        found = result_of(tfr.sum(on(x), axis=axes))
        np.testing.assert_array_equal(found, expected(x, axes).astype(np.float32))


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_groups_of_other_sizes(lanes):
    for shape, axis in [((2, 70), 1), ((70, 2), 0), ((9, 70), 1), ((70, 11), 0), ((3, 9), 1)]:
        x = numbers(*shape)
        found = result_of(tfr.sum(on(x), axis=axis), lanes)
        np.testing.assert_array_equal(found, expected(x, (axis,), lanes))


@pytest.mark.parametrize("shape", [(3, 41), (7, 41), (41, 3), (41, 11)])
def test_what_follows_in_further_passes_is_added_so_too(shape):
    """Distances from a mean: the second sum waits for the first."""
    x = numbers(*shape)
    for axis in (0, 1):
        tensor = on(x)
        away = tensor - tfr.sum(tensor, axis=axis, keepdims=True)
        found = result_of(tfr.sum(away * away, axis=axis))
        rest = x - np.expand_dims(expected(x, (axis,)), axis)
        np.testing.assert_array_equal(found, expected(rest * rest, (axis,)))


def test_sums_of_both_orders_of_axes_are_two_kernels():
    x = numbers(5, 6)
    tensor = on(x)
    both = [tfr.sum(tensor * 2), tfr.sum(tensor.T * 3)]
    with in_groups(), interpreting():
        found = interpreted(*both)
    np.testing.assert_array_equal(found[0], expected(2 * x, (0, 1)))
    np.testing.assert_array_equal(found[1], expected(3 * x.T, (0, 1)))


class Noted(Memory):
    """Memory that notes what is read of it."""

    def __init__(self, array):
        super().__init__(array)
        self.read = []

    def __getitem__(self, place):
        self.read.append(int(place))
        return super().__getitem__(place)


def read_by_threads(x, axes, threads):
    """What each of the first threads reads of an array, in order, to add it up."""
    with in_groups(index=INDEX), interpreting():
        launch = launches_of(tfr.sum(on(x), axis=axes))[0]
    kernel, read = launch.kernel, []
    for thread in range(threads):
        memory = {buffer: Noted(x) for buffer in kernel.inputs}
        memory |= {buffer: np.zeros(launch.total) for buffer in kernel.outputs}
        run(kernel, thread, thread + 1, memory, numbers_of(launch, kernel))
        (noted,) = [memory[buffer] for buffer in kernel.inputs]
        read.append(np.array(noted.read))
    return read


# what is summed over which axes, and how far apart threads next to each other read: as many strips as a chunk has
ALONG_OUTER = [
    ((40, 20), (0, 1), 1),
    ((40, 50), (0, 1), 1),
    ((40, 7), (0, 1), 2),
    ((40, 3, 20), (0, 2), 1),
    ((8, 5, 4, 9), (0, 2, 3), 1),
]


@pytest.mark.parametrize(("shape", "axes", "apart"), ALONG_OUTER)
def test_threads_read_neighbours_where_memory_is_along_an_outer_axis(shape, axes, apart):
    """They have the same elements of strips that are next to each other, and the bits that any layout has."""
    x = np.asfortranarray(numbers(*shape))
    for before, after in pairwise(read_by_threads(x, axes, shape[0] // apart)):
        np.testing.assert_array_equal(after - before, apart)
    np.testing.assert_array_equal(result_of(tfr.sum(on(x), axis=axes)), expected(x, axes))


def test_products_have_an_order_too():
    x = 1 + numbers(4, 30) / 10.0 ** np.arange(30)
    found = result_of(tfr.prod(on(x), axis=1))
    np.testing.assert_allclose(found, np.prod(x, axis=1), rtol=1e-12)
    turned = result_of(tfr.prod(on(np.asfortranarray(x)), axis=1))
    np.testing.assert_array_equal(found, turned)


def test_no_more_kernels_than_partial_results_need():
    x = on(numbers(41, 3))
    with in_groups(), interpreting():
        assert len(kernels_of(tfr.sum(x, axis=0))) == 2
        assert len(kernels_of(tfr.softmax(x, axis=0))) == 1
        assert len(kernels_of(tfr.sum(on(numbers(41, 11)), axis=0))) == 1


def scanned_by_blocks(values, count):
    """The scan of a list of floats, and what its blocks add up to."""
    size = min(RUN, count)
    results, before = [], 0.0
    for first in range(0, len(values), count):
        block, inside = values[first : first + count], 0.0
        for at in range(0, len(block), size):
            part = list(accumulate(block[at : at + size]))
            results += [(before + inside) + one for one in part]
            inside += part[-1]
        before += inside
    return results, before


def scanned_in_order(values, lanes):
    if 2 * len(values) <= lanes:
        return list(accumulate(values))
    if len(values) <= SHORT:
        return scanned_by_blocks(values, min(FEW, lanes))[0]
    piece = EACH * lanes
    if len(values) <= max(2 * piece, SHORT):
        return scanned_by_blocks(values, lanes)[0]
    size = min(RUN, lanes)
    totals, results = [], []
    for first in range(0, len(values), piece):
        chunk = values[first : first + piece]
        before = scanned_by_blocks(totals, lanes)[0][-1] if totals else 0.0
        carried = 0.0
        for at in range(0, len(chunk), lanes):
            block, inside = chunk[at : at + lanes], 0.0
            for start in range(0, len(block), size):
                part = list(accumulate(block[start : start + size]))
                results += [((before + carried) + inside) + one for one in part]
                inside += part[-1]
            carried += inside
        totals.append(carried)
    return results


@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize("shape", [(3, -1), (7, -1), (-1, 3), (-1, 11), (-1,)], ids=str)
def test_a_scan_has_the_bits_of_its_length(shape, lanes):
    for length in (2, 7, 17, 75):
        x = numbers(*[length if size < 0 else size for size in shape])
        axis = shape.index(-1)
        found = result_of(tfr.cumulative_sum(on(x) * 2, axis=axis), lanes)
        wanted = np.apply_along_axis(lambda row: scanned_in_order(list(row), lanes), axis, 2 * x)
        np.testing.assert_array_equal(found, wanted, f"{length} elements")


@pytest.mark.parametrize("lanes", [4, 16, 32])
@pytest.mark.parametrize("shape", [(7, -1), (-1, 11)], ids=str)
def test_a_sum_of_what_is_scanned_is_added_so_too(shape, lanes):
    for length in (7, 33, 75):
        x = numbers(*[length if size < 0 else size for size in shape])
        axis = shape.index(-1)
        with in_groups(lanes), interpreting():
            scan = tfr.cumulative_sum(on(x), axis=axis)
            total, scanned = interpreted(tfr.sum(scan, axis=axis), scan)
        np.testing.assert_array_equal(total, expected(scanned, (axis,), lanes), f"{length}")


def test_without_float64_a_short_sum_has_slots_too():
    """One after the other, 100 numbers would be off by as many as 8 units in the last place."""
    x = (1 + np.random.default_rng(0).random((3, 30))).astype(np.float32)
    for array, axis in ((x, 1), (np.ascontiguousarray(x.T), 0)):
        with in_groups(64, widest=np.float32), interpreting():
            found = interpreted(tfr.sum(on(array), axis=axis))[0]
        np.testing.assert_array_equal(found, [by_slots(list(row), CLASS, np.float32) for row in x])


@pytest.mark.parametrize(("most", "known"), [(8, 3), (9, 2), (64, 2), (65, 1), (256, 1), (257, 0)])
def test_levels_with_one_part_are_no_loops(most, known):
    """Where a thread joins few chunks, which go to slots by runs of 8, compilers need not find out how few they are."""
    slots = Slots("chunk", 256, (ZERO, argument("chunks"), most), few=True)
    levels = [slots.joined([], Work(()))]
    while isinstance(levels[-1], Loop) and len(levels) < 3:
        levels.append(levels[-1].body[0])
    assert [isinstance(loop.stop, Literal) for loop in levels].count(True) == known
    assert [loop.stop.value for loop in levels[:known]] == [1] * known
