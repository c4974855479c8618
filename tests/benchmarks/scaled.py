"""The workloads of a GPU with their sizes divided, for devices of software: each line of that table is one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tensorframe as tfr
from tests.benchmarks.goals import OURS
from tests.benchmarks.gpu.works import Work, works
from tests.benchmarks.workload import Case, Workload


def scaled(scale: float) -> Iterator[Workload]:
    """Yield a workload of one case for each line whose sizes `scale` divides."""
    for work in works(scale):
        case = Case(f"/ {scale:g}", {OURS: work.program})
        yield Workload(work.name, "A line of the table of a GPU.", (case,), partial(_drawn, work))


def _drawn(work: Work) -> tuple[Any, ...]:
    return tuple([operand.numpy() for operand in work.operands(tfr.Device("cpu"))])
