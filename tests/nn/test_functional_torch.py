"""The same calls by PyTorch: equal values, and equal gradients of every operand."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.nn.cases import activations
from tests.nn.test_functional import CASES, differentiable, parts

torch = pytest.importorskip("torch")

NAMES = [name for name, case in CASES.items() if case.in_torch]


def cotangents(results):
    random = np.random.default_rng(3)
    return [random.uniform(0.5, 1.5, np.shape(result)) for result in results]


@pytest.mark.filterwarnings("ignore")  # of what PyTorch will change
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_those_of_pytorch(name):
    case = CASES[name]
    places = [place for place in differentiable(case) if place not in case.fixed]
    theirs = [
        torch.tensor(one, requires_grad=place in places) for place, one in enumerate(case.operands)
    ]
    results = parts(case.call(torch.nn.functional, *theirs))
    ours = [tfr.asarray(one) for one in case.operands]
    found = parts(case.call(F, *ours))
    for own, one in zip(found, results, strict=True):
        wanted = one.detach().numpy()
        assert own.shape == wanted.shape
        np.testing.assert_allclose(own.numpy(), wanted, rtol=1e-8, atol=1e-10)
    if not places:
        return
    floating = [one for one in results if one.is_floating_point()]
    weights = cotangents([one.detach().numpy() for one in floating])
    expected = torch.autograd.grad(
        floating,
        [theirs[place] for place in places],
        [torch.tensor(weight) for weight in weights],
        materialize_grads=True,
    )

    def loss(*given):
        values = [one for one in parts(case.call(F, *given)) if one.dtype.kind == "f"]
        pairs = zip(values, weights, strict=True)
        return sum((tfr.sum(one * tfr.asarray(weight)) for one, weight in pairs), start=0.0)

    for own, one in zip(tfr.grad(loss, places)(*ours), expected, strict=True):
        np.testing.assert_allclose(own.numpy(), one.numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics_are_those_of_pytorch(name):
    random = np.random.default_rng(2)
    known = [random.uniform(0.5, 2.0, 3) for _ in range(4)]
    ours, theirs = [tfr.asarray(one) for one in known], [torch.tensor(one) for one in known]
    for _ in range(3):
        x = random.standard_normal((4, 3, 5))
        own = getattr(F, name)(tfr.asarray(x), *ours, True, momentum=0.3)
        other = getattr(torch.nn.functional, name)(torch.tensor(x), *theirs, True, momentum=0.3)
        np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-10)
    for own, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-10)
    own = getattr(F, name)(tfr.asarray(x), *ours, False)
    other = getattr(torch.nn.functional, name)(torch.tensor(x), *theirs, False)
    np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-10)


# where functions have kinks, jumps and limits
POINTS = [-30.0, -6.0, -3.0, -1.0, -0.6, 0.0, 0.5, 0.6, 1.0, 3.0, 3.5, 6.0, 30.0]


@pytest.mark.parametrize("name", activations.ELEMENTWISE)
def test_slopes_at_kinks_are_those_of_pytorch(name):
    call, _ = activations.ELEMENTWISE[name]
    theirs = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    result = call(torch.nn.functional, theirs)
    (wanted,) = torch.autograd.grad(result.sum(), theirs)
    ours = tfr.asarray(POINTS, dtype="float64")
    # whose constants are of float32 in places
    found = call(F, ours).numpy()
    np.testing.assert_allclose(found, result.detach().numpy(), rtol=1e-9, atol=1e-15)
    found = tfr.grad(lambda x: call(F, x).sum())(ours).numpy()
    np.testing.assert_allclose(found, wanted.numpy(), rtol=2e-7, atol=1e-12)
    ends = [np.inf, -np.inf, np.nan]
    limits = call(torch.nn.functional, torch.tensor(ends)).numpy()
    known = ~np.isnan(limits) | np.isnan(
        ends
    )  # of the others there is a limit, which PyTorch misses
    found = call(F, tfr.asarray(ends)).numpy()
    np.testing.assert_array_equal(found[known], limits[known])
