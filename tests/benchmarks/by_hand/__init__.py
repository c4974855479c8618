"""The workloads as a careful person writes them for Numba: loops over rows, both cores, one pass where one will do."""

from tests.benchmarks.by_hand.elementwise import (
    black_scholes,
    expression,
    small_expression,
    transposed,
)
from tests.benchmarks.by_hand.heat import heat, heat_on_one_thread
from tests.benchmarks.by_hand.products import dense, product
from tests.benchmarks.by_hand.rows import layer_norm, softmax
from tests.benchmarks.by_hand.simulation import asian_call, random_walks
from tests.benchmarks.by_hand.sums import SUMS, VARIANCES

__all__ = [
    "SUMS",
    "VARIANCES",
    "asian_call",
    "black_scholes",
    "dense",
    "expression",
    "heat",
    "heat_on_one_thread",
    "layer_norm",
    "product",
    "random_walks",
    "small_expression",
    "softmax",
    "transposed",
]
