"""Elementwise rows on WebGPU give what NumPy gives: all rows on a dtype of each kind, casts of all."""

from typing import Any, cast

import numpy as np
import pytest

from tensorframe import dtypes
from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.registry import backend_of
from tensorframe.graph.device import Device
from tensorframe.graph.region import Region, RegionOp
from tensorframe.testing.compare import assert_close
from tests.backends.webgpu import DEVICE, DEVICES, needs_adapter
from tests.kernel import test_every_row as every_row

pytestmark = needs_adapter

# one dtype for each way in which elements are held and computed
KINDS = {"float32", "float64", "float16", "int8", "uint16", "int64"}
# software takes up to half a minute to compile these for one dtype: the others of theirs run on OpenCL
LONG = {"digamma", "polygamma", "riemann_zeta", "zeta"}


def kinds_of(op: Any) -> set[str]:
    """The dtypes on which a row is tried."""
    return {"float32"} if op.name in LONG else KINDS


CASES: list[Any] = [  # pytest's parameters: an op and a dtype
    one
    for one in cast("list[Any]", every_row.CASES)
    if one.values[0].attributes or str(one.values[1]) in kinds_of(one.values[0])
]


@pytest.fixture(scope="module")
def backend():
    return backend_of(Device(DEVICE))


@pytest.mark.sweep(8)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("op", "dtype"), CASES)
@pytest.mark.parametrize("device", DEVICES)
def test_a_row(op, dtype, device, backend):
    place = Device(device)
    columns = every_row.operands_of(op, dtype)
    for attrs in every_row.attributes(op):
        operands, result = every_row.signature(op, dtype, attrs)
        if not backend.supports(op, operands, result, place):
            continue
        inputs = every_row.within(columns, dtype, result)
        expected = np.asarray(implementation[op](*inputs, *attrs))
        found = run(backend, place, op, attrs, inputs, result)
        near = every_row.beside_one(op, result)
        name = f"{op.name} {dtype} {attrs}"
        assert_close(found, expected, ulp=every_row.allowed(op, result), atol=near, name=name)
        if result in dtypes.FLOAT and op.name not in every_row.EITHER_ZERO:
            zero = (expected == 0) & (found == 0)
            assert np.array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


def run(backend, device, op, attrs, inputs, result):
    """What the device computes of columns of operands."""
    one = RegionOp(op, attrs, tuple(range(len(inputs))), inputs[0].shape, result)
    region = Region(tuple([(x.shape, x.dtype) for x in inputs]), (one,), (len(inputs),))
    handles = [backend.upload(device, x).handle for x in inputs]
    (found,) = backend.compile(region, device)(handles, (None,))
    return backend.download(backend.wrap(device, found))
