"""Random numbers have the same bits on every device: those of the NumPy engine are the measure.

`nox -s bits` draws with 100 keys.
"""

from functools import cache

import pytest

import tensorframe as tfr
from tensorframe import random
from tests.bits.draws import DRAWS, bits

HERE = tfr.backends.available()
DEVICES = [name for name in ("cpu", "llvm", "opencl", "wgpu", "cuda") if name in HERE]
KEYS = [*random.split(random.key(7), 2), random.key(2**64 - 1)]
# the path of small graphs; several blocks, chunks and groups
COUNTS = [67, 40_011]
# names of the namespace that give no tensor, and those of a function that has another
OTHERS = {
    *("BitGenerator", "Generator", "Key", "MT19937", "PCG64", "PCG64DXSM", "Philox", "RandomState"),
    *("SFC64", "SeedSequence", "bytes", "default_rng", "get_state", "key", "ranf", "sample"),
    *("seed", "set_state", "split"),
}


@cache
def by_numpy(name: str) -> list[bytes]:
    return [bits(one) for one in drawn(name, "numpy")]


def drawn(name: str, device: str) -> list[tfr.Tensor]:
    return [DRAWS[name](count, key=key, device=device) for count in COUNTS for key in KEYS]


@pytest.mark.sweep(6)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", DRAWS)
def test_devices_draw_the_same_bits(name, device):
    assert [bits(one) for one in drawn(name, device)] == by_numpy(name)


def test_every_function_of_the_namespace_is_drawn_from():
    assert {name.split()[0] for name in DRAWS} == set(random.__all__) - OTHERS


def test_which_words_an_odd_position_turns_does_not_depend_on_where_a_slice_begins():
    whole = random.normal(10_001, key=KEYS[0])
    assert bits(random.normal(10_001, key=KEYS[0])[4321:]) == whole.numpy()[4321:].tobytes()
