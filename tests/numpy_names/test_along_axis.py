"""Functions along an axis: those of ours are called once for all lines, with the bits of a call for each."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.frontend.numpy_names import along

VALUES = np.random.default_rng(3).random((7, 5), dtype=np.float32)
FUNCTIONS = ["sum", "mean", "std", "median", "sort", "cumsum", "argmax", "ptp", "flip", "diff"]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_ours_has_the_bits_of_a_call_for_each_line(name, axis):
    function = getattr(tfr, name)
    x = tfr.asarray(VALUES)
    together = tfr.apply_along_axis(function, axis, x)
    each = tfr.stack(
        [function(line) for line in (x if axis else x.T)], axis=(1 - axis) * (together.ndim - 1)
    )
    assert together.numpy().tobytes() == each.numpy().tobytes()
    expected = np.apply_along_axis(getattr(np, name), axis, VALUES)
    np.testing.assert_allclose(together.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_it_is_recorded_in_one_call(monkeypatch):
    calls = []
    recorded = along.vmap

    def counted(function):
        return recorded(lambda line: calls.append(line.shape) or function(line))

    monkeypatch.setattr(along, "vmap", counted)
    result = tfr.apply_along_axis(tfr.var, 1, tfr.asarray(VALUES), ddof=1)
    assert calls == [(5,)]
    np.testing.assert_allclose(result.numpy(), VALUES.var(axis=1, ddof=1), rtol=1e-5)


def test_functions_of_others_are_called_for_each_line():
    seen = []
    tfr.apply_along_axis(lambda line: seen.append(line.shape) or line[0], 0, tfr.asarray(VALUES))
    assert seen == [(7,)] * 5


def test_what_cannot_be_done_for_all_lines_at_once_is_done_for_each():
    tfr.random.seed(1)
    mixed = tfr.apply_along_axis(
        tfr.random.permutation, 1, tfr.asarray(np.tile(np.arange(50), (4, 1)))
    )
    assert sorted(mixed[0].tolist()) == list(range(50))
    assert len({tuple(row) for row in mixed.tolist()}) == 4
    counted = tfr.apply_along_axis(tfr.bincount, 1, tfr.asarray([[0, 1, 1, 2], [2, 2, 0, 0]]))
    assert counted.tolist() == [[1, 2, 1], [2, 0, 2]]


def test_errors_are_those_of_a_call():
    with pytest.raises(tfr.errors.TensorFrameError, match="percentile"):
        tfr.apply_along_axis(tfr.percentile, 1, tfr.asarray(VALUES), 101)


def test_compiled_functions_of_others_are_called_line_by_line():
    result = tfr.apply_along_axis(np.maximum.reduce, 1, tfr.asarray(VALUES))
    np.testing.assert_array_equal(result.numpy(), VALUES.max(axis=1))


def test_what_users_wrote_is_called_for_each_line_behind_objects_of_ours_too():
    seen = []

    class Noting(tfr.nn.Module):
        def forward(self, x):
            seen.append(x.shape)
            return x * 2

    result = tfr.apply_along_axis(tfr.nn.Sequential(Noting()), 1, tfr.asarray(VALUES))
    np.testing.assert_array_equal(result.numpy(), VALUES * 2)
    assert seen == [VALUES.shape[1:]] * len(VALUES)
