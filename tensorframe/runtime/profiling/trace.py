"""Traces: a timeline in Chrome's trace event format, which Perfetto and chrome://tracing open.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Complete events (`"X"`)
have a beginning and a duration in microseconds; metadata events (`"M"`) name what numbers stand for. Here each device,
and each kind of work beside the steps, is a process, and a thread of the program is a thread in each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorframe.runtime.profiling.timeline import (
    HOST,
    MAKING,
    OPENING,
    PLANNING,
    TRANSFERS,
    Lane,
    Slice,
)

# what is no device, in the order in which viewers show it; devices come between
_FIRST = {HOST: 1, OPENING: 2, PLANNING: 3, MAKING: 4}
_LAST = {TRANSFERS: 1000}


def chrome_trace(slices: Iterable[Slice], about: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a timeline; `about` is kept beside the events."""
    numbers: dict[str, int] = {}
    lanes: dict[Lane, None] = {}
    events = []
    for piece in slices:
        lanes.setdefault(piece.lane)
        events.append(_complete(piece, _number(piece.lane.group, numbers)))
    named = [event for lane in lanes for event in _metadata(lane, numbers)]
    return {"traceEvents": named + events, "displayTimeUnit": "ns", "otherData": about}


def _number(group: str, numbers: dict[str, int]) -> int:
    """Return the process that stands for a group; devices are numbered as they come."""
    if group not in numbers:
        fixed = _FIRST.get(group) or _LAST.get(group)
        numbers[group] = fixed or 10 + len(numbers)
    return numbers[group]


def _complete(piece: Slice, process: int) -> dict[str, Any]:
    return {
        "name": piece.name,
        "cat": piece.kind,
        "ph": "X",
        "ts": piece.began / 1e3,
        "dur": (piece.ended - piece.began) / 1e3,
        "pid": process,
        "tid": piece.lane.thread,
        "args": dict(piece.facts),
    }


def _metadata(lane: Lane, numbers: dict[str, int]) -> list[dict[str, Any]]:
    process = numbers[lane.group]
    return [
        _named("process_name", process, lane.thread, {"name": lane.group}),
        _named("process_sort_index", process, lane.thread, {"sort_index": process}),
        _named("thread_name", process, lane.thread, {"name": lane.name}),
    ]


def _named(what: str, process: int, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"name": what, "ph": "M", "ts": 0, "pid": process, "tid": thread, "args": args}
