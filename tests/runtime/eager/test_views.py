"""Views of computed memory: they are computed without a plan, take no memory, and are as good as computed inputs."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.schedule import capture as captures
from tests.runtime.small_calls import PLANNED, frames, operands

pytestmark = pytest.mark.usefixtures("no_plans")


# parts of a computed tensor in host memory, and views of it
VIEWED = {
    "x[3]": (lambda x, m: x[3], 7),
    "m[-1]": (lambda x, m: m[-1], 7),
    "m[1, 2]": (lambda x, m: m[1, 2], 7),
    "x[1:-1]": (lambda x, m: x[1:-1], 20),
    "flip": (lambda x, m: tfr.flip(x), 17),
    "transpose": (lambda x, m: tfr.transpose(m), 16),
    "reshape": (lambda x, m: tfr.reshape(m, (-1,)), 25),
    "permute_dims": (lambda x, m: tfr.permute_dims(m, (1, 0)), 13),
    "diagonal": (lambda x, m: tfr.diagonal(m), 13),
}

# shapes that take a copy of views
SPREAD = {
    "repeat": (lambda x, m: tfr.repeat(x, 2), 18),
    "tile": (lambda x, m: tfr.tile(m, (2, 2)), 18),
    "transposed": (lambda x, m: tfr.reshape(m.T, (-1,)), 30),
}


@pytest.mark.parametrize("name", VIEWED)
def test_views_take_few_frames(name):
    function, most = VIEWED[name]
    matrix = tfr.asarray(np.arange(300.0).reshape(15, 20))
    vector = tfr.asarray(np.arange(300.0))
    assert frames(lambda: function(vector, matrix).compute()) <= most
    part = function(vector, matrix).numpy()
    assert not part.ndim or any(np.shares_memory(part, whole.numpy()) for whole in (vector, matrix))


@pytest.mark.parametrize("name", SPREAD)
def test_few_elements_under_shapes_that_no_view_has_are_copied_in_few_frames(name):
    function, most = SPREAD[name]
    vector, matrix = np.arange(12.0), np.arange(12.0).reshape(3, 4)
    x, m = tfr.asarray(vector), tfr.asarray(matrix)
    assert frames(lambda: function(x, m).compute()) <= most
    expected = {"repeat": vector.repeat(2), "tile": np.tile(matrix, (2, 2))}
    np.testing.assert_array_equal(
        function(x, m).numpy(), expected.get(name, matrix.T.reshape(-1)), strict=True
    )


def test_parts_of_what_is_computed_are_views_of_it_and_computed_together():
    matrix = tfr.asarray(np.arange(20_000.0).reshape(2, 10_000))
    for parts in (tfr.unstack(matrix), tfr.split(matrix, 2), tfr.hsplit(matrix, [3])):
        assert frames(lambda parts=parts: tfr.compute(*parts)) <= 6
        assert all(np.shares_memory(part.numpy(), matrix.numpy()) for part in parts)
    assert frames(lambda: tfr.unstack(matrix)) <= 14
    assert [part.shape for part in tfr.unstack(matrix, axis=1)[:2]] == [(2,), (2,)]
    assert not tfr.unstack(matrix + 1)[0].is_computed


def test_a_trace_is_recorded_in_few_frames():
    matrix = tfr.asarray(np.arange(9.0).reshape(3, 3))
    assert frames(lambda: tfr.trace(matrix)) <= 10
    assert tfr.trace(matrix).item() == 12


def test_a_part_of_what_is_computed_is_computed_and_no_part_of_anything_else():
    matrix = tfr.asarray(np.arange(6.0).reshape(2, 3))
    assert matrix[1].is_computed
    assert matrix[-1, 0].is_computed
    assert matrix[1:].is_computed
    pending = matrix + 1
    assert not pending[1].is_computed
    assert pending[1].tolist() == [4.0, 5.0, 6.0]
    with pytest.raises(tfr.errors.IndexingError):
        matrix[2]
    row = matrix[0]
    row[0] = 7
    assert matrix.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert row.tolist() == [7, 1, 2]


def test_views_of_computed_memory_are_as_good_as_computed_inputs(monkeypatch):
    """An op on slices and transposes is one call, and the views are computed on the way, which costs nothing."""
    x, _ = operands(10_000)
    matrix = tfr.asarray(np.arange(10_000.0, dtype=np.float32).reshape(100, 100))
    functions = [
        lambda: x[::2] + x[1::2],
        lambda: matrix.T + matrix,
        lambda: tfr.concat([x[3:], x[:3]]),
        lambda: tfr.sum(matrix[::-1].T, axis=0),
        lambda: x[1:] * 2.0,
    ]
    with tfr.config.override(**PLANNED, validate=True):  # slices are part of the plan
        expected = [function().numpy().tobytes() for function in functions]
    for _ in range(2):
        assert [function().numpy().tobytes() for function in functions] == expected
    walked = []
    walk = captures._walk
    monkeypatch.setattr(captures, "_walk", lambda *given: walked.append(1) or walk(*given))
    assert [function().numpy().tobytes() for function in functions] == expected
    assert not walked


def test_views_beside_what_is_pending_take_no_memory():
    """Those that are held are there before the plan, and look into the memory of what they are views of."""
    x, y = operands(100_000)
    view, wide = x[1:], tfr.broadcast_to(y[:1], (100_000,))
    (view + (y * 2)[1:]).compute()
    (x + wide).compute()
    assert np.shares_memory(view.node.storage.handle, x.node.storage.handle)
    assert not wide.is_computed or wide.node.storage.handle.strides == (0,)


def test_turned_rows_and_columns_are_recorded_in_two_frames_and_name_their_function():
    for function, turned in ((tfr.flipud, np.flipud), (tfr.fliplr, np.fliplr)):
        for shape in ((3, 4), (1, 1), (0, 2), (2, 3, 4)):
            array = np.arange(np.prod(shape)).reshape(shape)
            assert function(tfr.asarray(array)).tolist() == turned(array).tolist()
            assert function(array).tolist() == turned(array).tolist()
        matrix = tfr.ones((3, 4)).compute()
        assert frames(lambda function=function, matrix=matrix: function(matrix)) <= 3
        with pytest.raises(tfr.errors.AxisError, match=function.__name__):
            function(tfr.asarray(1.0))
