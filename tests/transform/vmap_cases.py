"""What tests of vmap share: operands of some examples, and the loop over these that vmap equals."""

import numpy as np

import tensorframe as tfr

COUNT = 3


def looped(function, axes, *operands):
    """The results of one example after the other, stacked."""
    results = []
    for index in range(COUNT):
        found = function(
            *[
                operand if axis is None else operand[index]
                for operand, axis in zip(operands, axes, strict=True)
            ]
        )
        results.append(found if isinstance(found, tuple) else (found,))
    return [np.stack([np.asarray(one) for one in column]) for column in zip(*results, strict=True)]


def check(function, *operands, axes=None):
    """Map a function over operands, of which those with an axis of None are the same in all examples."""
    axes = (0,) * len(operands) if axes is None else axes
    tensors = [tfr.asarray(operand) for operand in operands]
    found = tfr.vmap(function, in_axes=axes)(*tensors)
    found = found if isinstance(found, tuple) else (found,)
    for one, wanted in zip(found, looped(function, axes, *tensors), strict=True):
        assert (one.shape, one.dtype) == (wanted.shape, wanted.dtype)
        near = 2e-5 if one.dtype.kind in "fcV" else 0
        np.testing.assert_allclose(one.numpy(), wanted, rtol=near, atol=near)


def numbers(shape, dtype="float32", seed=0):
    found = np.random.default_rng(seed).integers(-4, 5, shape)
    return (found + 1j * found[..., ::-1] if dtype.startswith("complex") else found).astype(dtype)


def definite(count=COUNT, size=4):
    root = np.random.default_rng(0).standard_normal((count, size, size)).astype("float32")
    return root @ root.swapaxes(1, 2) / size + np.diag(np.arange(size) + 1.0).astype("float32")


VECTOR, MATRIX, STACK = (
    numbers((COUNT, 4)),
    numbers((COUNT, 4, 4), seed=1),
    numbers((COUNT, 2, 4, 4)),
)
