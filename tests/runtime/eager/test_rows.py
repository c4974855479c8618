"""Rows of computed tensors: nodes that are filled in when they are asked for anything."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import Node
from tensorframe.runtime.eager.rows import UnseenRow, _Row

# `offset` is of nodes that were recorded, and says nothing without `code`
_OTHERS = ("__weakref__", "converted", "offset")
_ASKED = [*[name for name in Node.__slots__ if name not in _OTHERS], "site"]


@pytest.fixture
def matrix():
    return tfr.asarray(np.arange(12.0, dtype=np.float32).reshape(3, 4))


@pytest.mark.parametrize("name", _ASKED)
def test_whatever_is_asked_for_first_is_that_of_a_view(matrix, name):
    row, view = tfr.unstack(matrix)[1].node, matrix[1].node
    assert type(row) is UnseenRow
    if name == "serial":
        assert row.serial < view.serial
    elif name == "storage":
        np.testing.assert_array_equal(row.storage.handle, view.storage.handle)
    else:
        assert getattr(row, name) == getattr(view, name)
    if name != "serial":  # it has one from the start
        assert type(row) is Node
    assert row.size == 4
    assert type(row) is Node
    assert not hasattr(row, "anything_else")


def test_a_row_that_somebody_else_is_filling_in_has_all_of_it(matrix):
    row = tfr.unstack(matrix)[2].node
    row.__class__ = _Row
    row.shape = (4,)
    assert row.shape == (4,)
    assert row.storage.handle.tolist() == [8, 9, 10, 11]
    assert type(row) is Node


def test_a_thread_that_comes_late_finds_a_row_that_was_converted_meanwhile(matrix):
    part = tfr.unstack(matrix)[2]
    row = part.node
    ask = UnseenRow.device.fget  # what a thread is in, when another one gets its turn
    total = part + tfr.ones(4, dtype="float64")
    assert ask(row) is matrix.node.device
    assert total.tolist() == [9, 10, 11, 12]
    assert type(row) is Node


def test_rows_are_older_than_what_is_made_of_them_and_no_two_are_of_one_age(matrix):
    rows = [part.node for part in tfr.unstack(matrix, axis=1)]
    later = tfr.unstack(matrix)[0].node
    assert len({row.serial for row in rows}) == len(rows)
    assert max(row.serial for row in rows) < later.serial


def test_to_compute_unseen_rows_makes_none_of_them(matrix):
    parts = tfr.unstack(matrix)
    assert tfr.compute(*parts) == parts
    assert all(type(part.node) is UnseenRow for part in parts)


def test_rows_without_axes_are_tensors_and_stay_what_they_were():
    vector = tfr.arange(3, dtype="int64").compute()
    parts = tfr.unstack(vector)
    vector[:] = 7
    assert [part.item() for part in parts] == [0, 1, 2]
    assert [part.shape for part in parts] == [(), (), ()]
    assert tfr.unstack(tfr.zeros((0, 2)).compute()) == ()


def test_a_jitted_function_reads_a_row_from_outside_that_nobody_has_seen(matrix):
    row = tfr.unstack(matrix)[1]

    @tfr.jit
    def doubled(x):
        return x * row

    assert doubled(matrix).tolist() == (matrix.numpy() * matrix.numpy()[1]).tolist()


def test_what_is_recorded_of_rows_is_what_is_recorded_of_views(matrix):
    first, second, _ = tfr.unstack(matrix)
    total = first + second * 2
    assert total.tolist() == (matrix[0] + matrix[1] * 2).tolist()
    first += 1  # rebinds the handle alone
    assert matrix[0].tolist() == [0, 1, 2, 3]
