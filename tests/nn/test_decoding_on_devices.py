"""What a generated token costs on a device: kernels, transfers and bytes, none of which grow with the cache."""

from collections import Counter
from itertools import islice

import pytest

import tensorframe as tfr
from tests.backends.counts import counted
from tests.backends.devices import on_every_device

LLAMA = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2000,
}


def of_a_token(device: str, layers: int, capacity: int = 40, **choices: object) -> Counter[str]:
    """What the tenth token takes, when kernels have been built."""
    config = {**LLAMA, "num_hidden_layers": layers}
    model = tfr.nn.models.Llama(config, device, key=tfr.random.key(0))
    tokens = model.generate([1, 2, 3], max_tokens=capacity - 3, **choices)
    with counted(device) as counts:
        list(islice(tokens, 9))
        counts.clear()
        with counted(device) as memory:
            next(tokens)
    counts["fresh"] = memory["fresh"]
    return counts


@pytest.mark.sweep(5)
@on_every_device
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_the_cache_stays_where_it_is(device: str, temperature: float) -> None:
    """A token takes memory for what is between its kernels, as much in a long cache as in a short one."""
    key = tfr.random.key(1)
    short, long = [
        of_a_token(device, 2, capacity, temperature=temperature, key=key)
        for capacity in (256, 1990)
    ]
    for name in ("launch", "write", "read", "copy"):
        assert short[name] == long[name]
    # token, position and state of the draw go in and out
    assert short["copy"] <= 6
    of_a_layer = 4 * 1990 * 2 * 2 * 16
    assert long["fresh"] < of_a_layer // 8


@on_every_device
def test_layers_take_eight_kernels_and_no_transfer(device: str) -> None:
    """The host asks for the token, and whether all indices were right, and writes nothing: marks that are clear stay.

    The device copies token and position.
    """
    two, four = of_a_token(device, 2), of_a_token(device, 4)
    assert four["launch"] - two["launch"] <= 2 * 8
    assert (four["read"], four["write"], four["copy"]) == (2, 0, 4)
