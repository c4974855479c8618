"""Windows beyond an image's edge: zeros there are neither made nor multiplied where they are many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.llvm.convolution.plan import Operands, Plan
from tensorframe.backends.llvm.convolution.script import Script
from tensorframe.backends.llvm.convolution.ways import InParts, Turned, plan_of
from tensorframe.backends.llvm.convolution.windows import spans
from tensorframe.backends.llvm.indirect_product import functions
from tensorframe.codegen.llvm.box_copy import COPY
from tensorframe.codegen.llvm.indirect_product import FUNCTIONS, MOST_SLOTS, PRODUCT, SLOTS
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tensorframe.ops.convolution import Geometry
from tests.nn.convolution_cases import expected, numbers

ONES = (1, 1)
# images, kernels, and how windows lie; all of them have zeros at edges that are left out
EDGES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "small images": ((8, 32, 7, 7), (40, 32, 3, 3), {"padding": 1}),
    "one image in several blocks": ((2, 64, 14, 14), (64, 64, 3, 3), {"padding": 1}),
    "all zeros on one side": ((3, 20, 9, 8), (33, 20, 4, 2), {"padding": "same"}),
    "far positions": ((3, 20, 9, 11), (33, 20, 3, 3), {"padding": (3, 2), "dilation": (3, 2)}),
    "strides": ((4, 24, 9, 10), (32, 24, 5, 5), {"padding": 2, "stride": (2, 3)}),
    "parts of a large kernel": ((2, 160, 7, 6), (192, 160, 3, 3), {"padding": 1}),
    "groups": ((4, 32, 8, 8), (32, 16, 3, 3), {"padding": 1, "groups": 2}),
    "series": ((9, 30, 12), (40, 30, 7), {"padding": 3}),
    "volumes": ((2, 12, 5, 6, 5), (32, 12, 3, 3, 3), {"padding": 1}),
}


def convolved(x: Any, w: Any, **how: Any) -> Any:
    """The convolution for as many axes as there are."""
    return {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.ndim](x, w, **how)


@pytest.mark.parametrize("name", EDGES)
def test_bits_are_those_of_an_input_with_zeros_around_it(name: str) -> None:
    shape, weights, how = EDGES[name]
    x, w = numbers(*shape), numbers(*weights, seed=1)
    found = convolved(tfr.asarray(x), tfr.asarray(w), **how).numpy()
    zeros = how["padding"]
    if zeros == "same":
        ends = [((size - 1) // 2, size - 1 - (size - 1) // 2) for size in weights[2:]]
    else:
        each = (zeros,) * (x.ndim - 2) if isinstance(zeros, int) else zeros
        ends = [(number, number) for number in each]
    around = np.pad(x, [(0, 0), (0, 0), *ends])
    padded = convolved(tfr.asarray(around), tfr.asarray(w), **(how | {"padding": 0})).numpy()
    np.testing.assert_array_equal(found, padded)
    if x.ndim == 4 and zeros != "same":
        np.testing.assert_allclose(found, expected(x, w, **how), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", [name for name in EDGES if len(EDGES[name][0]) == 4])
def test_gradients_are_those_of_an_input_with_zeros_around_it(name: str) -> None:
    shape, weights, how = EDGES[name]
    if how["padding"] == "same":
        how = how | {"padding": 1}
    x, w = numbers(*shape, dtype="float64"), numbers(*weights, seed=1, dtype="float64")
    up, left = (how["padding"],) * 2 if isinstance(how["padding"], int) else how["padding"]

    def around(x: Any) -> Any:
        return tfr.pad(x, ((0, 0), (0, 0), (up, up), (left, left)))

    operands = tfr.asarray(x), tfr.asarray(w)
    found, pull = tfr.vjp(lambda x, w: F.conv2d(x, w, **how), *operands)
    plain = how | {"padding": 0}
    _, pull_padded = tfr.vjp(lambda x, w: F.conv2d(around(x), w, **plain), *operands)
    ct = tfr.asarray(numbers(*found.shape, seed=2, dtype="float64"))
    for one, other in zip(pull(ct), pull_padded(ct), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-11, atol=1e-11)


def plan_for(batch: int, channels: int, size: int, made: int) -> Plan:
    """The plan of a 3x3 convolution of square images, padded to give results of their size."""
    shape, kernel = (batch, channels, size, size), (made, channels, 3, 3)
    strides = [np.empty(sizes, np.float32).strides for sizes in (shape, kernel)]
    geometry = Geometry(ONES, ONES, ONES, ONES, ONES)
    return plan_of(
        Operands(shape, strides[0], kernel, strides[1], geometry, 1, np.dtype(np.float32))
    )


def multiplied(script: Script) -> tuple[int, int]:
    """How many rows times terms the products of a script have, and how many copies there are."""
    records = script._kept[0]
    products = records[records[:, 0] == FUNCTIONS.index(PRODUCT)]
    terms = products[:, 2 + SLOTS.index("count")]
    vectors = products[:, 2 + SLOTS.index("vectors")]
    assert records.shape[1] == 2 + 2 * MOST_SLOTS
    copies = (records[:, 0] == FUNCTIONS.index(COPY)).sum()
    return int((products[:, 1] * terms * vectors).sum()), int(copies)


@pytest.mark.parametrize(
    ("sizes", "way", "share"),
    [
        ((4, 64, 7, 64), Turned, (19 / 21) ** 2),
        ((4, 64, 14, 64), Turned, (40 / 42) ** 2),
        ((4, 512, 7, 512), InParts, (19 / 21) ** 2),
        ((4, 256, 14, 256), InParts, (40 / 42) ** 2),
    ],
)
def test_zeros_are_neither_copied_nor_multiplied(
    sizes: tuple[int, int, int, int], way: type[Turned], share: float
) -> None:
    batch, channels, size, made = sizes
    plan = plan_for(*sizes)
    assert plan.is_in_parts == (way is InParts)
    recorded = way(plan).recorded((made * size * size * 4, size * size * 4, size * 4, 4))
    vectors = -(-made // functions(plan.dtype).lanes)
    all_terms = batch * size * size * channels * 9 * vectors
    products, copies = multiplied(recorded.each)
    assert products == pytest.approx(share * all_terms, rel=1e-9)
    assert (copies, multiplied(recorded.before)[1]) == (0, 0)


def test_large_images_have_zeros_around_them() -> None:
    """Of these, zeros are so few that more parts of a product cost more."""
    assert not plan_for(4, 64, 56, 64).skips_zeros
    assert plan_for(4, 64, 28, 64).skips_zeros


def test_spans_are_places_that_see_the_same_positions() -> None:
    for step, before, after, apart, kernel, length in np.random.default_rng(0).integers(
        1, [4, 5, 5, 4, 6, 12], (200, 6)
    ):
        geometry = Geometry((step,), (before,), (after,), (1,), (apart,))
        count = geometry.sizes((length,), (kernel,))[0]
        if count < 1:
            continue
        start = int(np.random.default_rng(count).integers(count))
        seen = {}
        for span in spans(geometry, 0, slice(start, count), kernel, length):
            for place in span.places:
                seen[start + place] = span.positions
                reads = [(start + place) * step - before + k * apart for k in span.positions]
                first = span.first + (place - span.places.start) * step
                assert not reads or reads[0] == first
        for place in range(start, count):
            inside = [k for k in range(kernel) if 0 <= place * step - before + k * apart < length]
            assert list(seen.pop(place)) == inside
        assert not seen
