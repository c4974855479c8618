"""Windows on what is seen in several places: a small part of a stencil costs no more kernels than the whole."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.rewrite import window_merging
from tensorframe.rewrite.engine import Builder
from tensorframe.schedule.pipeline import transform
from tensorframe.schedule.plan import Plan, StepKind
from tests.backends.devices import FOUND

DEVICES = ["cpu", "numpy", "llvm", *FOUND]
CROP = (slice(200, 210), slice(300, 310))


def blurred(x):
    """Sums of 3 by 3 neighbours."""
    rows, columns = (size - 2 for size in x.shape)
    total = x[:rows, :columns]
    for index in range(1, 9):
        down, right = divmod(index, 3)
        total = total + x[down : down + rows, right : right + columns]
    return total


def planned(*tensors) -> Plan:
    plan = tfr.explain(*tensors)
    assert isinstance(plan, Plan)
    return plan


def written(plan: Plan) -> float:
    """The number of elements of four bytes that a plan's kernels write."""
    return sum(step.bytes_written for step in plan.steps if step.kind is StepKind.REGION) / 4


def integers(*shape, dtype=np.float32):
    return np.random.default_rng(3).integers(0, 9, shape).astype(dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("passes", [1, 2, 3])
def test_a_crop_of_a_stencil_takes_a_kernel_for_each_pass(device, passes):
    array = integers(500, 600)
    whole, tensor = array, tfr.asarray(array, device=device)
    for _ in range(passes):
        whole, tensor = blurred(whole), blurred(tensor)
    plan = planned(tensor[CROP])
    sides = [10 + 2 * more for more in range(passes)]
    assert plan.kernels == planned(tensor).kernels == passes
    assert written(plan) == sum(side**2 for side in sides)
    assert plan.flops == sum(8 * side**2 for side in sides)
    np.testing.assert_array_equal(tensor[CROP].numpy(), whole[CROP])


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_shown_of_a_stencil_takes_its_corners(device):
    tensor = blurred(blurred(tfr.asarray(integers(1000, 1000), device=device)))
    corners = [
        tensor[rows, columns]
        for rows in (slice(3), slice(-3, None))
        for columns in (slice(3), slice(-3, None))
    ]
    plan = planned(*corners)
    assert written(plan) == 4 * (5 * 5 + 3 * 3)


@pytest.mark.parametrize("device", DEVICES)
def test_few_cheap_ops_are_computed_again_where_that_saves_a_kernel(device):
    x = tfr.asarray(integers(100_000), device=device) + 1
    assert planned((x[1:] - x[:-1])[500:510]).kernels == 1
    costly = x
    for _ in range(3):
        costly = tfr.exp(costly * 0.125)
    assert planned((costly[1:] - costly[:-1])[500:510]).kernels == 2


@pytest.mark.parametrize("device", DEVICES)
def test_windows_far_apart_are_computed_apart(device):
    x = tfr.asarray(integers(1000, 1000), device=device)
    for _ in range(8):
        x = x * 0.5 + 1
    row_and_column = tfr.sum(x[500, :]) + tfr.sum(x[:, 500])
    assert planned(row_and_column).flops < 20 * 2000
    shown = [tfr.sum(x, axis=1)[rows] for rows in (slice(3), slice(-3, None))]
    assert planned(*shown).flops < 20 * 6000


@pytest.mark.parametrize("device", DEVICES)
def test_rows_that_are_shown_twice_are_added_up_once(device):
    x = tfr.asarray(integers(1000, 1000), device=device)
    rows = [tfr.sum(x * 2, axis=1)[at : at + 3] for at in (500, 501)]
    assert planned(rows[0] - rows[1]).flops == 2 * 4000 + 3


def test_interleaved_windows_are_joined():
    x = tfr.asarray(integers(100_000), device="numpy")
    for _ in range(8):
        x = x * 0.5 + 1
    thirds = [x[start : start + 3000 : 3] for start in range(3)]
    total = thirds[0] + thirds[1] + thirds[2]
    assert planned(total).flops == 16 * 3000 + 2 * 1000
    np.testing.assert_array_equal(
        total.numpy(), sum(x.numpy()[index : index + 3000 : 3] for index in range(3))
    )


def nodes_made(tensor: tfr.Tensor) -> int:
    """How many nodes the passes make for a tensor."""
    made = 0
    make = Builder.make

    def counted(self, *args):
        nonlocal made
        made += 1
        return make(self, *args)

    with patch.object(Builder, "make", counted):
        transform([tensor.node], "narrow")
    return made


def neighbours(x):
    """Five nodes, whose windows overlap."""
    return x[2:] + x[1:-1] + x[:-2]


def far_neighbours(x):
    """Windows that are too far apart to be joined, but for there being many."""
    return x[1040:] + x[:-1040]


def pieces(x):
    """Windows that go over the ends of pieces."""
    return tfr.concat([x[:6000], x[6000:] * x[:-6000], x[:6000]])


@pytest.mark.parametrize("level", [neighbours, far_neighbours, pieces])
def test_narrowing_is_linear_in_the_number_of_nodes(level):
    counts = []
    for levels in (500, 1000):
        x = tfr.asarray(integers(1 << 20))
        for _ in range(levels):
            x = level(x)
        counts.append(nodes_made(x[5995:6005]))
    short, long = counts
    assert long < 2.1 * short
    assert long < 100 * 1000


def test_windows_that_double_from_op_to_op_are_computed_as_a_whole():
    x = tfr.asarray(integers(1 << 20))
    for index in range(18):
        far = 3 << index
        x = x[far:] + x[:-far]
    assert nodes_made(x[:2]) < 18 * 500


STAGES = {
    "shift": lambda x, a, b: x[a : a + 20] + x[b : b + 20] * 2,
    "columns": lambda x, a, b: x[:, a : a + 12] - x[:, b : b + 12],
    "stride": lambda x, a, b: x[a::2][:10] + x[b::2][:10],
    "flip": lambda x, a, b: x[::-1] + x * a,
    "turn": lambda x, a, b: x[:12, :12] + x.T[:12, :12],
    "reshape": lambda x, a, b: x.reshape((2 * x.shape[0], x.shape[1] // 2)) + a,
    "total": lambda x, a, b: x - x.sum(axis=1, keepdims=True),
    "row": lambda x, a, b: x * 3 + x[a],
    "cell": lambda x, a, b: x[a : a + 1, b : b + 1] - x,
}


@st.composite
def programs(draw):
    """Draw stages that fit, one after the other, on 60 by 40 elements, and a window on what they give."""
    sizes = np.empty((60, 40), np.int8)
    stages = []
    for _ in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(sorted([*STAGES, "concat", "pad"])))
        stage = (name, draw(st.integers(0, 5)), draw(st.integers(0, 5)))
        try:
            found = run(stage, sizes, np)
        except (ValueError, IndexError):
            continue
        if min(found.shape) > 5 and found.size < 20_000:
            sizes = found
            stages.append(stage)
    keys = [draw(st.one_of(st.slices(min(size, 9)), st.slices(size))) for size in sizes.shape]
    return stages, tuple(keys)


def run(stage, x, namespace):
    name, a, b = stage
    if name == "concat":
        return namespace.concat([x[a : a + 8], x[b:], x[: a + 1]])
    if name == "pad":
        return namespace.pad(x, ((a, b), (1, 0)))
    return STAGES[name](x, a, b)


@given(
    programs(),
    st.sampled_from([0, 1, 1 << 10, 1 << 40]),
    st.sampled_from([0, 1 << 12, 1 << 40]),
    st.sampled_from([1, 2, 64]),
)
def test_values_are_those_of_the_whole(program, op, kernel, most):
    stages, keys = program
    array = integers(60, 40, dtype=np.int64)
    expected, tensor = array, tfr.asarray(array, device="numpy")
    for stage in stages:
        expected, tensor = run(stage, expected, np), run(stage, tensor, tfr)
    with (
        patch.multiple(window_merging, _OP=op, _KERNEL=kernel, _MOST=most),
        tfr.config.override(small_size=0, small_nodes=0, verify=True),
    ):
        shown = tensor[keys]
        np.testing.assert_array_equal(shown.numpy(), expected[keys])
