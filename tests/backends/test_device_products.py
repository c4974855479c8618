"""Products on devices: NumPy's values for any dtype, layout and shape, within what sums allow, in one kernel."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.kernel.groups.algorithms import blocking
from tests.backends.devices import holds, on_every_device, some
from tests.builds import forget_builds

pytestmark = on_every_device

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES = ["bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [
    ((60, 50), (50, 70)),
    ((1, 50), (50, 70)),
    ((60, 50), (50, 1)),
    ((7, 300), (300, 5)),
    ((300, 3), (3, 260)),
    ((12, 33, 20), (12, 20, 31)),
    ((1, 9, 5, 8), (2, 1, 8, 7)),
    ((3, 4, 5, 8), (8, 7)),
    ((3, 4, 1, 8), (8, 7)),
    ((5, 8), (3, 4, 8, 7)),
    ((8,), (8,)),
    ((8,), (3, 8, 7)),
    ((3, 5, 8), (8,)),
    ((1, 1), (1, 1)),
    ((0, 5, 8), (1, 8, 7)),
    ((2, 5, 0), (0, 7)),
    ((0,), (0,)),
]


def on(device, array):
    return tfr.asarray(array, device=device)


def within_bound(found, x, y):
    """Check the bound of sums in any order: an error of each of the additions, relative to the magnitudes."""
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    exact = np.matmul(x.astype(wide), y.astype(wide))
    magnitudes = np.matmul(np.abs(x).astype(np.float64), np.abs(y).astype(np.float64))
    real = np.empty(0, x.dtype).real.dtype
    rounding = 2.0**-24 if real == np.float16 else np.finfo(real).eps / 2
    bound = (2 * x.shape[-1] + 4) * rounding * magnitudes
    if real == np.float16:  # rounded once, at the end
        bound = bound + 2.0**-11 * np.abs(exact) + 2.0**-25
    assert found.dtype == x.dtype
    assert np.all(np.abs(found.astype(wide) - exact) <= bound)


def check(device, x, y, found=None):
    result = on(device, x) @ on(device, y) if found is None else found
    assert str(result.device) == device
    if x.dtype.kind in "fc":
        assert result.shape == np.matmul(x, y).shape
        within_bound(result.numpy(), x, y)
    else:
        np.testing.assert_array_equal(result.numpy(), np.matmul(x, y))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    check(device, some((2, 37, 41), dtype), some((41, 23), dtype, seed=1))


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_every_shape(device, left, right):
    check(device, some(left, "float32"), some(right, "float32", seed=1))


@pytest.mark.parametrize(("left", "right"), [((8,), (8,)), ((8,), (3, 8, 7)), ((3, 5, 8), (8,))])
def test_vectors_of_complex_numbers(device, left, right):
    check(device, some(left, "complex64"), some(right, "complex64"))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex64"])
@pytest.mark.parametrize(
    ("left", "right"), [((8,), (8,)), ((8,), (8, 7)), ((3, 5, 8), (8,)), ((1, 8), (3, 8, 2))]
)
def test_vectors(device, dtype, left, right):
    check(device, some(left, dtype), some(right, dtype, seed=1))


@pytest.mark.parametrize(
    ("left", "right"), [((9, 33), (33,)), ((33,), (33, 9)), ((33,), (33,)), ((33,), (2, 33, 9))]
)
def test_a_product_with_a_vector_is_one_step(device, left, right):
    """No view follows its sum, so that the next one like it is a call of the same program."""
    x, y = some(left, "int32"), some(right, "int32", seed=1)
    factors = [on(device, x), on(device, y)]
    tfr.compute(*factors)
    product = factors[0] @ factors[1]
    assert len(tfr.explain(product).steps) == 1
    np.testing.assert_array_equal(product.numpy(), x @ y)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64"])
def test_few_results_of_long_rows(device, dtype):
    check(device, some((2, 5, 3001), dtype), some((3001, 6), dtype, seed=1))


def views(draw, shape):
    """A matrix or a stack as a view: its memory is turned, cut from something larger, reversed or one row for all."""
    *stack, rows, columns = shape
    kind = draw(st.sampled_from(["whole", "turned", "cut", "every other", "one row", "moved"]))
    if kind == "turned":
        return lambda x: x.mT, (*stack, columns, rows)
    if kind == "cut":
        return lambda x: x[..., 2 : 2 + rows, 1 : 1 + columns], (*stack, rows + 3, columns + 2)
    if kind == "every other":
        return lambda x: x[..., ::2, :], (*stack, 2 * rows - 1, columns)
    if kind == "one row":
        return lambda x: x, (*stack, 1, columns)
    if kind == "moved":
        turn = (len(shape) - 1, *range(len(shape) - 1))
        moved = (*shape[1:], shape[0])
        return (
            lambda x: x.transpose(turn) if isinstance(x, np.ndarray) else tfr.permute_dims(x, turn),
            moved,
        )
    return lambda x: x, shape


SIZES = st.integers(1, 40)


@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_operands_of_any_layout(device, data):
    rows, length, columns = data.draw(SIZES), data.draw(SIZES), data.draw(SIZES)
    stack, other = data.draw(
        st.sampled_from([((), ()), ((3,), ()), ((), (3,)), ((2, 1), (3,)), ((2, 3), (2, 3))])
    )
    operands, arrays = [], []
    for number, shape in enumerate([(*stack, rows, length), (*other, length, columns)]):
        look, held = views(data.draw, shape)
        array = some(held, "float32", seed=number)
        tensor, array = look(on(device, array)), look(array)
        if array.shape != shape:  # one row for all
            tensor, array = tfr.broadcast_to(tensor, shape), np.broadcast_to(array, shape)
        operands.append(tensor)
        arrays.append(array)
    check(device, arrays[0], arrays[1], operands[0] @ operands[1])


def steps(*tensors):
    """What runs to compute tensors, but for views and transfers."""
    plan = tfr.explain(*tensors)
    return [step for step in plan.steps if not step.is_view and step.kind.value != "transfer"]


def test_bias_and_activation_are_part_of_the_product(device):
    x, w, b = some((70, 50), "float32"), some((50, 90), "float32", 1), some((90,), "float32", 2)
    result = tfr.tanh(on(device, x) @ on(device, w) + on(device, b)) * 2.0
    (step,) = steps(result)
    assert str(step.device) == device
    exact = np.tanh(x.astype(np.float64) @ w + b) * 2
    np.testing.assert_allclose(result.numpy(), exact, atol=1e-5)


def test_the_heads_of_attention_are_written_side_by_side(device):
    x, y = some((2, 3, 10, 7), "float32"), some((2, 3, 7, 8), "float32", 1)
    heads = tfr.permute_dims(on(device, x) @ on(device, y), (0, 2, 1, 3))
    joined = tfr.reshape(heads, (2, 10, 24))
    assert len(steps(joined)) == 1
    expected = np.matmul(x, y).transpose(0, 2, 1, 3).reshape(2, 10, 24)
    np.testing.assert_allclose(joined.numpy(), expected, atol=1e-5)


def test_an_epilogue_may_turn_the_columns_round(device):
    x, y, z = (
        some((20, 30), "complex64"),
        some((30, 25), "complex64", 1),
        some((25, 20), "complex64", 2),
    )
    result = (on(device, x) @ on(device, y)).mT * on(device, z)
    np.testing.assert_allclose(result.numpy(), (x @ y).T * z, atol=1e-4)


def test_few_long_rows_have_an_epilogue_too(device):
    x, w, b = some((7, 4000), "float32"), some((4000, 6), "float32", 1), some((6,), "float32", 2)
    result = tfr.maximum(on(device, x) @ on(device, w) + on(device, b), 0.0)
    exact = np.maximum(x.astype(np.float64) @ w + b, 0)
    np.testing.assert_allclose(result.numpy(), exact, atol=1e-3)


def test_the_same_bits_in_every_run(device):
    x, y = on(device, some((40, 5000), "float32")), on(device, some((5000, 30), "float32", 1))
    first = (x @ y).numpy()
    for _ in range(3):
        np.testing.assert_array_equal((x @ y).numpy(), first)


def test_more_tiles_than_groups_of_one_launch(device, monkeypatch):
    """Groups go on to the tiles that are left."""
    monkeypatch.setattr(blocking, "_REGISTERS", 1)
    monkeypatch.setattr(blocking, "_ENOUGH_TILES", 1 << 20)
    x, y = some((70_000, 2, 3), "float32"), some((3, 2), "float32", 1)
    stack = some((70_000, 3, 2), "float32", 2)
    check(device, x, y)
    check(device, x, stack)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [("int8", "int8", "int8"), ("uint8", "uint8", "uint8"), ("int8", "int8", "int32")],
)
def test_four_bytes_are_multiplied_at_once(device, left, right, result):
    """Sums wrap as NumPy's do, whatever the layout, and where words of bytes end beyond the inner axis."""
    if not holds(device, left):
        pytest.skip(f"{device} holds no {left}")
    generator = np.random.default_rng(0)
    limits = np.iinfo(left)
    x = generator.integers(limits.min, limits.max, (21, 67), left, endpoint=True)
    y = generator.integers(limits.min, limits.max, (30, 67), right, endpoint=True)
    x[0], y[0] = limits.min, limits.min
    product = tfr.matmul(on(device, x), on(device, y).mT, preferred_dtype=result)
    assert re.search(r"dot4_u(int)?32\(left", str(tfr.explain(product, source=True)))
    assert str(product.device) == device
    expected = x.astype(np.int64) @ y.T.astype(np.int64)
    np.testing.assert_array_equal(product.numpy(), expected.astype(result))
    np.testing.assert_array_equal(
        tfr.maximum(product, 3).numpy(), np.maximum(expected.astype(result), 3)
    )


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
@pytest.mark.parametrize("length", [50, 52], ids=["odd lines", "aligned lines"])
def test_tiles_that_are_read_ahead(device, dtype, length):
    """As GPUs have them, with the sums of tiles that are not; beside them something is done to the product."""
    place = tfr.Device(device)
    traits = backend_of(place).open_device(place).queue.traits
    x, y = on(device, some((70, length), dtype)), on(device, some((2, length, 68), dtype, seed=1))
    found = []
    memory = traits.double_buffer
    try:
        for given_memory in (0, traits.max_shared):
            object.__setattr__(traits, "double_buffer", given_memory)
            forget_builds()
            result = x @ y * 2 + y[:, :1]
            assert ("next_left0_0" in str(tfr.explain(result, source=True))) == (given_memory > 0)
            found.append(result.numpy())
    finally:
        object.__setattr__(traits, "double_buffer", memory)
        forget_builds()
    assert found[0].tobytes() == found[1].tobytes()
