"""PyTorch's gradients beside ours: what the two are asked for, and how their answers are compared."""

import numpy as np
import pytest

import tensorframe as tfr

torch = pytest.importorskip("torch")

# drawn from when modules are imported, so that numbers do not depend on which tests run
RANDOM = np.random.default_rng(7)


def real(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape)


def imaginary(*shape):
    """Complex numbers of all quadrants, away from the axes, where branches are cut."""
    up_or_down = RANDOM.choice([-1, 1], shape)
    return real(*shape, low=-0.9, high=0.9) + 1j * real(*shape, low=0.2, high=0.9) * up_or_down


def apart(*shape):
    """A matrix, or a stack of them, whose eigenvalues and singular values are well apart."""
    return RANDOM.standard_normal(shape) + 2.0 * np.eye(*shape[-2:]) * np.arange(1, shape[-1] + 1)


def complex_apart(*shape):
    return apart(*shape) + 1j * RANDOM.standard_normal(shape)


def cotangent(shape, kind):
    """Return numbers that nothing cancels with, the same ones for a shape."""
    random = np.random.default_rng(3)
    found = random.uniform(0.5, 1.5, shape)
    return found + 1j * random.uniform(0.5, 1.5, shape) if kind == "c" else found


def ours(function, *args):
    """The cotangents of the arguments, and the result."""
    out, pullback = tfr.vjp(function, *map(tfr.asarray, args))
    found = pullback(tfr.asarray(cotangent(out.shape, out.numpy().dtype.kind)))
    return [one.numpy() for one in found], out.numpy()


def theirs(function, *args):
    """The same by PyTorch."""
    args = [torch.tensor(one, requires_grad=True) for one in args]
    out = function(*args)
    ct = torch.tensor(cotangent(tuple(out.shape), "c" if out.is_complex() else "f"))
    found = torch.autograd.grad(out, args, ct, materialize_grads=True)
    return [one.resolve_conj().numpy() for one in found], out.detach().resolve_conj().numpy()


def agree(function, other, *args, rtol=1e-10, atol=1e-12):
    """Compare results and gradients."""
    (found, value), (wanted, expected) = ours(function, *args), theirs(other, *args)
    np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)
    for own, one in zip(found, wanted, strict=True):
        np.testing.assert_allclose(own, one, rtol=rtol, atol=atol)


def slopes(function, other):
    """The gradient of a weighted sum of a function's results, as a function of its own: ours and theirs."""

    def own(*args):
        out, pullback = tfr.vjp(function, *args)
        kind = out.numpy().dtype.kind
        found = pullback(tfr.asarray(cotangent(out.shape, kind)))
        return tfr.concat([tfr.ravel(one) for one in found])

    def of_torch(*args):
        out = other(*args)
        ct = torch.tensor(cotangent(tuple(out.shape), "c" if out.is_complex() else "f"))
        found = torch.autograd.grad(out, args, ct, create_graph=True, materialize_grads=True)
        # a gradient that is constant has no graph
        return torch.concat([torch.ravel(one) for one in found]) + 0 * sum(x.sum() for x in args)

    return own, of_torch
