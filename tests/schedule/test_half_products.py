"""Products of half precision on the host: factors are converted once, as they lie, results where they are read."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it

HALF = ["float16", "bfloat16"]
RANDOM = np.random.default_rng(0)


def numbers(*shape: int, dtype: str = "float32") -> tfr.Tensor:
    return tfr.asarray(RANDOM.standard_normal(shape).astype(np.float32)).astype(dtype).compute()


@pytest.mark.parametrize("device", ["cpu", "llvm", "numpy"])
@pytest.mark.parametrize("dtype", HALF)
def test_a_product_is_that_of_float32_rounded_once(dtype: str, device: str) -> None:
    x, y = (numbers(40, 70, dtype=dtype), numbers(70, 50, dtype=dtype))
    own = x.to_device(device) @ y.to_device(device)
    wide = x.astype("float32").numpy().astype(np.float64) @ y.astype("float32").numpy()
    assert own.dtype.name == dtype
    close = 2**-10 if dtype == "float16" else 2**-7
    np.testing.assert_allclose(own.astype("float32").numpy(), wide, rtol=close, atol=1e-4)


@pytest.mark.parametrize("dtype", HALF)
def test_what_follows_a_product_is_done_in_its_step(dtype: str) -> None:
    x, y = numbers(200, 64, dtype=dtype), numbers(64, 100, dtype=dtype)
    plan = tfr.gelu(x @ y + 1).explain()
    assert (plan.library_calls, plan.kernels) == (1, 2), plan  # a kernel for each factor


def test_factors_are_converted_as_they_lie_and_once_for_all_products() -> None:
    """Three parts of one tensor, turned: one kernel that goes through memory in its order."""
    x = numbers(2, 40, 3, 64, dtype="bfloat16")
    q, k, v = (tfr.permute_dims(x[:, :, part], (0, 2, 1)) for part in range(3))
    plan = tfr.explain(q @ tfr.permute_dims(k, (0, 2, 1)), v @ tfr.permute_dims(q, (0, 2, 1)))
    assert (plan.library_calls, plan.kernels) == (2, 1), plan


def test_large_and_thin_factors_are_read_as_they_are() -> None:
    large, some, row = (
        numbers(*shape, dtype="float16") for shape in ((3000, 3000), (40, 3000), (1, 3000))
    )
    for x in (some, row):
        plan = (x @ large).explain()
        assert (plan.library_calls, plan.kernels) == (1, 0), plan
    assert (row @ tfr.ones((3000, 30), dtype="float16")).explain().kernels <= 1


def test_large_matrices_in_memory_are_read_once_by_few_rows() -> None:
    """Converted as a whole, a matrix goes through memory twice more, which as many rows as these do not pay for."""
    weight = numbers(512, 512, dtype="float16")
    few, many, parts = (
        numbers(*shape, dtype="float16") for shape in ((64, 512), (99, 512), (4, 30, 512))
    )
    calls = {
        "few": few @ weight.mT,
        "many": many @ weight.mT,
        "parts": parts @ weight.mT,
        "made": few @ (weight + 1),
    }
    assert {name: result.explain().kernels for name, result in calls.items()} == {
        "few": 0,
        "many": 2,
        "parts": 2,
        "made": 2,
    }
    jitted = tfr.jit(lambda x, y: x @ y)
    assert jitted.explain(few, weight).kernels == 0
    as_float = few.astype("float32") @ weight.astype("float32")
    assert as_float.explain().kernels == 0
    np.testing.assert_allclose(
        as_float.numpy(),
        few.astype("float32").numpy() @ weight.astype("float32").numpy(),
        rtol=1e-4,
        atol=1e-3,
    )


@pytest.mark.parametrize("dtype", HALF)
def test_a_convolution_of_half_precision_has_the_steps_of_float32(dtype: str) -> None:
    x, w, b = (numbers(*shape, dtype=dtype) for shape in ((2, 8, 20, 20), (16, 8, 3, 3), (16,)))
    result = tfr.maximum(F.conv2d(x, w, b, padding=1), 0)
    assert (result.explain().library_calls, result.explain().kernels) == (1, 2)
    wide = F.conv2d(x.astype("float32"), w.astype("float32"), b.astype("float32"), padding=1)
    np.testing.assert_allclose(
        result.astype("float32").numpy(), np.maximum(wide.numpy(), 0), rtol=2**-6, atol=2**-6
    )
