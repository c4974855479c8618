"""Random programs under `jit`: NumPy's results, and on other data of the same kind those of the plain program."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import config
from tensorframe.errors import TracingError
from tensorframe.testing.compare import assert_close, host
from tensorframe.testing.program import compiled
from tensorframe.testing.random_graph import program_of
from tensorframe.testing.reference import reference

CHUNK = 100


def lines_of(steps, names):
    """Run steps of a program with these variables, and return all variables."""
    variables = {"xp": tfr, "np": np, "inf": np.inf, "nan": np.nan, **names}
    exec(compiled("\n".join(step.source() for step in steps)), variables)
    return variables


def parts_of(program):
    """Return the leaves of a program by name, and a function of them that does the rest."""
    given = [step for step in program.steps if not step.inputs]
    rest = [step for step in program.steps if step.inputs]
    variables = lines_of(given, {})
    leaves = {f"v{step.target}": variables[f"v{step.target}"] for step in given}
    return leaves, lambda leaves: program.pick(lines_of(rest, leaves))


def shuffled(tensor, seed):
    """Return the same elements at other places."""
    array = tensor.numpy(copy=True)
    flat = array.reshape(-1)
    np.random.default_rng(seed).shuffle(flat)
    return tfr.asarray(flat.reshape(array.shape), device=tensor.device)


def agrees(seed):
    """Check the program of a seed; return False if it reads values and cannot be recorded."""
    program = program_of(seed)
    expected = [host(value) for value in program.pick(program.values(reference))]
    with config.override(**dict(program.options)):
        leaves, run = parts_of(program)
        jitted = tfr.jit(run)
        try:
            found = jitted(leaves)
        except TracingError:
            return False
        for result, got, wanted in zip(program.results, found, expected, strict=True):
            name = f"seed {seed}, v{result.variable}"
            assert_close(got, wanted, atol=result.atol, name=name)
        for again in range(2):
            others = {name: shuffled(leaf, seed + again) for name, leaf in leaves.items()}
            results, plain = jitted(others), run(others)
            for got, wanted, first in zip(results, plain, found, strict=True):
                assert (got.shape, got.dtype) == (first.shape, first.dtype)
                assert_close(got, wanted, name=f"seed {seed} on other data")
    assert jitted.cache_info().recorded == 1
    return True


@pytest.mark.sweep(3)
@pytest.mark.parametrize("start", range(20_000, 20_600, CHUNK))
def test_random_programs(start):
    # one engine, so that results are equal to the last bit
    with tfr.use_backend("numpy"):
        recorded = [agrees(seed) for seed in range(start, start + CHUNK)]
    assert sum(recorded) > 0.7 * CHUNK


@pytest.mark.parametrize("start", range(21_000, 21_200, CHUNK))
def test_random_programs_on_the_default_device(start):
    for seed in range(start, start + CHUNK):
        program = program_of(seed)
        expected = [host(value) for value in program.pick(program.values(reference))]
        with config.override(**dict(program.options)):
            leaves, run = parts_of(program)
            jitted = tfr.jit(run)
            for _ in range(2):
                try:
                    found = jitted(leaves)
                except TracingError:
                    break
                for result, got, wanted in zip(program.results, found, expected, strict=True):
                    assert_close(got, wanted, atol=result.atol, name=f"seed {seed}")
