"""Distributions that the host draws: NumPy's numbers under our key and counter, whatever device they are for."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.random import continuous, discrete, multivariate

random = tfr.random
KEY = random.key(12)
PARAMETERS = {
    "standard_gamma": (2.0,),
    "gamma": (2.0, 3.0),
    "beta": (2.0, 3.0),
    "chisquare": (3.0,),
    "noncentral_chisquare": (3.0, 1.0),
    "f": (2.0, 9.0),
    "noncentral_f": (2.0, 9.0, 1.0),
    "standard_t": (5.0,),
    "standard_cauchy": (),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "gumbel": (1.0, 2.0),
    "lognormal": (0.0, 0.5),
    "rayleigh": (2.0,),
    "weibull": (2.0,),
    "pareto": (3.0,),
    "power": (3.0,),
    "triangular": (0.0, 1.0, 3.0),
    "vonmises": (0.0, 2.0),
    "wald": (1.0, 2.0),
    "poisson": (4.0,),
    "binomial": (10, 0.5),
    "negative_binomial": (3, 0.5),
    "geometric": (0.5,),
    "hypergeometric": (5, 5, 3),
    "logseries": (0.5,),
    "zipf": (2.0,),
    "dirichlet": ([1.0, 2.0],),
    "multinomial": (9, [0.25, 0.75]),
    "multivariate_hypergeometric": ([4, 6], 5),
    "multivariate_normal": ([0.0, 9.0], [[1.0, 0.5], [0.5, 1.0]]),
}


def expected(name, counter=0, size=(3, 4)):
    generator = np.random.Generator(np.random.Philox(key=12, counter=counter << 192))
    return getattr(generator, name)(*PARAMETERS[name], size=size)


def test_every_distribution_has_parameters_here():
    assert PARAMETERS.keys() == {*continuous.__all__, *discrete.__all__, *multivariate.__all__}


@pytest.mark.parametrize("name", PARAMETERS)
def test_numbers_are_those_of_numpys_philox(name):
    drawn = getattr(random, name)(*PARAMETERS[name], size=(3, 4), key=KEY)
    assert drawn.node.storage is None
    values = expected(name)
    assert drawn.shape == values.shape
    assert drawn.dtype.kind == values.dtype.kind
    np.testing.assert_array_equal(drawn.numpy(), values.astype(drawn.dtype))
    rng = random.default_rng(12)
    np.testing.assert_array_equal(
        getattr(rng, name)(*PARAMETERS[name], size=(3, 4)).numpy(), drawn.numpy()
    )


@pytest.mark.parametrize("name", ["gamma", "poisson", "multivariate_normal"])
@pytest.mark.parametrize("device", ["cpu", "numpy", "opencl", "wgpu"])
def test_bits_are_the_same_on_every_device(name, device):
    if device not in {str(one.device.backend) for one in tfr.backends.devices()}:
        pytest.skip("not here")
    drawn = getattr(random, name)(*PARAMETERS[name], size=5, key=KEY, device=device)
    values = expected(name, size=5)
    assert drawn.device.backend == device
    np.testing.assert_array_equal(drawn.numpy(), values.astype(drawn.dtype))


def test_parameters_broadcast_and_may_be_tensors():
    lam = tfr.asarray([[1.0], [100.0]])
    assert random.poisson(lam, key=KEY).shape == (2, 1)
    assert random.poisson(lam, size=(2, 3), key=KEY).shape == (2, 3)
    assert random.gamma(lam, tfr.ones(3), key=KEY).shape == (2, 3)
    assert random.binomial(tfr.asarray([3, 5]), 1.0, key=KEY).tolist() == [3, 5]
    assert random.gamma(2.0, key=KEY).shape == ()
    assert random.gamma(2.0, size=(0, 3), key=KEY).shape == (0, 3)
    with pytest.raises(ShapeError, match="broadcast"):
        random.poisson(lam, size=3, key=KEY)


def test_draws_of_a_stream_go_on():
    rng = random.default_rng(12)
    first, second = rng.gamma(2.0, size=100), rng.gamma(2.0, size=100)
    np.testing.assert_array_equal(first.numpy(), expected_from(0))
    np.testing.assert_array_equal(second.numpy(), expected_from(25))


def expected_from(counter):
    generator = np.random.Generator(np.random.Philox(key=12, counter=counter << 192))
    return generator.gamma(2.0, size=100).astype(np.float32)


def test_jitted_functions_draw_anew_and_mapped_ones_by_keys():
    step = tfr.jit(lambda x: x + random.poisson(50.0, 20))
    assert step(tfr.zeros(20)).tolist() != step(tfr.zeros(20)).tolist()
    drawn = tfr.jit(lambda k: random.gamma(2.0, size=3, key=k))(KEY)
    np.testing.assert_array_equal(drawn.numpy(), random.gamma(2.0, size=3, key=KEY).numpy())
    keys = random.split(KEY, 3)
    together = tfr.vmap(lambda k, lam: random.poisson(lam, 4, key=k))(
        keys, tfr.asarray([1.0, 9.0, 50.0])
    )
    single = [
        random.poisson(lam, 4, key=k).tolist()
        for k, lam in zip(keys, (1.0, 9.0, 50.0), strict=True)
    ]
    assert together.tolist() == single


def test_impossible_parameters_are_refused_when_they_are_drawn():
    drawn = random.poisson(-1.0, key=KEY)
    with pytest.raises(ArgumentError, match="poisson: lam < 0") as caught:
        drawn.numpy()
    assert "random.poisson(-1.0, key=KEY)" in str(caught.value)
    with pytest.raises(DTypeError, match="floating"):
        random.gamma(2.0, dtype=int)
    with pytest.raises(ShapeError, match="vector"):
        random.dirichlet([[1.0]])


def test_lines_are_permuted_each_by_itself():
    x = np.arange(400).reshape(20, 20)
    rows = random.permuted(x, 1, key=KEY).numpy()
    assert (np.sort(rows, axis=1) == x).all()
    assert len({tuple(row % 20) for row in rows}) == 20
    everything = random.permuted(tfr.asarray(x), key=KEY).numpy()
    assert sorted(everything.ravel()) == list(range(400))
    assert (everything != x).any()


def test_numpys_order_and_names_of_arguments():
    for drawn in (
        random.normal(5.0, 0.1, (2, 3), key=KEY),
        random.normal(loc=5.0, scale=0.1, size=(2, 3), key=KEY),
        random.normal((2, 3), 5.0, 0.1, key=KEY),
    ):
        np.testing.assert_array_equal(drawn.numpy(), random.normal((2, 3), 5, 0.1, key=KEY).numpy())
    assert random.uniform(-1.0, 1.0, 4, key=KEY).shape == (4,)
    assert random.uniform(-1, 1, (2,), key=KEY).shape == (2,)
    assert random.normal(0, 1, 5, key=KEY).shape == random.uniform(0, 1, 5, key=KEY).shape == (5,)
    assert random.normal(2, 1, 100, key=KEY).shape == (100,)
    assert random.normal(3, 0, 1, key=KEY).shape == random.uniform(3, 0, 1, key=KEY).shape == (3,)
    assert random.exponential(2.0, 5, key=KEY).shape == (5,)
    assert random.integers(0, 9, size=3, key=KEY).shape == (3,)
    assert random.choice(9, size=3, key=KEY).shape == (3,)


def test_older_names_draw_from_the_generator_that_seed_restarts():
    def all_of_them():
        x = tfr.arange(9)
        random.seed(3)
        random.shuffle(x)
        return [
            *(random.rand(2, 3), random.randn(2), random.randint(0, 9, (2, 2)), random.random(3)),
            *(
                random.random_sample(2),
                random.standard_normal(2),
                random.standard_exponential(2),
                x,
            ),
        ]

    first, second = all_of_them(), all_of_them()
    assert [one.shape for one in first][:3] == [(2, 3), (2,), (2, 2)]
    assert [one.tolist() for one in first] == [one.tolist() for one in second]
    with pytest.raises(DTypeError, match="permutation"):
        random.shuffle([1, 2])
