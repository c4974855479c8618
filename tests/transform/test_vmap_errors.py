"""What vmap refuses: the errors name the argument, and nothing outside has changed."""

import pytest

import tensorframe as tfr
from tensorframe.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    IndexingError,
    ShapeError,
    TracingError,
)
from tests.transform.vmap_cases import COUNT, VECTOR


def test_values_of_examples_are_not_known():
    def branches(x, y):
        return x if y.sum() > 0 else -x

    with pytest.raises(
        TracingError, match=r"branches: values that depend on the argument y differ"
    ):
        tfr.vmap(branches)(tfr.asarray(VECTOR), tfr.asarray(VECTOR))
    with pytest.raises(TracingError, match=r"argument p\['w'\]"):
        tfr.vmap(lambda p: p["w"] * float(p["w"].sum()))({"w": tfr.asarray(VECTOR)})


def test_draws_that_all_examples_would_share():
    for draw in (
        lambda x: x + tfr.random.uniform(3),
        lambda x: x + tfr.random.default_rng().random(3),
    ):
        with pytest.raises(TracingError, match="would be the same for all examples"):
            tfr.vmap(draw)(tfr.ones(COUNT))


def test_tensors_from_outside_keep_their_values():
    outside = tfr.zeros(4)

    def adds(x):
        outside[:] = outside + x
        return x

    def fails(x):
        outside[:] = outside + x
        raise ZeroDivisionError

    with pytest.raises(TracingError, match="changes a tensor that is not among its arguments"):
        tfr.vmap(adds)(tfr.asarray(VECTOR))
    with pytest.raises(ZeroDivisionError):
        tfr.vmap(fails)(tfr.asarray(VECTOR))
    assert outside.tolist() == [0.0] * 4


def both(x, y):
    return x + y


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (
            ShapeError,
            "the argument x has 3 examples, y has 2",
            lambda: tfr.vmap(both)(tfr.ones(3), tfr.ones(2)),
        ),
        (
            AxisError,
            r"the argument y has shape \(3,\), and no axis 1",
            lambda: tfr.vmap(both, in_axes=(0, 1))(tfr.ones(3), tfr.ones(3)),
        ),
        (AxisError, "the argument y has no axes", lambda: tfr.vmap(both)(tfr.ones(3), 2.0)),
        (
            AxisError,
            r"argument x\.value has no axes(.|\n)*tfr\.random\.split\(x, n\)",
            lambda: tfr.vmap(both)(tfr.random.key(0), tfr.ones(3)),
        ),
        (
            AxisError,
            r"argument x\[0\] has no axes(.|\n)*tfr\.asarray\(\.\.\.\) of a list",
            lambda: tfr.vmap(both)([1.0, 2.0], tfr.ones(2)),
        ),
        (
            ArgumentError,
            "in_axes has 1 entries for 2 positional arguments",
            lambda: tfr.vmap(both, in_axes=(0,))(tfr.ones(3), 1.0),
        ),
        (
            ArgumentError,
            "no argument with an axis",
            lambda: tfr.vmap(both, in_axes=None)(tfr.ones(3), 1.0),
        ),
        (
            ArgumentError,
            "in_axes consists of integers and None, got 0.5 for x",
            lambda: tfr.vmap(both, in_axes=0.5)(tfr.ones(3), 1.0),
        ),
        (
            ArgumentError,
            "in_axes is a tree that x is not like",
            lambda: tfr.vmap(both, in_axes=([0, 0], None))([tfr.ones(3)], 1.0),
        ),
        (
            ArgumentError,
            "out_axes=None for result, which differs",
            lambda: tfr.vmap(both, out_axes=None)(tfr.ones(3), tfr.ones(3)),
        ),
        (
            AxisError,
            "result of all examples has 1 axes, and no axis 1",
            lambda: tfr.vmap(both, out_axes=1)(tfr.ones(3), tfr.ones(3)),
        ),
        (DTypeError, "vmap: takes a function, got int", lambda: tfr.vmap(3)),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_errors_name_the_argument(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_an_index_out_of_bounds_is_found():
    mapped = tfr.vmap(lambda x, i: x[i])(tfr.asarray(VECTOR), tfr.asarray([0, 1, 4]) + 0)
    with pytest.raises(IndexingError, match="index 4 is out of bounds"):
        mapped.compute()
