"""Programs that random graphs once found wrong, by the rule that was broken."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.testing.compare import assert_close


@pytest.fixture(autouse=True)
def small_blocks():
    """Plans whatever the size, and blocks so small that there are several."""
    with tfr.config.override(small_size=0, small_nodes=0, block_bytes=64) as options:
        yield options


def test_an_output_does_not_take_over_an_operand_that_a_later_op_of_the_region_reads():
    array = np.arange(36.0, dtype=np.float32).reshape(6, 6) / 2
    x = tfr.concat([tfr.asarray(array), tfr.asarray(array)])
    whole = tfr.floor(x)
    is_whole = tfr.equal(x, whole)
    del x
    tfr.compute(whole, is_whole)
    assert_close(whole, np.floor(np.concat([array, array])))
    assert_close(is_whole, np.concat([array, array]) % 1 == 0)


@pytest.mark.parametrize("reduce", [tfr.sum, tfr.max, tfr.any])
def test_nothing_of_an_axis_that_was_combined_and_kept(reduce):
    total = reduce(tfr.asarray(np.ones((4, 3))), axis=0, keepdims=True)
    assert total[:0].numpy().shape == (0, 3)
    assert total[:0, ::-1].numpy().shape == (0, 3)
    assert total[:, :0].numpy().shape == (1, 0)


def test_a_plan_of_a_range_counts_to_its_own_length():
    for size in (1, 2, 3):
        array = np.ones((size, size))
        assert_close(tfr.tril(tfr.asarray(array)), np.tril(array))


def test_a_number_beside_a_condition_from_another_device_is_at_home_everywhere():
    array = np.array([-2.0, 0.5], np.float32)
    condition = tfr.asarray(array > 0, device="numpy")
    with tfr.config.override(verify=True):
        assert tfr.where(condition, 1.0, tfr.asarray(array)).numpy().tolist() == [-2.0, 1.0]


def test_an_empty_stack_times_a_matrix_is_empty() -> None:
    product = tfr.zeros((1, 3, 0)) @ tfr.zeros((0, 2))
    assert product.numpy().tolist() == [[[0.0, 0.0]] * 3]
