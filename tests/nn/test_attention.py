"""Attention is its formula on every device, in values and gradients, whatever hides keys from queries."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy.products import grid
from tensorframe.backends.registry import known_devices
from tensorframe.nn.functional import attention as module
from tensorframe.nn.functional import scaled_dot_product_attention
from tests.gradient.differences import check
from tests.nn.reference import attention

DEVICES = [str(device) for device in known_devices()]
# tensors one by one, then options
attend: Callable[..., tfr.Tensor] = scaled_dot_product_attention
RANDOM = np.random.default_rng(5)


def drawn(*shape: int, dtype: str = "float64") -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


SOME = RANDOM.random((5, 7)) > 0.4
SOME[:, 0] = True
HIDDEN = SOME.copy()
HIDDEN[2] = False  # a query that sees nothing

# arguments beside queries of (2, 3, 5, 4) and keys of (2, 3, 7, 4)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "scaled": {"scale": 0.7},
    "causal": {"is_causal": True},
    "booleans": {"attn_mask": SOME},
    "hidden rows": {"attn_mask": HIDDEN},
    "all hidden": {"attn_mask": np.zeros((5, 7), bool)},
    "padding": {"attn_mask": RANDOM.random((2, 1, 1, 7)) > 0.3},
    "numbers": {"attn_mask": drawn(5, 7)},
    "numbers for each head": {"attn_mask": drawn(3, 1, 7)},
    "infinite numbers": {"attn_mask": np.where(HIDDEN, 0.5, -np.inf)},
}


def expected(q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    mask, scale = options.get("attn_mask"), options.get("scale")
    return attention(q, k, v, mask, scale, "is_causal" in options)


def given(options: dict[str, Any], device: str, dtype: str) -> dict[str, Any]:
    """Return the arguments with a mask that lives on a device."""
    mask = options.get("attn_mask")
    if mask is None:
        return options
    own = mask if mask.dtype == bool else mask.astype(dtype)
    return options | {"attn_mask": tfr.asarray(own, device=device)}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", OPTIONS)
def test_attention_is_its_formula(name: str, device: str) -> None:
    q, k, v = [drawn(2, 3, size, 4, dtype="float32") for size in (5, 7, 7)]
    operands = [tfr.asarray(one, device=device) for one in (q, k, v)]
    with tfr.config.override(small_size=0, small_nodes=0):
        found = attend(*operands, **given(OPTIONS[name], device, "float32")).numpy()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected(q, k, v, OPTIONS[name]), rtol=2e-5, atol=2e-6)


@pytest.fixture(params=["kept", "recomputed"])
def scores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients compute scores once more, as those of many are, or keep them."""
    if request.param == "recomputed":
        monkeypatch.setattr(module, "_MANY", 0)
        monkeypatch.setattr(grid, "_WORTH_SHARING", 1)
        monkeypatch.setattr(grid, "_LEAST", 1)
        monkeypatch.setattr(grid, "_FEWEST_CHAINED", 2)
        monkeypatch.setattr(grid, "_CHAINED", 16)


@pytest.mark.sweep(3)
@pytest.mark.usefixtures("scores")
@pytest.mark.parametrize("name", OPTIONS)
def test_gradients_are_differences(name: str) -> None:
    q, k, v = [drawn(2, 2, size, 3) for size in (5, 7, 7)]
    options = dict(OPTIONS[name])
    mask = options.get("attn_mask")
    if mask is not None and mask.shape == (3, 1, 7):
        options["attn_mask"] = mask[:2]
    check(lambda *args: attend(*args, **options), q, k, v, atol=1e-7)


@pytest.mark.usefixtures("scores")
def test_a_mask_of_numbers_has_a_gradient() -> None:
    q, k, v, mask = [drawn(2, size, 3) for size in (4, 5, 5)] + [drawn(4, 5)]
    check(attend, q, k, v, mask, atol=1e-7)


@pytest.mark.parametrize("device", DEVICES)
def test_hidden_rows_have_no_gradient(device: str) -> None:
    operands = [tfr.asarray(drawn(5, 4, dtype="float32"), device=device) for _ in range(3)]
    mask = tfr.asarray(np.zeros((5, 5), bool), device=device)

    def loss(*args: Any) -> Any:
        return tfr.sum(attend(*args, attn_mask=mask))

    for gradient in tfr.grad(loss, argnums=(0, 1, 2))(*operands):
        np.testing.assert_array_equal(gradient.numpy(), 0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["plain", "causal", "for each head", "for all heads"])
