"""Assignments to what nothing refers to are told of; those to variables, attributes and parts of containers are not."""

import operator
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ChainedAssignmentWarning
from tensorframe.frontend.indexing.chained_assignment import TEMPORARY

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="variables are not counted as references"
)


def told(work, *operands):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work(*operands)
    assert {one.category for one in found} <= {ChainedAssignmentWarning}
    return found


def chained(x):
    x[0][1] = 5


def masked(x):
    x[x > 1][0] = 5


def turned(x):
    x.T[0] = 4


def added(x):
    x[0][1] += 5


def of_an_expression(x):
    (x + 1)[0] = 2


def of_a_function(x):
    tfr.reshape(x, (-1,))[0] = 2


def of_a_dict(x):
    {"a": x[0]}["a"][1] = 5


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize(
    "work",
    [
        chained,
        masked,
        turned,
        added,
        of_an_expression,
        of_a_function,
        of_a_dict,
    ],
)
def test_an_assignment_to_a_temporary_is_told_of_at_its_line(work, device):
    x = tfr.ones((3, 3), device=device) * 2
    before = x.numpy(copy=True)
    (warning,) = told(work, x)
    assert warning.filename == __file__
    assert warning.lineno == work.__code__.co_firstlineno + 1
    np.testing.assert_array_equal(x.numpy(), before)


def named(x):
    row = x[0]
    row[1] = 5


def direct(x):
    x[0, 1] = 5
    x[0] += 1
    x[x > 1] *= 2


def in_a_loop(x):
    for row in x:
        row[0] = 1


def in_containers(x):
    rows = [x[0], x[1]]
    rows[0][1] = 5
    by_key = {"a": x[0]}
    by_key["a"][1] = 5
    place = SimpleNamespace(x=x[0])
    place.x[0] = 1
    cells = np.empty(2, object)
    cells[0] = x[0]
    cells[0][1] = 5


def in_a_closure(x):
    def write():
        x[0] = 3

    write()


def in_a_comprehension(x):
    [operator.setitem(row, 0, 1) for row in x]


def by_name(x):
    operator.setitem(x, (0, 1), 5)
    x.__setitem__((0, 1), 5)


def set_first(row):
    operator.setitem(row, 0, 4)


class Proxy:
    def __init__(self, x):
        self.x = x

    def __setitem__(self, key, value):
        self.x.__setitem__(key, value)


def by_its_method(x):
    row = x[0]
    row.__setitem__(0, 1)
    type(row).__setitem__(row, 0, 2)
    Proxy(x[0])[0] = 3
    set_first(x[0])


def walrus(x):
    (row := x[0])[1] = 5
    del row


class Model:
    weight = tfr.ones(3)

    def __init__(self, x):
        self.x = x
        self.x[0] = 1
        self.weight[0] = 1


@pytest.mark.parametrize(
    "work",
    [
        named,
        direct,
        in_a_loop,
        in_containers,
        in_a_closure,
        in_a_comprehension,
        by_name,
        by_its_method,
        walrus,
        Model,
    ],
)
def test_an_assignment_to_what_something_refers_to_is_not_told_of(work):
    assert told(work, tfr.ones((3, 3)) * 2) == []


def test_a_global_is_not_told_of():
    names = {"x": tfr.ones((3, 3)), "tfr": tfr}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec("x[0] = 1; x[1, 1] += 2; y = x[0]; y[0] = 4", names)
        with pytest.raises(ChainedAssignmentWarning, match=r"tensor of shape \(3,\)"):
            exec("x[0][1] = 1", names)


def test_while_jit_records_it_is_told_of_as_well():
    @tfr.jit
    def step(x):
        x[0][1] = 5
        return x

    (warning,) = told(step, tfr.ones((3, 3)))
    assert warning.filename == __file__


def test_bad_assignments_still_raise():
    x = tfr.ones((3, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(tfr.errors.IndexingError):
            x[0][7] = 1


def test_the_interpreter_tells_temporaries():
    assert TEMPORARY > 0
