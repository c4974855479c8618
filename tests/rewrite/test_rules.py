"""Rewriting: simpler graphs, the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.verify import IllegalNodeError, verify
from tensorframe.ops.elementwise import ADD
from tensorframe.schedule.pipeline import transform
from tensorframe.schedule.plan import Plan
from tests.backends.devices import FOUND


@pytest.fixture
def x() -> tfr.Tensor:
    values = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, 1.5, -2.0]
    return tfr.asarray(np.asarray(values, np.float32))


def ops_after(tensor: tfr.Tensor, until: str) -> list[str]:
    nodes = reachable(transform([tensor.node], until))
    return [node.op.name for node in nodes if node.inputs]


def test_neutral_operands_vanish(x: tfr.Tensor) -> None:
    for same in (x * 1, 1 * x, x / 1, x - 0, x + -0.0, x**1, tfr.maximum(x, -tfr.inf)):
        assert ops_after(same, "simplify") == []
        np.testing.assert_array_equal(
            same.numpy().view(np.uint32)[~np.isnan(x.numpy())],
            x.numpy().view(np.uint32)[~np.isnan(x.numpy())],
        )


def test_what_only_looks_neutral_stays(x: tfr.Tensor) -> None:
    for other in (x + 0, 0 - x, 1 / x, x - -0.0, x * 1.0000001, tfr.minimum(x, -tfr.inf)):
        assert len(ops_after(other, "simplify")) == 1
    assert np.signbit((x + 0).numpy()).tolist()[:2] == [False, False]


def test_a_neutral_number_that_broadcasts_or_promotes_stays() -> None:
    one = tfr.ones(1)
    assert (tfr.asarray(2.0) * tfr.ones(3)).shape == (3,)
    assert (tfr.asarray([2]) * 1.0).dtype == tfr.float32
    assert (one * 1).numpy().tolist() == [1.0]


def test_inverse_pairs_cancel(x: tfr.Tensor) -> None:
    assert ops_after(-(-x), "simplify") == []
    assert ops_after(~~(x > 0), "simplify") == ["greater"]
    assert ops_after(tfr.permute_dims(tfr.ones((2, 3)), (1, 0)).T, "canonical") == ["expand"]


def test_views_in_a_row_are_one_view() -> None:
    y = tfr.reshape(tfr.asarray(np.arange(24)), (2, 3, 4))
    assert ops_after(tfr.reshape(tfr.reshape(y, (6, 4)), (4, 6)), "canonical") == ["reshape"]
    assert ops_after(y[1:, ::-1][:, 1:], "canonical") == ["reshape", "slice"]
    np.testing.assert_array_equal(y[1:, ::-1][:, 1:].numpy(), y.numpy()[1:, ::-1][:, 1:])


def test_a_view_of_one_number_is_that_number(x: tfr.Tensor) -> None:
    """So a product with it is none where it is 1."""
    ones = tfr.reshape(tfr.ones(24), (2, 3, 4))
    assert ops_after(ones[1:, ::-1].mT, "canonical") == ["expand"]
    assert ops_after(x * tfr.reshape(tfr.asarray(1.0), (1,)), "canonical") == ["multiply"]
    assert ops_after(x * tfr.reshape(tfr.ones(8), (2, 4))[1, 2], "simplify") == []
    sums = tfr.reshape(tfr.sum(x), (1, 1))
    assert ops_after(sums, "canonical") == ["sum", "expand"]
    assert np.isnan(sums.numpy()).tolist() == [[True]]


def test_lossless_casts_merge_and_lossy_ones_do_not(x: tfr.Tensor) -> None:
    there_and_back = tfr.astype(tfr.astype(x, tfr.float64), tfr.float32)
    assert ops_after(there_and_back, "canonical") == []
    through_half = tfr.astype(tfr.astype(x, tfr.float16), tfr.float32)
    assert ops_after(through_half, "canonical") == ["cast", "cast"]


def test_squares_need_no_power(x: tfr.Tensor) -> None:
    assert ops_after(x**2, "simplify") == ["square"]
    assert ops_after(x**3, "simplify") == ["pow"]


def test_order_of_commutative_operands_does_not_matter(x: tfr.Tensor) -> None:
    y = x * 3
    assert ops_after((x + y) - (y + x), "canonical") == ["multiply", "add", "subtract"]


def test_an_op_on_fills_runs_on_the_number() -> None:
    filled = tfr.exp(tfr.zeros((1000, 1000)) + 1)
    nodes = [node for node in reachable(transform([filled.node], "canonical")) if node.inputs]
    assert [(node.op.name, node.shape) for node in nodes] == [
        ("add", ()),
        ("exp", ()),
        ("expand", (1000, 1000)),
    ]


def test_an_integer_arange_is_narrowed_to_what_is_shown() -> None:
    plan = tfr.explain(tfr.arange(10_000_000)[5:10])
    assert "int64[10000000]" not in str(plan)
    assert tfr.arange(10_000_000)[5:10].tolist() == [5, 6, 7, 8, 9]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", ["cpu", "numpy", "llvm", *FOUND])
@pytest.mark.parametrize("key", [slice(5, 10), slice(None, None, 1_234_567), slice(40, 3, -9)])
def test_a_floating_arange_is_narrowed_and_rounds_as_the_whole_does(
    device: str, key: slice
) -> None:
    size = 10_000_000
    for make in (
        lambda: tfr.arange(0.1, 0.1 + 0.3 * (size - 0.5), 0.3, dtype=tfr.float32, device=device),
        lambda: tfr.linspace(-1, 1, size, dtype=tfr.float32, device=device),
    ):
        shown = make()[key] * 1
        assert f"[{size}]" not in str(tfr.explain(shown))
        np.testing.assert_array_equal(shown.numpy(), make().numpy()[key])


def test_of_what_is_joined_only_the_parts_that_are_seen_are_computed() -> None:
    parts = [tfr.arange(5_000_000) * index for index in range(1, 4)]
    joined = tfr.concat(parts)
    for key, most in ((slice(7_000_000, 7_000_005), 50), (slice(None, None, 1_000_000), 100)):
        plan = tfr.explain(joined[key])
        assert isinstance(plan, Plan)
        assert plan.flops < most
    expected = np.concatenate([np.arange(5_000_000) * index for index in range(1, 4)])
    for key in (
        slice(7_000_000, 7_000_005),
        slice(None, None, 999_999),
        slice(None, 3, -1_000_001),
    ):
        np.testing.assert_array_equal(joined[key].numpy(), expected[key])
    stacked = tfr.stack(parts, axis=1)
    np.testing.assert_array_equal(
        stacked[4_999_998:, ::-1].numpy(), np.stack(np.split(expected, 3), 1)[4_999_998:, ::-1]
    )


@pytest.mark.parametrize("seed", range(30))
def test_narrowing_changes_no_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random((30, 20, 10)), rng.random((20, 1))
    rows = slice(*sorted(rng.integers(0, 30, 2)), int(rng.integers(1, 4)))
    columns = slice(None, None, -int(rng.integers(1, 4)))
    x = tfr.asarray(a)
    y = (tfr.permute_dims(x, (2, 0, 1)) * tfr.asarray(b)[:, 0] + 1)[:, rows, columns]
    z = tfr.sum(y, axis=int(rng.integers(0, 3)), keepdims=bool(rng.integers(0, 2)))[:1]
    with tfr.config.override(rewrite=False, fuse=False, small_size=0):
        plain = tfr.asarray(a)
        want = (tfr.permute_dims(plain, (2, 0, 1)) * tfr.asarray(b)[:, 0] + 1)[:, rows, columns]
        want.compute()
    with tfr.config.override(small_size=0, verify=True):
        np.testing.assert_array_equal(y.numpy(), want.numpy())
        assert z.numpy().shape == z.shape


def test_an_illegal_node_is_found() -> None:
    x = tfr.ones(3).node
    wrong = Node(ADD, (x, x), (), (4,), x.dtype, x.device, None)
    with pytest.raises(IllegalNodeError, match=r"after pass 'test'.*the shape rule gives \(3,\)"):
        verify([wrong], after="test", core_only=False, placed=False)


def test_fills_of_either_zero_are_two() -> None:
    ones = tfr.ones((300, 300)) * 1
    minus = tfr.copysign(ones, tfr.full((300, 300), -0.0))
    plus = tfr.copysign(ones, tfr.full((300, 300), 0.0))
    assert (plus + 2 * minus).numpy()[0, 0] == -1
    for zero in (0.0, -0.0):
        padded = tfr.pad(ones, 1, constant_values=zero)
        assert bool(np.signbit(padded.numpy()[0, 0])) is bool(np.signbit(zero))


def test_what_differs_in_sign_alone_is_computed_once():
    x = tfr.asarray([0.5, -1.0, 2.0])
    text = str(tfr.explain(tfr.erf(x * 0.5), 1 + tfr.erf(-x * 0.5), until="simplify"))
    assert text.count("erf(") == 1
    assert "subtract(" in text
    assert "negative(" not in text


@pytest.mark.parametrize("name", ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "erf"])
@pytest.mark.parametrize("value", [0.0, -0.0, 0.25, -0.75])
def test_negation_moves_out_of_odd_functions_to_the_bit(name, value):
    x = tfr.asarray([value] * 5000)
    function = getattr(tfr, name)
    found = function(-x).numpy()
    assert np.array_equal(found, -function(x).numpy())
    assert np.array_equal(np.signbit(found), np.signbit(-function(x).numpy()))