def test_heads_share_keys_and_values(name: str, device: str) -> None:
    """The same as with keys and values repeated, which they are not."""
    q, k, v = drawn(2, 6, 5, 4), drawn(2, 3, 5, 4), drawn(2, 3, 5, 4)
    masks = {"for each head": drawn(6, 5, 5), "for all heads": drawn(2, 1, 5, 5)}
    mask = masks.get(name)
    q, k, v = [one.astype("float32") for one in (q, k, v)]
    on_device = {} if mask is None else given({"attn_mask": mask}, device, "float32")
    found = attend(
        *[tfr.asarray(one, device=device) for one in (q, k, v)],
        **on_device,
        is_causal=name == "causal",
        enable_gqa=True,
    )
    k, v = np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1)
    wanted = attention(q, k, v, mask, None, name == "causal")
    np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.usefixtures("scores")
def test_dropout_is_the_same_in_a_gradient() -> None:
    options = {"dropout_p": 0.4, "dropout_key": tfr.random.key(2)}
    check(lambda *args: attend(*args, **options), *(drawn(2, 6, 3) for _ in range(3)), atol=1e-7)


@pytest.mark.usefixtures("scores")
def test_gradients_have_gradients() -> None:
    q, k, v = drawn(4, 2), drawn(5, 2), drawn(5, 3)

    def slope(*args: Any) -> Any:
        total = tfr.grad(lambda *own: tfr.sum(attend(*own, is_causal=True) ** 2), argnums=(0, 1, 2))
        return tfr.concat([tfr.ravel(one) for one in total(*args)])

    check(slope, q, k, v, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("scores")
def test_gradients_of_examples() -> None:
    """As vmap makes them, of each example by itself."""
    operands = [drawn(3, 6, 2) for _ in range(3)]

    def gradient(*args: Any) -> Any:
        return tfr.grad(lambda *own: tfr.sum(attend(*own, is_causal=True) ** 2), argnums=(0, 1, 2))(
            *args
        )

    found = tfr.vmap(gradient)(*map(tfr.asarray, operands))
    for example in range(3):
        wanted = gradient(*[tfr.asarray(one[example]) for one in operands])
        for one, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one[example].numpy(), want.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("scores")
def test_shared_heads_have_gradients() -> None:
    check(
        lambda *args: attend(*args, is_causal=True, enable_gqa=True),
        *(drawn(4, 3, 2), drawn(2, 3, 2), drawn(2, 3, 2)),
        atol=1e-7,
    )


def test_dropout_drops_weights_and_keeps_their_mean() -> None:
    size = 256
    ones = tfr.ones((2, size, size))
    identity = tfr.eye(size)

    def weights(key: int) -> np.ndarray:
        return attend(ones, ones, identity, dropout_p=0.25, dropout_key=tfr.random.key(key)).numpy()

    found = weights(1)
    dropped = found == 0
    assert abs(dropped.mean() - 0.25) < 0.005
    assert max(abs(dropped.mean(axis) - 0.25).max() for axis in (1, 2)) < 0.15
    np.testing.assert_allclose(found[~dropped], 1 / size / 0.75, rtol=1e-5)
    np.testing.assert_array_equal(found, weights(1))
    assert (found != weights(2)).any()
    all_dropped = attend(ones, ones, identity, dropout_p=1.0)
    np.testing.assert_array_equal(all_dropped.numpy(), 0)


@pytest.mark.parametrize("device", DEVICES)
def test_dropout_is_the_same_everywhere(device: str) -> None:
    q, k, v = [drawn(3, 20, 4, dtype="float32") for _ in range(3)]

    def on(device: str) -> np.ndarray:
        return attend(
            *[tfr.asarray(one, device=device) for one in (q, k, v)],
            dropout_p=0.5,
            dropout_key=tfr.random.key(3),
        ).numpy()

    np.testing.assert_allclose(on(device), on("cpu"), rtol=2e-5, atol=2e-6)


def test_no_keys_give_zeros() -> None:
    found = attend(tfr.ones((2, 3)), tfr.ones((0, 3)), tfr.ones((0, 4)))
    np.testing.assert_array_equal(found.numpy(), np.zeros((2, 4)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_every_floating_dtype(dtype: str) -> None:
    q, k, v = [drawn(9, 4) for _ in range(3)]
    operands = [tfr.asarray(one).astype(dtype) for one in (q, k, v)]
    found = attend(*operands, is_causal=True)
    assert str(found.dtype) == dtype
    q, k, v = [one.numpy().astype("float64") for one in operands]
    wanted = attention(q, k, v, causal=True)
    precision = {"float16": 1e-3, "bfloat16": 1e-2, "float64": 1e-14}[dtype]
    np.testing.assert_allclose(found.numpy().astype("float64"), wanted, rtol=0, atol=4 * precision)


WRONG: dict[str, tuple[list[tuple[int, ...]], dict[str, Any], type, str]] = {
    "features": ([(3, 4), (5, 2), (5, 4)], {}, tfr.errors.ShapeError, "4 features and keys 2"),
    "lengths": ([(3, 4), (5, 4), (6, 4)], {}, tfr.errors.ShapeError, "5 keys and 6 values"),
    "vectors": ([(4,), (5, 4), (5, 4)], {}, tfr.errors.ShapeError, r"query\[None\]"),
    "batches": ([(2, 3, 4), (3, 5, 4), (3, 5, 4)], {}, tfr.errors.ShapeError, "broadcast"),
    "heads": (
        [(5, 3, 4), (2, 5, 4), (2, 5, 4)],
        {"enable_gqa": True},
        tfr.errors.ShapeError,
        "5 heads of queries cannot share 2 of keys",
    ),
    "heads of values": (
        [(4, 3, 4), (2, 5, 4), (1, 5, 4)],
        {"enable_gqa": True},
        tfr.errors.ShapeError,
        "1 of values",
    ),
    "no heads": ([(3, 4)] * 3, {"enable_gqa": True}, tfr.errors.ShapeError, "enable_gqa takes"),
    "shape of a mask": (
        [(3, 4), (5, 4), (5, 4)],
        {"attn_mask": np.ones((5, 3), bool)},
        tfr.errors.ShapeError,
        r"\(5, 3\) does not broadcast to the scores' \(3, 5\)",
    ),
    "axes of a mask": (
        [(3, 4), (5, 4), (5, 4)],
        {"attn_mask": np.ones((1, 3, 5), bool)},
        tfr.errors.ShapeError,
        "does not broadcast",
    ),
    "dtype of a mask": (
        [(3, 4), (5, 4), (5, 4)],
        {"attn_mask": np.ones((3, 5), int)},
        tfr.errors.DTypeError,
        "mask != 0",
    ),
    "probability": ([(3, 4)] * 3, {"dropout_p": 1.5}, tfr.errors.ArgumentError, "1.5"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_said(name: str) -> None:
    shapes, options, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        attend(*map(tfr.ones, shapes), **options)


@pytest.mark.parametrize("kind", ["booleans", "numbers"])
def test_a_mask_beside_a_causal_one_leaves_what_both_let_through(kind: str) -> None:
    q, k, v = [drawn(2, 3, size, 4) for size in (5, 7, 7)]
    given = np.random.default_rng(3).uniform(-1, 1, (5, 7))
    earlier = np.tri(5, 7, dtype=bool)
    mask = given > -0.5 if kind == "booleans" else given
    both = mask & earlier if kind == "booleans" else np.where(earlier, given, -np.inf)
    found = attend(q, k, v, attn_mask=mask, is_causal=True)
    np.testing.assert_allclose(found.numpy(), attend(q, k, v, attn_mask=both).numpy(), rtol=1e-6)


def test_complex_operands_are_refused() -> None:
    with pytest.raises(tfr.errors.DTypeError, match="complex64"):
        attend(*[tfr.ones((2, 2), dtype="complex64")] * 3)


# --- beside PyTorch


@pytest.mark.usefixtures("scores")
@pytest.mark.parametrize("name", OPTIONS)
def test_pytorch_has_the_same_values_and_gradients(name: str) -> None:
    torch = pytest.importorskip("torch")
    from tests.gradient.pytorch import agree

    options = OPTIONS[name]
    as_torch = {
        key: torch.tensor(one) if isinstance(one, np.ndarray) else one
        for key, one in options.items()
    }
    q, k, v = [drawn(2, 3, size, 4) for size in (5, 7, 7)]
    agree(
        lambda *args: attend(*args, **options),
        lambda *args: torch.nn.functional.scaled_dot_product_attention(*args, **as_torch),
        *(q, k, v),
    )


def test_pytorch_shares_heads_in_the_same_order() -> None:
    torch = pytest.importorskip("torch")
    from tests.gradient.pytorch import agree

    options = {"enable_gqa": True, "is_causal": True, "scale": 1 / math.pi}
    agree(
        lambda *args: attend(*args, **options),
        lambda *args: torch.nn.functional.scaled_dot_product_attention(*args, **options),
        *(drawn(2, 6, 5, 4), drawn(2, 2, 7, 4), drawn(2, 2, 7, 4)),
    )
