"""The NumPy engine walks memory in its order, whatever the order of the axes."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy.blocks import arrange

FLOAT = np.dtype("float32")


@pytest.fixture(autouse=True)
def small_blocks():
    """Plans whatever the size, and blocks so small that there are many."""
    with tfr.config.override(small_size=0, small_nodes=0, block_bytes=400) as options:
        yield options


def cube(seed=0):
    return np.random.default_rng(seed).random((20, 30, 40), np.float32)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_result_is_laid_out_as_its_operand(axes):
    array = cube().transpose(axes)
    got = (tfr.asarray(array, copy=False) * 2 + 1).numpy()
    want = array * 2 + 1
    np.testing.assert_array_equal(got, want)
    assert got.strides == want.strides


def test_most_operands_decide_on_the_layout():
    one, two, other = cube(), cube(1), cube(2).transpose(2, 1, 0)[:20, :, :20]
    arrays = [array[:, :, :20] for array in (one, two)]
    x, y, z = (tfr.asarray(array, copy=False) for array in (*arrays, other))
    got = (x * y + z).numpy()
    np.testing.assert_array_equal(got, arrays[0] * arrays[1] + other)
    assert got.flags.c_contiguous


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::-1, 1:-1, ::2] * 2 + x[:, 2:, :20],
        lambda x: x.T[:20, :, :] * 2 + x[:, :, :20] + x[:, :1, :20],
        lambda x: x[:, 0, :20].T * 2 + x[0, :20, :20] + x[0, 0, :20],
        lambda x: x[:, None] * 2 + x[:, :1, None],
    ],
    ids=["slices", "two layouts", "rank two", "axes of one element"],
)
def test_views_of_every_kind_are_combined(view):
    array = cube()
    np.testing.assert_array_equal(view(tfr.asarray(array)).numpy(), view(array))


def covered(operands):
    count = np.zeros(operands.shape, int)
    for index, shape in operands.blocks():
        assert count[index].shape == shape
        count[index] += 1
    return count


@pytest.mark.parametrize("length", [1, 7, 100, 10**6])
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (0, 2, 1)])
def test_blocks_cover_each_element_once(axes, length):
    inputs = [cube()[:, :20, :20], cube(1)[:, :20, :20].transpose(axes)]
    operands = arrange(inputs, [None], (20, 20, 20), [FLOAT], length)
    assert (covered(operands) == 1).all()
    largest = max(np.prod(shape) for _, shape in operands.blocks())
    assert largest <= length


def test_operands_in_one_piece_are_walked_as_one_axis():
    for array in (cube(), cube().T):
        operands = arrange([array, np.float32(2)], [None], array.shape, [FLOAT], 100)
        assert operands.shape == (array.size,)
        assert operands.results[0].strides == array.strides


def test_single_elements_do_not_keep_operands_apart():
    array = cube()
    operands = arrange([array, array[:1, :1, :1]], [None], array.shape, [FLOAT], 100)
    assert operands.shape == (array.size,)


def test_a_block_has_few_elements_along_axes_on_which_layouts_differ():
    square = np.ones((1000, 1000), np.float32)
    operands = arrange([square, square.T], [None], (1000, 1000), [FLOAT], 2**16)
    assert max(operands.block) < 1000
    alone = arrange([square, square[:1]], [None], (1000, 1000), [FLOAT], 2**16)
    assert alone.block == (65, 1000)


def test_memory_given_for_the_result_is_used():
    array, buffer = cube(), np.empty((20, 30, 40), np.float32)
    operands = arrange([array], [buffer], array.shape, [FLOAT], 100)
    assert operands.results[0] is buffer


def test_ranges_of_two_lengths_are_two():
    upper = tfr.triu(tfr.asarray(np.ones((3, 4))))
    assert upper.tolist() == [[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]]
