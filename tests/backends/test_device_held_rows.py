"""Rows that groups of threads hold in the memory that they share: the same bits as where each pass reads them."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tests.backends.devices import on_every_device, some
from tests.builds import forget_builds


def attention(x):
    """Rows of scores: what passes need is made of two operands."""
    return tfr.softmax(x * 0.25 + tfr.flip(x, axis=0), axis=1)


def layer_norm(x):
    centred = x - tfr.mean(x, axis=1, keepdims=True)
    return centred / tfr.sqrt(tfr.mean(centred * centred, axis=1, keepdims=True) + 1e-5)


# several rows of a group, more than it has rows for; one row; one in chunks, where there is memory for it
@on_every_device
@pytest.mark.parametrize(
    ("function", "shape"),
    [(attention, (37, 300)), (layer_norm, (3, 1999)), (layer_norm, (2, 8200))],
)
def test_rows_that_are_held(device, function, shape):
    place = tfr.Device(device)
    queue = backend_of(place).open_device(place).queue
    x = tfr.asarray(some(shape, "float32"), device=device).compute()
    found = []
    texts = []
    rows = queue.traits.rows
    try:
        for memory in (0, queue.traits.max_shared):
            object.__setattr__(queue.traits, "rows", memory)
            forget_builds()
            result = function(x)
            texts.append(tfr.explain(result, source=True))
            found.append(result.numpy())
    finally:
        object.__setattr__(queue.traits, "rows", rows)
        forget_builds()
    assert "held0" not in str(texts[0])
    assert "held0" in str(texts[1])
    if 4 * shape[1] < queue.traits.max_shared:  # not a chunk
        assert found[0].tobytes() == found[1].tobytes()
    np.testing.assert_allclose(found[1], function(tfr.asarray(x.numpy())).numpy(), 1e-5, 1e-6)


# a group has memory for a chunk of 4096 elements, and for what joins them
@on_every_device
@pytest.mark.parametrize("function", [attention, layer_norm])
def test_chunks_of_longer_rows_are_held(device, function):
    place = tfr.Device(device)
    traits = backend_of(place).open_device(place).queue.traits
    values = some((2, 8200), "float32")
    values[0, :5000] = -np.inf
    x = tfr.asarray(values, device=device).compute()
    rows = traits.rows
    try:
        object.__setattr__(traits, "rows", 24 << 10)
        forget_builds()
        result = function(x)
        assert "held0" in str(tfr.explain(result, source=True))
        found = result.numpy()
    finally:
        object.__setattr__(traits, "rows", rows)
        forget_builds()
    expected = function(tfr.asarray(values)).numpy()
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
