"""Random numbers: the published vectors of the generator, one key one sequence, and the right distributions.

Statistical tests use fixed keys: they either pass always or never. Their thresholds are those of a 1e-6 chance.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe import random
from tensorframe.backends.numpy.random import random_words
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tests.frontend.philox import block

CHANCE = 1e-6
FLOATS = ["float16", "bfloat16", "float32", "float64"]
KEY = random.key(2024)


def joined(*words):
    """Returns the integer made of 32-bit words, the lowest first."""
    return sum(word << 32 * place for place, word in enumerate(words))


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        # the file kat_vectors of Random123, lines "philox4x32 10"
        (
            (0, 0, 0, 0),
            (0, 0),
            (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
        ),
        (
            (0xFFFFFFFF,) * 4,
            (0xFFFFFFFF,) * 2,
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers(counter, key, words):
    assert tuple(random_words(joined(*key), joined(*counter), 4).tolist()) == words


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**128 - 1))
@settings(max_examples=50, deadline=None)
def test_every_block_is_that_of_the_paper(key, counter):
    found = random_words(key, counter, 10).tolist()
    blocks = [block(key, (counter + index) % 2**128) for index in range(3)]
    assert found == [word for statement in blocks for word in statement][:10]


def test_long_sequences_are_made_of_the_same_blocks():
    words = random_words(5, 0, 200_001)
    for at in (0, 32_768, 65_535, 199_996):
        assert words[at - at % 4 : at - at % 4 + 4].tolist() == block(5, at // 4)
    assert words.shape == (200_001,)


@pytest.mark.parametrize(
    "draw",
    [
        lambda key: random.uniform((3, 5), key=key),
        lambda key: random.normal((3, 5), key=key),
        lambda key: random.exponential((3, 5), key=key),
        lambda key: random.integers(0, 1000, (3, 5), key=key),
        lambda key: random.bernoulli((8, 5), key=key),
        lambda key: random.permutation(50, key=key),
        lambda key: random.choice(1000, 15, key=key),
    ],
    ids=["uniform", "normal", "exponential", "integers", "bernoulli", "permutation", "choice"],
)
def test_a_key_gives_the_same_values_whatever_is_drawn_between(draw):
    first = draw(KEY).numpy()
    random.uniform(7).compute()
    np.testing.assert_array_equal(draw(KEY).numpy(), first)
    assert (draw(random.key(1)).numpy() != first).any()


def test_values_depend_on_the_order_of_recording_not_of_computing():
    random.seed(3)
    first, second = random.uniform(5), random.normal(5)
    late = second.numpy(), first.numpy()
    random.seed(3)
    early = random.uniform(5).numpy(), random.normal(5).numpy()
    np.testing.assert_array_equal(late[1], early[0])
    np.testing.assert_array_equal(late[0], early[1])


def test_drawing_again_goes_on():
    random.seed(3)
    first, second = random.uniform(1000), random.uniform(1000)
    assert not np.isin(first.numpy(), second.numpy()).all()
    both = np.concatenate([first.numpy(), second.numpy()])
    random.seed(3)
    np.testing.assert_array_equal(random.uniform(2000).numpy(), both)


def test_longer_draws_begin_like_shorter_ones():
    for draw in (random.uniform, random.normal, random.exponential):
        np.testing.assert_array_equal(draw(100, key=KEY).numpy()[:8], draw(8, key=KEY).numpy())


def test_threads_never_draw_the_same_words():
    drawn: list[tfr.Tensor] = []

    def draw():
        drawn.extend(random.uniform(4) for _ in range(200))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counters = {tensor.numpy().tobytes() for tensor in drawn}
    assert len(counters) == 800


def test_drawing_computes_nothing():
    assert random.normal((1000, 1000)).node.storage is None


def test_split_keys_are_new_and_always_the_same():
    keys = random.split(KEY, 1000)
    assert len({key.value for key in keys} | {KEY.value}) == 1001
    assert random.split(KEY, 1000) == keys
    assert random.split(KEY, 3) == keys[:3]


def test_split_keys_are_uncorrelated():
    count = 100_000
    drawn = [random.normal(count, key=key).numpy() for key in (KEY, *random.split(KEY, 3))]
    correlations = np.corrcoef(drawn)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 5 / math.sqrt(count)


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers_are_uniform(dtype):
    x = random.uniform(100_000, dtype=dtype, key=KEY)
    assert x.dtype == tfr.dtypes.as_dtype(dtype)
    values = x.numpy().astype(np.float64)
    assert 0 <= values.min() <= values.max() < 1
    counts, _ = np.histogram(values, 64, (0, 1))
    assert scipy.stats.chisquare(counts).pvalue > CHANCE


def test_uniform_fractions_are_exact_multiples():
    single = random.uniform(1000, key=KEY).numpy()
    assert (single * 2.0**24 % 1 == 0).all()
    assert single.max() < 1
    double = random.uniform(1000, dtype="float64", key=KEY).numpy()
    assert (double * 2.0**53 % 1 == 0).all()
    # the last bits are used
    assert (double * 2.0**53 % 2 == 1).any()


def test_successive_uniform_numbers_fill_the_cube():
    points = (random.uniform((30_000, 3), key=KEY).numpy() * 8).astype(int)
    counts = np.bincount(points @ [64, 8, 1], minlength=512)
    assert scipy.stats.chisquare(counts).pvalue > CHANCE


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (random.uniform, scipy.stats.uniform),
        (random.normal, scipy.stats.norm),
        (random.exponential, scipy.stats.expon),
    ],
    ids=["uniform", "normal", "exponential"],
)
def test_distributions_pass_kolmogorov_and_smirnov(draw, distribution, dtype):
    values = draw(50_000, dtype=dtype, key=KEY).numpy()
    assert np.isfinite(values).all()
    assert scipy.stats.kstest(values, distribution.cdf).pvalue > CHANCE


def test_normal_numbers_have_the_right_moments_and_are_not_paired():
    count = 200_000
    values = random.normal(count, key=KEY).numpy().astype(np.float64)
    moments = [(values**power).mean() for power in (1, 2, 3, 4)]
    errors = [math.sqrt(variance / count) for variance in (1, 2, 15, 96)]
    for moment, expected, error in zip(moments, (0, 1, 0, 3), errors, strict=True):
        assert abs(moment - expected) < 5 * error
    # both numbers of a pair come from one radius: uncorrelated, also in their squares
    pairs = values.reshape(-1, 2)
    for power in (1, 2):
        correlation = np.corrcoef(pairs[:, 0] ** power, pairs[:, 1] ** power)[0, 1]
        assert abs(correlation) < 5 / math.sqrt(count / 2)


def test_parameters_shift_scale_and_broadcast():
    base = random.normal((2, 3), key=KEY).numpy()
    mean = np.asarray([1.0, 10.0, 100.0], np.float32)
    np.testing.assert_allclose(random.normal((2, 3), mean, 0.5, key=KEY).numpy(), base * 0.5 + mean)
    assert random.uniform(low=tfr.zeros((4, 1)), high=tfr.ones(3)).shape == (4, 3)
    values = random.uniform(1000, -3.0, -1.0, key=KEY).numpy()
    assert -3 <= values.min() < -2.9 < -1.1 < values.max() <= -1
    with pytest.raises(ShapeError, match="do not broadcast to shape"):
        random.normal(3, tfr.zeros((2, 3)))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,), (3, 2)])
def test_shapes_are_those_asked_for(shape):
    for draw in (random.uniform, random.normal, random.exponential, random.bernoulli):
        assert draw(shape).shape == draw(shape).numpy().shape == shape
    assert random.integers(0, 5, shape).numpy().shape == shape
    assert random.choice(5, shape).numpy().shape == shape


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_bernoulli_is_true_as_often_as_asked(p):
    values = random.bernoulli(100_000, p, key=KEY).numpy()
    assert values.dtype == bool
    assert abs(values.mean() - p) <= 5 * math.sqrt(p * (1 - p) / 100_000)


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (0, 6, "int64"),
        (-3, 4, "int8"),
        (0, 2**32, "uint32"),
        (-(2**63), 2**63, "int64"),
        (0, 2**64, "uint64"),
        (0, 3 * 2**40, "int64"),
        (-5, 2**63, "int64"),
        (7, 8, "int32"),
    ],
)
def test_integers_fill_their_range_evenly(low, high, dtype):
    values = random.integers(low, high, 40_000, dtype=dtype, key=KEY)
    assert values.dtype == dtype
    bins = min(high - low, 64)
    exact = [(int(value) - low) * bins // (high - low) for value in values.numpy()]
    counts = np.bincount(exact, minlength=bins)
    assert len(counts) == bins
    assert bins == 1 or scipy.stats.chisquare(counts).pvalue > CHANCE


@given(st.integers(2, 2**64) | st.integers(2, 2**33), st.integers(0, 2**64 - 1))
@settings(max_examples=100, deadline=None)
def test_integers_are_the_exact_product_of_fraction_and_range(span, key):
    words = random_words(key, 0, 4).tolist()
    lanes = 2 if span <= 2**32 else 4
    fraction = 0
    for word in words[:lanes]:
        fraction = fraction << 32 | word
    found = random.integers(0, span, 1, dtype="uint64", key=random.key(key))
    assert found.item() == fraction * span >> 32 * lanes


def test_the_end_of_a_range_is_included_when_asked():
    values = random.integers(1, 6, 1000, endpoint=True, key=KEY).numpy()
    assert set(values.tolist()) == {1, 2, 3, 4, 5, 6}
    assert set(random.integers(3, shape=100, key=KEY).tolist()) == {0, 1, 2}


def test_ranges_must_hold_integers_that_fit():
    with pytest.raises(ArgumentError, match="no integer from 3 to 2"):
        random.integers(3, 3)
    with pytest.raises(OutOfRangeError, match="0 to 256 does not fit uint8"):
        random.integers(0, 257, dtype="uint8")
    with pytest.raises(DTypeError, match="float32"):
        random.integers(0, 5, dtype="float32")


def test_permutations_are_equally_likely():
    keys = random.split(KEY, 1200)
    orders = [tuple(random.permutation(4, key=key).tolist()) for key in keys]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24
    assert scipy.stats.chisquare(counts).pvalue > CHANCE


def test_slices_move_as_wholes():
    x = np.arange(12).reshape(3, 4)
    columns = random.permutation(x, axis=1, key=KEY).numpy()
    assert sorted(map(tuple, columns.T)) == sorted(map(tuple, x.T))


def test_choices_follow_their_weights():
    weights = np.asarray([0.0, 1.0, 2.0, 5.0, 0.0])
    drawn = random.choice(5, 40_000, p=weights, key=KEY).numpy()
    counts = np.bincount(drawn, minlength=5)
    assert counts[0] == counts[4] == 0
    assert scipy.stats.chisquare(counts[1:4], weights[1:4] * 5000).pvalue > CHANCE


def test_choices_without_replacement_are_distinct_and_follow_their_weights():
    assert sorted(random.choice(20, 20, replace=False, key=KEY).tolist()) == list(range(20))
    weights = [1.0, 2.0, 3.0]
    pairs = [
        tuple(random.choice(3, 2, False, weights, key=key).tolist())
        for key in random.split(KEY, 1000)
    ]
    assert all(one != other for one, other in pairs)
    # first by weight, then by weight among the others
    expected = {(i, j): weights[i] / 6 * weights[j] / (6 - weights[i]) for i, j in set(pairs)}
    counts = [pairs.count(pair) for pair in expected]
    assert scipy.stats.chisquare(counts, [1000 * p for p in expected.values()]).pvalue > CHANCE


def test_choices_of_slices():
    x = np.arange(12).reshape(3, 4)
    picked = random.choice(x, (2, 5), axis=1, key=KEY)
    assert picked.shape == (3, 2, 5)
    assert (picked.numpy() - picked.numpy()[:1] == np.asarray([0, 4, 8]).reshape(3, 1, 1)).all()


def test_impossible_choices_are_refused():
    with pytest.raises(ArgumentError, match="4 of 3"):
        random.choice(3, 4, replace=False)
    with pytest.raises(ArgumentError, match="nothing to choose"):
        random.choice(0, 1)
    with pytest.raises(ShapeError, match="weights p of shape"):
        random.choice(3, 1, p=[0.5, 0.5])


def test_generators_go_on_and_begin_again():
    one, other = random.default_rng(5), random.default_rng(5)
    first = (
        one.random(4),
        one.standard_normal((2, 2)),
        one.integers(0, 9, 3),
        one.exponential(2.0, 2),
    )
    again = (
        other.random(4),
        other.standard_normal((2, 2)),
        other.integers(0, 9, 3),
        other.exponential(2.0, 2),
    )
    for left, right in zip(first, again, strict=True):
        np.testing.assert_array_equal(left.numpy(), right.numpy())
    assert (one.random(4).numpy() != first[0].numpy()).all()


def test_generators_take_numpys_arguments():
    rng = random.default_rng(KEY)
    assert rng.random().shape == rng.normal().shape == rng.integers(5).shape == ()
    assert rng.uniform(1, 2, (3, 2)).shape == rng.normal(0, 1, (3, 2)).shape == (3, 2)
    assert rng.random(3, dtype="float64").dtype == tfr.float64
    assert sorted(rng.permutation(4).tolist()) == [0, 1, 2, 3]
    assert rng.choice([10, 20], size=3, p=[1, 0]).tolist() == [10, 10, 10]
    assert random.default_rng(rng) is rng


def test_shuffling_moves_the_handle_only():
    x = tfr.arange(100)
    before, handle = x + 0, x
    random.default_rng(1).shuffle(x)
    assert handle is x
    assert x.tolist() != before.tolist() == list(range(100))
    assert sorted(x.tolist()) == before.tolist()
    with pytest.raises(DTypeError, match="takes a Tensor"):
        random.default_rng(1).shuffle([1, 2])


def test_children_are_independent_and_never_the_same():
    rng = random.default_rng(1)
    children = rng.spawn(2) + rng.spawn(1)
    drawn = [child.random(1000).numpy() for child in (rng, *children)]
    assert np.abs(np.corrcoef(drawn)[np.triu_indices(4, 1)]).max() < 5 / math.sqrt(1000)


def test_generators_without_a_seed_differ():
    one, other = random.default_rng(), random.default_rng()
    assert (one.random(8).numpy() != other.random(8).numpy()).any()


@pytest.mark.parametrize("bad", [-1, 2**64, 1.5, "seed", None])
def test_seeds_are_integers_of_64_bits(bad):
    with pytest.raises(ArgumentError, match="a seed is an integer"):
        random.key(bad)


def test_keys_are_asked_for_by_name():
    number: Any = 42
    with pytest.raises(ArgumentError, match="key= takes a key, got 42") as caught:
        random.uniform(3, key=number)
    assert "tfr.random.key" in caught.value.suggestions[0]
    with pytest.raises(ArgumentError, match="takes a key"):
        random.split(number)


def test_distributions_are_real_and_floating():
    for draw in (random.uniform, random.normal, random.exponential):
        with pytest.raises(DTypeError, match="complex64"):
            draw(3, dtype="complex64")


def test_devices_get_the_same_words():
    one, other = (random.uniform(9, key=KEY, device=name) for name in ("cpu", "numpy"))
    assert other.device == tfr.Device("numpy")
    np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_spreads_below_zero_are_refused_where_their_values_are_there():
    with pytest.raises(ArgumentError, match="normal: std < 0"):
        tfr.random.normal((3,), 0.0, -1.0)
    with pytest.raises(ArgumentError, match="normal: std < 0"):
        tfr.random.normal(scale=np.asarray([1.0, -1.0]))
    with pytest.raises(ArgumentError, match="exponential: scale < 0"):
        tfr.random.exponential(4, -1)
    assert tfr.random.normal((2,), 0.0, 0.0).tolist() == [0.0, 0.0]
    recorded = tfr.jit(lambda spread: tfr.random.normal((2,), 0.0, spread, key=tfr.random.key(1)))
    assert recorded(2.0).shape == (2,)
    lazy = tfr.asarray([1.0, 2.0]) + 1
    assert tfr.random.normal(std=lazy).shape == (2,)
