"""Rows that groups hold: each element is read once, with the bits of kernels that read it in every pass."""

from collections import Counter

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.ir import Allocate
from tests.kernel.interpreted import Memory, in_groups, interpreted, interpreting, kernels_of

pytest.importorskip(
    "llvmlite", reason="the planner groups what kernels compute, where there are any"
)

ENOUGH = 1 << 12  # bytes


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def layer_norm(x):
    centred = x - tfr.mean(x, axis=1, keepdims=True)
    return centred / tfr.sqrt(tfr.mean(centred * centred, axis=1, keepdims=True) + 1e-5)


def rms_norm(x):
    return x / tfr.sqrt(tfr.mean(x * x, axis=1, keepdims=True) + 1e-5)


FUNCTIONS = {
    "softmax": lambda x: tfr.softmax(x, axis=1),
    "logsumexp": lambda x: tfr.logsumexp(x, axis=1),
    "variance": lambda x: tfr.var(x, axis=1),
    "layer norm": layer_norm,
    "rms norm": rms_norm,
    "attention's rows": lambda x: tfr.softmax(x * 0.3 + tfr.where(x > 1, 0.0, x), axis=1),
}


def matrix(*shape, dtype=np.float32):
    drawn = np.random.default_rng(shape[-1]).standard_normal(shape)
    return tfr.asarray((3 * drawn).astype(dtype), device="llvm")


def with_reads(monkeypatch, function, x, *, rows):
    """The result of a function, and how often its kernels read elements of the operand."""
    reads = Counter()
    get = Memory.__getitem__

    def counted(memory, place):
        if memory._array.shape == x.shape:
            reads[int(place)] += 1
        return get(memory, place)

    with in_groups(rows=rows), interpreting(), monkeypatch.context() as patched:
        patched.setattr(Memory, "__getitem__", counted)
        (found,) = interpreted(function(x))
    return np.asarray(found), reads


# several rows of a group, one, and rows of two chunks and a piece
@pytest.mark.sweep(3)
@pytest.mark.parametrize("length", [8, 15, 37])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_element_is_read_once(name, length, monkeypatch):
    x = matrix(6, length)
    expected, again = with_reads(monkeypatch, FUNCTIONS[name], x, rows=0)
    found, reads = with_reads(monkeypatch, FUNCTIONS[name], x, rows=ENOUGH)
    assert min(again.values()) > 1
    assert set(reads.values()) == {1}
    assert len(reads) == 6 * length
    assert found.tobytes() == expected.tobytes()


def held_in(function, *operands, rows=ENOUGH):
    """The sizes of what the kernels' groups hold of rows."""
    with in_groups(rows=rows), interpreting():
        kernels = kernels_of(function(*operands))
    allocations = [one for kernel in kernels for one in kernel.body if isinstance(one, Allocate)]
    return [int(one.count.value.real) for one in allocations]


def test_what_is_made_of_several_operands_is_held_in_their_place():
    both = matrix(6, 15), matrix(6, 15)
    assert held_in(lambda x, m: tfr.softmax(x * 0.5 + m, axis=1), *both) == [16]
    # each is needed beside their sum
    assert held_in(lambda x, m: x * m * tfr.softmax(x + m, axis=1), *both) == [16] * 2


def test_what_one_pass_reads_is_not_held():
    x, scale = matrix(6, 15), matrix(15)
    assert held_in(lambda x: tfr.sum(x, axis=1), x) == []
    assert held_in(lambda x, s: layer_norm(x) * s, x, scale) == [16]


def test_groups_have_fewer_rows_where_there_is_little_memory_and_none_where_there_is_less():
    x = matrix(6, 8)
    joining = 32 * 4
    assert held_in(layer_norm, x, rows=joining + 64) == [16]
    assert held_in(layer_norm, x, rows=joining // 2 + 32) == [8]
    assert held_in(layer_norm, x, rows=joining // 2 + 31) == []
