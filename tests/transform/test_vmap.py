"""vmap equals a loop over the examples: for every op row, and for every choice of operands that differ."""

from itertools import product

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.dtypes import FLOAT
from tensorframe.graph.op import Kind, find, rows
from tensorframe.testing.conformance.calls import CALLS, WITHOUT
from tensorframe.testing.conformance.operations import operand_sets
from tests.backends.devices import FOUND
from tests.transform.vmap_cases import (
    COUNT,
    MATRIX,
    STACK,
    VECTOR,
    check,
    definite,
    looped,
    numbers,
)

DTYPES = ("float32", "complex64", "int32", "bool")

# what is recorded by a function of its own, rather than one call of CALLS for a matrix or two
ELEMENTWISE = [op for op in rows(Kind.MAP) if op.public and op.name not in CALLS]

CASES = [
    (name, dtype)
    for name in CALLS
    if name not in WITHOUT
    for dtype in DTYPES
    if np.dtype(dtype) in find(name).accepts
]


@pytest.mark.parametrize(("name", "dtype"), CASES, ids="-".join)
def test_every_row_equals_a_loop(name, dtype):
    matrices = numbers((COUNT, 4, 6), dtype)
    check(CALLS[name], matrices, definite().astype(dtype))


@pytest.mark.parametrize("op", ELEMENTWISE, ids=str)
def test_every_elementwise_row_equals_a_loop(op):
    dtype = next(iter(sorted(op.accepts & FLOAT, key=str)), np.dtype("int64"))
    for operands in operand_sets(op, np.dtype("float32") if dtype in FLOAT else dtype):
        function = getattr(tfr, op.name)
        wide = [np.stack([operand, operand[::-1], operand]) for operand in operands]
        check(function, *wide)
        if len(operands) > 1:  # an operand of lower rank that differs beside one that does not
            lower = [*operands[:-1], wide[-1][:, 0]]
            check(function, *lower, axes=(None,) * (len(operands) - 1) + (0,))


def test_no_row_is_without_a_test():
    tested = {*CALLS, *(op.name for op in ELEMENTWISE)}
    private = {op.name for op in rows() if not op.public}
    missing = {op.name for op in rows()} - tested - private - WITHOUT
    assert not missing, "add a call of each to tensorframe/testing/conformance/calls.py"


PLACES = np.array([[0, -1, 2], [3, 3, 0], [1, 0, -4]])


def scattered(x, values, places):
    y = tfr.asarray(x, copy=True)
    y[places] = values
    return y


def scattered_inside(x, values, places):
    y = tfr.asarray(x, copy=True)
    y[:, places] = values
    return y


