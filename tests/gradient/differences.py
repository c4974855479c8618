"""Central differences: what gradients are compared with."""

import numpy as np

import tensorframe as tfr
from tensorframe.dtypes import COMPLEX


def wide(values):
    """Return a tensor of float64, whose differences have digits enough."""
    return tfr.asarray(np.array(values, dtype=np.float64))


def weighted(function, ct):
    """Return the real number <ct, function(...)>, of whatever the function gives."""

    def loss(*args):
        out = function(*args)
        weight = tfr.asarray(ct(out.shape), device=out.device).astype(out.dtype)
        if out.dtype in COMPLEX:
            return tfr.real(tfr.sum(tfr.conj(weight) * out))
        return tfr.sum(weight * out)

    return loss


def weights(shape):
    """Return numbers that nothing cancels with, the same ones for a shape."""
    return np.random.default_rng(3).uniform(0.5, 1.5, shape)


def numeric(loss, args, at, step=1e-6):
    """Return the gradient of a loss for one of its arguments by central differences."""
    x = np.array(args[at])
    found = np.zeros_like(x)
    directions = (1, 1j) if x.dtype.kind == "c" else (1,)
    for place in np.ndindex(x.shape):
        for direction in directions:
            values = []
            for sign in (1, -1):
                moved = x.copy()
                moved[place] += sign * step * direction
                given = [*args[:at], moved, *args[at + 1 :]]
                values.append(loss(*map(tfr.asarray, given)).item())
            found[place] += direction * (values[0] - values[1]) / (2 * step)
    return found


def check(function, *args, rtol=1e-6, atol=1e-8, step=1e-6):
    """Compare the gradients of a function for its float64 arguments, which are arrays, with central differences."""
    loss = weighted(function, weights)
    places = [at for at, one in enumerate(args) if one.dtype.kind in "fc"]
    found = tfr.grad(loss, argnums=places)(*map(tfr.asarray, args))
    for at, gradient in zip(places, found, strict=True):
        assert gradient.shape == args[at].shape
        assert gradient.dtype == args[at].dtype
        wanted = numeric(loss, list(args), at, step)
        np.testing.assert_allclose(gradient.numpy(), wanted, rtol=rtol, atol=atol)
