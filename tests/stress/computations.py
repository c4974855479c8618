"""What threads build, and interrupts and forks get in the middle of, and what NumPy makes of it."""

import numpy as np

import tensorframe as tfr
from tensorframe.backends.cpu import choice

PLANNED = {"progress": "off", "small_size": 0, "small_nodes": 0}


def kernels_at_once():
    """Have the cpu go to compiled kernels the first time, however small they are."""
    choice.ENOUGH = -1


def operands(seed):
    generator = np.random.default_rng(seed)
    rows, columns, inner = (int(size) for size in generator.integers(3, 40, 3))
    shapes = ((rows, inner), (inner, columns), (columns,))
    return [generator.standard_normal(shape).astype(np.float32) for shape in shapes]


def results(left, right, row):
    """Tensors of a product, rows, columns, a sort, a scan and a map; all of one size."""
    product = tfr.tanh(left @ right + row)
    return {
        "product": product * 2,
        "rows": tfr.softmax(product, axis=1),
        "columns": product - tfr.mean(product, axis=0),
        "sort": tfr.sort(product + 1, axis=0),
        "scan": tfr.cumulative_sum(product, axis=1),
        "map": tfr.exp(-product * product) * tfr.sin(product + row),
    }


def expected(left, right, row):
    product = np.tanh(left @ right + row)
    powers = np.exp(product - product.max(axis=1, keepdims=True))
    return {
        "product": product * 2,
        "rows": powers / powers.sum(axis=1, keepdims=True),
        "columns": product - product.mean(axis=0),
        "sort": np.sort(product + 1, axis=0),
        "scan": np.cumsum(product, axis=1),
        "map": np.exp(-product * product) * np.sin(product + row),
    }


def wrong(tensors, values):
    """Return the names of results that are not what NumPy has."""
    return [
        name
        for name, value in values.items()
        if name in tensors and not np.allclose(tensors[name].numpy(), value, rtol=2e-4, atol=2e-5)
    ]