SEVERAL = {
    "vector @ matrix": (tfr.matmul, VECTOR, MATRIX),
    "matrix @ vector": (tfr.matmul, MATRIX, VECTOR),
    "vector @ vector": (tfr.matmul, VECTOR, VECTOR),
    "matrix @ column": (tfr.matmul, MATRIX, VECTOR[:, :, None]),
    "row @ matrix": (tfr.matmul, VECTOR[:, None, :], MATRIX),
    "stack @ matrix": (tfr.matmul, STACK, MATRIX),
    "matrix @ stack": (tfr.matmul, MATRIX, STACK),
    "stack @ vector": (tfr.matmul, STACK, VECTOR),
    "vector @ stack": (tfr.matmul, VECTOR, STACK),
    "einsum": (lambda x, y: tfr.einsum("ij,jk->ki", x, y), MATRIX, MATRIX),
    "einsum of a diagonal": (lambda x, y: tfr.einsum("ii,i->", x, y), MATRIX, VECTOR),
    "solve for a vector": (tfr.linalg.solve, definite(), VECTOR),
    "solve for columns": (tfr.linalg.solve, definite(), MATRIX),
    "solve for stacks": (tfr.linalg.solve, definite(), STACK),
    "lstsq": (lambda a, b: tuple(tfr.linalg.lstsq(a, b)), definite(), VECTOR),
    "gather": (lambda x, i: x[i], MATRIX, PLACES),
    "gather columns": (lambda x, i: x[:, i], MATRIX, PLACES),
    "gather pairs": (lambda x, i, j: x[i, j], MATRIX, PLACES, PLACES),
    "gather apart": (lambda x, i, j: x[i, :, j], STACK % 2, PLACES % 2, PLACES),
    "gather by tables": (lambda x, i, j: x[i[:, None], j], MATRIX, PLACES, PLACES),
    "gather one": (lambda x, i: x[i], VECTOR, PLACES[:, 0]),
    "take_along_axis": (
        lambda x, i: tfr.take_along_axis(x, i[:, None], axis=0),
        MATRIX,
        PLACES,
    ),
    "scatter": (scattered, MATRIX, MATRIX[:, :3], PLACES),
    "scatter columns": (scattered_inside, MATRIX, MATRIX[:, :, :3], PLACES),
    "scatter one number": (lambda x, i: scattered(x, 9, i), VECTOR, PLACES),
    "index_add": (lambda x, v, i: tfr.index_add(x, i, v), MATRIX, MATRIX[:, :3], PLACES),
    "index_add in columns": (
        lambda x, v, i: tfr.index_add(x, (slice(None), i), v),
        MATRIX,
        MATRIX[:, :, :3],
        PLACES,
    ),
    "segment_max": (lambda x, i: tfr.segment_max(x, i, 4), MATRIX[:, :3], PLACES),
    "concat": (lambda x, y: tfr.concat([x, y, x], axis=1), MATRIX, MATRIX),
    "set a slice": (lambda x, y: scattered(x, y, slice(1, 3)), MATRIX, VECTOR),
    "where": (lambda x, y, z: tfr.where(x > 0, y, z), VECTOR, MATRIX, STACK),
    "searchsorted": (lambda x, y: tfr.searchsorted(tfr.sort(x), y), VECTOR, MATRIX),
    "interp": (lambda x, f: tfr.interp(x, tfr.arange(f.shape[0]), f), MATRIX, VECTOR),
    "convolution": (
        lambda x, w: tfr.nn.functional.conv1d(x, w, padding=1),
        STACK,
        STACK[:, :, :, :3],
    ),
    "convolution in groups": (
        lambda x, w: tfr.nn.functional.conv1d(x[None], w[:, :2, :3], groups=2),
        MATRIX,
        STACK,
    ),
    "convolve": (tfr.convolve, VECTOR, VECTOR[:, :2]),
    "quantile": (lambda x, q: tfr.quantile(x, abs(q) / 4), MATRIX, VECTOR),
    "histogram": (
        lambda x, w: tfr.histogram(x, bins=3, range=(-4, 4), weights=w)[0],
        VECTOR,
        VECTOR,
    ),
    "mean and variance": (lambda x, y: (tfr.mean(x * y), tfr.var(x + y, axis=0)), MATRIX, VECTOR),
    "softmax": (lambda x, y: tfr.softmax(x + y, axis=0), MATRIX, VECTOR),
    "clip": (lambda x, y: tfr.clip(x, -1, y), MATRIX, VECTOR),
    "a function of the user's": (tfr.elementwise(lambda x, y: x * y + 1), MATRIX, VECTOR),
    "a loop": (lambda x, y: sum([x * y for _ in range(3)], x), MATRIX, VECTOR),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_any_choice_of_operands_may_differ(name):
    function, *operands = SEVERAL[name]
    for axes in product((0, None), repeat=len(operands)):
        if axes == (None,) * len(operands):
            continue
        given = [
            operand if axis == 0 else operand[0]
            for operand, axis in zip(operands, axes, strict=True)
        ]
        check(function, *given, axes=axes)


@pytest.mark.parametrize("device", FOUND)
def test_devices_run_what_is_mapped(device):
    x = tfr.asarray(numbers((COUNT, 4, 6)), device=device)
    places = tfr.asarray(PLACES.astype("int32"), device=device)

    def function(x, i):
        return tfr.softmax(x @ x.T)[i].sum(), tfr.index_add(x, i, 1.0)

    found = tfr.vmap(function)(x, places)
    assert {str(one.device) for one in found} == {device}
    for one, wanted in zip(found, looped(function, (0, 0), x, places), strict=True):
        np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-5)
