"""Random programs for many examples: what vmap gives is what a loop does, for values and for gradients."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.dtypes import COMPLEX, FLOAT
from tensorframe.testing.random_graph import program_of

COUNT = 2


class Varied:
    """The namespace, with leaves that differ from example to example: each is scaled, or turned around."""

    def __init__(self, scale, example):
        self._scale = scale
        self._example = example

    def asarray(self, values, **options):
        """Return a leaf of one example."""
        tensor = tfr.asarray(values, **options)
        if tensor.dtype in FLOAT:
            return tensor * self._scale.astype(tensor.dtype)
        if tensor.ndim == 0:
            return tensor
        return tfr.stack([tensor, tfr.flip(tensor)])[self._example]

    def __getattr__(self, name):
        return getattr(tfr, name)


def results(seed, scale, example):
    program = program_of(seed)
    with tfr.use_backend("cpu"), np.errstate(all="ignore"):
        found = program.pick(program.values(Varied(scale, example)))
        return [tfr.asarray(one) for one in found]


def loss(seed, scale, example):
    """One number that depends on all results; differences of sums of products are off by little of it."""
    total = scale * 0.0
    for one in results(seed, scale, example):
        if one.dtype in FLOAT | COMPLEX:
            total = total + tfr.sum(tfr.tanh(tfr.abs(one).astype("float32")))
    return total


SCALES, EXAMPLES = tfr.asarray([1.0, 0.75]), tfr.arange(COUNT)


# the program of seed 8 has a shape that depends on values
SEEDS = [seed for seed in range(17) if seed != 8]


@pytest.mark.parametrize("seed", SEEDS)
def test_values(seed):
    mapped = tfr.vmap(lambda scale, example: results(seed, scale, example))
    found = mapped(SCALES, EXAMPLES)
    wanted = [results(seed, SCALES[at], EXAMPLES[at]) for at in range(COUNT)]
    for number, one in enumerate(found):
        expected = np.stack([row[number].numpy() for row in wanted])
        assert (one.shape, one.dtype) == (expected.shape, expected.dtype)
        atol = 10 * program_of(seed).results[number].atol + 1e-3
        np.testing.assert_allclose(
            one.astype("complex128").numpy(), expected.astype("complex128"), rtol=1e-3, atol=atol
        )


@pytest.mark.parametrize("seed", range(16, 24))
def test_gradients(seed):
    mapped = tfr.vmap(tfr.grad(lambda scale, example: loss(seed, scale, example)))
    each = mapped(SCALES, EXAMPLES).numpy()
    wanted = [
        tfr.grad(lambda scale, at=at: loss(seed, scale, EXAMPLES[at]))(SCALES[at]).item()
        for at in range(COUNT)
    ]
    np.testing.assert_allclose(each, wanted, rtol=1e-2, atol=1e-3)

    def total(scales):
        return tfr.vmap(lambda scale, example: loss(seed, scale, example))(scales, EXAMPLES).sum()

    np.testing.assert_allclose(tfr.grad(total)(SCALES).numpy(), wanted, rtol=1e-2, atol=1e-3)
