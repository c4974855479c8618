"""Seeds in NumPy's forms, states that are gone back to, and NumPy's older class of generators."""

import copy
import inspect
import json
import pickle

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import random
from tensorframe.errors import ArgumentError, DTypeError

SEEDS = {
    "an integer": 7,
    "integers": [1, 2, 3],
    "an array": np.arange(4),
    "a key": random.key(7),
    "NumPy's sequence of seeds": np.random.SeedSequence(7),
    "NumPy's bits": np.random.PCG64(7),
}
NAMES = sorted(
    name
    for name in dir(np.random.RandomState)
    if not name.startswith("_") and name != "random_integers"  # deprecated by NumPy since 2013
)


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_generators_of_equal_seeds_draw_equal_numbers(seed):
    first = random.default_rng(seed).random(5).tolist()
    assert random.default_rng(seed).random(5).tolist() == first
    assert random.RandomState(seed).rand(5).tolist() == first
    assert random.Generator(seed).random(5).tolist() == first


def test_generators_of_other_seeds_draw_other_numbers():
    seeds = [7, 8, [7], [7, 8], [8, 7], np.random.SeedSequence(8), np.random.PCG64(9)]
    drawn = {tuple(random.default_rng(seed).random(4).tolist()) for seed in seeds}
    assert len(drawn) == len(seeds)


def test_bits_and_their_seeds_are_one_seed():
    by_bits = random.default_rng(np.random.PCG64(7)).random(3).tolist()
    assert by_bits == random.default_rng(np.random.SeedSequence(7)).random(3).tolist()


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ("seed", ArgumentError),
        (-1, ArgumentError),
        (1.5, ArgumentError),
        ([1, -1], ArgumentError),
        ([1, "a"], DTypeError),
    ],
)
def test_what_is_no_seed_is_refused(bad, error):
    for make in (random.default_rng, random.RandomState, random.seed):
        with pytest.raises(error):
            make(bad)


def test_the_shared_generator_goes_back_to_its_state():
    random.seed([3, 4])
    random.rand(5)
    state = random.get_state()
    # small draws that repeat are made ahead of time: going back must not be confused by them
    first = [random.randn(3).tolist() for _ in range(40)]
    random.set_state(state)
    assert [random.randn(3).tolist() for _ in range(40)] == first
    random.seed([3, 4])
    random.rand(5)
    assert random.get_state() == state


def test_a_state_holds_for_children_too():
    rng = random.RandomState(1)
    state = rng.get_state()
    first = rng.spawn(2)[1].random(3).tolist()
    assert rng.spawn(1)[0].random(3).tolist() != first
    rng.set_state(state)
    assert rng.spawn(2)[1].random(3).tolist() == first


def test_a_state_is_kept_as_json():
    rng = random.RandomState(1)
    rng.rand(3)
    state = json.loads(json.dumps(rng.get_state()))
    first = rng.rand(3).tolist()
    rng.set_state(state)
    assert rng.rand(3).tolist() == first


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda rng: pickle.loads(pickle.dumps(rng))])
@pytest.mark.parametrize("kind", [random.default_rng, random.RandomState])
def test_a_copy_of_a_generator_goes_on_where_it_was_on_its_own(kind, copied):
    rng = kind(5)
    rng.random(3)
    rng.spawn(1)
    same = copied(rng)
    first = rng.random(3).tolist(), rng.spawn(1)[0].random(3).tolist()
    assert type(same) is type(rng)
    assert (same.random(3).tolist(), same.spawn(1)[0].random(3).tolist()) == first


@pytest.mark.parametrize("bad", [("a", 0), (-5, 0), (0, 1.5)])
def test_places_in_a_state_are_counts(bad):
    rng = random.RandomState(1)
    with pytest.raises(ArgumentError):
        rng.set_state((*rng.get_state()[:2], *bad))
    assert rng.rand(2).tolist() == random.RandomState(1).rand(2).tolist()


@pytest.mark.parametrize("bad", [(1, 2), None, np.random.RandomState(0).get_state()])
def test_other_states_are_refused(bad):
    before = random.get_state()
    with pytest.raises(ArgumentError, match="takes what get_state"):
        random.set_state(bad)
    assert random.get_state() == before


@pytest.mark.parametrize("name", NAMES)
def test_the_older_class_has_numpys_methods_and_arguments(name):
    ours = inspect.signature(getattr(random.RandomState, name)).parameters
    # those of NumPy's are written in C: the first line of the docstring has their signature
    text = getattr(np.random.RandomState, name).__doc__.strip().split("\n")[0]
    theirs = [part.split("=")[0].strip(" )*") for part in text.split("(", 1)[1].split(",")]
    theirs = [name for name in theirs if name.isidentifier() and not name.startswith("d")]
    assert set(theirs) <= {*ours} | {"self", "check_valid", "tol"}


def test_the_older_class_draws_in_shapes():
    rng = random.RandomState(0)
    assert rng.rand(2, 3).shape == rng.randn(2, 3).shape == rng.random_sample((2, 3)).shape
    drawn = rng.randint(3, 7, size=1000)
    assert set(drawn.tolist()) == {3, 4, 5, 6}
    assert rng.rand().shape == rng.randint(5).shape == ()
    assert int(rng.tomaxint(100).min()) >= 0
    rng.seed(0)
    assert rng.rand(2).tolist() == random.RandomState(0).rand(2).tolist()


def test_the_namespace_has_numpys_names():
    assert {name for name in np.random.__all__ if not hasattr(random, name)} == {"random_integers"}
    assert len(random.bytes(5)) == 5
    assert tfr.random.ranf is tfr.random.sample is tfr.random.random
