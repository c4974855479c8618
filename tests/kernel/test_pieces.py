"""Results put together of pieces: pad, concat and set_slice inside kernels, and what is made of them."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.codegen.python import print_kernel
from tensorframe.kernel.forms import builder, reductions
from tensorframe.kernel.forms import tiles as tiling
from tensorframe.kernel.ir import Apply, Loop
from tensorframe.kernel.ir.walk import expressions
from tensorframe.kernel.spaces.pieces import span
from tensorframe.machine import HOST
from tests.kernel.interpreted import interpreted, kernels_of

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"]


def array(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape) * 4
    return (values > 0) if dtype == "bool" else values.astype(dtype)


def on_llvm(values):
    return tfr.asarray(values, device="llvm")


def with_slice(x, key, values):
    """What `x[key] = values` leaves, as a tensor of its own."""
    result = tfr.Tensor(x.node)
    result[key] = values
    return result


def doubled(x):
    """An elementwise op that keeps the dtype."""
    return x | x if x.dtype == np.bool_ else x + x


def check(tensor, expected):
    """One kernel gives these values, interpreted and compiled."""
    plan = tfr.explain(tensor)
    assert plan.kernels == 1, plan
    (found,) = interpreted(tensor)
    for got in (found, tensor.numpy()):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_pad_in_the_loops_of_its_consumer_and_its_operand(dtype):
    x = array(5, 7, dtype=dtype)
    fill = x.dtype.type(1)
    padded = np.pad(doubled(x), ((1, 2), (0, 3)), constant_values=fill)
    tensor = tfr.pad(doubled(on_llvm(x)), ((1, 2), (0, 3)), constant_values=fill.item())
    check(doubled(tensor), doubled(padded))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_concat_of_computed_parts(dtype, axis):
    shapes = [[4, 5], [4, 5], [4, 5]]
    shapes[1][axis] = 1
    shapes[2][axis] = 3
    parts = [array(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]
    tensor = tfr.concat([doubled(on_llvm(part)) for part in parts], axis=axis)
    check(tensor, np.concatenate([doubled(part) for part in parts], axis))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "key",
    [
        np.s_[1:-1, 1:-1],
        np.s_[:, 2:],
        np.s_[::-1, 1:],
        np.s_[-1:0:-1, ::-1],
        np.s_[:],
    ],
)
def test_a_slice_that_is_set_to_computed_values(dtype, key):
    x, values = array(6, 5, dtype=dtype), array(6, 5, dtype=dtype, seed=1)
    expected = x.copy()
    expected[key] = doubled(values[key])
    tensor = with_slice(on_llvm(x), key, doubled(on_llvm(values)[key]))
    check(doubled(tensor), doubled(expected))


def test_pieces_without_elements():
    x = array(4, 3)
    empty = on_llvm(array(0, 3))
    check(tfr.concat([empty, on_llvm(x) * 2, empty]), x * 2)
    check(tfr.pad(empty * 2, ((2, 1), (0, 0)), constant_values=3), np.full((3, 3), 3, np.float32))
    tensor = with_slice(on_llvm(x), np.s_[4:], empty) + 1
    np.testing.assert_array_equal(tensor.numpy(), x + 1)


def test_pieces_of_a_single_row_or_element():
    x, row, number = array(4, 3), array(1, 3, seed=1), array(1, seed=2)
    joined = np.concatenate([row * 2, x], 0)
    check(tfr.concat([on_llvm(row) * 2, on_llvm(x)]), joined)
    check(tfr.pad(on_llvm(number) * 2, 2), np.pad(number * 2, 2))
    check(tfr.stack([on_llvm(x) * 2, on_llvm(x)], axis=-1), np.stack([x * 2, x], -1))


def test_a_roll_of_a_computed_tensor_reads_it_at_two_places():
    x = array(6, 8)
    rolled = tfr.roll(on_llvm(x), (2, -3), axis=(0, 1)) * 2
    check(rolled, np.roll(x, (2, -3), (0, 1)) * 2)


def test_pieces_inside_pieces():
    x, y = on_llvm(array(4, 4)), on_llvm(array(2, 4, seed=1))
    tensor = tfr.pad(tfr.concat([y * 2, tfr.pad(x + 1, 1)[:, 1:-1]]), 1, constant_values=7)
    inner = np.pad(array(4, 4) + 1, 1)[:, 1:-1]
    expected = np.concatenate([array(2, 4, seed=1) * 2, inner])
    check(tensor, np.pad(expected, 1, constant_values=np.float32(7)))


def test_pieces_seen_through_views():
    x = array(6, 4)
    padded = tfr.pad(on_llvm(x) * 2, ((1, 1), (2, 0)))
    view = tfr.permute_dims(padded[::-1, ::2], (1, 0)) + 1
    check(view, np.pad(x * 2, ((1, 1), (2, 0)))[::-1, ::2].T + 1)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_reductions_over_pieces(axis):
    x = array(5, 6).round()
    padded = np.pad(x * 2, ((1, 2), (2, 1)), constant_values=np.float32(1))
    tensor = tfr.pad(on_llvm(x) * 2, ((1, 2), (2, 1)), constant_values=1)
    check(tfr.sum(tensor, axis=axis), padded.sum(axis))


def test_passes_over_rows_of_pieces():
    x = array(3, 8)
    padded = np.pad(np.exp(x), ((0, 0), (1, 1)))
    tensor = tfr.pad(tfr.exp(on_llvm(x)), ((0, 0), (1, 1)))
    shifted = tensor - tfr.max(tensor, axis=1, keepdims=True)
    expected = padded - padded.max(1, keepdims=True)
    assert tfr.explain(shifted).kernels == 1
    np.testing.assert_allclose(interpreted(shifted)[0], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(shifted.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_a_reduction_stays_outside_a_piece_that_is_not_all_of_its_loops():
    x, y = array(4, 6), array(2, 6, seed=1)
    tensor = tfr.concat([tfr.sum(on_llvm(x), axis=1), tfr.sum(on_llvm(y), axis=1)])
    expected = np.concatenate([x.sum(1), y.sum(1)])
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-6)


def test_parts_of_every_form_of_loops(monkeypatch):
    monkeypatch.setattr(builder, "SHARE", 4)
    monkeypatch.setattr(reductions, "_CHUNK", 3)
    monkeypatch.setattr(reductions, "_COLUMN_CHUNK", 3)
    monkeypatch.setattr(reductions, "HOST", HOST._replace(units=7, columns=2))
    monkeypatch.setattr(reductions, "_COLUMNS", 2)
    monkeypatch.setattr(tiling, "_SIDE", 4)
    monkeypatch.setattr(tiling, "_NARROW", 3)
    monkeypatch.setattr(tiling, "_LINES", 2)
    x, y = array(9, 21).round(), array(21, 9, seed=1).round()
    padded = np.pad(x, ((1, 2), (3, 1)))
    tensor = tfr.pad(on_llvm(x), ((1, 2), (3, 1)))
    check(tensor * 2, padded * 2)
    check(tfr.pad(on_llvm(x[0]), 3) * 2, np.pad(x[0], 3) * 2)
    for axis in (0, 1, None):
        check(tfr.sum(tensor, axis=axis), padded.sum(axis))
    crossed = tfr.pad(on_llvm(x).T + on_llvm(y), 1)
    check(crossed, np.pad(x.T + y, 1))


def heat(u):
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    inner = u[1:-1, 1:-1]
    return with_slice(u, np.s_[1:-1, 1:-1], inner + 0.25 * (around - 4 * inner))


def test_a_step_of_the_heat_equation_is_one_kernel_without_choices():
    u = array(80, 90).round()  # views of few elements are made at once
    expected = u.copy()
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    expected[1:-1, 1:-1] = inner + np.float32(0.25) * (around - 4 * inner)
    tensor = heat(on_llvm(u))
    plan = tfr.explain(tensor)
    assert (plan.bytes_read, plan.bytes_written) == (u.nbytes + 8, u.nbytes)
    check(tensor, expected)
    (kernel,) = kernels_of(heat(on_llvm(u)))
    roots, _ = expressions(kernel.body)
    assert not any(isinstance(one, Apply) and one.op == "where" for one in roots)
    assert len(_innermost(kernel.body)) == 3  # the first row, the inner ones, the last row


def _innermost(statements):
    loops = [statement for statement in statements if isinstance(statement, Loop)]
    return [inner for loop in loops for inner in (_innermost(loop.body) or [loop])]


def _text(tensor):
    return [print_kernel(one).source for one in kernels_of(tensor)]


def test_other_lengths_of_axes_take_the_same_kernel():
    def made(rows, columns, before):
        x = on_llvm(np.ones((rows, columns), np.float32))
        return tfr.pad(heat(x) * 2, before)

    assert _text(made(8, 9, 2)) == _text(made(11, 30, 3))


def test_memory_of_an_operand_that_is_read_elsewhere_is_not_written_over():
    x = array(300, 300)
    y = tfr.exp2(on_llvm(x))
    total = tfr.sum(y)  # keeps y from joining the kernel that reads it at several places
    result = (y[::-1] + y[:, ::-1] + y).numpy()
    z = np.exp2(x)
    np.testing.assert_allclose(result, z[::-1] + z[:, ::-1] + z, rtol=1e-5)
    assert total.shape == ()


@pytest.mark.parametrize("start", range(-3, 6))
@pytest.mark.parametrize("step", [-3, -1, 0, 1, 2])
def test_span_finds_the_indices_within_bounds(start, step):
    for low, high in [(0, 4), (2, 3), (1, 1), (-5, 9)]:
        inside = [index for index in range(6) if low <= start + step * index < high]
        first, last = span(start, step, low, high, 6)
        assert inside == list(range(first, last))


def test_reductions_and_scans_stay_outside_pieces():
    x = array(3, 4, 2).round()
    scanned = np.cumsum(x, 2)
    tensor = tfr.concat([tfr.cumulative_sum(on_llvm(x), axis=2), on_llvm(x)], axis=1)
    np.testing.assert_array_equal(interpreted(tensor)[0], np.concatenate([scanned, x], 1))
    padded = tfr.pad(tfr.sum(on_llvm(x), axis=2), 1)
    np.testing.assert_array_equal(interpreted(padded[:1] * 2)[0], np.zeros((1, 6)))
    np.testing.assert_array_equal(interpreted(padded[1:2] * 2)[0], np.pad(x.sum(2), 1)[1:2] * 2)
