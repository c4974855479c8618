"""Batches: every example once, the same for all arrays, in an order that the key alone decides."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tensorframe.errors import ArgumentError, DTypeError, ShapeError

DEVICES = ["cpu"] + [
    name for name in ("opencl", "wgpu", "cuda") if name in tfr.backends.available()
]


def walked(found):
    return [[part.tolist() for part in batch] for batch in found]


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, tfr.asarray, list], ids=["numpy", "tensor", "list"])
def test_in_order(kind, drop_last):
    x, y = np.arange(14).reshape(7, 2), np.arange(7) * 10
    found = nn.batches(kind(x), kind(y), size=3, drop_last=drop_last)
    expected = [[x[i : i + 3].tolist(), y[i : i + 3].tolist()] for i in (0, 3, 6)]
    assert walked(found) == (expected[:2] if drop_last else expected)
    assert len(found) == len(list(found))


@pytest.mark.parametrize("device", DEVICES)
def test_shuffled_by_a_key(device):
    x = tfr.arange(10, device=device)
    first = nn.batches(x, x * 2, size=4, key=tfr.random.key(3))
    again = nn.batches(np.arange(10), np.arange(10) * 2, size=4, key=tfr.random.key(3))
    other = nn.batches(x, x * 2, size=4, key=tfr.random.key(4))
    seen = walked(first)
    assert [len(batch[0]) for batch in seen] == [4, 4, 2]
    assert sorted(i for batch in seen for i in batch[0]) == list(range(10))
    assert all([2 * i for i in a] == b for a, b in seen)
    assert walked(first) == seen == walked(again)
    assert walked(other) != seen
    assert all(str(part.device) == str(x.device) for batch in first for part in batch)


def test_a_single_array_gives_tensors():
    (batch,) = nn.batches(np.zeros((3, 2)), size=5)
    assert batch.shape == (3, 2)


def test_shuffle_false_keeps_the_order():
    found = nn.batches(np.arange(4), size=2, key=tfr.random.key(0), shuffle=False)
    assert [batch.tolist() for batch in found] == [[0, 1], [2, 3]]


def test_of_a_mapped_array_no_more_is_read_than_a_batch():
    class Counting(np.ndarray):
        read = 0

        def __getitem__(self, key):
            result = super().__getitem__(key)
            Counting.read = max(Counting.read, np.asarray(result).nbytes)
            return np.asarray(result)

    whole = np.zeros((1000, 8), np.float32).view(Counting)
    for key in (None, tfr.random.key(0)):
        for batch in nn.batches(whole, size=10, key=key):
            assert batch.shape == (10, 8)
    assert Counting.read == 10 * 8 * 4


def test_a_progress_bar_takes_them():
    tqdm = pytest.importorskip("tqdm")
    bar = tqdm.tqdm(nn.batches(np.arange(7), size=2), disable=True)
    assert bar.total == 4
    assert len(list(bar)) == 4


@pytest.mark.parametrize(
    ("arrays", "options", "error", "text"),
    [
        ([np.zeros(3), np.zeros(4)], {}, ShapeError, r"shapes \(3,\) and \(4,\)"),
        ([np.zeros(())], {}, ShapeError, "first axis"),
        ([], {}, ArgumentError, "nothing to take"),
        ([np.zeros(3)], {"size": 0}, ArgumentError, "at least 1"),
        ([np.zeros(3)], {"shuffle": True}, ArgumentError, "takes a key"),
        ([np.zeros(3)], {"key": 3}, DTypeError, "key is a key"),
    ],
)
def test_what_is_refused(arrays, options, error, text):
    with pytest.raises(error, match=text):
        nn.batches(*arrays, **{"size": 2, **options})
