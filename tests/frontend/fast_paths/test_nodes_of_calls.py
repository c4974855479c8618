"""What a call records: few nodes, since each costs as much as a kernel of some thousand elements."""

import gc
import warnings

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import reachable

NAMES = {
    "x": np.arange(20_000, dtype=np.float32),
    "m": np.arange(20_000, dtype=np.float32).reshape(100, 200),
    "z": np.arange(20_000) * (1 - 1j),
}

# the most nodes, kernels and library calls; views cost no kernel
CALLS = [
    ("tfr.nanmax(x)", 1, 1, 0),
    ("tfr.nanmin(m, axis=0)", 1, 1, 0),
    ("tfr.ptp(x)", 1, 1, 0),
    ("tfr.linalg.norm(x)", 1, 1, 0),
    ("tfr.linalg.vector_norm(z)", 1, 1, 0),
    ("tfr.linalg.matrix_norm(m)", 1, 1, 0),
    ("tfr.dot(x, x)", 1, 0, 1),
    ("tfr.inner(x, x)", 1, 0, 1),
    ("tfr.vdot(x, x)", 1, 0, 1),
    ("tfr.vecdot(x, x)", 1, 0, 1),
    ("tfr.einsum('i,i->', x, x)", 1, 0, 1),
    ("tfr.trace(m)", 3, 1, 0),
    ("tfr.diag(m)", 2, 0, 0),
    ("tfr.flip(x)", 1, 0, 0),
    ("x[1:-1]", 1, 0, 0),
    ("m[3, 2:]", 2, 0, 0),
    ("tfr.vstack((x, x))", 2, 1, 0),
    ("tfr.stack((x, x))", 2, 1, 0),
    ("tfr.stack((m, m))", 2, 1, 0),
    ("tfr.diff(x)", 3, 1, 0),
    ("tfr.pad(x, 3, mode='reflect')", 3, 1, 0),
    ("tfr.pad(x, 3, mode='wrap')", 3, 1, 0),
    ("tfr.pad(x, 3, mode='edge')", 5, 1, 0),
    ("tfr.insert(x, 5, 1.0)", 4, 1, 0),
    ("tfr.delete(x, 5)", 3, 1, 0),
    ("tfr.real(x)", 0, 0, 0),
]


@pytest.mark.parametrize(("call", "nodes", "kernels", "library_calls"), CALLS)
def test_a_call_is_few_nodes_and_one_kernel(call, nodes, kernels, library_calls):
    given = {name: tfr.asarray(value).compute() for name, value in NAMES.items()}
    result = eval(call, {"tfr": tfr, **given})
    recorded = [node for node in reachable([result.node]) if node.inputs]
    assert len(recorded) <= nodes
    plan = tfr.explain(result)
    assert plan.kernels <= kernels
    assert plan.library_calls <= library_calls


@pytest.mark.parametrize("call", [tfr.eye, tfr.tri])
def test_rows_and_columns_of_a_square_matrix_are_counted_by_one_range(call):
    ranges = [node for node in reachable([call(5).node]) if node.op.name == "arange"]
    assert len(ranges) == 1
    assert len([node for node in reachable([call(5, 6).node]) if node.op.name == "arange"]) == 2


@pytest.mark.parametrize("device", ["cpu", "numpy", "llvm"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16"])
def test_numbers_beside_nan_have_extremes(device, dtype):
    values = np.array([[1, 5, 2], [4, 0, 3], [7, 7, 7]], dtype=dtype)
    if dtype != "int16":
        values[0, 1] = values[1, :] = np.nan
        values[2, 0] = -np.inf
    x = tfr.asarray(values, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of rows of NaN
        for axis in (0, 1, None):
            for ours, theirs in ((tfr.nanmax, np.nanmax), (tfr.nanmin, np.nanmin)):
                found = ours(x, axis=axis)
                assert found.dtype == dtype
                np.testing.assert_array_equal(found.numpy(), theirs(values, axis=axis))


@pytest.mark.parametrize(
    "record",
    [lambda x, y: x + y, lambda x, _: 2.5 - x, lambda x, _: tfr.sin(x)],
    ids=["x + y", "2.5 - x", "sin(x)"],
)
def test_recording_leaves_few_objects_to_the_collector_of_cycles(record):
    # of a node: itself and its inputs; the time of recording goes to the collector by half
    x = y = tfr.asarray(np.ones((3, 3), np.float32)) + 1
    record(x, y)  # numbers are recorded once
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        results = [record(x, y) for _ in range(100)]
        objects = len(gc.get_objects()) - before
    finally:
        gc.enable()
    handles = len(results)
    assert objects - handles < 2.2 * 100


def test_the_line_of_a_node_is_one_object_however_often_it_is_asked_for():
    node = (tfr.ones(3) + 1).node
    site = node.site
    assert site[0] is test_the_line_of_a_node_is_one_object_however_often_it_is_asked_for.__code__
    assert node.site is site
