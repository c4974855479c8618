"""W19 to W23, networks and language models: `python -m tests.benchmarks.learned` writes their section.

It goes into `learned.md`, with its own date and machine, and the page has it as it is. It takes a quarter of an hour,
beside PyTorch, JAX and llama.cpp where they are installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.decoding import BLOCKS, decoded, table
from tests.benchmarks.effort import Effort
from tests.benchmarks.header import Header
from tests.benchmarks.line import Line
from tests.benchmarks.machine import Others
from tests.benchmarks.measure import all_measured
from tests.benchmarks.peers import PEERS, present
from tests.benchmarks.tables import Table, contestants, verdicts
from tests.benchmarks.workloads.attention import ATTENTION
from tests.benchmarks.workloads.convolutions import CONVOLUTIONS
from tests.benchmarks.workloads.small_weights import SMALL_WEIGHTS
from tests.benchmarks.workloads.training import TRAINING

SECTION = Path(__file__).with_name("learned.md")
NAMES = ["NumPy", "JAX", "torch"]
# fewer calls than elsewhere: there are sixty lines
EFFORT = Effort(rounds=7, seconds=2.0, warm_calls=5, warm_seconds=0.5)
LAYERS, TOKENS = 16, 24

TEXT = """\
## Networks and language models

{facts}

**W19** to **W22** Training, convolutions, attention, and products with small weights

{verdicts}

{values}

**W23** Decoding by a model in the shape of Llama-3.2-1B with random weights, {layers} layers: the time of a token, and
which part of reading's speed that is, where the same bytes are read by turns with the tokens, as `tfr.calibrate` reads
([Language models](language_models.md))

{decoding}
"""


def main() -> None:
    """Measure, and write the section."""
    peers = present(PEERS, NAMES)
    header, others = Header.now(PEERS, peers, EFFORT), Others()
    lines = all_measured((TRAINING, CONVOLUTIONS, ATTENTION, SMALL_WEIGHTS), peers, EFFORT)
    tokens = list(decoded(list(BLOCKS), LAYERS, TOKENS))
    text = section(header.after(others), lines, table(tokens))
    SECTION.write_text(text, encoding="utf-8")


def section(header: Header, lines: Sequence[Line], decoding: Table) -> str:
    """Return the section: the machine, verdicts and values of each line, and the times of tokens."""
    return TEXT.format(
        facts="\n".join(f"- {fact}" for fact in header.lines()),
        verdicts=verdicts(lines),
        values=contestants(lines, header.contestants),
        layers=LAYERS,
        decoding=decoding,
    )


if __name__ == "__main__":
    main()
