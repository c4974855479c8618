"""Small parts of graphs with plans run before these, and are the same ones in every evaluation."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.plan_cache import PLANS

COUNT = 40


@pytest.fixture
def vectors(tmp_path):
    """Small arrays of a file, which nobody has read."""
    path = tmp_path / "vectors.safetensors"
    generator = np.random.default_rng(0)
    tfr.save(path, {f"v{k}": tfr.asarray(generator.random(64)) for k in range(COUNT)})
    return tfr.load(path)


def layers(x, vectors):
    for vector in vectors.values():
        x = tfr.tanh(x * 0.5 + vector * 2)
    return x


def test_files_that_are_read_for_the_first_time_make_no_other_plan(vectors):
    x = tfr.asarray(np.ones((256, 64))).compute()
    first = layers(x, vectors).numpy()
    plans = len(PLANS)
    again = layers(x, vectors).numpy()
    assert len(PLANS) == plans
    assert first.tobytes() == again.tobytes()
