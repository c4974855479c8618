"""Text: what a tensor looks like, and that only what is shown is computed."""

from __future__ import annotations

import math
from contextlib import contextmanager

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import IndexingError, ScalarError
from tensorframe.runtime.execution.events import Moment, listen


@contextmanager
def counted():
    """Counts the elements that plans make, views aside."""
    made = []

    def note(event):
        if event.moment is Moment.STEP_FINISHED:
            step = event.plan.steps[event.step]
            if not step.is_view:
                made.extend(math.prod(event.plan.slots[slot].shape) for slot in step.outputs)

    with listen(note):
        yield made


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (tfr.asarray([1.0, 2.5], dtype="float32"), "Tensor([1. , 2.5], dtype=float32, device=cpu)"),
        (tfr.asarray(7), "Tensor(7, dtype=int64, device=cpu)"),
        (tfr.asarray([True]), "Tensor([ True], dtype=bool, device=cpu)"),
        (tfr.zeros((0, 3)), "Tensor([], shape=(0, 3), dtype=float32, device=cpu)"),
        (tfr.asarray([1.5], dtype="bfloat16"), "Tensor([1.5], dtype=bfloat16, device=cpu)"),
        (
            tfr.asarray([[1, 2], [3, 4]], device="numpy"),
            "Tensor([[1, 2],\n        [3, 4]], dtype=int64, device=numpy)",
        ),
    ],
)
def test_a_small_tensor_shows_all_elements(tensor, text):
    assert repr(tensor) == text


@pytest.mark.parametrize("shape", [(2000,), (40, 40), (2, 3, 500), (7, 200), (10, 9, 8, 7)])
def test_a_large_tensor_shows_what_numpy_shows(shape):
    array = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    shown = np.array2string(array + 1, separator=", ", prefix="Tensor(", suffix=",")
    for tensor in (tfr.asarray(array) + 1, (tfr.asarray(array) + 1).compute()):
        text = repr(tensor)
        assert text.startswith(f"Tensor({shown},")
        assert text.endswith(f"shape={shape}, dtype=float64, device=cpu)")
    assert str(tensor) == str(array + 1)


def test_many_axes_show_fewer_elements_each():
    text = repr(tfr.ones((9, 9, 9, 9, 9)) * 2)
    assert text.count("2.") == 4**5
    assert text.endswith("shape=(9, 9, 9, 9, 9), dtype=float32, device=cpu)")
    assert repr(tfr.ones((9,) * 7) * 2).count("2.") == 2**7


def test_print_options_of_numpy_are_followed():
    tensor = tfr.asarray(np.arange(20.0)) / 3
    with np.printoptions(precision=2, threshold=10, edgeitems=2):
        assert repr(tensor) == (
            "Tensor([0.  , 0.33, ..., 6.  , 6.33],\n       shape=(20,), dtype=float64, device=cpu)"
        )
    with np.printoptions(threshold=10, edgeitems=0):
        assert "..." in repr(tensor)


def test_no_line_is_longer_than_numpy_would_make_it():
    for size in range(1, 60):
        text = repr(tfr.asarray(np.arange(size)))
        assert max(map(len, text.splitlines())) <= np.get_printoptions()["linewidth"]


def test_a_billion_elements_print_without_being_computed():
    huge = tfr.sqrt(tfr.full((40_000, 25_000), 4.0) + 5)
    with counted() as made:
        text = repr(huge)
    assert "[3., 3., 3., ..., 3., 3., 3.]" in text
    assert "shape=(40000, 25000)" in text
    assert sum(made) < 1000
    assert not huge.is_computed


def test_printing_keeps_what_it_computed_in_full():
    small = tfr.asarray([1.0, 2.0]) + 1
    repr(small)
    assert small.is_computed


def test_format_is_that_of_the_number():
    assert f"{tfr.asarray(math.pi, dtype='float64'):.3f}" == "3.142"
    assert f"{tfr.asarray([42]):>5}" == "   42"
    assert f"{tfr.asarray([1, 2])}" == "[1 2]"
    with pytest.raises(ScalarError, match="formats one number"):
        format(tfr.asarray([1.0, 2.0]), ".3f")


def test_the_line_for_xarray_computes_nothing_and_keeps_to_its_width():
    tensor = tfr.ones(3) + 1
    assert tensor._repr_inline_(80) == "<Tensor: not computed, device=cpu>"
    assert len(tensor._repr_inline_(10)) == 10
    assert not tensor.is_computed
    assert tensor.compute()._repr_inline_(80) == "<Tensor: device=cpu>"


def test_what_takes_long_is_not_computed_unasked():
    factor = tfr.ones((20_000, 20_000)) + tfr.arange(20_000)
    slow = factor @ factor
    with counted() as made:
        text = repr(slow)
    assert text.startswith("Tensor(<not computed: ")
    assert text.endswith("shape=(20000, 20000), dtype=float32, device=cpu)")
    assert not made
    assert not slow.is_computed


def test_a_product_that_takes_no_time_is_shown_and_kept():
    factor = tfr.asarray(np.ones((50, 50)))
    quick = factor @ factor
    assert "[[50., 50., 50., ..., 50., 50., 50.]," in repr(quick)
    assert quick.is_computed


def test_repr_says_what_went_wrong_and_print_raises_it():
    wrong = tfr.asarray([1.0, 2.0])[tfr.asarray([5]) + 0]
    assert repr(wrong).startswith("Tensor(<IndexingError: ")
    with pytest.raises(IndexingError):
        str(wrong)
