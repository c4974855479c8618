"""All workloads, in the order of the table."""

from __future__ import annotations

from tests.benchmarks.workloads.attention import ATTENTION
from tests.benchmarks.workloads.cold import COLD_ENCODER, COMPILATION, FIRST_CALLS
from tests.benchmarks.workloads.convolutions import CONVOLUTIONS
from tests.benchmarks.workloads.elementwise import BLACK_SCHOLES, EXPRESSION, SMALL, TRANSPOSED
from tests.benchmarks.workloads.encoder import ENCODER
from tests.benchmarks.workloads.graphs import GRAPHS
from tests.benchmarks.workloads.heat import HEAT
from tests.benchmarks.workloads.in_turn import IN_TURN
from tests.benchmarks.workloads.processes import MEMORY, STARTING
from tests.benchmarks.workloads.products import DENSE
from tests.benchmarks.workloads.rows import LAYER_NORM, SOFTMAX, SUMS, VARIANCES
from tests.benchmarks.workloads.simulation import PRICES, WALKS
from tests.benchmarks.workloads.small_weights import SMALL_WEIGHTS
from tests.benchmarks.workloads.sparse import SPARSE
from tests.benchmarks.workloads.streaming import STREAMS
from tests.benchmarks.workloads.training import TRAINING

WORKLOADS = (
    EXPRESSION,
    SOFTMAX,
    SUMS,
    VARIANCES,
    LAYER_NORM,
    BLACK_SCHOLES,
    TRANSPOSED,
    DENSE,
    SMALL,
    HEAT,
    ENCODER,
    STARTING,
    MEMORY,
    GRAPHS,
    FIRST_CALLS,
    COMPILATION,
    COLD_ENCODER,
    CONVOLUTIONS,
    IN_TURN,
    WALKS,
    PRICES,
    TRAINING,
    ATTENTION,
    SMALL_WEIGHTS,
    STREAMS,
    SPARSE,
)
