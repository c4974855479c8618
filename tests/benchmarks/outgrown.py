"""W24 and W25, arrays that outgrow memory or the machine: `python -m tests.benchmarks.outgrown` writes their section.

It goes into `outgrown.md`, with its own date and machine, and the page has it as it is: it takes minutes, and its
only peer is `dask.array`. `--size "400 MB"` has a smaller file.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path

from tests.benchmarks import clusters
from tests.benchmarks.header import BUSY_BEFORE
from tests.benchmarks.machine import cores, cpu, load_average
from tests.benchmarks.workloads import streaming

SECTION = Path(__file__).with_name("outgrown.md")

TEXT = """\
## Larger than memory, and on a cluster

- {date}
- {cpu}, {cores} cores
- load average before and after: {before:.2f}, {after:.2f}{busy}

**W24** Reductions of a file, and a map from file to file, in a process that may have {limit}, each from a cold cache
and right after what reading the file takes alone, or reading and writing it: the median of three such turns. What the
process loads to start is not counted, which does not depend on the file. The most memory is what the system counts,
pages of libraries among it ([Larger than memory](larger_than_memory.md)).

{streams}

**W25** Expressions on Dask's device beside `dask.array`, by its scheduler of two threads
([On a cluster](cluster.md)). Tasks are counted as they run; seconds are those of processors, the least of three runs.
What Dask costs is measured by turns on one thread, in blocks that are parts of one array.

{clusters}
"""


def main() -> None:
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.outgrown", description=__doc__)
    parser.add_argument("--size", default=streaming.SIZE, help="of the file")
    options = parser.parse_args()
    before = load_average() or 0.0
    streams = str(streaming.table(options.size))
    sys.stderr.write(f"{streams}\n")
    on_dask = "\n\n".join(map(str, clusters.main()))
    SECTION.write_text(section(before, streams, on_dask), encoding="utf-8")


def section(before: float, streams: str, on_dask: str) -> str:
    """Return the section: tables of both, the machine, and how busy it was before and is now."""
    after = load_average() or 0.0
    busy = max(before, after) > BUSY_BEFORE
    return TEXT.format(
        date=datetime.now().astimezone().isoformat(" ", "minutes"),
        cpu=cpu(),
        cores=cores(),
        before=before,
        after=after,
        busy=": the machine was busy with other things, and times are rough" if busy else "",
        limit=streaming.LIMIT,
        streams=streams,
        clusters=on_dask,
    )


if __name__ == "__main__":
    main()
