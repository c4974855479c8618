"""Class numbers out of range are errors, whether they are known or computed; linear layers name sizes that differ."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, IndexingError, ShapeError
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND

TABLE = np.arange(8.0, dtype=np.float32).reshape(4, 2)


@pytest.mark.parametrize("number", [4, -1, 100])
def test_a_number_out_of_range_is_named(number):
    labels = tfr.asarray([[1, number]])
    match = rf"{number} at \(0, 1\) is out of range for 4 classes"
    with pytest.raises(IndexingError, match="embedding: input " + match):
        F.embedding(labels, TABLE)
    with pytest.raises(IndexingError, match="one_hot: tensor " + match):
        F.one_hot(labels, 4)


@pytest.mark.parametrize("device", ["cpu", "numpy", "llvm", *FOUND])
@pytest.mark.parametrize("number", [4, -1, -4])
def test_a_computed_number_out_of_range_is_an_error_when_it_runs(number, device):
    labels = tfr.asarray(np.asarray([1, number - 1], "int32"), device=device) + 1
    table = tfr.asarray(TABLE, device=device)
    with pytest.raises(IndexingError, match="out of bounds"):
        F.embedding(labels, table).numpy()
    with pytest.raises(IndexingError, match="out of bounds"):
        F.one_hot(labels, 4).numpy()


def test_small_unsigned_numbers_are_classes():
    labels = tfr.asarray(np.asarray([3, 0], "uint8"))
    assert F.embedding(labels, TABLE).tolist() == [[6.0, 7.0], [0.0, 1.0]]
    assert F.one_hot(labels, 300).numpy()[0].argmax() == 3


def test_what_is_no_class():
    with pytest.raises(DTypeError, match="embedding: input has integers, got float32"):
        F.embedding(tfr.ones(3), TABLE)
    with pytest.raises(DTypeError, match="got truth values"):
        F.one_hot(tfr.asarray([True]))
    with pytest.raises(ShapeError, match=r"weight has shape \(rows, features\)"):
        F.embedding(tfr.asarray([0]), tfr.ones(3))
    with pytest.raises(IndexingError, match="padding_idx 4 is out of range for 4 rows"):
        F.embedding(tfr.asarray([0]), TABLE, padding_idx=4)


def test_nothing_has_no_rows():
    assert F.embedding([], TABLE).shape == (0, 2)
    assert F.one_hot([], 3).shape == (0, 3)
    assert F.one_hot([]).shape == (0, 0)


def test_a_linear_layer_adds_its_bias_in_the_step_of_its_matmul():
    x, w, b = (tfr.asarray(np.ones(s, np.float32)) for s in ((300, 400), (500, 400), (500,)))
    plan = tfr.explain(F.linear(x, w, b))
    assert (plan.kernels, plan.library_calls) == (0, 1)


def test_linear_layers_name_sizes_that_differ():
    with pytest.raises(ShapeError, match=r"has 3 features, and weight of shape \(3, 4\) takes 4"):
        F.linear(tfr.ones((2, 3)), tfr.ones((3, 4)))
    with pytest.raises(ShapeError, match=r"linear: bias has shape \(4,\)"):
        F.linear(tfr.ones((2, 3)), tfr.ones((5, 3)), tfr.ones(4))
    with pytest.raises(ShapeError, match=r"bilinear: takes shapes"):
        F.bilinear(tfr.ones((2, 3)), tfr.ones((2, 4)), tfr.ones((5, 4, 3)))
