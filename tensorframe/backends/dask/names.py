"""Names of layers of tasks: what Dask's dashboard and error messages show, the ops and the line that recorded them."""

from __future__ import annotations

import re

from tensorframe.backends.dask.arrays import new_name
from tensorframe.backends.dask.room import check_room
from tensorframe.backends.provenance import current
from tensorframe.graph.region import Region

# what keys of tasks are made of, so that a dashboard shows them as they are
_OTHER = re.compile(r"[^A-Za-z0-9_+.:]+")
_LONGEST = 48


def layer_name(ops: str, size: int | None = None) -> str:
    """Return a new name of a layer: `exp+sin@analysis.py:12-<number>`; the step that runs is noted as its maker.

    `size` is how many bytes a task takes, if that is known: MemoryError where no worker has so many.
    """
    here = current()
    if size is not None:
        check_room(size)
    said = here.ops if here is not None and here.ops else ops
    text = _OTHER.sub("+", said).strip("+")[:_LONGEST] or "tensorframe"
    if here is not None and here.line:
        text = f"{text}@{_OTHER.sub('_', here.line)}"
    name = new_name(text)
    if here is not None:
        here.layers[name] = here.step
        if size is not None:
            here.sizes[name] = size
    return name


def ops_of(region: Region) -> str:
    """Return the ops of a region in short, for names."""
    return "+".join([op.op.name for op in region.ops[-3:]])
