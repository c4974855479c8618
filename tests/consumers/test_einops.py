"""einops rearranges tensors through its array API module."""

from __future__ import annotations

import einops.array_api
import numpy as np
import pytest

import tensorframe as tfr

VALUES = np.arange(24.0).reshape(4, 6)

EXPRESSIONS = [
    "e.rearrange(x, '(a b) c -> c a b', a=2)",
    "e.rearrange(x, 'a b -> b a')",
    "e.rearrange([x, x], 'n a b -> a (n b)')",
    "e.reduce(x, 'a b -> b', 'mean')",
    "e.reduce(x, 'a (b c) -> a b', 'max', c=2)",
    "e.reduce(x, 'a b -> ', 'sum')",
    "e.repeat(x, 'a b -> a b c', c=3)",
    "e.pack([x, x[0]], '* b')[0]",
    "e.unpack(x, [(2,), (4,)], 'a *')[1]",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_einops_gives_tensors(expression):
    expected = eval(expression, {"e": einops.array_api, "x": VALUES})
    result = eval(expression, {"e": einops.array_api, "x": tfr.asarray(VALUES)})
    assert isinstance(result, tfr.Tensor)
    np.testing.assert_allclose(result.numpy(), expected)


def test_rearranging_stays_lazy():
    assert not einops.array_api.rearrange(tfr.asarray(VALUES) + 1, "a b -> (a b)").is_computed


def test_einops_hands_over_numpy_arrays():
    assert isinstance(einops.array_api.asnumpy(tfr.asarray(VALUES)), np.ndarray)
